//! A communicator of a program that began MPI itself.
//!
//! A call waits for the others by testing now and then, on the caller's own thread: so a program may have begun MPI
//! for one thread, and a caller fails instead of waiting for a process that is gone.
#![expect(unsafe_code, reason = "the C interface")]

use std::sync::Arc;
use std::time::Duration;

use ::mpi::ffi::{MPI_Comm, RSMPI_COMM_WORLD};
use model::{Error, Result};
use system::clock::Instant;
use system::sync::{Mutex, MutexGuard};

use super::peers::{self, Peers};
use super::raw::{self, Buffers, Exchange, MESSAGE_BYTES_MAX, OwnedComm, Parts, Pending, Threading};
use crate::{Comm, gone};

/// How long a call waits for silent processes, unless the caller says otherwise: models compute for long between two flushes.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(3600);
/// How often a call looks for the others.
const LOOK: Duration = Duration::from_millis(50);
/// How long messages of a process that ended may still be on their way.
const LATE: Duration = Duration::from_millis(500);
/// From when on a call that waits leaves its processor to others for a while.
const LONG: Duration = Duration::from_secs(1);
/// For how long it does.
const NAP: Duration = Duration::from_micros(100);
/// Tests between two looks at the clock.
const TESTS: u32 = 32;
/// For how long a call keeps its processor, where the machine has one for each of its ranks. As a rule the others are
/// about to come: to yield costs more than that, and other programs that run get whole time slices.
const BRIEF: Duration = Duration::from_micros(200);
/// Bytes of a message that may hold all there is to say.
const FIRST_BYTES: usize = 1024;

/// Held by calls of all communicators where MPI may be called by one thread at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A duplicate of a program's communicator. It is freed when this is dropped; MPI goes on.
pub struct Communicator {
    own: OwnedComm,
    rank: usize,
    size: usize,
    threading: Threading,
    wait_max: Duration,
    peers: Arc<Peers>,
    /// One call at a time; why one failed: none goes well after it.
    broken: Mutex<Option<Error>>,
}

impl std::fmt::Debug for Communicator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = &mut f.debug_struct("Communicator");
        fields.field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

fn not_running() -> Error {
    Error::invalid("call MPI").with("problem", "it was not begun, or has ended")
}

impl Communicator {
    /// Duplicates a communicator of the program. All its members do.
    ///
    /// # Errors
    /// Returns `Invalid` if MPI is not running, and for `MPI_COMM_NULL`.
    ///
    /// # Safety
    /// `comm` is a communicator.
    pub unsafe fn duplicate(comm: MPI_Comm) -> Result<Self> {
        // SAFETY: the caller's promise.
        unsafe { Self::duplicate_within(comm, WAIT_MAX) }
    }

    /// Duplicates a communicator as [`Communicator::duplicate`] does, with a timeout for calls that wait for other
    /// processes.
    ///
    /// # Errors
    /// As of [`Communicator::duplicate`].
    ///
    /// # Safety
    /// `comm` is a communicator.
    pub unsafe fn duplicate_within(comm: MPI_Comm, wait_max: Duration) -> Result<Self> {
        if !raw::is_running() {
            return Err(not_running());
        }
        let threading = raw::threading()?;
        let own = {
            let _alone = alone(threading)?;
            // SAFETY: MPI is running; the rest is the caller's promise.
            let pending = unsafe { Pending::duplicate(comm) }?;
            OwnedComm::new(wait(pending, wait_max, &Peers::default())?)?
        };
        let mut new = Self::new(own, threading, wait_max, Arc::default())?;
        let all = new.allgather(&peers::own())?;
        new.peers = Arc::new(Peers::of(&all));
        Ok(new)
    }

    /// Duplicates the communicator of all processes.
    pub(super) fn world() -> Result<Self> {
        // SAFETY: it is a communicator.
        unsafe { Self::duplicate(RSMPI_COMM_WORLD) }
    }

    fn new(own: OwnedComm, threading: Threading, wait_max: Duration, peers: Arc<Peers>) -> Result<Self> {
        let (rank, size) = own.place()?;
        let broken = Mutex::new(None);
        Ok(Communicator { own, rank, size, threading, wait_max, peers, broken })
    }

    /// Returns a communicator of the same members whose calls are apart from those of this one. All members do.
    pub fn again(&self) -> Result<Self> {
        let own = OwnedComm::new(self.give()?)?;
        Self::new(own, self.threading, self.wait_max, self.peers.clone())
    }

    /// Returns a duplicate that the program frees. All members do.
    pub fn give(&self) -> Result<MPI_Comm> {
        let mut line = self.line()?;
        let _alone = alone(self.threading)?;
        // SAFETY: MPI is running, and the communicator is valid.
        let done = unsafe { Pending::duplicate(self.own.comm()) }.and_then(|pending| self.wait(pending));
        done.inspect_err(|error| *line = Some(error.clone()))
    }

    /// Sets how long calls wait for processes that keep silent.
    pub(super) fn set_wait_max(&mut self, wait_max: Duration) {
        self.wait_max = wait_max;
    }

    /// Returns whether a call failed: others may be in the middle of it.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.lock().is_some()
    }

    fn line(&self) -> Result<MutexGuard<'_, Option<Error>>> {
        let line = self.broken.lock();
        match &*line {
            Some(error) => Err(error.clone()),
            None if !raw::is_running() => Err(not_running()),
            None => Ok(line),
        }
    }

    /// Makes a call with all members.
    fn exchange(&self, exchange: Exchange, buffers: Buffers) -> Result<Buffers> {
        let mut line = self.line()?;
        let _alone = alone(self.threading)?;
        let done = Pending::begin(&self.own, exchange, buffers).and_then(|pending| self.wait(pending));
        done.inspect_err(|error| *line = Some(error.clone()))
    }

    fn wait<T>(&self, pending: Pending<T>) -> Result<T> {
        wait(pending, self.wait_max, &self.peers)
    }

    /// Returns the bytes that one message of a round has at most: what all ranks send together is counted in 31 bits,
    /// too.
    fn round_bytes(&self) -> usize {
        (MESSAGE_BYTES_MAX / self.size).max(1)
    }

    /// Returns the numbers that every member sends to this one.
    fn numbers_to_all(&self, own: &[u64]) -> Result<Vec<u64>> {
        let sent: Vec<u8> = own.iter().flat_map(|number| number.to_le_bytes()).collect();
        let parts = || Parts::of(std::iter::repeat_n(8, self.size));
        let buffers = Buffers { sent_parts: parts(), ..Buffers::new(&sent, parts()) };
        let done = self.exchange(Exchange::ToAll, buffers)?;
        Ok(done.received.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number)).collect())
    }

    fn send_all(&self, root: usize, bytes: &mut [u8]) -> Result<()> {
        for part in bytes.chunks_mut(MESSAGE_BYTES_MAX) {
            let mut buffers = Buffers::new(&[], Parts::of(std::iter::once(part.len())));
            if self.rank == root {
                buffers.received[..part.len()].copy_from_slice(part);
            }
            let done = self.exchange(Exchange::Broadcast(root), buffers)?;
            part.copy_from_slice(&done.received[..part.len()]);
        }
        Ok(())
    }

    /// Sends the bytes of every member to all, one after another, because together they are too many.
    fn gather_in_turn(&self, bytes: &[u8], lengths: &[u64]) -> Result<Vec<Vec<u8>>> {
        let mut all: Vec<Vec<u8>> = lengths.iter().map(|len| vec![0; *len as usize]).collect();
        all[self.rank].copy_from_slice(bytes);
        for (root, bytes) in all.iter_mut().enumerate() {
            self.send_all(root, bytes)?;
        }
        Ok(all)
    }

    fn check_root(&self, call: &'static str, root: usize) -> Result<()> {
        if root < self.size { Ok(()) } else { Err(Error::invalid(call).with("root", root)) }
    }
}

/// Waits for the end of a call, as long as it makes sense.
fn wait<T>(mut pending: Pending<T>, wait_max: Duration, peers: &Peers) -> Result<T> {
    let begun = Instant::now();
    let (mut looked, mut missing) = (Duration::ZERO, None);
    let mut is_brief = peers.have_processors();
    loop {
        for _ in 0..TESTS {
            if let Some(result) = pending.test()? {
                return Ok(result);
            }
            match is_brief {
                true => std::hint::spin_loop(),
                false => system::thread::yield_now(),
            }
        }
        let waited = begun.elapsed();
        is_brief &= waited < BRIEF;
        if let Some((rank, since)) = missing
            && waited > since + LATE
        {
            return Err(gone().with("rank", rank));
        }
        if waited > looked + LOOK {
            looked = waited;
            missing = missing.or(peers.gone().map(|rank| (rank, waited)));
        }
        if waited >= wait_max {
            return Err(silent(waited));
        }
        if waited > LONG {
            system::thread::sleep(NAP);
        }
    }
}

/// Returns what is held while MPI is called.
fn alone(threading: Threading) -> Result<Option<MutexGuard<'static, ()>>> {
    match threading {
        Threading::Any => Ok(None),
        Threading::OneAtATime => Ok(Some(ONE_AT_A_TIME.lock())),
        Threading::Main if raw::is_main() => Ok(None),
        Threading::Main => Err(Error::invalid("call MPI")
            .with("problem", "the program began MPI for one thread, and this is another one")),
    }
}

fn silent(waited: Duration) -> Error {
    let silence = std::io::Error::new(std::io::ErrorKind::TimedOut, "other members keep silent");
    Error::io("wait for other members", &silence).with("seconds", waited.as_secs_f64())
}

impl Drop for Communicator {
    fn drop(&mut self) {
        if raw::is_running() && !self.is_broken() && alone(self.threading).is_ok() {
            self.own.free();
        }
    }
}

/// Returns how many of `len` bytes go in a round.
fn round_len(len: usize, round: usize, round_bytes: usize) -> usize {
    len.saturating_sub(round * round_bytes).min(round_bytes)
}

/// Returns the bytes that go in a round.
fn round_part(bytes: &[u8], round: usize, round_bytes: usize) -> &[u8] {
    let start = (round * round_bytes).min(bytes.len());
    &bytes[start..start + round_len(bytes.len(), round, round_bytes)]
}

/// Appends what came in a round to what came before.
fn add_parts(all: &mut [Vec<u8>], done: &Buffers) {
    for (bytes, part) in all.iter_mut().zip(done.parts.split(&done.received)) {
        bytes.extend_from_slice(part);
    }
}

impl Comm for Communicator {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let lengths = self.numbers(bytes.len() as u64)?;
        if lengths.iter().sum::<u64>() > MESSAGE_BYTES_MAX as u64 {
            return self.gather_in_turn(bytes, &lengths);
        }
        let parts = Parts::of(lengths.iter().map(|len| *len as usize));
        let done = self.exchange(Exchange::Gather, Buffers::new(bytes, parts))?;
        Ok(done.parts.split(&done.received).map(<[u8]>::to_vec).collect())
    }

    fn allgather_equal(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        if bytes.len() > self.round_bytes() {
            return self.gather_in_turn(bytes, &vec![bytes.len() as u64; self.size]);
        }
        let done = self.exchange(Exchange::GatherEqual, Buffers::of_bytes(bytes, bytes.len() * self.size))?;
        let part = |rank| done.received[rank * bytes.len()..][..bytes.len()].to_vec();
        Ok((0..self.size).map(part).collect())
    }

    fn gather(&self, root: usize, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.check_root("gather", root)?;
        let lengths = self.numbers(bytes.len() as u64)?;
        let most = self.round_bytes();
        let rounds = lengths.iter().max().map_or(0, |len| (*len as usize).div_ceil(most));
        let mut all = vec![Vec::new(); if self.rank == root { self.size } else { 0 }];
        for round in 0..rounds {
            let lengths = lengths.iter().filter(|_| self.rank == root);
            let parts = Parts::of(lengths.map(|len| round_len(*len as usize, round, most)));
            let buffers = Buffers::new(round_part(bytes, round, most), parts);
            add_parts(&mut all, &self.exchange(Exchange::GatherTo(root), buffers)?);
        }
        Ok(all)
    }

    fn alltoall(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        if to.len() != self.size {
            return Err(Error::invalid("send to all").with("messages", to.len()).with("members", self.size));
        }
        let lengths = self.numbers_to_all(&to.iter().map(|bytes| bytes.len() as u64).collect::<Vec<_>>())?;
        let most = self.round_bytes();
        let longest = to.iter().map(Vec::len).max().unwrap_or(0) as u64;
        let rounds = self.allreduce(longest.div_ceil(most as u64), crate::Reduce::Max)? as usize;
        let mut all = vec![Vec::new(); self.size];
        for round in 0..rounds {
            let sent: Vec<&[u8]> = to.iter().map(|bytes| round_part(bytes, round, most)).collect();
            let sent_parts = Parts::of(sent.iter().map(|part| part.len()));
            let parts = Parts::of(lengths.iter().map(|len| round_len(*len as usize, round, most)));
            let buffers = Buffers { sent_parts, ..Buffers::new(&sent.concat(), parts) };
            add_parts(&mut all, &self.exchange(Exchange::ToAll, buffers)?);
        }
        Ok(all)
    }

    fn bcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()> {
        self.check_root("broadcast", root)?;
        // Most messages are small: they go with their length.
        let mut first = [0u8; FIRST_BYTES];
        if self.rank == root {
            let small = bytes.len().min(FIRST_BYTES - 8);
            first[..8].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            first[8..8 + small].copy_from_slice(&bytes[..small]);
        }
        self.send_all(root, &mut first)?;
        let (length, small) = first.split_at(8);
        let length = length.try_into().map_or(0, u64::from_le_bytes) as usize;
        bytes.resize(length, 0);
        match small.get(..length) {
            Some(small) => bytes.copy_from_slice(small),
            None => self.send_all(root, bytes)?,
        }
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        self.exchange(Exchange::Barrier, Buffers::new(&[], Parts::default())).map(drop)
    }

    fn numbers(&self, number: u64) -> Result<Vec<u64>> {
        let all = self.allgather_equal(&number.to_le_bytes())?;
        Ok(all.into_iter().filter_map(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes).collect())
    }
}
