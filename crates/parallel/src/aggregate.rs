//! Small scattered elements, written collectively in two phases: ranks send them to aggregators, which write large pieces.
//!
//! The file is divided into stripes, and each stripe has one aggregator. It puts the elements of all ranks into one buffer per
//! stripe, with what the file has between them, and writes that at once: one request instead of thousands.

use std::ops::Range;

use model::{Error, Result, Selection};
use vol::{LeaderBytes, OpWrite, Placement};

use crate::group::Group;
use crate::placed::{self, RunWriter};

/// Bytes of a stripe, unless the caller says otherwise: what parallel file systems take as one.
const STRIPE_BYTES: u64 = 1 << 20;
/// Bytes of elements that a rank sends in one round: what aggregators hold is bounded by it.
const ROUND_BYTES: usize = 32 << 20;
/// So many runs are looked at to tell whether elements are scattered.
const SAMPLE: usize = 64;
/// Elements are scattered if their runs have fewer bytes than this: below it a request costs more than two copies.
const RUN_BYTES: u64 = 4 << 10;
/// Bytes around a run that may be read and written again to save a request.
const GAP_BYTES: u64 = 4 << 10;
/// Parts of a stripe that are written at once each, at most.
const PARTS_MAX: usize = 8;

/// Returns whether elements lie in many small runs.
pub(crate) fn is_scattered(placement: &Placement, selection: &Selection) -> bool {
    let Ok(runs) = selection.runs(&placement.dims) else { return false };
    let (count, elements) = runs.take(SAMPLE).fold((0, 0), |(count, sum), run| (count + 1, sum + run.len));
    count == SAMPLE && elements * u64::from(placement.element_bytes) < RUN_BYTES * SAMPLE as u64
}

/// Returns how many rounds the elements of scattered writes take.
pub(crate) fn rounds<'a>(writes: impl Iterator<Item = (&'a OpWrite<'a>, &'a Placement)>) -> u64 {
    let bytes: usize = writes.map(|(write, _)| write.from.len()).sum();
    bytes.div_ceil(ROUND_BYTES) as u64
}

/// Bytes with their offset in the file.
type FileRun<'d> = (u64, &'d [u8]);

/// One rank's part of a write in two phases.
pub(crate) struct Aggregation<'g> {
    group: &'g Group,
    stripe_bytes: u64,
    aggregators: u64,
    rounds_left: u64,
    /// Bytes of elements that wait for the next round.
    waiting: usize,
    /// What goes to each rank: offset, length and bytes of every run.
    to: Vec<Vec<u8>>,
    for_leader: Vec<LeaderBytes>,
    /// The first error. The rounds go on after it: others wait for this rank.
    done: Result<()>,
}

impl<'g> Aggregation<'g> {
    pub(crate) fn new(group: &'g Group, rounds: u64) -> Self {
        let ranks = group.ranks.0.size();
        let aggregators = group.options.aggregators.map_or(ranks as u64, u64::from);
        Aggregation {
            group,
            stripe_bytes: group.options.stripe_bytes.unwrap_or(STRIPE_BYTES).max(1),
            aggregators: aggregators.clamp(1, ranks as u64),
            rounds_left: rounds,
            waiting: 0,
            to: vec![Vec::new(); ranks],
            for_leader: Vec::new(),
            done: Ok(()),
        }
    }

    /// Remembers an error for the end.
    pub(crate) fn note(&mut self, done: Result<()>) {
        if self.done.is_ok() {
            self.done = done;
        }
    }

    /// Sends the elements of a write to the aggregators.
    pub(crate) fn add_all(&mut self, placement: &Placement, selection: &Selection, from: &[u8]) {
        let added = placed::each_run(placement, selection, from, |at, bytes| self.add(at, bytes));
        self.note(added);
    }

    fn add(&mut self, mut at: u64, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.waiting == ROUND_BYTES {
                self.exchange()?;
            }
            let in_stripe = self.stripe_bytes - at % self.stripe_bytes;
            let len = bytes.len().min(ROUND_BYTES - self.waiting).min(in_stripe.min(1 << 31) as usize);
            let (part, rest) = bytes.split_at(len);
            let owner = self.aggregator(at);
            put_run(&mut self.to[owner], at, part);
            self.waiting += len;
            (at, bytes) = (at + len as u64, rest);
        }
        Ok(())
    }

    /// Returns the rank that writes a stripe. Where not all ranks do, they are spread over the job and so over its machines.
    fn aggregator(&self, at: u64) -> usize {
        let number = at / self.stripe_bytes % self.aggregators;
        (number * self.to.len() as u64 / self.aggregators) as usize
    }

    /// One round: sends what waits, and writes what came.
    fn exchange(&mut self) -> Result<()> {
        let more = || Error::invalid("write elements").with("problem", "more rounds than were agreed on");
        self.rounds_left = self.rounds_left.checked_sub(1).ok_or_else(more)?;
        self.waiting = 0;
        let own = self.group.ranks.0.rank();
        let mut to: Vec<_> = self.to.iter_mut().map(std::mem::take).collect();
        let kept = std::mem::take(&mut to[own]);
        let mut received = self.group.ranks.0.alltoall(to)?;
        received[own] = kept;
        let written = self.write(&received);
        self.note(written);
        Ok(())
    }

    /// Makes the remaining rounds. Returns bytes that only the leader may write.
    pub(crate) fn finish(mut self) -> Result<Vec<LeaderBytes>> {
        while self.rounds_left > 0 {
            self.exchange()?;
        }
        self.done.map(|()| self.for_leader)
    }

    /// Writes what ranks sent, stripe by stripe.
    fn write(&mut self, received: &[Vec<u8>]) -> Result<()> {
        let mut runs = Vec::new();
        for message in received {
            take_runs(message, &mut runs)?;
        }
        let stripe = |run: &FileRun<'_>| run.0 / self.stripe_bytes;
        runs.sort_by_key(stripe);
        let mut writer = RunWriter::new(&*self.group.replica);
        let mut buffer = Vec::new();
        for runs in runs.chunk_by(|a, b| stripe(a) == stripe(b)) {
            self.write_stripe(runs, &mut writer, &mut buffer)?;
        }
        self.for_leader.extend(writer.finish()?);
        Ok(())
    }

    /// Writes what lies near to each other at once, and the rest run by run.
    fn write_stripe(
        &self,
        runs: &[FileRun<'_>],
        writer: &mut RunWriter<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<()> {
        let fresh = self.group.replica.fresh(span(runs));
        let fresh = if fresh.len() > PARTS_MAX { Vec::new() } else { fresh };
        for range in &fresh {
            let inside: Vec<_> = runs.iter().filter(|run| holds(range, run)).copied().collect();
            match are_near(&inside) {
                true => self.write_together(&inside, buffer)?,
                false => inside.iter().try_for_each(|(at, bytes)| writer.add(*at, bytes))?,
            }
        }
        // What a commit has between the elements is not this rank's to write again.
        let mut others = runs.iter().filter(|run| !fresh.iter().any(|range| holds(range, run)));
        others.try_for_each(|(at, bytes)| writer.add(*at, bytes))
    }

    /// Writes runs with what the file has between them. No one else writes there meanwhile.
    fn write_together(&self, runs: &[FileRun<'_>], buffer: &mut Vec<u8>) -> Result<()> {
        let (replica, span) = (&*self.group.replica, span(runs));
        buffer.resize((span.end - span.start) as usize, 0);
        if !is_whole(runs, &span) {
            replica.read(span.start, buffer)?;
        }
        for (at, bytes) in runs {
            buffer[(at - span.start) as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        replica.write(&[(span.start, buffer)])
    }
}

fn holds(range: &Range<u64>, (at, bytes): &FileRun<'_>) -> bool {
    range.start <= *at && at + bytes.len() as u64 <= range.end
}

/// Returns whether one request for all runs costs less than one for each.
fn are_near(runs: &[FileRun<'_>]) -> bool {
    let span = span(runs);
    span.end.saturating_sub(span.start) / GAP_BYTES < runs.len() as u64
}

/// Returns the bytes from the first to the last of all runs.
fn span(runs: &[FileRun<'_>]) -> Range<u64> {
    let start = runs.iter().map(|(at, _)| *at).min();
    let end = runs.iter().map(|(at, bytes)| at + bytes.len() as u64).max();
    start.unwrap_or(0)..end.unwrap_or(0)
}

/// Returns whether runs leave no gap in their span.
fn is_whole(runs: &[FileRun<'_>], span: &Range<u64>) -> bool {
    let bytes: u64 = runs.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    if bytes < span.end - span.start {
        return false;
    }
    let mut ranges: Vec<_> = runs.iter().map(|(at, bytes)| (*at, at + bytes.len() as u64)).collect();
    ranges.sort_unstable();
    let end =
        ranges.iter().try_fold(span.start, |end, (start, stop)| (*start <= end).then(|| end.max(*stop)));
    end == Some(span.end)
}

fn put_run(out: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    out.extend_from_slice(&at.to_le_bytes());
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn take_runs<'d>(mut message: &'d [u8], runs: &mut Vec<FileRun<'d>>) -> Result<()> {
    let broken = || Error::invalid("write elements").with("problem", "a rank sent half a run");
    while !message.is_empty() {
        let (at, rest) = message.split_first_chunk().ok_or_else(broken)?;
        let (len, rest) = rest.split_first_chunk().ok_or_else(broken)?;
        let len = u32::from_le_bytes(*len) as usize;
        let (bytes, rest) = rest.split_at_checked(len).ok_or_else(broken)?;
        runs.push((u64::from_le_bytes(*at), bytes));
        message = rest;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_arrive_as_they_were_sent() {
        let mut message = Vec::new();
        put_run(&mut message, 7, &[1, 2, 3]);
        put_run(&mut message, 1 << 40, &[4]);
        let mut runs = Vec::new();
        take_runs(&message, &mut runs).unwrap();
        assert_eq!(runs, [(7, &[1u8, 2, 3][..]), (1 << 40, &[4][..])]);
        assert!(take_runs(&message[..message.len() - 1], &mut Vec::new()).is_err());
    }

    #[test]
    fn a_span_without_gaps_is_whole() {
        let bytes = [0u8; 8];
        let runs = [(4u64, &bytes[..4]), (0, &bytes[..4]), (2, &bytes[..8])];
        assert!(is_whole(&runs, &span(&runs)));
        let overlapping = [(0, &bytes[..4]), (0, &bytes[..4]), (6, &bytes[..2])];
        assert!(!is_whole(&overlapping, &span(&overlapping)), "as many bytes as the span has, and a gap");
    }
}
