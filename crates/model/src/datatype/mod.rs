//! Datatypes: all eleven classes, and complex numbers (format spec IV.A.2.d).

mod decode;
mod descriptors;
mod encode;
mod standard;
mod validate;

use crate::{Error, Result};

pub use descriptors::DescriptorSizes;

/// Bytes of a variable-length value or a reference in the memory datatype: see [`crate::heap`].
pub const MEMORY_SLOT_BYTES: u32 = 16;

/// The order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
    /// 16-bit little-endian words, most significant first (floats only).
    Vax,
}

impl ByteOrder {
    /// The order of this machine.
    pub const NATIVE: ByteOrder =
        if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
}

/// The value of unused bits of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum BitPad {
    /// Zeros.
    #[default]
    Zero,
    /// Ones.
    One,
}

/// Fields that integers, bit fields and floats share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bits {
    /// Bytes of one element.
    pub size: u32,
    /// Byte order.
    pub order: ByteOrder,
    /// First significant bit, counted from the least significant.
    pub offset: u16,
    /// Significant bits.
    pub precision: u16,
    /// Fill below the offset.
    pub low_pad: BitPad,
    /// Fill above the significant bits.
    pub high_pad: BitPad,
}

impl Bits {
    /// Returns a number of `size` bytes that uses all its bits.
    pub fn full(size: u32, order: ByteOrder) -> Self {
        let precision = (size * 8) as u16;
        Bits { size, order, offset: 0, precision, low_pad: BitPad::Zero, high_pad: BitPad::Zero }
    }

    /// Returns whether every bit is significant.
    pub fn is_full(&self) -> bool {
        self.offset == 0 && u32::from(self.precision) == self.size * 8
    }
}

/// A fixed-point number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Integer {
    /// Size, order and significant bits.
    pub bits: Bits,
    /// Two's complement, or unsigned.
    pub signed: bool,
}

/// The representation of the leading bit of a float's mantissa.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Normalization {
    /// Not normalised.
    None,
    /// Always set, and stored.
    MsbSet,
    /// Always set, not stored (IEEE).
    Implied,
}

/// A floating-point number of any shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Float {
    /// Size, order and significant bits.
    pub bits: Bits,
    /// Fill of bits between the fields.
    pub internal_pad: BitPad,
    /// Leading mantissa bit.
    pub normalization: Normalization,
    /// Position of the sign bit.
    pub sign_position: u8,
    /// Position of the exponent's lowest bit.
    pub exponent_position: u8,
    /// Bits of the exponent.
    pub exponent_bits: u8,
    /// Position of the mantissa's lowest bit.
    pub mantissa_position: u8,
    /// Bits of the mantissa.
    pub mantissa_bits: u8,
    /// Added to the exponent.
    pub exponent_bias: u32,
}

/// The old time class: an integer that means a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Time {
    /// Bytes of one element.
    pub size: u32,
    /// Byte order.
    pub order: ByteOrder,
    /// Significant bits.
    pub precision: u16,
}

/// The end of a string that is shorter than its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StringPad {
    /// A NUL follows the text.
    #[default]
    NullTerminated,
    /// NULs fill the field.
    NullPadded,
    /// Spaces fill the field.
    SpacePadded,
}

/// The character set of a string or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CharacterSet {
    /// US ASCII.
    #[default]
    Ascii,
    /// UTF-8.
    Utf8,
}

/// A string of fixed length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedString {
    /// Bytes of one element.
    pub size: u32,
    /// The padding.
    pub padding: StringPad,
    /// Character set.
    pub charset: CharacterSet,
}

/// Bytes with a tag that says what they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Opaque {
    /// Bytes of one element.
    pub size: u32,
    /// The meaning of the bytes.
    pub tag: String,
}

/// One member of a compound.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Member {
    /// Name, unique in the compound.
    pub name: String,
    /// Bytes from the start of the compound.
    pub offset: u32,
    /// Type.
    pub datatype: Datatype,
}

/// A record of named members.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Compound {
    /// Bytes of one element, gaps included.
    pub size: u32,
    /// Members as stored.
    pub members: Vec<Member>,
}

impl Compound {
    /// Returns the member called `name`.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|m| m.name == name)
    }

    /// Returns a compound of members one after another, without gaps.
    pub fn packed(members: impl IntoIterator<Item = (String, Datatype)>) -> Self {
        let mut size = 0;
        let members = members.into_iter().map(|(name, datatype)| {
            let member = Member { name, offset: size, datatype };
            size += member.datatype.size();
            member
        });
        let members = members.collect();
        Compound { size, members }
    }
}

/// The kind of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReferenceKind {
    /// An object, by address (`H5T_STD_REF_OBJ`).
    Object1,
    /// A region of a dataset (`H5T_STD_REF_DSETREG`).
    DatasetRegion1,
    /// `H5T_STD_REF`, kind 2: what it points to stands in the element.
    Object,
    /// Kind 3.
    Region,
    /// Kind 4.
    Attribute,
}

/// A reference type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReferenceType {
    /// Bytes of one element.
    pub size: u32,
    /// The kind of reference.
    pub kind: ReferenceKind,
}

/// Names for values of an integer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Enum {
    /// The integer below.
    pub base: Box<Datatype>,
    /// Names and values (in the base type's bytes), as stored.
    pub members: Vec<(String, Vec<u8>)>,
}

/// The kind of a variable-length value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum VarLenKind {
    /// A sequence of elements.
    Sequence(Box<Datatype>),
    /// A string.
    String {
        /// Padding, as declared.
        padding: StringPad,
        /// Character set.
        charset: CharacterSet,
    },
}

/// Values of variable length.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VarLen {
    /// Bytes of the descriptor in the element: a length and the identity of a blob.
    pub size: u32,
    /// Sequence or string.
    pub kind: VarLenKind,
}

/// A small array as one element.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Array {
    /// Shape, slowest first.
    pub dims: Vec<u32>,
    /// Element.
    pub base: Box<Datatype>,
}

/// A complex number: two floats, real part first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Complex {
    /// The type of each part.
    pub base: Box<Datatype>,
}

/// A datatype.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Datatype {
    /// Class 0.
    Integer(Integer),
    /// Class 1.
    Float(Float),
    /// Class 2.
    Time(Time),
    /// Class 3.
    String(FixedString),
    /// Class 4.
    Bitfield(Bits),
    /// Class 5.
    Opaque(Opaque),
    /// Class 6.
    Compound(Compound),
    /// Class 7.
    Reference(ReferenceType),
    /// Class 8.
    Enum(Enum),
    /// Class 9.
    VarLen(VarLen),
    /// Class 10.
    Array(Array),
    /// Class 11.
    Complex(Complex),
}

impl Datatype {
    /// Returns the number of bytes of one element.
    pub fn size(&self) -> u32 {
        match self {
            Datatype::Integer(t) => t.bits.size,
            Datatype::Float(t) => t.bits.size,
            Datatype::Time(t) => t.size,
            Datatype::String(t) => t.size,
            Datatype::Bitfield(t) => t.size,
            Datatype::Opaque(t) => t.size,
            Datatype::Compound(t) => t.size,
            Datatype::Reference(t) => t.size,
            Datatype::Enum(t) => t.base.size(),
            Datatype::VarLen(t) => t.size,
            Datatype::Array(t) => t.dims.iter().fold(t.base.size(), |n, &d| n.saturating_mul(d)),
            Datatype::Complex(t) => t.base.size().saturating_mul(2),
        }
    }

    /// Returns the class number of the format.
    pub fn class(&self) -> u8 {
        match self {
            Datatype::Integer(_) => 0,
            Datatype::Float(_) => 1,
            Datatype::Time(_) => 2,
            Datatype::String(_) => 3,
            Datatype::Bitfield(_) => 4,
            Datatype::Opaque(_) => 5,
            Datatype::Compound(_) => 6,
            Datatype::Reference(_) => 7,
            Datatype::Enum(_) => 8,
            Datatype::VarLen(_) => 9,
            Datatype::Array(_) => 10,
            Datatype::Complex(_) => 11,
        }
    }

    /// Returns the types one level inside this one.
    pub fn children(&self) -> Vec<&Datatype> {
        match self {
            Datatype::Compound(t) => t.members.iter().map(|m| &m.datatype).collect(),
            Datatype::Enum(t) => vec![&t.base],
            Datatype::Array(t) => vec![&t.base],
            Datatype::Complex(t) => vec![&t.base],
            Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => vec![base],
            _ => Vec::new(),
        }
    }

    /// Returns whether this type or one inside it satisfies `test`.
    pub fn any(&self, test: &dyn Fn(&Datatype) -> bool) -> bool {
        test(self) || self.children().into_iter().any(|t| t.any(test))
    }

    /// Returns whether elements hold descriptors (variable-length values or references) that mean something only to their container.
    pub fn has_descriptors(&self) -> bool {
        self.any(&|t| matches!(t, Datatype::VarLen(_) | Datatype::Reference(_)))
    }

    /// Returns the name of the class in libhdf5's headers and in HDF5/JSON. Strings are one class, fixed or variable.
    pub fn class_name(&self) -> &'static str {
        match self {
            _ if self.is_string() => "H5T_STRING",
            Datatype::Integer(_) => "H5T_INTEGER",
            Datatype::Float(_) => "H5T_FLOAT",
            Datatype::Time(_) => "H5T_TIME",
            Datatype::String(_) => "H5T_STRING",
            Datatype::Bitfield(_) => "H5T_BITFIELD",
            Datatype::Opaque(_) => "H5T_OPAQUE",
            Datatype::Compound(_) => "H5T_COMPOUND",
            Datatype::Reference(_) => "H5T_REFERENCE",
            Datatype::Enum(_) => "H5T_ENUM",
            Datatype::VarLen(_) => "H5T_VLEN",
            Datatype::Array(_) => "H5T_ARRAY",
            Datatype::Complex(_) => "H5T_COMPLEX",
        }
    }

    /// Returns whether this is a string, fixed or variable.
    pub fn is_string(&self) -> bool {
        matches!(self, Datatype::String(_) | Datatype::VarLen(VarLen { kind: VarLenKind::String { .. }, .. }))
    }
}
