//! The log datasets: their numbers, and where their bytes are.

use std::collections::BTreeMap;

use model::{Error, Result};

use crate::table::EntryOffset;

/// Bytes of a log that lie in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// 0 is the file itself, others are its subfiles, from 1.
    pub(crate) file: u32,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Segment {
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// The bytes of one log dataset, one segment after another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) segments: Vec<Segment>,
}

impl Log {
    /// Returns a log in the file itself.
    pub(crate) fn in_file(offset: u64, bytes: u64) -> Self {
        Log { segments: vec![Segment { file: 0, offset, bytes }] }
    }

    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments.iter().fold(0, |n, segment| n.saturating_add(segment.bytes))
    }

    /// Returns where byte `offset` of the log is, and what of its segment follows.
    fn at(&self, mut offset: u64) -> Option<Segment> {
        for segment in &self.segments {
            if offset < segment.bytes || (offset == segment.bytes && self.segments.len() == 1) {
                let (file, bytes) = (segment.file, segment.bytes - offset);
                return Some(Segment { file, offset: segment.offset.checked_add(offset)?, bytes });
            }
            offset -= segment.bytes;
        }
        None
    }
}

/// All log datasets of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Logs {
    by_number: BTreeMap<u64, Log>,
    /// Logs in the file itself: bytes by offset.
    by_offset: BTreeMap<u64, u64>,
}

fn outside(place: EntryOffset) -> Error {
    Error::corrupt("find an entry of the log")
        .with("place", format!("{place:?}"))
        .with("problem", "no log is there")
}

impl Logs {
    pub(crate) fn insert(&mut self, number: u64, log: Log) {
        let own = log.segments.iter().filter(|segment| segment.file == 0);
        self.by_offset.extend(own.map(|segment| (segment.offset, segment.bytes)));
        self.by_number.insert(number, log);
    }

    /// Returns the logs by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Log)> {
        self.by_number.iter().map(|(number, log)| (*number, log))
    }

    /// Returns the number of the next log.
    pub(crate) fn next(&self) -> u64 {
        self.by_number.last_key_value().map_or(0, |(number, _)| number.saturating_add(1))
    }

    /// Returns the number of bytes of all logs.
    pub(crate) fn bytes(&self) -> u64 {
        self.by_number.values().fold(0, |n, log| n.saturating_add(log.bytes()))
    }

    /// Returns where the bytes of logs end in a subfile.
    pub(crate) fn end_in(&self, file: u32) -> u64 {
        let segments = self.by_number.values().flat_map(|log| &log.segments);
        segments.filter(|segment| segment.file == file).map(Segment::end).max().unwrap_or(0)
    }

    /// Returns the subfiles that logs lie in.
    pub(crate) fn subfiles(&self) -> Vec<u32> {
        let segments = self.by_number.values().flat_map(|log| &log.segments);
        let mut files: Vec<u32> = segments.map(|segment| segment.file).filter(|file| *file > 0).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Returns where a place is, and what of its log follows in one piece.
    fn around(&self, place: EntryOffset) -> Result<Segment> {
        let found = match place {
            EntryOffset::Log(number, offset) => self.by_number.get(&number).and_then(|log| log.at(offset)),
            EntryOffset::File(at) => self.by_offset.range(..=at).next_back().and_then(|(&start, &bytes)| {
                Some(Segment { file: 0, offset: at, bytes: bytes.checked_sub(at - start)? })
            }),
        };
        found.ok_or_else(|| outside(place))
    }

    /// Returns where `bytes` bytes are that lie in one piece.
    pub(crate) fn find(&self, place: EntryOffset, bytes: u64) -> Result<Segment> {
        let found = self.around(place)?;
        match bytes <= found.bytes {
            true => Ok(Segment { bytes, ..found }),
            false => Err(outside(place).with("bytes", bytes)),
        }
    }

    /// Returns where up to `bytes_max` bytes are that lie in one piece.
    pub(crate) fn find_up_to(&self, place: EntryOffset, bytes_max: u64) -> Result<Segment> {
        let found = self.around(place)?;
        Ok(Segment { bytes: found.bytes.min(bytes_max), ..found })
    }

    /// Returns a place as an offset in the file, where it is known and in the file itself.
    pub(crate) fn in_file(&self, place: EntryOffset) -> EntryOffset {
        match self.around(place) {
            Ok(Segment { file: 0, offset, .. }) => EntryOffset::File(offset),
            _ => place,
        }
    }

    /// Returns a place as a log and an offset in it, where it is known.
    pub(crate) fn in_log(&self, place: EntryOffset) -> EntryOffset {
        let EntryOffset::File(at) = place else { return place };
        for (number, log) in self.iter() {
            let mut before = 0;
            for segment in &log.segments {
                if segment.file == 0 && at >= segment.offset && at <= segment.end() {
                    return EntryOffset::Log(number, before + (at - segment.offset));
                }
                before += segment.bytes;
            }
        }
        place
    }
}
