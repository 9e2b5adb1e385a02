//! The log datasets: their numbers, and where their bytes are in the file.

use std::collections::BTreeMap;

use model::{Error, Result};

use crate::table::EntryOffset;

/// The bytes of one log dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// All log datasets of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Logs {
    by_number: BTreeMap<u64, Log>,
    by_offset: BTreeMap<u64, u64>,
}

fn outside(place: EntryOffset) -> Error {
    Error::corrupt("find an entry of the log")
        .with("place", format!("{place:?}"))
        .with("problem", "no log is there")
}

impl Logs {
    pub(crate) fn insert(&mut self, number: u64, log: Log) {
        self.by_number.insert(number, log);
        self.by_offset.insert(log.offset, log.bytes);
    }

    /// Returns the logs by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Log)> {
        self.by_number.iter().map(|(number, log)| (*number, *log))
    }

    /// Returns the number of the next log.
    pub(crate) fn next(&self) -> u64 {
        self.by_number.last_key_value().map_or(0, |(number, _)| number.saturating_add(1))
    }

    /// Returns the number of bytes of all logs.
    pub(crate) fn bytes(&self) -> u64 {
        self.by_number.values().fold(0, |n, log| n.saturating_add(log.bytes))
    }

    /// Returns the log around a place: the offset of the place in the file, and the bytes from there to the end of the log.
    fn around(&self, place: EntryOffset) -> Result<(u64, u64)> {
        let found = match place {
            EntryOffset::Log(number, offset) => {
                let log = self.by_number.get(&number).filter(|log| offset <= log.bytes);
                log.map(|log| (log.offset + offset, log.bytes - offset))
            }
            EntryOffset::File(at) => self.by_offset.range(..=at).next_back().and_then(|(&start, &bytes)| {
                let left = bytes.checked_sub(at - start)?;
                Some((at, left))
            }),
        };
        found.ok_or_else(|| outside(place))
    }

    /// Returns the offset in the file of `bytes` bytes that lie in one log.
    pub(crate) fn find(&self, place: EntryOffset, bytes: u64) -> Result<u64> {
        let (at, left) = self.around(place)?;
        if bytes <= left { Ok(at) } else { Err(outside(place).with("bytes", bytes)) }
    }

    /// Returns the same for bytes whose number is not known but for a bound.
    pub(crate) fn find_up_to(&self, place: EntryOffset, bytes_max: u64) -> Result<(u64, u64)> {
        let (at, left) = self.around(place)?;
        Ok((at, left.min(bytes_max)))
    }

    /// Returns a place as an offset in the file, where it is known.
    pub(crate) fn in_file(&self, place: EntryOffset) -> EntryOffset {
        self.around(place).map_or(place, |(at, _)| EntryOffset::File(at))
    }

    /// Returns a place as a log and an offset in it, where it is known.
    pub(crate) fn in_log(&self, place: EntryOffset) -> EntryOffset {
        let EntryOffset::File(at) = place else { return place };
        let around = |(_, log): &(u64, Log)| at >= log.offset && at - log.offset <= log.bytes;
        self.iter().find(around).map_or(place, |(number, log)| EntryOffset::Log(number, at - log.offset))
    }
}
