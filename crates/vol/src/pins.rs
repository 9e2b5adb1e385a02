//! Blobs that were released while a caller may still read them.
//!
//! An element and its values are one thing, but reading them takes two operations: the element, then the blobs that it
//! names. A reader therefore holds a [`Pin`] around both. A connector hands every blob that it would remove to its
//! [`Released`], which returns it when the last pin that may need it is removed.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

use model::{Datatype, Kind, Result};
use system::sync::{Mutex, MutexGuard};

use crate::Container;

/// Numbers of pins are unique in this process.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A guard that keeps the blobs of a container readable, even if their elements are overwritten meanwhile.
pub struct Pin<'c> {
    container: &'c dyn Container,
    number: Option<u64>,
}

impl std::fmt::Debug for Pin<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pin").field("number", &self.number).finish_non_exhaustive()
    }
}

impl<'c> Pin<'c> {
    /// Pins the blobs of a container. A connector without pins never removes a blob that was in use.
    ///
    /// # Errors
    /// Returns the error of [`Container::blob_pin`].
    pub fn new(container: &'c dyn Container) -> Result<Self> {
        let number = Self::number();
        match container.blob_pin(number) {
            Ok(()) => Ok(Pin { container, number: Some(number) }),
            Err(error) if error.kind() == Kind::Unsupported => Ok(Pin { container, number: None }),
            Err(error) => Err(error),
        }
    }

    /// Pins the blobs of a container for a caller that reads values of this type, or returns `None` if the type has
    /// none.
    ///
    /// # Errors
    /// Returns the error of [`Container::blob_pin`].
    pub fn of(container: &'c dyn Container, datatype: &Datatype) -> Result<Option<Self>> {
        datatype.has_descriptors().then(|| Self::new(container)).transpose()
    }

    /// Returns a number that no other pin of this process has.
    pub fn number() -> u64 {
        NEXT.fetch_add(1, Ordering::Relaxed)
    }
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            // A container that was closed has no pins.
            let _ = self.container.blob_unpin(number);
        }
    }
}

/// Blobs, by identities `I`, that were released and wait for the pins of readers.
#[derive(Debug)]
pub struct Released<I>(Mutex<PinState<I>>);

#[derive(Debug)]
struct PinState<I> {
    /// The number of releases while there were pins.
    clock: u64,
    /// The clock at which each pin was added. There are as many as threads that read.
    pins: HashMap<u64, u64>,
    /// Blobs that wait, and the clock of their release: for all pins that were added no later.
    waiting: VecDeque<(u64, Vec<I>)>,
}

impl<I> Default for Released<I> {
    fn default() -> Self {
        Released(Mutex::new(PinState { clock: 0, pins: HashMap::new(), waiting: VecDeque::new() }))
    }
}

impl<I> Released<I> {
    fn state(&self) -> MutexGuard<'_, PinState<I>> {
        self.0.lock()
    }

    /// Adds a pin.
    pub fn pin(&self, number: u64) {
        let mut state = self.state();
        let now = state.clock;
        state.pins.insert(number, now);
    }

    /// Removes a pin. Blobs that waited for it are removed by the next change, because a reader writes nothing.
    pub fn unpin(&self, number: u64) {
        self.state().pins.remove(&number);
    }

    /// Releases blobs that no element uses any more, and returns those that can be removed now.
    #[must_use]
    pub fn release(&self, blobs: Vec<I>) -> Vec<I> {
        let mut state = self.state();
        if state.pins.is_empty() && state.waiting.is_empty() {
            return blobs;
        }
        let now = state.clock;
        state.clock += 1;
        state.waiting.push_back((now, blobs));
        state.due()
    }

    /// Returns the blobs that no pin needs any more.
    #[must_use]
    pub fn due(&self) -> Vec<I> {
        self.state().due()
    }

    /// Returns all blobs that wait, when the container is closed and no pin counts any longer.
    #[must_use]
    pub fn all(&self) -> Vec<I> {
        let mut state = self.state();
        state.pins.clear();
        state.due()
    }
}

impl<I> PinState<I> {
    fn due(&mut self) -> Vec<I> {
        let oldest = self.pins.values().copied().min().unwrap_or(u64::MAX);
        let count = self.waiting.iter().take_while(|(since, _)| *since < oldest).count();
        self.waiting.drain(..count).flat_map(|(_, blobs)| blobs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Released;

    #[test]
    fn without_readers_a_blob_goes_at_once() {
        let released = Released::default();
        assert_eq!(released.release(vec![1, 2]), [1, 2]);
    }

    #[test]
    fn a_blob_waits_for_the_readers_that_came_before_it_was_released() {
        let released = Released::default();
        released.pin(7);
        assert_eq!(released.release(vec![1]), []);
        released.pin(8);
        assert_eq!(released.release(vec![2]), []);
        released.unpin(7);
        assert_eq!(released.due(), [1], "8 came later");
        released.unpin(8);
        assert_eq!(released.release(vec![3]), [2, 3]);
    }

    #[test]
    fn readers_that_overlap_without_end_do_not_keep_everything() {
        let released = Released::default();
        released.pin(0);
        let mut gone = Vec::new();
        for n in 1..100 {
            released.pin(n);
            gone.extend(released.release(vec![n]));
            released.unpin(n - 1);
        }
        assert!(gone.len() > 95, "{gone:?}");
    }

    #[test]
    fn closing_returns_what_waits() {
        let released = Released::default();
        released.pin(1);
        assert_eq!(released.release(vec![1]), []);
        assert_eq!(released.all(), [1]);
    }
}
