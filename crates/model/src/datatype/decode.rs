//! Datatype messages: bytes to values (format spec IV.A.2.d).

use super::*;
use crate::bytes::{Cursor, uint_width};
use crate::limits::Limits;
use crate::text;

/// The 8 bytes that every datatype starts with.
struct Head {
    version: u8,
    class: u8,
    flags: u32,
    size: u32,
}

impl Head {
    fn bit(&self, n: u32) -> bool {
        self.flags >> n & 1 == 1
    }

    fn field(&self, from: u32, bits: u32) -> u32 {
        self.flags >> from & ((1 << bits) - 1)
    }

    fn pad(&self, n: u32) -> BitPad {
        if self.bit(n) { BitPad::One } else { BitPad::Zero }
    }

    fn order(&self) -> ByteOrder {
        if self.bit(0) { ByteOrder::Big } else { ByteOrder::Little }
    }
}

impl Datatype {
    /// Decodes one datatype from the front of `bytes`; trailing bytes are padding.
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Datatype> {
        let mut cursor = Cursor::new(bytes, "datatype");
        datatype(&mut cursor, limits.depth_max)
    }
}

fn head(c: &mut Cursor<'_>) -> Result<Head> {
    let first = c.u8()?;
    let [a, b, d] = c.array()?;
    let head = Head {
        version: first >> 4,
        class: first & 15,
        flags: u32::from_le_bytes([a, b, d, 0]),
        size: c.u32()?,
    };
    if !(1..=5).contains(&head.version) {
        return Err(c.corrupt(format!("datatype version {}", head.version)));
    }
    if head.size == 0 {
        return Err(c.corrupt("element size is zero"));
    }
    Ok(head)
}

fn datatype(c: &mut Cursor<'_>, depth: u32) -> Result<Datatype> {
    let depth = depth.checked_sub(1).ok_or_else(|| c.corrupt("types nest too deeply"))?;
    let head = head(c)?;
    match head.class {
        0 => Ok(Datatype::Integer(Integer { bits: bits(c, &head, head.order())?, signed: head.bit(3) })),
        1 => float(c, &head),
        2 => Ok(Datatype::Time(Time { size: head.size, order: head.order(), precision: c.u16()? })),
        3 => fixed_string(c, &head),
        4 => Ok(Datatype::Bitfield(bits(c, &head, head.order())?)),
        5 => opaque(c, &head),
        6 => compound(c, &head, depth),
        7 => reference(c, &head),
        8 => enumeration(c, &head, depth),
        9 => varlen(c, &head, depth),
        10 => array(c, &head, depth),
        11 => complex(c, &head, depth),
        class => Err(c.corrupt(format!("datatype class {class}"))),
    }
}

fn bits(c: &mut Cursor<'_>, head: &Head, order: ByteOrder) -> Result<Bits> {
    let (offset, precision) = (c.u16()?, c.u16()?);
    if precision == 0 || u64::from(offset) + u64::from(precision) > u64::from(head.size) * 8 {
        return Err(c.corrupt(format!("{precision} bits from bit {offset} in {} bytes", head.size)));
    }
    Ok(Bits { size: head.size, order, offset, precision, low_pad: head.pad(1), high_pad: head.pad(2) })
}

fn float(c: &mut Cursor<'_>, head: &Head) -> Result<Datatype> {
    let order = match (head.version >= 3 && head.bit(6), head.bit(0)) {
        (false, false) => ByteOrder::Little,
        (false, true) => ByteOrder::Big,
        (true, true) => ByteOrder::Vax,
        (true, false) => return Err(c.corrupt("byte order of float")),
    };
    let normalization = match head.field(4, 2) {
        0 => Normalization::None,
        1 => Normalization::MsbSet,
        2 => Normalization::Implied,
        n => return Err(c.corrupt(format!("normalization {n}"))),
    };
    let bits = bits(c, head, order)?;
    let [exponent_position, exponent_bits, mantissa_position, mantissa_bits] = c.array()?;
    let float = Float {
        bits,
        internal_pad: head.pad(3),
        normalization,
        sign_position: head.field(8, 8) as u8,
        exponent_position,
        exponent_bits,
        mantissa_position,
        mantissa_bits,
        exponent_bias: c.u32()?,
    };
    check_float(c, &float)?;
    Ok(Datatype::Float(float))
}

/// Fields that lie outside of the element or overlap are not refused here: libhdf5 before
/// 1.14 reads such types, and conversion refuses them.
fn check_float(c: &Cursor<'_>, f: &Float) -> Result<()> {
    if f.exponent_bits == 0 || f.mantissa_bits == 0 {
        Err(c.corrupt("float without a field"))
    } else {
        Ok(())
    }
}

fn padding(c: &Cursor<'_>, code: u32) -> Result<StringPad> {
    match code {
        0 => Ok(StringPad::NullTerminated),
        1 => Ok(StringPad::NullPadded),
        2 => Ok(StringPad::SpacePadded),
        n => Err(c.corrupt(format!("string padding {n}"))),
    }
}

fn charset(c: &Cursor<'_>, code: u32) -> Result<CharacterSet> {
    match code {
        0 => Ok(CharacterSet::Ascii),
        1 => Ok(CharacterSet::Utf8),
        n => Err(c.corrupt(format!("character set {n}"))),
    }
}

fn fixed_string(c: &Cursor<'_>, head: &Head) -> Result<Datatype> {
    let (padding, charset) = (padding(c, head.field(0, 4))?, charset(c, head.field(4, 4))?);
    Ok(Datatype::fixed_string(head.size, padding, charset))
}

fn opaque(c: &mut Cursor<'_>, head: &Head) -> Result<Datatype> {
    let len = head.field(0, 8) as usize;
    if !len.is_multiple_of(8) {
        return Err(c.corrupt(format!("opaque tag of {len} bytes")));
    }
    let tag = c.take(len)?;
    let tag = &tag[..tag.iter().position(|&b| b == 0).unwrap_or(len)];
    Ok(Datatype::Opaque(Opaque { size: head.size, tag: text::from_bytes(tag) }))
}

/// Returns a name and its NUL; versions 1 and 2 pad the whole to 8 bytes.
fn name(c: &mut Cursor<'_>, version: u8) -> Result<String> {
    let start = c.position();
    let name = text::from_bytes(c.until_nul()?);
    if version < 3 {
        let used = c.position() - start;
        c.skip(used.next_multiple_of(8) - used)?;
    }
    Ok(name)
}

fn compound(c: &mut Cursor<'_>, head: &Head, depth: u32) -> Result<Datatype> {
    let count = head.field(0, 16) as usize;
    if count == 0 {
        return Err(c.corrupt("compound without members"));
    }
    // A member takes at least 10 bytes: a name, an offset and a type.
    if count > c.remaining() / 10 + 1 {
        return Err(c.corrupt(format!("{count} members in {} bytes", c.remaining())));
    }
    let mut members = Vec::with_capacity(count);
    for _ in 0..count {
        members.push(member(c, head, depth)?);
    }
    check_members(c, head.size, &members)?;
    Ok(Datatype::Compound(Compound { size: head.size, members }))
}

fn member(c: &mut Cursor<'_>, head: &Head, depth: u32) -> Result<Member> {
    let name = name(c, head.version)?;
    if head.version >= 3 {
        let offset = c.uint(uint_width(u64::from(head.size)))? as u32;
        return Ok(Member { name, offset, datatype: datatype(c, depth)? });
    }
    let offset = c.u32()?;
    let dims = if head.version == 1 { old_member_dims(c)? } else { Vec::new() };
    let base = datatype(c, depth)?;
    let datatype = if dims.is_empty() { base } else { Datatype::array(&dims, base) };
    Ok(Member { name, offset, datatype })
}

/// Version 1 gives every member up to four dimensions of its own.
fn old_member_dims(c: &mut Cursor<'_>) -> Result<Vec<u32>> {
    let rank = c.u8()?;
    c.skip(3 + 4 + 4)?;
    let dims = [c.u32()?, c.u32()?, c.u32()?, c.u32()?];
    let dims = dims.get(..usize::from(rank)).ok_or_else(|| c.corrupt(format!("member of rank {rank}")))?;
    if dims.contains(&0) {
        return Err(c.corrupt("member dimension is zero"));
    }
    Ok(dims.to_vec())
}

fn check_members(c: &Cursor<'_>, size: u32, members: &[Member]) -> Result<()> {
    let mut spans = Vec::with_capacity(members.len());
    for m in members {
        let end = u64::from(m.offset) + array_safe_size(c, &m.datatype)?;
        if end > u64::from(size) {
            return Err(c.corrupt(format!("member \"{}\" ends at {end} of {size} bytes", m.name)));
        }
        spans.push((u64::from(m.offset), end));
    }
    spans.sort_unstable();
    if spans.windows(2).any(|w| w[0].1 > w[1].0) {
        return Err(c.corrupt("members overlap"));
    }
    Ok(())
}

/// Returns the size of a type, checked: array dimensions from a file may multiply past 32 bits.
fn array_safe_size(c: &Cursor<'_>, t: &Datatype) -> Result<u64> {
    let size = match t {
        Datatype::Array(a) => {
            a.dims.iter().try_fold(u64::from(a.base.size()), |n, &d| n.checked_mul(u64::from(d)))
        }
        other => Some(u64::from(other.size())),
    };
    size.filter(|&n| n <= u64::from(u32::MAX)).ok_or_else(|| c.corrupt("array type is too large"))
}

fn reference(c: &Cursor<'_>, head: &Head) -> Result<Datatype> {
    let kind = match head.field(0, 4) {
        0 => ReferenceKind::Object1,
        1 => ReferenceKind::DatasetRegion1,
        2 => ReferenceKind::Object,
        3 => ReferenceKind::Region,
        4 => ReferenceKind::Attribute,
        n => return Err(c.corrupt(format!("reference type {n}"))),
    };
    Ok(Datatype::Reference(ReferenceType { size: head.size, kind }))
}

fn enumeration(c: &mut Cursor<'_>, head: &Head, depth: u32) -> Result<Datatype> {
    let count = head.field(0, 16) as usize;
    let base = datatype(c, depth)?;
    if base.size() != head.size || !matches!(base, Datatype::Integer(_)) {
        return Err(c.corrupt("enum on a type that is not its integer"));
    }
    let width = head.size as usize;
    if count > c.remaining() / (width + 1) + 1 {
        return Err(c.corrupt(format!("{count} enum members in {} bytes", c.remaining())));
    }
    let names = (0..count).map(|_| name(c, head.version)).collect::<Result<Vec<_>>>()?;
    let values = (0..count).map(|_| c.take(width).map(<[u8]>::to_vec)).collect::<Result<Vec<_>>>()?;
    Ok(Datatype::Enum(Enum { base: Box::new(base), members: names.into_iter().zip(values).collect() }))
}

fn varlen(c: &mut Cursor<'_>, head: &Head, depth: u32) -> Result<Datatype> {
    let base = datatype(c, depth)?;
    let kind = match head.field(0, 4) {
        0 => VarLenKind::Sequence(Box::new(base)),
        1 => VarLenKind::String {
            padding: padding(c, head.field(4, 4))?,
            charset: charset(c, head.field(8, 4))?,
        },
        n => return Err(c.corrupt(format!("variable-length kind {n}"))),
    };
    Ok(Datatype::VarLen(VarLen { size: head.size, kind }))
}

fn array(c: &mut Cursor<'_>, head: &Head, depth: u32) -> Result<Datatype> {
    let rank = usize::from(c.u8()?);
    if head.version < 2 || rank == 0 || rank > 32 {
        return Err(c.corrupt(format!("array type of version {} and rank {rank}", head.version)));
    }
    if head.version == 2 {
        c.skip(3)?;
    }
    let dims = (0..rank).map(|_| c.u32()).collect::<Result<Vec<_>>>()?;
    if head.version == 2 {
        c.skip(4 * rank)?;
    }
    if dims.contains(&0) {
        return Err(c.corrupt("array dimension is zero"));
    }
    let array = Datatype::array(&dims, datatype(c, depth)?);
    if array_safe_size(c, &array)? != u64::from(head.size) {
        return Err(c.corrupt("array size is not the product of its dimensions"));
    }
    Ok(array)
}

fn complex(c: &mut Cursor<'_>, head: &Head, depth: u32) -> Result<Datatype> {
    if !head.bit(0) || head.field(1, 2) != 0 {
        return Err(c.corrupt("form of complex number"));
    }
    let base = datatype(c, depth)?;
    if !matches!(base, Datatype::Float(_)) || u64::from(base.size()) * 2 != u64::from(head.size) {
        return Err(c.corrupt("complex number is not two floats"));
    }
    Ok(Datatype::Complex(Complex { base: Box::new(base) }))
}
