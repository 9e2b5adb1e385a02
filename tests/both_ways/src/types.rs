//! Datatypes as lists of words; `kinds.py` says what stands where.

use model::datatype::{
    BitPad, Bits, Compound, Enum, Float, Integer, Member, Normalization, Opaque, ReferenceKind, StringPad,
    Time, VarLen, VarLenKind,
};
use model::{ByteOrder, CharacterSet, Datatype, Error, Result};

use crate::words::{Node, argument, hex, list};

fn unknown(what: &'static str, found: &str) -> Error {
    Error::unsupported("read script").with(what, found)
}

/// A type in the memory datatype.
pub(crate) fn parse(node: &Node) -> Result<Datatype> {
    let (class, args) = node.call()?;
    Ok(match class {
        "int" => {
            let bits = bits(args, 3)?;
            Datatype::Integer(Integer { bits, signed: argument(args, 2)?.word()? == "1" })
        }
        "bits" => Datatype::Bitfield(bits(args, 2)?),
        "float" => Datatype::Float(float(args)?),
        "time" => Datatype::Time(Time {
            size: argument(args, 0)?.number()?,
            order: order(argument(args, 1)?)?,
            precision: argument(args, 2)?.number()?,
        }),
        "str" => {
            let (padding, charset) = (padding(argument(args, 1)?)?, charset(argument(args, 2)?)?);
            Datatype::fixed_string(argument(args, 0)?.number()?, padding, charset)
        }
        "vstr" => {
            let (padding, charset) = (padding(argument(args, 0)?)?, charset(argument(args, 1)?)?);
            let kind = VarLenKind::String { padding, charset };
            Datatype::VarLen(VarLen { size: model::datatype::MEMORY_SLOT_BYTES, kind })
        }
        "opaque" => {
            Datatype::Opaque(Opaque { size: argument(args, 0)?.number()?, tag: argument(args, 1)?.text()? })
        }
        "compound" => compound(args)?,
        "enum" => Datatype::Enum(enumeration(args)?),
        "vlen" => Datatype::var_sequence(parse(argument(args, 0)?)?),
        "array" => Datatype::array(&argument(args, 0)?.numbers::<u32>()?, parse(argument(args, 1)?)?),
        "complex" => {
            Datatype::Complex(model::datatype::Complex { base: Box::new(parse(argument(args, 0)?)?) })
        }
        "ref" => Datatype::reference(match argument(args, 0)?.word()? {
            "object" => ReferenceKind::Object1,
            "region" => ReferenceKind::DatasetRegion1,
            "any" => ReferenceKind::Object,
            other => return Err(unknown("reference", other)),
        }),
        other => return Err(unknown("class", other)),
    })
}

/// Offset, precision and padding from the argument `at` on; size and order come first.
fn bits(args: &[Node], at: usize) -> Result<Bits> {
    Ok(Bits {
        size: argument(args, 0)?.number()?,
        order: order(argument(args, 1)?)?,
        offset: argument(args, at)?.number()?,
        precision: argument(args, at + 1)?.number()?,
        low_pad: pad(argument(args, at + 2)?)?,
        high_pad: pad(argument(args, at + 3)?)?,
    })
}

fn float(args: &[Node]) -> Result<Float> {
    Ok(Float {
        bits: bits(args, 2)?,
        internal_pad: pad(argument(args, 6)?)?,
        normalization: match argument(args, 7)?.word()? {
            "0" => Normalization::Implied,
            "1" => Normalization::MsbSet,
            _ => Normalization::None,
        },
        sign_position: argument(args, 8)?.number()?,
        exponent_position: argument(args, 9)?.number()?,
        exponent_bits: argument(args, 10)?.number()?,
        mantissa_position: argument(args, 11)?.number()?,
        mantissa_bits: argument(args, 12)?.number()?,
        exponent_bias: argument(args, 13)?.number()?,
    })
}

fn compound(args: &[Node]) -> Result<Datatype> {
    let mut members = Vec::new();
    for node in args.get(1..).unwrap_or_default() {
        let parts = node.list()?;
        let (name, offset) = (argument(parts, 0)?.text()?, argument(parts, 1)?.number()?);
        members.push(Member { name, offset, datatype: parse(argument(parts, 2)?)? });
    }
    if members.iter().any(|member| member.datatype.has_descriptors()) {
        let members = members.into_iter().map(|member| (member.name, member.datatype));
        return Ok(Datatype::Compound(Compound::packed(members)));
    }
    Ok(Datatype::Compound(Compound { size: argument(args, 0)?.number()?, members }))
}

fn enumeration(args: &[Node]) -> Result<Enum> {
    let base = Box::new(parse(argument(args, 0)?)?);
    let member = |node: &Node| {
        let parts = node.list()?;
        Ok((argument(parts, 0)?.text()?, argument(parts, 1)?.bytes()?))
    };
    Ok(Enum { base, members: args.iter().skip(1).map(member).collect::<Result<_>>()? })
}

fn order(node: &Node) -> Result<ByteOrder> {
    match node.word()? {
        "le" => Ok(ByteOrder::Little),
        "be" => Ok(ByteOrder::Big),
        other => Err(unknown("order", other)),
    }
}

fn pad(node: &Node) -> Result<BitPad> {
    Ok(if node.word()? == "1" { BitPad::One } else { BitPad::Zero })
}

fn padding(node: &Node) -> Result<StringPad> {
    match node.word()? {
        "0" => Ok(StringPad::NullTerminated),
        "1" => Ok(StringPad::NullPadded),
        "2" => Ok(StringPad::SpacePadded),
        other => Err(unknown("padding", other)),
    }
}

fn charset(node: &Node) -> Result<CharacterSet> {
    Ok(if node.word()? == "1" { CharacterSet::Utf8 } else { CharacterSet::Ascii })
}

/// The list that [`parse`] reads.
pub(crate) fn describe(datatype: &Datatype) -> String {
    match datatype {
        Datatype::Integer(t) => {
            let (bits, signed) = (bit_words(&t.bits), u8::from(t.signed));
            format!("(int {} {} {signed} {bits})", t.bits.size, order_word(t.bits.order))
        }
        Datatype::Bitfield(t) => format!("(bits {} {} {})", t.size, order_word(t.order), bit_words(t)),
        Datatype::Float(t) => describe_float(t),
        Datatype::Time(t) => format!("(time {} {} {})", t.size, order_word(t.order), t.precision),
        Datatype::String(t) => {
            format!("(str {} {} {})", t.size, padding_word(t.padding), charset_word(t.charset))
        }
        Datatype::VarLen(VarLen { kind: VarLenKind::String { padding, charset }, .. }) => {
            format!("(vstr {} {})", padding_word(*padding), charset_word(*charset))
        }
        Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => {
            format!("(vlen {})", describe(base))
        }
        Datatype::Opaque(t) => format!("(opaque {} {})", t.size, hex(&t.tag)),
        Datatype::Compound(t) => describe_compound(t, datatype.has_descriptors()),
        Datatype::Enum(t) => {
            let members = t.members.iter().map(|(name, value)| list(&[hex(name), hex(value)]));
            let words: Vec<String> =
                ["enum".to_owned(), describe(&t.base)].into_iter().chain(members).collect();
            list(&words)
        }
        Datatype::Array(t) => {
            let dims: Vec<String> = t.dims.iter().map(u32::to_string).collect();
            format!("(array {} {})", list(&dims), describe(&t.base))
        }
        Datatype::Reference(t) => match t.kind {
            ReferenceKind::Object1 => "(ref object)".to_owned(),
            ReferenceKind::DatasetRegion1 => "(ref region)".to_owned(),
            ReferenceKind::Object => "(ref any)".to_owned(),
            _ => "(ref other)".to_owned(),
        },
        Datatype::Complex(t) => format!("(complex {})", describe(&t.base)),
    }
}

fn describe_float(t: &Float) -> String {
    let norm = match t.normalization {
        Normalization::Implied => 0,
        Normalization::MsbSet => 1,
        Normalization::None => 2,
    };
    format!(
        "(float {} {} {} {} {norm} {} {} {} {} {} {})",
        t.bits.size,
        order_word(t.bits.order),
        bit_words(&t.bits),
        u8::from(t.internal_pad == BitPad::One),
        t.sign_position,
        t.exponent_position,
        t.exponent_bits,
        t.mantissa_position,
        t.mantissa_bits,
        t.exponent_bias
    )
}

/// Offsets mean something only where no descriptor's size depends on where the element is.
fn describe_compound(t: &Compound, has_descriptors: bool) -> String {
    let fixed = |n: u32| if has_descriptors { 0 } else { n };
    let members = t.members.iter().map(|member| {
        format!("({} {} {})", hex(&member.name), fixed(member.offset), describe(&member.datatype))
    });
    let words: Vec<String> =
        ["compound".to_owned(), fixed(t.size).to_string()].into_iter().chain(members).collect();
    list(&words)
}

fn order_word(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => "le",
        ByteOrder::Big => "be",
        ByteOrder::Vax => "vax",
    }
}

fn bit_words(bits: &Bits) -> String {
    let pad = |pad| u8::from(pad == BitPad::One);
    format!("{} {} {} {}", bits.offset, bits.precision, pad(bits.low_pad), pad(bits.high_pad))
}

fn padding_word(padding: StringPad) -> u8 {
    match padding {
        StringPad::NullTerminated => 0,
        StringPad::NullPadded => 1,
        StringPad::SpacePadded => 2,
    }
}

fn charset_word(charset: CharacterSet) -> u8 {
    u8::from(charset == CharacterSet::Utf8)
}
