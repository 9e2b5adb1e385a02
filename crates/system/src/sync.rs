//! Locks that ignore poisoning.
//!
//! A thread that panics while it holds a lock leaves data that is no worse than after an error that it returned: what must
//! not be seen half done is guarded by other means (a container that a panic interrupted does not commit). So [`Mutex::lock`]
//! and its relatives return the guard itself. Callers that need to know use [`RwLock::write_unpoisoned`] or [`RwLock::is_poisoned`].
//!
//! With `--cfg hyperslab_shuttle` they are those of the crate shuttle: a test then decides which thread runs next
//! (`tests/schedules`).

use std::time::Duration;

#[cfg(hyperslab_shuttle)]
use shuttle::sync as inner;
#[cfg(not(hyperslab_shuttle))]
use std::sync as inner;

use inner::{PoisonError, TryLockError};

use crate::clock::{self, Instant};

pub use inner::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// Returns the guard of an attempt to lock, or `None` if another thread is in the way.
fn available<G>(attempt: Result<G, TryLockError<G>>) -> Option<G> {
    match attempt {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// A mutual exclusion lock, as [`std::sync::Mutex`].
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(inner::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub const fn new(value: T) -> Self {
        Mutex(inner::Mutex::new(value))
    }

    /// Returns the value that the mutex protects.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the mutex is free, and locks it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the mutex, or returns `None` if another thread holds it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        available(self.0.try_lock())
    }

    /// Returns the value; no other caller can have the mutex.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A readers-writer lock, as [`std::sync::RwLock`].
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(inner::RwLock<T>);

impl<T> RwLock<T> {
    /// Creates an unlocked lock.
    pub const fn new(value: T) -> Self {
        RwLock(inner::RwLock::new(value))
    }

    /// Returns the value that the lock protects.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until no thread writes, and locks for reading.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no thread reads or writes, and locks for writing.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks for reading as [`RwLock::read`], or returns `None` if a thread panicked while it held the lock for writing.
    pub fn read_unpoisoned(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.0.read().ok()
    }

    /// Locks for writing as [`RwLock::write`], or returns `None` if a thread panicked while it held the lock for writing.
    pub fn write_unpoisoned(&self) -> Option<RwLockWriteGuard<'_, T>> {
        self.0.write().ok()
    }

    /// Locks for reading, or returns `None` if that would have to wait.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        available(self.0.try_read())
    }

    /// Locks for writing, or returns `None` if that would have to wait.
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        available(self.0.try_write())
    }

    /// Returns the value; no other caller can have the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a thread panicked while it held the lock for writing.
    #[cfg(not(hyperslab_shuttle))]
    pub fn is_poisoned(&self) -> bool {
        self.0.is_poisoned()
    }

    /// Returns whether a thread panicked while it held the lock for writing.
    #[cfg(hyperslab_shuttle)]
    pub fn is_poisoned(&self) -> bool {
        matches!(self.0.try_read(), Err(TryLockError::Poisoned(_)))
    }
}

/// A condition variable, as [`std::sync::Condvar`].
#[derive(Debug, Default)]
pub struct Condvar(inner::Condvar);

impl Condvar {
    /// Creates a condition variable that no one waits on.
    pub const fn new() -> Self {
        Condvar(inner::Condvar::new())
    }

    /// Unlocks the mutex, waits for a notification, and locks the mutex again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while `condition` holds.
    pub fn wait_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        self.0.wait_while(guard, condition).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a notification, at most as long as `timeout`. It may return earlier.
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, timeout: Duration) -> MutexGuard<'a, T> {
        self.0.wait_timeout(guard, clock::real_wait(timeout)).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits while `condition` holds, at most as long as `timeout`. Whether it still holds is for the caller to look.
    pub fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        let begun = Instant::now();
        while condition(&mut guard) {
            let Some(left) = timeout.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) else {
                break;
            };
            guard = self.wait_timeout(guard, left);
        }
        guard
    }

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
