//! Datatypes in words.

use std::fmt::Write;

use hyperslab::vol::model::datatype::{
    Array, BitPad, Bits, ByteOrder, CharacterSet, Compound, Datatype, Enum, Float, Integer, Member,
    Normalization, ReferenceKind, ReferenceType, StringPad, VarLen, VarLenKind,
};

use super::escape::escape;
use crate::h5::render::number;

/// Describes a type; lines after the first are indented by `indent`.
pub(crate) fn describe(datatype: &Datatype, indent: usize, simple: bool) -> String {
    let mut words = Words { out: String::new(), simple };
    words.datatype(datatype, indent);
    words.out
}

/// Returns the type with the sizes that its parts have in the memory of a C program.
pub(crate) fn in_memory(datatype: &Datatype) -> Datatype {
    match datatype {
        Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => {
            let kind = VarLenKind::Sequence(Box::new(in_memory(base)));
            Datatype::VarLen(VarLen { size: 16, kind })
        }
        Datatype::VarLen(VarLen { kind, .. }) => Datatype::VarLen(VarLen { size: 8, kind: kind.clone() }),
        Datatype::Reference(t) => {
            let size = match t.kind {
                ReferenceKind::Object1 => 8,
                ReferenceKind::DatasetRegion1 => 12,
                _ => t.size,
            };
            Datatype::Reference(ReferenceType { size, kind: t.kind })
        }
        Datatype::Array(t) => {
            Datatype::Array(Array { dims: t.dims.clone(), base: Box::new(in_memory(&t.base)) })
        }
        Datatype::Compound(t) => Datatype::Compound(compound_in_memory(t)),
        other => other.clone(),
    }
}

/// Each member moves by what the members before it grew.
fn compound_in_memory(compound: &Compound) -> Compound {
    let mut order: Vec<usize> = (0..compound.members.len()).collect();
    order.sort_by_key(|&i| compound.members[i].offset);
    let mut members = compound.members.clone();
    let mut shift = 0i64;
    for i in order {
        let Member { offset, datatype, .. } = &compound.members[i];
        members[i].offset = moved(*offset, shift);
        members[i].datatype = in_memory(datatype);
        shift += i64::from(members[i].datatype.size()) - i64::from(datatype.size());
    }
    Compound { size: moved(compound.size, shift), members }
}

fn moved(offset: u32, shift: i64) -> u32 {
    u32::try_from(i64::from(offset).saturating_add(shift)).unwrap_or(0)
}

struct Words {
    out: String,
    simple: bool,
}

macro_rules! put {
    // Writing to a string cannot fail.
    ($words:expr, $($arg:tt)*) => { _ = write!($words.out, $($arg)*) };
}

impl Words {
    fn datatype(&mut self, datatype: &Datatype, indent: usize) {
        if let Some(name) = native_name(datatype).filter(|_| !self.simple) {
            return self.out.push_str(name);
        }
        match datatype {
            Datatype::Integer(t) => self.integer(t, indent),
            Datatype::Float(t) => self.float(t, indent),
            Datatype::Bitfield(t) => self.bits(t, "bitfield", indent),
            Datatype::Compound(t) => self.compound(t, indent),
            Datatype::Enum(t) => self.enumeration(t, indent),
            Datatype::String(t) => {
                put!(self, "{}-byte {}", t.size, string_words(t.padding, t.charset));
            }
            Datatype::VarLen(VarLen { kind: VarLenKind::String { padding, charset }, .. }) => {
                put!(self, "variable-length {}", string_words(*padding, *charset));
            }
            Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => {
                put!(self, "variable length of\n{:1$}", "", indent + 4);
                self.datatype(base, indent + 4);
            }
            Datatype::Reference(t) => match t.kind {
                ReferenceKind::Object1 => self.out.push_str("object reference"),
                ReferenceKind::DatasetRegion1 => self.out.push_str("dataset region reference"),
                _ => put!(self, "{}-byte unknown reference", t.size),
            },
            Datatype::Array(t) => self.array(t, indent),
            Datatype::Opaque(t) => {
                put!(
                    self,
                    "{}-byte opaque type\n{:2$}(tag = \"{3}\")",
                    t.size,
                    "",
                    indent,
                    escape(&t.tag, false)
                );
            }
            Datatype::Complex(t) => {
                put!(self, "complex number of\n{:1$}", "", indent + 4);
                self.datatype(&t.base, indent + 4);
            }
            Datatype::Time(t) => put!(self, "{}-byte class-2 unknown", t.size),
        }
    }

    fn integer(&mut self, t: &Integer, indent: usize) {
        self.bits(&t.bits, if t.signed { "integer" } else { "unsigned integer" }, indent);
    }

    fn bits(&mut self, bits: &Bits, noun: &str, indent: usize) {
        put!(self, "{}-bit{} {noun}", u64::from(bits.size) * 8, order_words(bits));
        self.precision(bits, indent);
    }

    /// Which bits count, and what fills the others.
    fn precision(&mut self, bits: &Bits, indent: usize) {
        let (all, offset, precision) =
            (u64::from(bits.size) * 8, u64::from(bits.offset), u64::from(bits.precision));
        if all == precision {
            return;
        }
        put!(
            self,
            "\n{:indent$}({precision} bit{} of precision beginning at bit {offset})",
            "",
            s(precision)
        );
        let above = all.saturating_sub(offset + precision);
        let low = (offset > 0).then(|| format!("{offset} {} bit{} at bit 0", pad(bits.low_pad), s(offset)));
        let high = (above > 0)
            .then(|| format!("{above} {} bit{} at bit {}", pad(bits.high_pad), s(above), all - above));
        let pads: Vec<String> = low.into_iter().chain(high).collect();
        if !pads.is_empty() {
            put!(self, "\n{:indent$}({})", "", pads.join(", "));
        }
    }

    fn float(&mut self, t: &Float, indent: usize) {
        // Half precision has no name in h5ls 1.10; its fields are reported.
        if t.is_ieee() && t.bits.size > 2 {
            let order = if t.bits.order == ByteOrder::Big { "big" } else { "little" };
            put!(self, "IEEE {}-bit {order}-endian float", t.bits.size * 8);
            return;
        }
        self.bits(&t.bits, "floating-point", indent);
        let normalization = match t.normalization {
            Normalization::Implied => "msb implied",
            Normalization::MsbSet => "msb always set",
            Normalization::None => "no normalization",
        };
        let (mantissa, exponent) = (u64::from(t.mantissa_bits), u64::from(t.exponent_bits));
        put!(
            self,
            "\n{:indent$}(significant for {mantissa} bit{} at bit {}, {normalization})",
            "",
            s(mantissa),
            t.mantissa_position
        );
        put!(
            self,
            "\n{:indent$}(exponent for {exponent} bit{} at bit {}, bias is {:#x})",
            "",
            s(exponent),
            t.exponent_position,
            t.exponent_bias
        );
        put!(self, "\n{:indent$}(sign bit at {})", "", t.sign_position);
        if 1 + mantissa + exponent < u64::from(t.bits.precision) {
            put!(self, "\n{:indent$}(internal padding bits are {})", "", pad(t.internal_pad));
        }
    }

    fn compound(&mut self, t: &Compound, indent: usize) {
        self.out.push_str("struct {");
        let inner = indent + 4;
        for member in &t.members {
            let name = escape(&member.name, false);
            let gap = 16usize.saturating_sub(name.len());
            put!(self, "\n{:inner$}\"{name}\"{:gap$} +{:<4} ", "", "", member.offset);
            self.datatype(&member.datatype, inner);
        }
        put!(self, "\n{:indent$}}} {} byte{}", "", t.size, s(t.size.into()));
    }

    fn enumeration(&mut self, t: &Enum, indent: usize) {
        let inner = indent + 4;
        self.out.push_str("enum ");
        self.datatype(&t.base, inner);
        self.out.push_str(" {");
        for (name, value) in &t.members {
            let name = escape(name, true);
            let gap = 16usize.saturating_sub(name.len());
            put!(self, "\n{:inner$}{name}{:gap$} = {}", "", "", enum_value(&t.base, value));
        }
        if t.members.is_empty() {
            put!(self, "\n{:inner$} <empty>", "");
        }
        put!(self, "\n{:indent$}}}", "");
    }

    fn array(&mut self, t: &Array, indent: usize) {
        let dims: Vec<String> = t.dims.iter().map(u32::to_string).collect();
        match dims.is_empty() {
            true => self.out.push_str(" [SCALAR]\n"),
            false => put!(self, "[{}]", dims.join(",")),
        }
        self.out.push(' ');
        self.datatype(&t.base, indent + 4);
    }
}

fn s(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn pad(pad: BitPad) -> &'static str {
    match pad {
        BitPad::Zero => "zero",
        BitPad::One => "one",
    }
}

fn order_words(bits: &Bits) -> &'static str {
    match bits.order {
        _ if bits.size == 1 => "",
        ByteOrder::Little => " little-endian",
        ByteOrder::Big => " big-endian",
        ByteOrder::Vax => " mixed-endian",
    }
}

fn string_words(padding: StringPad, charset: CharacterSet) -> String {
    let padding = match padding {
        StringPad::NullTerminated => "null-terminated",
        StringPad::NullPadded => "null-padded",
        StringPad::SpacePadded => "space-padded",
    };
    let charset = match charset {
        CharacterSet::Ascii => "ASCII",
        CharacterSet::Utf8 => "UTF-8",
    };
    format!("{padding} {charset} string")
}

fn enum_value(base: &Datatype, value: &[u8]) -> String {
    match base {
        Datatype::Integer(t) if value.len() <= 8 => {
            number::integer(t, value).map_or_else(String::new, |n| n.to_string())
        }
        _ => value.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}")),
    }
}

/// Returns the name of the C type that is exactly this, on a little-endian machine of 64 bits.
fn native_name(datatype: &Datatype) -> Option<&'static str> {
    let little = |bits: &Bits| *bits == Bits::full(bits.size.min(8), ByteOrder::Little);
    match datatype {
        Datatype::Integer(t) if little(&t.bits) => native_integer(t.bits.size, t.signed),
        Datatype::Bitfield(t) if little(t) => match t.size {
            1 => Some("native 8-bit field"),
            2 => Some("native 16-bit field"),
            4 => Some("native 32-bit field"),
            8 => Some("native 64-bit field"),
            _ => None,
        },
        Datatype::Float(t) => native_float(t),
        _ => None,
    }
}

fn native_integer(size: u32, signed: bool) -> Option<&'static str> {
    Some(match (size, signed) {
        (1, true) => "native signed char",
        (1, false) => "native unsigned char",
        (2, true) => "native short",
        (2, false) => "native unsigned short",
        (4, true) => "native int",
        (4, false) => "native unsigned int",
        (8, true) => "native long",
        (8, false) => "native unsigned long",
        _ => return None,
    })
}

fn native_float(t: &Float) -> Option<&'static str> {
    if t.bits.order != ByteOrder::Little {
        return None;
    }
    match t.bits.size {
        4 if t.is_ieee() => Some("native float"),
        8 if t.is_ieee() => Some("native double"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, offset: u32, datatype: Datatype) -> Member {
        Member { name: name.to_owned(), offset, datatype }
    }

    #[test]
    fn machine_types_have_their_names_unless_output_is_simple() {
        let int = Datatype::integer(4, true, ByteOrder::Little);
        assert_eq!(describe(&int, 0, false), "native int");
        assert_eq!(describe(&int, 0, true), "32-bit little-endian integer");
        let byte = Datatype::integer(1, false, ByteOrder::Big);
        assert_eq!(describe(&byte, 0, false), "8-bit unsigned integer");
    }

    #[test]
    fn unused_bits_are_printed() {
        let mut bits = Bits::full(2, ByteOrder::Big);
        (bits.offset, bits.precision) = (1, 10);
        let text = describe(&Datatype::Bitfield(bits), 2, false);
        assert_eq!(
            text,
            "16-bit big-endian bitfield\n  (10 bits of precision beginning at bit 1)\n  \
             (1 zero bit at bit 0, 5 zero bits at bit 11)"
        );
    }

    #[test]
    fn members_stand_where_a_c_program_has_them() {
        let text = Datatype::VarLen(VarLen { size: 16, ..var_string() });
        let last = member("b", 16, Datatype::integer(4, true, ByteOrder::Little));
        let compound = Datatype::Compound(Compound { size: 20, members: vec![member("a", 0, text), last] });
        let words = describe(&in_memory(&compound), 0, false);
        assert!(words.contains("\"b\"                +8    native int\n} 12 bytes"), "{words}");
    }

    fn var_string() -> VarLen {
        let kind = VarLenKind::String { padding: StringPad::NullTerminated, charset: CharacterSet::Ascii };
        VarLen { size: 16, kind }
    }
}
