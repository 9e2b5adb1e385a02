//! Threads, as in [`std::thread`], on the clock of this crate ([`crate::clock`]). With `--cfg hyperslab_shuttle` they are those of the
//! crate shuttle, as the [locks](crate::sync) are.

use std::io;
use std::time::Duration;

#[cfg(hyperslab_shuttle)]
use shuttle::thread as inner;
#[cfg(not(hyperslab_shuttle))]
use std::thread as inner;

pub use inner::{JoinHandle, Scope, Thread, ThreadId, current, scope, yield_now};
pub use std::thread::{available_parallelism, panicking};

use crate::clock::{self, Instant};

/// A thread that is to be started.
#[derive(Debug)]
pub struct Builder(inner::Builder);

impl Builder {
    /// Returns a thread with a name, which debuggers and the system show.
    pub fn named(name: impl Into<String>) -> Self {
        Builder(inner::Builder::new().name(name.into()))
    }

    /// Sets the bytes of its stack.
    #[must_use]
    pub fn stack_size(self, bytes: usize) -> Self {
        Builder(self.0.stack_size(bytes))
    }

    /// Starts it.
    ///
    /// # Errors
    /// Returns the error of the system if there can be no more threads.
    pub fn spawn<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        self.0.spawn(work)
    }
}

/// Lets this thread wait.
pub fn sleep(time: Duration) {
    let begun = Instant::now();
    while let Some(left) = time.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
        inner::sleep(clock::real_wait(left));
    }
}

/// Waits until another thread calls [`Thread::unpark`], at most as long as `time`. It may return earlier.
pub fn park_timeout(time: Duration) {
    inner::park_timeout(clock::real_wait(time));
}
