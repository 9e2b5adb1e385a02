//! Memory that clients can make grow: an account of the server, in it one for each token, in that one for each session.

use std::collections::HashMap;
use std::io::Read;
use std::time::Duration;
use system::thread::Thread;

use system::clock::Instant;

use model::{Budget, Charge, Error, Result, Within, budget};
use system::sync::Mutex;

use crate::config::ServerLimits;

/// Frames and answers up to so many bytes are part of what every connection has
/// ([`CONNECTION_BYTES`](crate::config::CONNECTION_BYTES)).
pub(crate) const SMALL_BYTES: u64 = 64 << 10;
/// Buffers up to so many bytes are kept by a connection for the next operation: transfers come in pieces of 1 MiB.
pub(crate) const KEPT_BYTES_MAX: usize = 1 << 20;
/// Memory grows with the bytes that came.
const STEP_BYTES: u64 = 1 << 20;
/// Charges that containers make are not reported when they are released.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The accounts of a server.
#[derive(Debug)]
pub(crate) struct Memory {
    server: Budget,
    /// The memory of connections before they ask for anything large: no one can use it up.
    _connections: Charge,
    /// Containers outlive who opened them first: what they keep belongs to none of the clients.
    containers: Budget,
    /// By the name of who has the token.
    tokens: Mutex<HashMap<String, Budget>>,
    token_bytes_max: u64,
    session_bytes_max: u64,
    patience: Duration,
    waiters: Mutex<Vec<Waiter>>,
}

impl Memory {
    pub(crate) fn new(limits: &ServerLimits) -> Result<Self> {
        let server = Budget::new("server", limits.memory_bytes_max);
        Ok(Memory {
            _connections: server.charge(limits.connections_bytes(), "connections")?,
            containers: server.child("containers of the server", limits.containers_bytes_max()),
            tokens: Mutex::default(),
            token_bytes_max: limits.token_bytes_max(),
            session_bytes_max: limits.session_bytes_max(),
            patience: limits.memory_patience,
            waiters: Mutex::default(),
            server,
        })
    }

    /// Returns the account of everything.
    pub(crate) fn server(&self) -> &Budget {
        &self.server
    }

    /// Returns the account of a container that is to be opened.
    pub(crate) fn container(&self) -> Budget {
        self.containers.child("container", self.containers.limit())
    }

    /// Returns the account of all sessions with one token.
    pub(crate) fn token(&self, who: &str) -> Budget {
        let mut tokens = self.tokens.lock();
        let known = tokens.get(who).cloned();
        known.unwrap_or_else(|| {
            let account = self.server.child("sessions with one token", self.token_bytes_max);
            tokens.insert(who.to_owned(), account.clone());
            account
        })
    }

    /// Returns an account for a new session.
    pub(crate) fn session(&self, who: &str) -> Budget {
        self.token(who).child("session", self.session_bytes_max)
    }

    /// Nothing yet, to be charged to `account`.
    pub(crate) fn memory(&self, account: &Budget) -> OperationMemory<'_> {
        OperationMemory { memory: self, charge: account.empty_charge() }
    }

    /// Wakes the first one that there is enough memory for: the others would only look and wait again, and in an attack
    /// many wait.
    fn wake(&self) {
        if let Some(first) = first_with_memory(&self.waiters.lock()) {
            first.thread.unpark();
        }
    }
}

fn first_with_memory(waiters: &[Waiter]) -> Option<&Waiter> {
    waiters.iter().find(|waiter| waiter.account.left() >= waiter.bytes)
}

/// An operation that waits for memory.
#[derive(Debug)]
struct Waiter {
    thread: Thread,
    account: Budget,
    bytes: u64,
}

/// A place among those that wait, until it is dropped.
struct WaitingTicket<'a>(&'a Memory);

impl<'a> WaitingTicket<'a> {
    fn new(memory: &'a Memory, account: &Budget, bytes: u64) -> Self {
        let thread = system::thread::current();
        memory.waiters.lock().push(Waiter { thread, account: account.clone(), bytes });
        WaitingTicket(memory)
    }
}

impl Drop for WaitingTicket<'_> {
    fn drop(&mut self) {
        let this = system::thread::current().id();
        self.0.waiters.lock().retain(|waiter| waiter.thread.id() != this);
        // There may be enough for the next one too.
        self.0.wake();
    }
}

/// Memory of one operation, until it is dropped.
#[derive(Debug)]
pub(crate) struct OperationMemory<'a> {
    memory: &'a Memory,
    charge: Charge,
}

impl OperationMemory<'_> {
    /// Takes more. Waits until others give some back, for the server's patience at most.
    ///
    /// # Errors
    ///
    /// An error of kind `Limit` that says what wanted how much.
    pub(crate) fn grow(&mut self, bytes: u64, what: &str) -> Result<()> {
        let taken = self.grow_now(bytes, what);
        let is_possible = self.charge.bytes().saturating_add(bytes) <= self.charge.budget().limit();
        if taken.is_ok() || !is_possible { taken } else { self.wait(bytes, what) }
    }

    /// Waits in the order of coming. An attempt that fails makes an error: it is made only where it may succeed, and at last.
    fn wait(&mut self, bytes: u64, what: &str) -> Result<()> {
        let until = Instant::now() + self.memory.patience;
        let _waiting = WaitingTicket::new(self.memory, self.charge.budget(), bytes);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return self.grow_now(bytes, what);
            }
            system::thread::park_timeout(left.min(LOOK_EVERY));
            if self.charge.budget().left() >= bytes && self.grow_now(bytes, what).is_ok() {
                return Ok(());
            }
        }
    }

    /// Gives back what an operation took that is not run.
    pub(crate) fn clear(&mut self) {
        if self.charge.bytes() > 0 {
            // Giving back cannot be refused.
            let _ = self.charge.resize(0, "");
            self.memory.wake();
        }
    }

    /// Takes more of what is there now.
    pub(crate) fn grow_now(&mut self, bytes: u64, what: &str) -> Result<()> {
        self.charge.resize(self.charge.bytes().saturating_add(bytes), what)
    }

    /// Takes so much and no more of what is there now.
    pub(crate) fn set(&mut self, bytes: u64, what: &str) -> Result<()> {
        self.charge.resize(bytes, what)
    }

    /// Makes `buffer` at least `bytes` long, whatever is in it then.
    pub(crate) fn extend(&mut self, buffer: &mut Vec<u8>, bytes: u64, what: &str) -> Result<()> {
        if bytes > SMALL_BYTES {
            self.grow(bytes, what)?;
        }
        let length = bytes.within(u64::MAX, what)?;
        if buffer.len() < length {
            // Zeroed pages come from the system when they are first used, and no one needs what was there before.
            *buffer = budget::zeroed(length, what)?;
        }
        Ok(())
    }

    /// Receives `bytes` into the start of `buffer`, with memory as they come. Where that is refused, the error says how many
    /// are left to be passed over before the next frame.
    pub(crate) fn receive(
        &mut self,
        from: &mut impl Read,
        buffer: &mut Vec<u8>,
        bytes: u64,
    ) -> std::io::Result<Result<(), (Error, u64)>> {
        let mut have = 0;
        if bytes <= SMALL_BYTES {
            buffer.resize(buffer.len().max(bytes as usize), 0);
            return from.read_exact(&mut buffer[..bytes as usize]).map(Ok);
        }
        while have < bytes {
            let step = STEP_BYTES.min(bytes - have);
            if let Err(refused) = self.step(buffer, have + step, bytes) {
                return Ok(Err((refused, bytes - have)));
            }
            from.read_exact(&mut buffer[have as usize..(have + step) as usize])?;
            have += step;
        }
        Ok(Ok(()))
    }

    /// One more step of `wanted` bytes.
    fn step(&mut self, buffer: &mut Vec<u8>, end: u64, wanted: u64) -> Result<()> {
        let what = "bytes of a frame";
        let more = STEP_BYTES.min(wanted);
        self.grow(more, what).map_err(|refused| refused.with("frame bytes", wanted))?;
        budget::lengthen(buffer, end.within(u64::MAX, what)?, what)
    }
}

impl Drop for OperationMemory<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_one_token_wakes_nobody_who_waits_for_that_of_another() {
        let server = Budget::new("server", 100);
        let [full, free] = [server.child("token", 40), server.child("token", 40)];
        let waiter = |account: &Budget, bytes| Waiter {
            thread: std::thread::current(),
            account: account.clone(),
            bytes,
        };
        let _charge = full.charge(40, "all").expect("there is enough");
        let waiters = [waiter(&full, 1), waiter(&free, 50), waiter(&free, 30), waiter(&free, 10)];
        let first = first_with_memory(&waiters).map(|first| first.bytes);
        assert_eq!(first, Some(30), "the oldest that there is enough for");
        assert!(first_with_memory(&waiters[..2]).is_none());
    }
}
