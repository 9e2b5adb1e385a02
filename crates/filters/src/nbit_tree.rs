//! The type tree in the client values of n-bit.

use crate::bits::{BitReader, BitWriter};
use crate::error::{Error, Origin};
use crate::names::id;

const AT: Origin = Origin(id::NBIT);
/// Deeper nesting than any real datatype; bounds the recursion.
const DEPTH_MAX: usize = 64;

/// How one element is packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    /// The significant bits of one number.
    Atomic(Atomic),
    /// `size` bytes, all of `base`.
    Array { size: usize, base: Box<Node> },
    /// Members with their byte offsets; bytes between them are not stored.
    Compound { size: usize, members: Vec<(usize, Node)> },
    /// Bytes stored as they are.
    Plain { size: usize },
}

/// A number of `precision` bits at `offset` inside `size` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Atomic {
    pub(crate) size: usize,
    pub(crate) big_endian: bool,
    pub(crate) precision: usize,
    pub(crate) offset: usize,
}

impl Node {
    /// Parses the tree that is all of `words`.
    pub(crate) fn parse(words: &[u32]) -> Result<Self, Error> {
        let mut words = words.iter().copied();
        let node = parse(&mut words, 0)?;
        if words.next().is_some() {
            return Err(AT.invalid("values after the type tree"));
        }
        Ok(node)
    }

    /// Returns the number of bytes of one unpacked element.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Atomic(atomic) => atomic.size,
            Self::Array { size, .. } | Self::Compound { size, .. } | Self::Plain { size } => *size,
        }
    }

    /// Returns the number of bits of one packed element.
    pub(crate) fn packed_bits(&self) -> u64 {
        match self {
            Self::Atomic(atomic) => atomic.precision as u64,
            Self::Plain { size } => *size as u64 * 8,
            Self::Array { size, base } => base.packed_bits().saturating_mul((size / base.size()) as u64),
            Self::Compound { members, .. } => {
                members.iter().fold(0u64, |sum, (_, node)| sum.saturating_add(node.packed_bits()))
            }
        }
    }

    /// Unpacks one element into `out`, which is zero and of this node's size.
    pub(crate) fn unpack(&self, bits: &mut BitReader<'_>, out: &mut [u8]) {
        match self {
            Self::Atomic(atomic) => atomic.unpack(bits, out),
            Self::Plain { .. } => out.iter_mut().for_each(|byte| *byte = bits.read(8) as u8),
            Self::Array { base, .. } => {
                out.chunks_exact_mut(base.size()).for_each(|element| base.unpack(bits, element));
            }
            Self::Compound { members, .. } => {
                for (offset, node) in members {
                    node.unpack(bits, &mut out[*offset..offset + node.size()]);
                }
            }
        }
    }

    /// Packs one element.
    pub(crate) fn pack(&self, element: &[u8], bits: &mut BitWriter) {
        match self {
            Self::Atomic(atomic) => atomic.pack(element, bits),
            Self::Plain { .. } => element.iter().for_each(|byte| bits.write(u64::from(*byte), 8)),
            Self::Array { base, .. } => {
                element.chunks_exact(base.size()).for_each(|item| base.pack(item, bits));
            }
            Self::Compound { members, .. } => {
                for (offset, node) in members {
                    node.pack(&element[*offset..offset + node.size()], bits);
                }
            }
        }
    }
}

impl Atomic {
    fn unpack(self, bits: &mut BitReader<'_>, out: &mut [u8]) {
        if self.size > 8 {
            return self.unpack_wide(bits, out);
        }
        let value = bits.read(self.precision as u32) << self.offset;
        let bytes = value.to_le_bytes();
        out.copy_from_slice(&bytes[..self.size]);
        if self.big_endian {
            out.reverse();
        }
    }

    fn pack(self, element: &[u8], bits: &mut BitWriter) {
        if self.size > 8 {
            return self.pack_wide(element, bits);
        }
        let mut bytes = [0; 8];
        bytes[..self.size].copy_from_slice(element);
        if self.big_endian {
            bytes[..self.size].reverse();
        }
        bits.write(u64::from_le_bytes(bytes) >> self.offset, self.precision as u32);
    }

    fn unpack_wide(self, bits: &mut BitReader<'_>, out: &mut [u8]) {
        for (byte, start, width) in self.pieces() {
            out[byte] |= (bits.read(width) << start) as u8;
        }
    }

    fn pack_wide(self, element: &[u8], bits: &mut BitWriter) {
        for (byte, start, width) in self.pieces() {
            bits.write(u64::from(element[byte]) >> start, width);
        }
    }

    /// Returns the byte index, first bit and bit count of each byte the precision touches, most significant first.
    fn pieces(self) -> impl Iterator<Item = (usize, u32, u32)> {
        let (low, high) = (self.offset, self.offset + self.precision);
        (low / 8..high.div_ceil(8)).rev().map(move |byte| {
            let start = low.max(byte * 8);
            let end = high.min(byte * 8 + 8);
            let place = if self.big_endian { self.size - 1 - byte } else { byte };
            (place, (start - byte * 8) as u32, (end - start) as u32)
        })
    }
}

fn parse(words: &mut impl Iterator<Item = u32>, depth: usize) -> Result<Node, Error> {
    if depth > DEPTH_MAX {
        return Err(AT.invalid("type tree is too deep"));
    }
    let class = word(words)?;
    let size = word(words)? as usize;
    if size == 0 {
        return Err(AT.invalid("type of no bytes"));
    }
    match class {
        1 => parse_atomic(words, size),
        2 => parse_array(words, size, depth),
        3 => parse_compound(words, size, depth),
        4 => Ok(Node::Plain { size }),
        other => Err(AT.invalid(format!("class {other} in the type tree"))),
    }
}

fn word(words: &mut impl Iterator<Item = u32>) -> Result<u32, Error> {
    words.next().ok_or_else(|| AT.invalid("type tree ends too early"))
}

fn parse_atomic(words: &mut impl Iterator<Item = u32>, size: usize) -> Result<Node, Error> {
    let order = word(words)?;
    let (precision, offset) = (u64::from(word(words)?), u64::from(word(words)?));
    if order > 1 || precision == 0 || precision + offset > size as u64 * 8 {
        let problem = format!("{precision} bits at bit {offset} of {size} bytes, order {order}");
        return Err(AT.invalid(problem));
    }
    let (precision, offset) = (precision as usize, offset as usize);
    Ok(Node::Atomic(Atomic { size, big_endian: order == 1, precision, offset }))
}

fn parse_array(words: &mut impl Iterator<Item = u32>, size: usize, depth: usize) -> Result<Node, Error> {
    let base = parse(words, depth + 1)?;
    if base.size() > size || !size.is_multiple_of(base.size()) {
        // The base of a no-op array may be written with any size: all bytes are copied.
        return match base {
            Node::Plain { .. } => Ok(Node::Plain { size }),
            _ => Err(AT.invalid("array is not a whole number of elements")),
        };
    }
    Ok(Node::Array { size, base: Box::new(base) })
}

fn parse_compound(words: &mut impl Iterator<Item = u32>, size: usize, depth: usize) -> Result<Node, Error> {
    let count = word(words)?;
    let mut members = Vec::new();
    for _ in 0..count {
        let offset = word(words)? as usize;
        let node = parse(words, depth + 1)?;
        if offset.checked_add(node.size()).is_none_or(|end| end > size) {
            return Err(AT.invalid("compound member outside its compound"));
        }
        members.push((offset, node));
    }
    // Without members an element costs no input, and nothing would bound the work.
    if members.is_empty() {
        return Err(AT.invalid("compound without members"));
    }
    Ok(Node::Compound { size, members })
}
