//! Datatypes and extents. Types travel whole, even those that no container accepts: refusing them is the container's.

use model::datatype::*;
use model::{Dataspace, Result};

use super::form::{choice, structure};
use super::{Reader, Wire};

choice! {
    ByteOrder { 0 = Little, 1 = Big, 2 = Vax }
    BitPad { 0 = Zero, 1 = One }
    Normalization { 0 = None, 1 = MsbSet, 2 = Implied }
    StringPad { 0 = NullTerminated, 1 = NullPadded, 2 = SpacePadded }
    CharacterSet { 0 = Ascii, 1 = Utf8 }
    ReferenceKind { 0 = Object1, 1 = DatasetRegion1, 2 = Object, 3 = Region, 4 = Attribute }
    VarLenKind { 0 = Sequence(base), 1 = String { padding, charset } }
}

structure! {
    Bits { size, order, offset, precision, low_pad, high_pad }
    Integer { bits, signed }
    Float {
        bits, internal_pad, normalization, sign_position, exponent_position, exponent_bits, mantissa_position,
        mantissa_bits, exponent_bias,
    }
    Time { size, order, precision }
    FixedString { size, padding, charset }
    Opaque { size, tag }
    Compound { size, members }
    ReferenceType { size, kind }
    Enum { base, members }
    VarLen { size, kind }
    Array { dims, base }
    Complex { base }
    DescriptorSizes { varlen, object_old, region_old, reference, reference_in_sequence }
}

// The tags are the class numbers of the format.
choice! {
    Datatype {
        0 = Integer(t), 1 = Float(t), 2 = Time(t), 3 = String(t), 4 = Bitfield(t), 5 = Opaque(t), 6 = Compound(t),
        7 = Reference(t), 8 = Enum(t), 9 = VarLen(t), 10 = Array(t), 11 = Complex(t),
    }
}

/// As a structure, one level deeper.
impl Wire for Member {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        let Member { name, offset, datatype } = self;
        name.put(out)?;
        offset.put(out)?;
        datatype.put(out)
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let (name, offset) = (Wire::get(from)?, Wire::get(from)?);
        Ok(Member { name, offset, datatype: from.nested(Datatype::get)? })
    }
}

/// A byte for its class (0 none, 1 scalar, 2 simple); for a simple one the dimensions and their maxima.
impl Wire for Dataspace {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Dataspace::Null => 0u8.put(out),
            Dataspace::Scalar => 1u8.put(out),
            Dataspace::Simple(_) => {
                2u8.put(out)?;
                super::plain::put_list(self.dims(), out)?;
                super::plain::put_list(self.max_dims(), out)
            }
        }
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        match from.u8()? {
            0 => Ok(Dataspace::Null),
            1 => Ok(Dataspace::Scalar),
            2 => {
                let (dims, max_dims) = (Vec::get(from)?, Vec::get(from)?);
                Dataspace::resizable(&dims, &max_dims).map_err(|e| from.corrupt("dimensions").because(e))
            }
            tag => Err(from.unknown("Dataspace", tag)),
        }
    }
}
