//! The predefined types: `H5T_STD_*`, `H5T_IEEE_*` and friends.

use super::*;

impl Datatype {
    /// Returns an integer of `size` bytes that uses all its bits.
    pub fn integer(size: u32, signed: bool, order: ByteOrder) -> Self {
        Datatype::Integer(Integer { bits: Bits::full(size, order), signed })
    }

    /// Returns a signed integer of this machine.
    pub fn native_int(size: u32) -> Self {
        Self::integer(size, true, ByteOrder::NATIVE)
    }

    /// Returns an unsigned integer of this machine.
    pub fn native_uint(size: u32) -> Self {
        Self::integer(size, false, ByteOrder::NATIVE)
    }

    /// Returns IEEE 754 half precision.
    pub fn ieee_f16(order: ByteOrder) -> Self {
        Datatype::Float(Float::ieee(2, order, 5, 10))
    }

    /// Returns IEEE 754 single precision.
    pub fn ieee_f32(order: ByteOrder) -> Self {
        Datatype::Float(Float::ieee(4, order, 8, 23))
    }

    /// Returns IEEE 754 double precision.
    pub fn ieee_f64(order: ByteOrder) -> Self {
        Datatype::Float(Float::ieee(8, order, 11, 52))
    }

    /// Returns a string of `size` bytes.
    pub fn fixed_string(size: u32, padding: StringPad, charset: CharacterSet) -> Self {
        Datatype::String(FixedString { size, padding, charset })
    }

    /// Returns a variable-length string in the memory datatype.
    pub fn var_string(charset: CharacterSet) -> Self {
        let kind = VarLenKind::String { padding: StringPad::NullTerminated, charset };
        Datatype::VarLen(VarLen { size: MEMORY_SLOT_BYTES, kind })
    }

    /// Returns a variable-length sequence in the memory datatype.
    pub fn var_sequence(base: Datatype) -> Self {
        Datatype::VarLen(VarLen { size: MEMORY_SLOT_BYTES, kind: VarLenKind::Sequence(Box::new(base)) })
    }

    /// Returns an array type.
    pub fn array(dims: &[u32], base: Datatype) -> Self {
        Datatype::Array(Array { dims: dims.to_vec(), base: Box::new(base) })
    }

    /// Returns a reference in the memory datatype.
    pub fn reference(kind: ReferenceKind) -> Self {
        Datatype::Reference(ReferenceType { size: MEMORY_SLOT_BYTES, kind })
    }

    /// Returns h5py's boolean: an enum of one byte with FALSE and TRUE.
    pub fn boolean() -> Self {
        let members = vec![("FALSE".to_owned(), vec![0]), ("TRUE".to_owned(), vec![1])];
        Datatype::Enum(Enum { base: Box::new(Self::integer(1, true, ByteOrder::NATIVE)), members })
    }
}

impl Float {
    /// Returns an IEEE-like float: sign on top, then exponent, then mantissa, and an implied leading bit.
    pub fn ieee(size: u32, order: ByteOrder, exponent_bits: u8, mantissa_bits: u8) -> Self {
        Float {
            bits: Bits::full(size, order),
            internal_pad: BitPad::Zero,
            normalization: Normalization::Implied,
            sign_position: exponent_bits + mantissa_bits,
            exponent_position: mantissa_bits,
            exponent_bits,
            mantissa_position: 0,
            mantissa_bits,
            exponent_bias: (1u32 << (exponent_bits - 1)) - 1,
        }
    }

    /// Returns whether these bits are IEEE half, single or double in some byte order.
    pub fn is_ieee(&self) -> bool {
        let shape = match self.bits.size {
            2 => (5, 10),
            4 => (8, 23),
            8 => (11, 52),
            _ => return false,
        };
        self.bits.order != ByteOrder::Vax
            && *self == Float::ieee(self.bits.size, self.bits.order, shape.0, shape.1)
    }
}
