//! The text of a log, with the lines that libhdf5's log driver has.

use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use system::clock::Instant;

use super::LogFlags;
use super::kinds::{self, KindMap};
use crate::DataKind;

/// An operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    Write,
    Truncate,
    Sync,
}

/// Number and time of an operation.
#[derive(Default)]
struct Total {
    count: u64,
    time: Duration,
}

/// Changes of a count that are remembered, at most.
const CHANGES_MAX: usize = 1 << 20;

/// Lines of one request, at most.
const RUNS_MAX: usize = 256;

/// How often bytes were touched: by how much the count changes at an address.
#[derive(Default)]
struct Coverage {
    changes: BTreeMap<u64, i64>,
    is_full: bool,
}

impl Coverage {
    fn add(&mut self, start: u64, end: u64) {
        self.is_full |= self.changes.len() >= CHANGES_MAX;
        if self.is_full || start >= end {
            return;
        }
        *self.changes.entry(start).or_default() += 1;
        *self.changes.entry(end).or_default() -= 1;
    }

    /// Returns ranges with the number of times that they were touched.
    fn runs(&self) -> Vec<(u64, u64, i64)> {
        let (mut runs, mut count, mut start): (Vec<(u64, u64, i64)>, _, _) = (Vec::new(), 0, 0);
        for (at, change) in self.changes.iter().filter(|(_, change)| **change != 0) {
            if count > 0 {
                runs.push((start, *at, count));
            }
            (count, start) = (count + change, *at);
        }
        runs
    }
}

pub(super) struct Trace {
    out: BufWriter<Box<dyn Write + Send>>,
    flags: LogFlags,
    tracked_end: u64,
    begun: Instant,
    reads: Total,
    writes: Total,
    truncates: Total,
    read: Coverage,
    written: Coverage,
    kinds: KindMap,
}

impl Trace {
    pub(super) fn new(out: Box<dyn Write + Send>, flags: LogFlags, tracked_end: u64) -> Self {
        Trace {
            out: BufWriter::new(out),
            flags,
            tracked_end,
            begun: Instant::now(),
            reads: Total::default(),
            writes: Total::default(),
            truncates: Total::default(),
            read: Coverage::default(),
            written: Coverage::default(),
            kinds: KindMap::default(),
        }
    }

    /// Writes a line. A log that cannot be written is given up silently: it is not the data.
    pub(super) fn line(&mut self, text: Arguments<'_>) {
        let _ = self.out.write_fmt(text).and_then(|()| self.out.write_all(b"\n"));
    }

    pub(super) fn flush(&mut self) {
        let _ = self.out.flush();
    }

    /// Labels bytes whose kind shows, unless their kind is known.
    pub(super) fn recognize(&mut self, offset: u64, bytes: &[u8]) {
        if self.kinds.at(offset).is_none()
            && let Some(kind) = kinds::recognized(bytes)
        {
            self.kinds.set(offset, offset.saturating_add(bytes.len() as u64), Some(kind));
        }
    }

    pub(super) fn allocated(&mut self, kind: DataKind, offset: u64, len: u64) {
        let end = offset.saturating_add(len);
        self.kinds.set(offset, end, Some(kind));
        if self.flags.has(LogFlags::ALLOC) {
            let kind = kinds::name(Some(kind));
            self.line(format_args!(
                "{offset:>10}-{:>10} ({len:>10} bytes) ({kind}) Allocated",
                end.saturating_sub(1)
            ));
        }
    }

    pub(super) fn freed(&mut self, offset: u64, len: u64) {
        let (end, kind) = (offset.saturating_add(len), kinds::name(self.kinds.at(offset)));
        if self.flags.has(LogFlags::FREE) {
            self.line(format_args!(
                "{offset:>10}-{:>10} ({len:>10} bytes) ({kind}) Freed",
                end.saturating_sub(1)
            ));
        }
        self.kinds.set(offset, end, None);
    }

    /// Notes an operation that took place.
    pub(super) fn note(
        &mut self,
        operation: Operation,
        offset: u64,
        len: u64,
        begun: Instant,
        took: Duration,
        failed: Option<&io::Error>,
    ) {
        let tracked = offset.min(self.tracked_end)..offset.saturating_add(len).min(self.tracked_end);
        let (total, where_flag, time_flag) = match operation {
            Operation::Read => (&mut self.reads, LogFlags::LOC_READ, LogFlags::TIME_READ),
            Operation::Write => (&mut self.writes, LogFlags::LOC_WRITE, LogFlags::TIME_WRITE),
            Operation::Truncate => (&mut self.truncates, LogFlags::TRUNCATE, LogFlags::TIME_TRUNCATE),
            Operation::Sync => (&mut Total::default(), LogFlags::TRUNCATE, LogFlags::TIME_TRUNCATE),
        };
        total.count += 1;
        total.time += took;
        match operation {
            Operation::Read if failed.is_none() && self.flags.has(LogFlags::FILE_READ) => {
                self.read.add(tracked.start, tracked.end);
            }
            Operation::Write if failed.is_none() && self.flags.has(LogFlags::FILE_WRITE) => {
                self.written.add(tracked.start, tracked.end);
            }
            _ => {}
        }
        if !self.flags.has(where_flag) {
            return;
        }
        let at = begun.duration_since(self.begun).as_secs_f64();
        let time = match self.flags.has(time_flag) {
            true => format!(" ({:.6}s @ {at:.6})", took.as_secs_f64()),
            false => String::new(),
        };
        let last = offset.saturating_add(len).saturating_sub(1);
        match (operation, failed) {
            (Operation::Read, None) => self.runs(offset, len, "Read", &time),
            (Operation::Write, None) => self.runs(offset, len, "Written", &time),
            (Operation::Read, Some(error)) => {
                self.line(format_args!("Error! Reading: {offset:>10}-{last:>10} ({len:>10} bytes): {error}"));
            }
            (Operation::Write, Some(error)) => {
                self.line(format_args!("Error! Writing: {offset:>10}-{last:>10} ({len:>10} bytes): {error}"));
            }
            (Operation::Truncate, None) => self.line(format_args!("Truncate: To {offset:>10}{time}")),
            (Operation::Truncate, Some(error)) => {
                self.line(format_args!("Error! Truncate: To {offset:>10}: {error}"));
            }
            (Operation::Sync, None) => self.line(format_args!("Sync{time}")),
            (Operation::Sync, Some(error)) => self.line(format_args!("Error! Sync: {error}")),
        }
    }

    /// Writes a line for each run of one kind that a request consists of: the connector joins what lies next to each other.
    fn runs(&mut self, offset: u64, len: u64, done: &str, time: &str) {
        for (start, end, kind) in self.kinds.runs(offset, offset.saturating_add(len), RUNS_MAX) {
            let (last, bytes, kind) = (end - 1, end - start, kinds::name(kind));
            self.line(format_args!("{start:>10}-{last:>10} ({bytes:>10} bytes) ({kind}) {done}{time}"));
        }
    }

    fn totals(&mut self) {
        let flags = self.flags;
        let counts = [
            (LogFlags::NUM_READ, "read", self.reads.count),
            (LogFlags::NUM_WRITE, "write", self.writes.count),
            (LogFlags::NUM_SEEK, "seek", 0),
            (LogFlags::NUM_TRUNCATE, "truncate", self.truncates.count),
        ];
        for (_, name, count) in counts.into_iter().filter(|(flag, ..)| flags.has(*flag)) {
            self.line(format_args!("Total number of {name} operations: {count}"));
        }
        let times = [
            (LogFlags::TIME_READ, "read", self.reads.time),
            (LogFlags::TIME_WRITE, "write", self.writes.time),
            (LogFlags::TIME_TRUNCATE, "truncate", self.truncates.time),
        ];
        for (_, name, time) in times.into_iter().filter(|(flag, ..)| flags.has(*flag)) {
            self.line(format_args!("Total time in {name} operations: {:.6} s", time.as_secs_f64()));
        }
    }

    fn coverage(&mut self, flag: LogFlags, name: &str, done: &str) {
        if !self.flags.has(flag) {
            return;
        }
        let coverage = if flag == LogFlags::FILE_READ { &self.read } else { &self.written };
        let (runs, is_full) = (coverage.runs(), coverage.is_full);
        self.line(format_args!("Dumping {name} I/O information:"));
        for (start, end, count) in runs {
            let (last, len) = (end - 1, end - start);
            self.line(format_args!(
                "\tAddr {start:>10}-{last:>10} ({len:>10} bytes) {done} {count:>3} times"
            ));
        }
        if is_full {
            self.line(format_args!("\t(not counted any further: too many ranges)"));
        }
    }

    fn flavors(&mut self) {
        if !self.flags.has(LogFlags::FLAVOR) {
            return;
        }
        self.line(format_args!("Dumping I/O flavor information:"));
        let ranges: Vec<_> = self.kinds.iter().collect();
        for (start, end, kind) in ranges {
            let (last, len, kind) = (end - 1, end - start, kinds::name(Some(kind)));
            self.line(format_args!("\tAddr {start:>10}-{last:>10} ({len:>10} bytes) flavor is {kind}"));
        }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.totals();
        self.coverage(LogFlags::FILE_WRITE, "write", "written to");
        self.coverage(LogFlags::FILE_READ, "read", "read from");
        self.flavors();
        self.flush();
    }
}
