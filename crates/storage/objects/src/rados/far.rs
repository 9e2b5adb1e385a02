//! Large bytes in data objects: number n has the bytes from n times 4 MiB on.

use super::core::Core;
use super::ffi::{Read, Write};
use super::{AT_ONCE, STRIPE_BYTES, failed};
use crate::layout::writer::{Far, ReadRange};
use crate::{Error, Result};

/// Bytes of a key's value at most: an object of its own costs another round trip.
const NEAR_BYTES_MAX: u64 = 8 << 10;
const WINDOW_BYTES: u64 = 256 << 10;

/// Another process may remove what is just being read: then the keys are asked for again.
const TRIES_MAX: usize = 20;

/// Tries again while data objects are missing.
pub(super) fn again<T>(mut work: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..TRIES_MAX {
        match work() {
            Err(Error::Corrupt(_)) => {}
            other => return other,
        }
    }
    work()
}

/// Returns the name of a data object.
pub(super) fn data(number: u64) -> String {
    format!("d.{number:016x}")
}

impl Far for Core {
    fn near_bytes_max(&self) -> u64 {
        NEAR_BYTES_MAX
    }

    fn window_bytes(&self) -> u64 {
        WINDOW_BYTES
    }

    fn has_sums(&self) -> bool {
        // BlueStore, which every OSD stands on, has a checksum for each 4 KiB and verifies it when it reads. With ours a
        // small write would have to read its surroundings first.
        false
    }

    fn take(&self, length: u64) -> Result<u64> {
        let first = self.take_data(length.div_ceil(STRIPE_BYTES))?;
        first.checked_mul(STRIPE_BYTES).ok_or_else(|| Error::TooLarge("no data objects are left".into()))
    }

    /// Begins to write; a flush waits for the end.
    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let (mut at, mut rest) = (at, bytes);
        while !rest.is_empty() {
            let (number, offset) = (at / STRIPE_BYTES, at % STRIPE_BYTES);
            let (now, later) = rest.split_at(rest.len().min((STRIPE_BYTES - offset) as usize));
            let write = Write { bytes: Some((offset, now)), ..Write::default() };
            let begun = self.names.begin(&data(number), &write).map_err(failed("write to the cluster"))?;
            self.flight.add(number, now.len(), begun);
            (at, rest) = (at + now.len() as u64, later);
        }
        Ok(())
    }

    fn read(&self, pieces: Vec<ReadRange<'_>>) -> Result<()> {
        let mut reads: Vec<Read<'_>> = pieces.into_iter().flat_map(split).collect();
        if reads.is_empty() {
            return Ok(());
        }
        let numbers: std::collections::HashSet<&str> = reads.iter().map(|read| read.name.as_str()).collect();
        self.flight.wait_for(|number| numbers.contains(data(number).as_str()));
        let codes = self.names.read(&mut reads, AT_ONCE).map_err(failed("read from the cluster"))?;
        for (read, code) in reads.iter().zip(codes) {
            match usize::try_from(code) {
                Ok(length) if length == read.into.len() => {}
                Err(_) if code != super::ffi::NOT_FOUND => return Err(failed("read from the cluster")(code)),
                _ => {
                    return Err(Error::Corrupt(format!("data object {} is missing or too short", read.name)));
                }
            }
        }
        Ok(())
    }
}

/// Returns a piece as parts of data objects.
fn split(piece: ReadRange<'_>) -> Vec<Read<'_>> {
    let (mut at, mut rest, mut reads) = (piece.at, piece.into, Vec::new());
    while !rest.is_empty() {
        let offset = at % STRIPE_BYTES;
        let length = rest.len().min((STRIPE_BYTES - offset) as usize);
        let (into, later) = rest.split_at_mut(length);
        reads.push(Read { name: data(at / STRIPE_BYTES), offset, into });
        (at, rest) = (at + length as u64, later);
    }
    reads
}
