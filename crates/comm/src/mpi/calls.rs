//! The thread that calls MPI.

use std::sync::mpsc::{Receiver, Sender};

use model::{Error, Result};
use mpi::Threading;
use mpi::collective::{CommunicatorCollectives, Root, SystemOperation};
use mpi::datatype::{Partition, PartitionMut};
use mpi::environment::Universe;
use mpi::topology::{Communicator, SimpleCommunicator};

use crate::Reduce;

/// Bytes of one message: MPI counts in 31 bits.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

/// Bytes of a message that may hold all there is to say.
const FIRST_BYTES: usize = 1024;

/// A call of MPI.
pub(super) enum Call {
    Gather(Vec<u8>),
    GatherEqual(Vec<u8>),
    GatherTo(usize, Vec<u8>),
    ToAll(Vec<Vec<u8>>),
    Broadcast(usize, Vec<u8>),
    Reduce(u64, Reduce),
    Scan(u64),
    Barrier,
}

/// The result of a call.
pub(super) enum Answer {
    All(Vec<Vec<u8>>),
    Bytes(Vec<u8>),
    Number(u64),
}

fn begin() -> Result<(Universe, World)> {
    let begun = mpi::initialize_with_threading(Threading::Serialized);
    let (universe, threading) =
        begun.ok_or_else(|| Error::invalid("begin MPI").with("problem", "it was begun before"))?;
    if threading < Threading::Serialized {
        return Err(Error::unsupported("use MPI from several threads"));
    }
    let all = SimpleCommunicator::world();
    let (rank, size) = (all.rank() as usize, all.size() as usize);
    Ok((universe, World { all, rank, size }))
}

/// Begins MPI, tells rank and size, answers calls until no more are to come, and ends MPI.
pub(super) fn serve(begun: &Sender<Result<(usize, usize)>>, asked: &Receiver<Call>, answer: &Sender<Answer>) {
    let (universe, world) = match begin() {
        Ok((universe, world)) => (universe, world),
        // Where no one waits for it, no one wants to know.
        Err(error) => return drop(begun.send(Err(error))),
    };
    let mut is_wanted = begun.send(Ok((world.rank, world.size))).is_ok();
    while let Some(call) = asked.recv().ok().filter(|_| is_wanted) {
        is_wanted = answer.send(world.answer(call)).is_ok();
    }
    drop(universe);
}

/// All processes of the job.
struct World {
    all: SimpleCommunicator,
    rank: usize,
    size: usize,
}

impl World {
    fn answer(&self, call: Call) -> Answer {
        match call {
            Call::Gather(bytes) => Answer::All(self.gather(&bytes)),
            Call::GatherEqual(bytes) => Answer::All(self.gather_equal(&bytes)),
            Call::GatherTo(root, bytes) => Answer::All(self.gather_to(root, &bytes)),
            Call::ToAll(to) => Answer::All(self.to_all(&to)),
            Call::Broadcast(root, bytes) => Answer::Bytes(self.broadcast(root, bytes)),
            Call::Reduce(number, reduce) => Answer::Number(self.reduce(number, reduce)),
            Call::Scan(number) => Answer::Number(self.scan(number)),
            Call::Barrier => {
                self.all.barrier();
                Answer::Number(0)
            }
        }
    }

    fn send_all(&self, root: usize, bytes: &mut [u8]) {
        let root = self.all.process_at_rank(root as i32);
        bytes.chunks_mut(MESSAGE_BYTES_MAX).for_each(|part| root.broadcast_into(part));
    }

    fn gather(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lengths = vec![0u64; self.size];
        self.all.all_gather_into(&(bytes.len() as u64), &mut lengths[..]);
        let total: u64 = lengths.iter().sum();
        if total > MESSAGE_BYTES_MAX as u64 {
            let mut all: Vec<Vec<u8>> = lengths.iter().map(|len| vec![0; *len as usize]).collect();
            all[self.rank].copy_from_slice(bytes);
            all.iter_mut().enumerate().for_each(|(root, bytes)| self.send_all(root, bytes));
            return all;
        }
        let counts: Vec<i32> = lengths.iter().map(|len| *len as i32).collect();
        let starts: Vec<i32> = counts.iter().scan(0, |at, n| Some(std::mem::replace(at, *at + n))).collect();
        let mut joined = vec![0u8; total as usize];
        let mut partition = PartitionMut::new(&mut joined[..], counts.as_slice(), starts.as_slice());
        self.all.all_gather_varcount_into(somewhere(bytes), &mut partition);
        let part = |(&start, &count): (&i32, &i32)| joined[start as usize..][..count as usize].to_vec();
        starts.iter().zip(&counts).map(part).collect()
    }

    fn gather_equal(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        if bytes.is_empty() {
            self.all.barrier();
            return vec![Vec::new(); self.size];
        }
        let mut joined = vec![0u8; bytes.len() * self.size];
        self.all.all_gather_into(bytes, &mut joined[..]);
        joined.chunks_exact(bytes.len()).map(<[u8]>::to_vec).collect()
    }

    /// Bytes that one message of a round has at most: what all ranks send together is counted in 31 bits, too.
    fn round_bytes(&self) -> usize {
        (MESSAGE_BYTES_MAX / self.size).max(1)
    }

    fn gather_to(&self, root: usize, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lengths = vec![0u64; self.size];
        self.all.all_gather_into(&(bytes.len() as u64), &mut lengths[..]);
        let rounds = lengths.iter().max().map_or(0, |most| most.div_ceil(self.round_bytes() as u64));
        let mut all = vec![Vec::new(); if self.rank == root { self.size } else { 0 }];
        for round in 0..rounds as usize {
            let part = somewhere(round_part(bytes, round, self.round_bytes()));
            let process = self.all.process_at_rank(root as i32);
            if self.rank != root {
                process.gather_varcount_into(part);
                continue;
            }
            let lengths = lengths.iter().map(|len| round_len(*len as usize, round, self.round_bytes()));
            let (counts, starts, mut joined) = space_for(lengths);
            let mut partition = PartitionMut::new(&mut joined[..], counts.as_slice(), starts.as_slice());
            process.gather_varcount_into_root(part, &mut partition);
            add_parts(&mut all, &joined, &counts, &starts);
        }
        all
    }

    fn to_all(&self, to: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let own: Vec<u64> = to.iter().map(|bytes| bytes.len() as u64).collect();
        let mut lengths = vec![0u64; self.size];
        self.all.all_to_all_into(&own[..], &mut lengths[..]);
        let most = own.iter().chain(&lengths).max().copied().unwrap_or(0);
        let rounds = self.reduce(most.div_ceil(self.round_bytes() as u64), Reduce::Max);
        let mut all = vec![Vec::new(); self.size];
        for round in 0..rounds as usize {
            let parts: Vec<&[u8]> =
                to.iter().map(|bytes| round_part(bytes, round, self.round_bytes())).collect();
            let (sent_counts, sent_starts, _) = space_for(parts.iter().map(|part| part.len()));
            let mut sent = parts.concat();
            sent.push(0);
            let lengths = lengths.iter().map(|len| round_len(*len as usize, round, self.round_bytes()));
            let (counts, starts, mut joined) = space_for(lengths);
            let send = Partition::new(&sent[..], sent_counts.as_slice(), sent_starts.as_slice());
            let mut receive = PartitionMut::new(&mut joined[..], counts.as_slice(), starts.as_slice());
            self.all.all_to_all_varcount_into(&send, &mut receive);
            add_parts(&mut all, &joined, &counts, &starts);
        }
        all
    }

    fn broadcast(&self, root: usize, mut bytes: Vec<u8>) -> Vec<u8> {
        // Most messages are small: they go with their length.
        let mut first = [0u8; FIRST_BYTES];
        if self.rank == root {
            let small = bytes.len().min(FIRST_BYTES - 8);
            first[..8].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            first[8..8 + small].copy_from_slice(&bytes[..small]);
        }
        self.send_all(root, &mut first);
        let (length, small) = first.split_at(8);
        let length = length.try_into().map_or(0, u64::from_le_bytes) as usize;
        bytes.resize(length, 0);
        match small.get(..length) {
            Some(small) => bytes.copy_from_slice(small),
            None => self.send_all(root, &mut bytes),
        }
        bytes
    }

    fn reduce(&self, number: u64, reduce: Reduce) -> u64 {
        let (operation, mut all) = match reduce {
            Reduce::Sum => (SystemOperation::sum(), 0),
            Reduce::Max => (SystemOperation::max(), 0),
            Reduce::Min => (SystemOperation::min(), 0),
        };
        self.all.all_reduce_into(&number, &mut all, operation);
        all
    }

    fn scan(&self, number: u64) -> u64 {
        let mut before = 0;
        self.all.exclusive_scan_into(&number, &mut before, SystemOperation::sum());
        // MPI leaves the first member's result as it was.
        if self.rank == 0 { 0 } else { before }
    }
}

/// Returns bytes that lie somewhere, though there may be none: the address that Rust gives to an empty slice of bytes is what
/// MPI libraries call `MPI_IN_PLACE`.
fn somewhere(bytes: &[u8]) -> &[u8] {
    static NOTHING: [u8; 1] = [0];
    if bytes.is_empty() { &NOTHING[..0] } else { bytes }
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

/// Returns lengths as MPI counts them, where each part starts, and space for all of them.
fn space_for(lengths: impl Iterator<Item = usize>) -> (Vec<i32>, Vec<i32>, Vec<u8>) {
    let counts: Vec<i32> = lengths.map(|len| len as i32).collect();
    let starts: Vec<i32> = counts.iter().scan(0, |at, n| Some(std::mem::replace(at, *at + n))).collect();
    let total: usize = counts.iter().map(|count| *count as usize).sum();
    // One byte more: see `somewhere`.
    (counts, starts, vec![0; total + 1])
}

/// Appends what came in a round to what came before.
fn add_parts(all: &mut [Vec<u8>], joined: &[u8], counts: &[i32], starts: &[i32]) {
    for (bytes, (start, count)) in all.iter_mut().zip(starts.iter().zip(counts)) {
        bytes.extend_from_slice(&joined[*start as usize..][..*count as usize]);
    }
}
