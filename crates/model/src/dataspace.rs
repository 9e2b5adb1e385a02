//! Dataspaces: how many elements, in how many dimensions, and how far they may grow.

use crate::bytes::{Cursor, Put};
use crate::{Error, Result};

/// A maximum dimension, count or block without bound.
pub const UNLIMITED: u64 = u64::MAX;

/// The most dimensions a dataspace may have.
pub const RANK_MAX: usize = 32;

/// Properties of the surrounding file that decide the encoding of a dataspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Bytes of a length, from the superblock.
    pub length_bytes: u8,
}

impl Default for Format {
    fn default() -> Self {
        Format { length_bytes: 8 }
    }
}

/// Versions of the dataspace message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The original: scalar is rank 0, and null cannot be said.
    V1,
    /// From HDF5 1.8: shorter, and with a class of its own for null.
    V2,
}

/// An extent: no element, one element, or an array of elements.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Dataspace {
    /// No element.
    Null,
    /// One element without dimensions.
    Scalar,
    /// An array of 1 to 32 dimensions, slowest first.
    Simple(Simple),
}

/// The dimensions of an array: each at most its maximum.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Simple {
    dims: Vec<u64>,
    max_dims: Vec<u64>,
}

fn check(dims: &[u64], max_dims: &[u64]) -> Result<()> {
    if dims.len() != max_dims.len() {
        return Err(invalid("dims and maximum dims differ in number").with("maximum dims", max_dims.len()));
    }
    if dims.len() > RANK_MAX {
        return Err(invalid("too many dimensions").with("rank", dims.len()));
    }
    for (&dim, &max) in dims.iter().zip(max_dims) {
        if dim > max || dim == UNLIMITED {
            return Err(invalid("a dimension exceeds its maximum").with("dim", dim).with("max", max));
        }
    }
    Ok(())
}

impl Dataspace {
    /// Returns an array that keeps its size. No dimensions make a scalar.
    pub fn simple(dims: &[u64]) -> Result<Self> {
        Self::resizable(dims, dims)
    }

    /// Returns an array that may grow to `max_dims`, where [`UNLIMITED`] sets no bound.
    pub fn resizable(dims: &[u64], max_dims: &[u64]) -> Result<Self> {
        check(dims, max_dims)?;
        Ok(match dims {
            [] => Dataspace::Scalar,
            _ => Dataspace::Simple(Simple { dims: dims.to_vec(), max_dims: max_dims.to_vec() }),
        })
    }

    /// Returns the current size of each dimension; empty for null and scalar.
    pub fn dims(&self) -> &[u64] {
        match self {
            Dataspace::Simple(simple) => &simple.dims,
            _ => &[],
        }
    }

    /// Returns the maximum size of each dimension; empty for null and scalar.
    pub fn max_dims(&self) -> &[u64] {
        match self {
            Dataspace::Simple(simple) => &simple.max_dims,
            _ => &[],
        }
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims().len()
    }

    /// Returns the number of elements in the extent; an error where the product exceeds 64 bits.
    pub fn element_count(&self) -> Result<u64> {
        match self {
            Dataspace::Null => Ok(0),
            _ => element_count(self.dims()),
        }
    }

    /// Returns whether any dimension may change.
    pub fn is_resizable(&self) -> bool {
        self.dims() != self.max_dims()
    }

    /// Returns the same space with other current dimensions, within the same maxima.
    pub fn resized(&self, dims: &[u64]) -> Result<Self> {
        Self::resizable(dims, self.max_dims())
    }

    /// Gives the space other current dimensions, within the same maxima.
    pub fn resize(&mut self, dims: &[u64]) -> Result<()> {
        check(dims, self.max_dims())?;
        if let Dataspace::Simple(simple) = self {
            simple.dims.copy_from_slice(dims);
        }
        Ok(())
    }

    /// Decodes a dataspace message (format spec IV.A.2.b), and returns the bytes it used.
    pub fn decode_prefix(bytes: &[u8], format: &Format) -> Result<(Self, usize)> {
        let mut cursor = Cursor::new(bytes, "dataspace");
        let header = Header::decode(&mut cursor)?;
        let width = usize::from(format.length_bytes);
        let dims = (0..header.rank).map(|_| cursor.uint(width)).collect::<Result<Vec<_>>>()?;
        let max_dims = match header.has_max {
            true => (0..header.rank).map(|_| max_dim(&mut cursor, width)).collect::<Result<Vec<_>>>()?,
            false => dims.clone(),
        };
        if header.is_null {
            return Ok((Dataspace::Null, cursor.position()));
        }
        let space = Self::resizable(&dims, &max_dims).map_err(|e| cursor.corrupt("dimensions").because(e))?;
        Ok((space, cursor.position()))
    }

    /// Decodes a dataspace message (format spec IV.A.2.b). Bytes after it are padding and ignored.
    pub fn decode(bytes: &[u8], format: &Format) -> Result<Self> {
        Ok(Self::decode_prefix(bytes, format)?.0)
    }

    /// Returns the message in `version`; a null space is always version 2.
    pub fn encode(&self, version: Version, format: &Format) -> Result<Vec<u8>> {
        let width = usize::from(format.length_bytes).clamp(1, 8);
        let mut out = self.encode_header(version);
        for &dim in self.dims() {
            if dim >= all_ones(width) {
                return Err(invalid("a dimension does not fit the file's lengths").with("dim", dim));
            }
            out.put_uint(dim, width);
        }
        for &max in self.max_dims() {
            if max != UNLIMITED && max >= all_ones(width) {
                return Err(invalid("a maximum does not fit the file's lengths").with("max", max));
            }
            out.put_uint(max, width);
        }
        Ok(out)
    }

    fn encode_header(&self, version: Version) -> Vec<u8> {
        let rank = self.rank() as u8;
        let (class, flags) = match self {
            Dataspace::Null => (2, 0),
            Dataspace::Scalar => (0, 0),
            Dataspace::Simple(_) => (1, 1),
        };
        // With capacity for the dimensions, which come next.
        let mut out = Vec::with_capacity(8 + 16 * self.rank());
        match version {
            Version::V1 if *self != Dataspace::Null => out.extend([1, rank, flags, 0, 0, 0, 0, 0]),
            _ => out.extend([2, rank, flags, class]),
        }
        out
    }
}

/// Returns the product of `dims`, which is 1 without dimensions.
pub(crate) fn element_count(dims: &[u64]) -> Result<u64> {
    if dims.contains(&0) {
        return Ok(0);
    }
    let product = dims.iter().try_fold(1u64, |n, &dim| n.checked_mul(dim));
    product.ok_or_else(|| invalid("more elements than 64 bits count"))
}

fn invalid(problem: &str) -> Error {
    Error::invalid("create dataspace").with("problem", problem)
}

fn all_ones(width: usize) -> u64 {
    u64::MAX >> (64 - 8 * width)
}

/// All ones of the width mean unlimited, whatever the width is.
fn max_dim(cursor: &mut Cursor<'_>, width: usize) -> Result<u64> {
    let max = cursor.uint(width)?;
    Ok(if width > 0 && max == all_ones(width) { UNLIMITED } else { max })
}

struct Header {
    rank: usize,
    has_max: bool,
    is_null: bool,
}

impl Header {
    fn decode(cursor: &mut Cursor<'_>) -> Result<Self> {
        let [version, rank, flags, class] = cursor.array()?;
        match version {
            1 => cursor.skip(4)?,
            2 if class > 2 => return Err(cursor.corrupt(format!("class {class}"))),
            2 if class != 1 && rank > 0 => return Err(cursor.corrupt("dimensions in a scalar or null space")),
            2 => {}
            _ => return Err(cursor.corrupt(format!("version {version}"))),
        }
        if usize::from(rank) > RANK_MAX {
            return Err(cursor.corrupt(format!("rank {rank}")));
        }
        let is_null = version == 2 && class == 2;
        Ok(Header { rank: rank.into(), has_max: flags & 1 != 0, is_null })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(space: &Dataspace, version: Version, length_bytes: u8) {
        let format = Format { length_bytes };
        let bytes = space.encode(version, &format).unwrap();
        assert_eq!(Dataspace::decode_prefix(&bytes, &format).unwrap(), (space.clone(), bytes.len()));
    }

    #[test]
    fn both_versions_and_all_widths_read_back() {
        let spaces = [
            Dataspace::Null,
            Dataspace::Scalar,
            Dataspace::simple(&[0]).unwrap(),
            Dataspace::resizable(&[3, 4], &[UNLIMITED, 9]).unwrap(),
        ];
        for space in &spaces {
            for width in [2, 4, 8] {
                round_trip(space, Version::V1, width);
                round_trip(space, Version::V2, width);
            }
        }
    }

    #[test]
    fn null_is_version_2_even_when_1_is_asked_for() {
        let bytes = Dataspace::Null.encode(Version::V1, &Format::default()).unwrap();
        assert_eq!(bytes, [2, 0, 0, 2]);
    }

    #[test]
    fn missing_maximum_is_the_current_size() {
        let space = Dataspace::decode(&[2, 1, 0, 1, 5, 0], &Format { length_bytes: 2 }).unwrap();
        assert_eq!((space.dims(), space.max_dims()), (&[5][..], &[5][..]));
        assert!(!space.is_resizable());
    }

    #[test]
    fn broken_spaces_are_refused() {
        assert!(Dataspace::resizable(&[5], &[4]).is_err());
        assert!(Dataspace::simple(&[1; 33]).is_err());
        assert!(Dataspace::simple(&[1 << 40, 1 << 40]).unwrap().element_count().is_err());
        for bytes in [&[3, 0, 0, 0][..], &[2, 1, 0, 0, 1], &[2, 0, 0, 3], &[2, 33, 0, 1], &[1, 1, 0, 0], &[]]
        {
            assert!(Dataspace::decode(bytes, &Format { length_bytes: 1 }).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn sizes_beyond_the_width_are_not_truncated() {
        let space = Dataspace::simple(&[70_000]).unwrap();
        assert!(space.encode(Version::V2, &Format { length_bytes: 2 }).is_err());
    }
}
