//! A layer that fails on demand: the nth call of a kind, short writes, a full disk.

use std::io;

use system::sync::{Mutex, MutexGuard};

use crate::{File, Handle, Lock, Sync};

/// The kinds of call a [`Fault`] can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// `len`.
    Len,
    /// `read_at`; each range of `read_many_at` is one.
    Read,
    /// `write_at`.
    Write,
    /// `set_len`.
    SetLen,
    /// `sync`.
    Sync,
    /// `lock`.
    Lock,
}

/// How often a [`Rule`] strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Only at its call.
    Once,
    /// At its call and at every later one of that kind.
    FromThen,
}

/// Which calls fail, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The kind of call.
    pub call: Call,
    /// The first call to fail, counted from 0 since the plan was set.
    pub nth: u64,
    /// Whether later calls fail too.
    pub repeat: Repeat,
    /// The error's kind.
    pub error: io::ErrorKind,
    /// For writes: how many bytes still reach the file before the error.
    pub short_bytes: u64,
}

impl Rule {
    /// Fails the `nth` call of a kind, once, without effect.
    pub fn once(call: Call, nth: u64, error: io::ErrorKind) -> Self {
        Rule { call, nth, repeat: Repeat::Once, error, short_bytes: 0 }
    }

    /// Fails the `nth` call of a kind and all later ones, without effect.
    pub fn from_then(call: Call, nth: u64, error: io::ErrorKind) -> Self {
        Rule { repeat: Repeat::FromThen, ..Rule::once(call, nth, error) }
    }

    /// Lets `short_bytes` of the `nth` write through, then fails it with `WriteZero`.
    pub fn short_write(nth: u64, short_bytes: u64) -> Self {
        Rule { short_bytes, ..Rule::once(Call::Write, nth, io::ErrorKind::WriteZero) }
    }

    fn strikes(&self, call: Call, nth: u64) -> bool {
        let reached = match self.repeat {
            Repeat::Once => nth == self.nth,
            Repeat::FromThen => nth >= self.nth,
        };
        self.call == call && reached
    }
}

/// What a [`Fault`] shall do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The first rule that strikes decides.
    pub rules: Vec<Rule>,
    /// Bytes that may still be written; the write that needs more writes what fits and fails with `StorageFull`.
    pub space_bytes: Option<u64>,
}

impl Plan {
    /// Returns a plan of rules only.
    pub fn of(rules: impl IntoIterator<Item = Rule>) -> Self {
        Plan { rules: rules.into_iter().collect(), space_bytes: None }
    }

    /// Returns a disk with space for `space_bytes` more.
    pub fn full_after(space_bytes: u64) -> Self {
        Plan { rules: Vec::new(), space_bytes: Some(space_bytes) }
    }
}

/// Fails calls according to a [`Plan`] that can be changed at any time. Without one it passes everything on.
#[derive(Debug)]
pub struct Fault {
    inner: Handle,
    state: Mutex<FaultState>,
}

#[derive(Debug, Default)]
struct FaultState {
    plan: Plan,
    calls: [u64; 6],
    struck: u64,
}

impl FaultState {
    /// Counts a call, and says which rule strikes it.
    fn count(&mut self, call: Call) -> Option<Rule> {
        let nth = self.calls[call as usize];
        self.calls[call as usize] += 1;
        let rule = self.plan.rules.iter().copied().find(|rule| rule.strikes(call, nth));
        self.struck += u64::from(rule.is_some());
        rule
    }

    /// Returns how many of `len` bytes fit on the disk; they are taken from its space.
    fn take_space(&mut self, len: u64) -> u64 {
        let Some(space) = &mut self.plan.space_bytes else { return len };
        let taken = len.min(*space);
        *space -= taken;
        self.struck += u64::from(taken < len);
        taken
    }
}

impl Fault {
    /// Passes everything on until a plan is set.
    pub fn new(inner: Handle) -> Self {
        Fault { inner, state: Mutex::default() }
    }

    /// Replaces the plan, and counts calls from zero.
    pub fn set_plan(&self, plan: Plan) {
        *self.state() = FaultState { plan, ..FaultState::default() };
    }

    /// Fails nothing from now on.
    pub fn clear(&self) {
        self.set_plan(Plan::default());
    }

    /// Calls of a kind since the plan was set: how many fault points a run has.
    pub fn calls(&self, call: Call) -> u64 {
        self.state().calls[call as usize]
    }

    /// Faults injected since the plan was set.
    pub fn struck(&self) -> u64 {
        self.state().struck
    }

    fn state(&self) -> MutexGuard<'_, FaultState> {
        self.state.lock()
    }

    fn pass(&self, call: Call) -> io::Result<()> {
        self.state().count(call).map_or(Ok(()), |rule| Err(injected(rule.error)))
    }
}

fn injected(kind: io::ErrorKind) -> io::Error {
    io::Error::new(kind, "injected fault")
}

impl File for Fault {
    fn len(&self) -> io::Result<u64> {
        self.pass(Call::Len)?;
        self.inner.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.pass(Call::Read)?;
        self.inner.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let rule = state.count(Call::Write);
        let wanted = rule.map_or(data.len() as u64, |rule| rule.short_bytes.min(data.len() as u64));
        let taken = state.take_space(wanted);
        drop(state);
        self.inner.write_at(offset, &data[..taken as usize])?;
        match rule {
            Some(rule) => Err(injected(rule.error)),
            None if taken < wanted => Err(injected(io::ErrorKind::StorageFull)),
            None => Ok(()),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.pass(Call::SetLen)?;
        self.inner.set_len(len)
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.pass(Call::Sync)?;
        self.inner.sync(sync)
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.pass(Call::Lock)?;
        self.inner.lock(lock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;
    use std::io::ErrorKind;
    use std::sync::Arc;

    fn faulty() -> (Arc<Memory>, Fault) {
        let memory = Arc::new(Memory::new());
        (memory.clone(), Fault::new(memory))
    }

    #[test]
    fn nth_call_fails_once_without_effect() {
        let (memory, fault) = faulty();
        fault.set_plan(Plan::of([Rule::once(Call::Write, 1, ErrorKind::Interrupted)]));
        fault.write_at(0, b"a").unwrap();
        assert_eq!(fault.write_at(1, b"b").unwrap_err().kind(), ErrorKind::Interrupted);
        fault.write_at(2, b"c").unwrap();
        assert_eq!(memory.image().unwrap(), b"a\0c");
        assert_eq!((fault.calls(Call::Write), fault.struck()), (3, 1));
    }

    #[test]
    fn every_kind_of_call_can_fail_from_then_on() {
        let (_, fault) = faulty();
        let kinds = [Call::Len, Call::Read, Call::Write, Call::SetLen, Call::Sync, Call::Lock];
        for kind in kinds {
            fault.set_plan(Plan::of([Rule::from_then(kind, 0, ErrorKind::Other)]));
            for _ in 0..2 {
                let failed = [
                    fault.len().is_err(),
                    fault.read_at(0, &mut []).is_err(),
                    fault.write_at(0, &[]).is_err(),
                    fault.set_len(0).is_err(),
                    fault.sync(Sync::All).is_err(),
                    fault.lock(Lock::Shared).is_err(),
                ];
                assert_eq!(failed, kinds.map(|other| other == kind));
            }
        }
    }

    #[test]
    fn short_write_leaves_its_first_bytes() {
        let (memory, fault) = faulty();
        fault.set_plan(Plan::of([Rule::short_write(0, 2)]));
        assert_eq!(fault.write_at(0, b"abcd").unwrap_err().kind(), ErrorKind::WriteZero);
        assert_eq!(memory.image().unwrap(), b"ab");
    }

    #[test]
    fn full_disk_takes_what_fits_and_recovers_when_cleared() {
        let (memory, fault) = faulty();
        fault.set_plan(Plan::full_after(5));
        fault.write_at(0, b"abc").unwrap();
        assert_eq!(fault.write_at(3, b"def").unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(fault.write_at(0, b"x").unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(memory.image().unwrap(), b"abcde");
        fault.clear();
        fault.write_at(5, b"f").unwrap();
    }
}
