//! A driver that makes calls wait, for a time or until a test releases them, so that the test decides what happens meanwhile.

use std::io;
use std::time::Duration;

use system::sync::{Condvar, Mutex, MutexGuard};

use crate::fault::Call;
use crate::{File, Handle, Lock, Sync};

/// Passes calls on, when they may go.
#[derive(Debug)]
pub struct Pause {
    inner: Handle,
    state: Mutex<PauseState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct PauseState {
    stopped: Option<Call>,
    delayed: Option<(Call, Duration)>,
    waiting: usize,
}

impl Pause {
    /// Returns a driver that lets everything pass until it is asked to stop a call.
    pub fn new(inner: Handle) -> Self {
        Pause { inner, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Makes calls of this kind wait from now on.
    pub fn stop(&self, call: Call) {
        self.state().stopped = Some(call);
    }

    /// Makes each call of this kind take at least this long from now on.
    pub fn delay(&self, call: Call, time: Duration) {
        self.state().delayed = Some((call, time));
    }

    /// Waits until so many calls wait.
    pub fn wait_for(&self, count: usize) {
        drop(self.changed.wait_while(self.state(), |state| state.waiting < count));
    }

    /// Lets all calls go that wait, and those that come.
    pub fn go(&self) {
        self.state().stopped = None;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, PauseState> {
        self.state.lock()
    }

    fn pass(&self, call: Call) {
        let mut state = self.state();
        let delay = state.delayed.filter(|(delayed, _)| *delayed == call);
        state.waiting += 1;
        self.changed.notify_all();
        let mut state = self.changed.wait_while(state, |state| state.stopped == Some(call));
        state.waiting -= 1;
        drop(state);
        if let Some((_, time)) = delay {
            system::thread::sleep(time);
        }
    }
}

impl File for Pause {
    fn len(&self) -> io::Result<u64> {
        self.pass(Call::Len);
        self.inner.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.pass(Call::Read);
        self.inner.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.pass(Call::Write);
        self.inner.write_at(offset, data)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.pass(Call::SetLen);
        self.inner.set_len(len)
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.pass(Call::Sync);
        self.inner.sync(sync)
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.pass(Call::Lock);
        self.inner.lock(lock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;
    use std::sync::Arc;

    #[test]
    fn calls_of_one_kind_wait_until_they_are_released() {
        let memory = Arc::new(Memory::new());
        let pause = Pause::new(memory.clone());
        pause.stop(Call::Write);
        std::thread::scope(|scope| {
            let write = scope.spawn(|| pause.write_at(0, b"a"));
            pause.wait_for(1);
            pause.sync(Sync::Data).unwrap();
            assert!(memory.is_empty().unwrap());
            pause.go();
            write.join().unwrap().unwrap();
        });
        assert_eq!(memory.image().unwrap(), b"a");
    }
}
