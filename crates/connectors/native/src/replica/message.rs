//! The changes that a leader sends to its followers.

use std::ops::Range;

use model::bytes::Cursor;
use model::{Error, Result};

/// What changed since the last message. Offsets count from the start of the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Bytes of earlier messages are out of date: the file has them now, or they are here again.
    pub(crate) is_anew: bool,
    /// There was a commit: space that was recent before is its.
    pub(crate) is_committed: bool,
    /// One past the last byte that is allocated.
    pub(crate) end: u64,
    /// Bytes that only a commit writes.
    pub(crate) reserved: Range<u64>,
    /// Space for elements that was allocated since, where the last commit has nothing.
    pub(crate) recent: Vec<Range<u64>>,
    /// Bytes that are not in the file.
    pub(crate) pieces: Vec<(u64, Vec<u8>)>,
}

impl Changes {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let pieces: usize = self.pieces.iter().map(|(_, bytes)| bytes.len() + 16).sum();
        let mut out = Vec::with_capacity(64 + 16 * self.recent.len() + pieces);
        out.extend_from_slice(&[u8::from(self.is_anew), u8::from(self.is_committed)]);
        let head = [self.end, self.reserved.start, self.reserved.end, self.recent.len() as u64];
        let recent = self.recent.iter().flat_map(|range| [range.start, range.end]);
        put_numbers(head.into_iter().chain(recent).chain([self.pieces.len() as u64]), &mut out);
        for (at, bytes) in &self.pieces {
            put_numbers([*at, bytes.len() as u64].into_iter(), &mut out);
            out.extend_from_slice(bytes);
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Changes> {
        let mut from = Cursor::new(bytes, "changes of a leader");
        let (is_anew, is_committed) = (from.u8()? == 1, from.u8()? == 1);
        let end = from.u64()?;
        let reserved = from.u64()?..from.u64()?;
        let count = from.u64()?;
        let recent = (0..count).map(|_| Ok(from.u64()?..from.u64()?)).collect::<Result<_>>()?;
        let count = from.u64()?;
        let piece = |_| {
            let (at, len) = (from.u64()?, from.u64()?);
            let len = usize::try_from(len).map_err(|_| Error::limit("read changes").with("bytes", len))?;
            Ok((at, from.take(len)?.to_vec()))
        };
        let pieces = (0..count).map(piece).collect::<Result<_>>()?;
        Ok(Changes { is_anew, is_committed, end, reserved, recent, pieces })
    }
}

fn put_numbers(numbers: impl Iterator<Item = u64>, out: &mut Vec<u8>) {
    numbers.for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_arrive_as_they_were_sent() {
        let changes = Changes {
            is_anew: true,
            is_committed: false,
            end: 4096,
            reserved: 96..160,
            recent: vec![200..300, 400..4096],
            pieces: vec![(0, vec![1, 2, 3]), (77, Vec::new())],
        };
        let bytes = changes.encode();
        assert_eq!(Changes::decode(&bytes).unwrap(), changes);
        (0..bytes.len()).for_each(|end| assert!(Changes::decode(&bytes[..end]).is_err(), "{end}"));
    }
}
