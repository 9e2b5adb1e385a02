//! Heads of objects: the scratch pad, what an array is, and a checksum over both.

use crate::checksum::crc32;
use crate::id::PAD_BYTES;
use crate::{Error, Id, Kind, Result, ScratchPad};

/// The akey of a head.
pub(crate) const HEAD: &[u8] = &[0];
/// The most dimensions of an array.
pub(crate) const RANK_MAX: usize = 32;

const SUM_BYTES: usize = 4;

/// The head of every object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) pad: ScratchPad,
    pub(crate) shape: Option<Shape>,
}

/// The shape of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) cell_bytes: u32,
    pub(crate) dims: Vec<u64>,
    /// Cells that lie together.
    pub(crate) block: Vec<u64>,
    /// Whether its maker asked for them.
    pub(crate) is_chunked: bool,
}

fn damaged(id: Id, problem: &str) -> Error {
    Error::Corrupt(format!("{id} is damaged: {problem}"))
}

impl Head {
    pub(crate) fn new(pad: ScratchPad) -> Head {
        Head { pad, shape: None }
    }

    /// Returns the scratch pad, what an array is, and the checksum of these bytes; the content of a small blob may follow.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = self.pad.to_bytes().to_vec();
        if let Some(shape) = &self.shape {
            out.extend(shape.cell_bytes.to_le_bytes());
            out.extend([u8::from(shape.is_chunked), shape.dims.len() as u8]);
            shape.dims.iter().chain(&shape.block).for_each(|len| out.extend(len.to_le_bytes()));
        }
        out.extend(crc32(&out).to_le_bytes());
        out
    }

    /// Returns the head of an object, and what follows it.
    pub(crate) fn decode(id: Id, bytes: &[u8]) -> Result<(Head, &[u8])> {
        let short = || damaged(id, "its head ends early");
        let is_array = id.kind() == Some(Kind::Array);
        let pad = bytes.first_chunk::<PAD_BYTES>().ok_or_else(short)?;
        let (shape, len) = match is_array {
            true => Shape::decode(bytes.get(PAD_BYTES..).unwrap_or_default()).ok_or_else(short)?,
            false => (None, 0),
        };
        let (covered, rest) = bytes.split_at_checked(PAD_BYTES + len).ok_or_else(short)?;
        let (sum, rest) = rest.split_first_chunk::<SUM_BYTES>().ok_or_else(short)?;
        if u32::from_le_bytes(*sum) != crc32(covered) {
            return Err(damaged(id, "the checksum of its scratch pad is another one"));
        }
        let head = Head { pad: ScratchPad::from_bytes(pad), shape };
        head.check(id)?;
        Ok((head, rest))
    }

    fn check(&self, id: Id) -> Result<()> {
        match &self.shape {
            Some(shape) if !shape.is_possible() => Err(damaged(id, "its blocks do not fit its dimensions")),
            _ => Ok(()),
        }
    }
}

impl Shape {
    /// Returns the shape at the begin of bytes, and how many it takes.
    fn decode(bytes: &[u8]) -> Option<(Option<Shape>, usize)> {
        let (cell_bytes, rest) = bytes.split_first_chunk()?;
        let ([is_chunked, rank], rest) = rest.split_first_chunk()?;
        let rank = usize::from(*rank);
        let numbers = rest.get(..16 * rank)?.as_chunks().0;
        let numbers: Vec<u64> = numbers.iter().map(|number| u64::from_le_bytes(*number)).collect();
        let (dims, block) = numbers.split_at(rank);
        let shape = Shape {
            cell_bytes: u32::from_le_bytes(*cell_bytes),
            dims: dims.to_vec(),
            block: block.to_vec(),
            is_chunked: *is_chunked != 0,
        };
        Some((Some(shape), 6 + 16 * rank))
    }

    pub(crate) fn is_possible(&self) -> bool {
        let cells = self.block.iter().try_fold(1u64, |n, &len| n.checked_mul(len));
        let bytes = cells.and_then(|cells| cells.checked_mul(self.cell_bytes.into()));
        self.cell_bytes > 0
            && self.dims.len() <= RANK_MAX
            && self.dims.len() == self.block.len()
            && bytes.is_some_and(|bytes| (1..=i64::MAX as u64).contains(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_back_and_broken_ones_are_errors() {
        let shape = Shape { cell_bytes: 4, dims: vec![7, 5], block: vec![2, 5], is_chunked: true };
        for (id, shape) in [(Id::new(Kind::Array, 1), Some(shape)), (Id::new(Kind::KeyValue, 1), None)] {
            let head = Head { pad: ScratchPad::with(&[Id(9)]), shape };
            let bytes = head.encode();
            assert_eq!(Head::decode(id, &bytes).unwrap(), (head, &[][..]));
            for at in 0..bytes.len() {
                let mut broken = bytes.clone();
                broken[at] ^= 0x10;
                assert!(Head::decode(id, &broken).is_err(), "{id} byte {at}");
                assert!(Head::decode(id, &bytes[..at]).is_err(), "{id} {at} bytes");
            }
        }
    }
}
