//! From JSON to a datatype.

use model::datatype::*;
use model::{Error, Limits, Result, Within};

use super::from_predefined;
use crate::names::Word;
use crate::text::Value;
use crate::values::number_from_json;

/// Returns the datatype that JSON means, in the memory datatype; checked as far as a datatype can be.
pub fn datatype_from_json(value: &Value<'_>, limits: &Limits) -> Result<Datatype> {
    let datatype = get(value, limits, 1).map_err(|e| e.during("read datatype"))?;
    let checked = datatype.validate(limits);
    checked.map_err(|e| Error::corrupt("read datatype").because(e))?;
    u64::from(datatype.size()).within(limits.element_bytes_max, "element")?;
    Ok(datatype)
}

fn get(value: &Value<'_>, limits: &Limits, depth: u32) -> Result<Datatype> {
    if depth > limits.depth_max {
        return Err(Error::limit("nest datatypes").with("limit", limits.depth_max));
    }
    if let Value::String(name) = value {
        return from_predefined(name);
    }
    let base = || get(value.need("base")?, limits, depth + 1);
    let plain = || value.get("base").map(|base| from_predefined(base.text()?)).transpose();
    match value.need("class")?.text()? {
        "H5T_INTEGER" => Ok(match plain()? {
            Some(known @ Datatype::Integer(_)) => known,
            Some(_) => return Err(wrong("base")),
            None => Datatype::Integer(Integer { bits: bits(value)?, signed: value.need("signed")?.truth()? }),
        }),
        "H5T_FLOAT" => Ok(match plain()? {
            Some(known @ Datatype::Float(_)) => known,
            Some(_) => return Err(wrong("base")),
            None => Datatype::Float(float(value)?),
        }),
        "H5T_BITFIELD" => Ok(match plain()? {
            Some(known @ Datatype::Bitfield(_)) => known,
            Some(_) => return Err(wrong("base")),
            None => Datatype::Bitfield(bits(value)?),
        }),
        "H5T_TIME" => Ok(Datatype::Time(Time {
            size: value.need("size")?.uint()?,
            order: ByteOrder::from_word(value.need("order")?)?,
            precision: value.need("precision")?.uint()?,
        })),
        "H5T_STRING" => text(value),
        "H5T_OPAQUE" => {
            let tag = value.or("tag", String::new(), |tag| tag.text().map(str::to_owned))?;
            Ok(Datatype::Opaque(Opaque { size: value.need("size")?.uint()?, tag }))
        }
        "H5T_COMPOUND" => compound(value, limits, depth).map(Datatype::Compound),
        "H5T_REFERENCE" => reference(value),
        "H5T_ENUM" => enumeration(value, base()?),
        "H5T_VLEN" => Ok(Datatype::var_sequence(base()?)),
        "H5T_ARRAY" => {
            let dims = value.need("dims")?.array()?.iter().map(Value::uint).collect::<Result<_>>()?;
            Ok(Datatype::Array(Array { dims, base: Box::new(base()?) }))
        }
        "H5T_COMPLEX" => Ok(Datatype::Complex(Complex { base: Box::new(base()?) })),
        other => Err(Error::corrupt("read datatype").with("unknown class", other)),
    }
}

fn wrong(what: &str) -> Error {
    Error::corrupt("read datatype").with("wrong", what)
}

fn bits(value: &Value<'_>) -> Result<Bits> {
    let bits = Bits {
        size: value.need("size")?.uint()?,
        order: ByteOrder::from_word(value.need("order")?)?,
        offset: value.need("offset")?.uint()?,
        precision: value.need("precision")?.uint()?,
        low_pad: value.or("lowPad", BitPad::Zero, BitPad::from_word)?,
        high_pad: value.or("highPad", BitPad::Zero, BitPad::from_word)?,
    };
    let end = u64::from(bits.offset) + u64::from(bits.precision);
    if bits.precision == 0 || end > u64::from(bits.size) * 8 {
        return Err(wrong("significant bits"));
    }
    Ok(bits)
}

fn float(value: &Value<'_>) -> Result<Float> {
    let float = Float {
        bits: bits(value)?,
        internal_pad: value.or("internalPad", BitPad::Zero, BitPad::from_word)?,
        normalization: Normalization::from_word(value.need("normalization")?)?,
        sign_position: value.need("signPosition")?.uint()?,
        exponent_position: value.need("exponentPosition")?.uint()?,
        exponent_bits: value.need("exponentBits")?.uint()?,
        mantissa_position: value.need("mantissaPosition")?.uint()?,
        mantissa_bits: value.need("mantissaBits")?.uint()?,
        exponent_bias: value.need("exponentBias")?.uint()?,
    };
    let budget = float.bits.size.saturating_mul(8);
    let ends = [
        u32::from(float.sign_position) + 1,
        u32::from(float.exponent_position) + u32::from(float.exponent_bits),
        u32::from(float.mantissa_position) + u32::from(float.mantissa_bits),
    ];
    if ends.iter().any(|&end| end > budget) || float.exponent_bits == 0 || float.mantissa_bits == 0 {
        return Err(wrong("fields of a float"));
    }
    Ok(float)
}

fn text(value: &Value<'_>) -> Result<Datatype> {
    let charset = value.or("charSet", CharacterSet::Ascii, CharacterSet::from_word)?;
    let padding = value.or("strPad", StringPad::NullTerminated, StringPad::from_word)?;
    match value.need("length")? {
        Value::String(word) if word == "H5T_VARIABLE" => {
            let kind = VarLenKind::String { padding, charset };
            Ok(Datatype::VarLen(VarLen { size: MEMORY_SLOT_BYTES, kind }))
        }
        length => Ok(Datatype::fixed_string(length.uint()?, padding, charset)),
    }
}

fn reference(value: &Value<'_>) -> Result<Datatype> {
    let base = value.need("base")?;
    let kind = match base.text()? {
        "H5T_STD_REF" => value.or("kind", ReferenceKind::Object, ReferenceKind::from_word)?,
        _ => ReferenceKind::from_word(base)?,
    };
    Ok(Datatype::reference(kind))
}

fn enumeration(value: &Value<'_>, base: Datatype) -> Result<Datatype> {
    let member = |name: &str, number: &Value<'_>| Ok((name.to_owned(), number_from_json(&base, number)?));
    let members = match (value.get("members"), value.get("mapping")) {
        (Some(members), _) => {
            let members = members.array()?.iter();
            members.map(|m| member(m.need("name")?.text()?, m.need("value")?)).collect::<Result<_>>()?
        }
        (None, Some(mapping)) => {
            mapping.members()?.iter().map(|(name, number)| member(name, number)).collect::<Result<_>>()?
        }
        (None, None) => return Err(Error::corrupt("read datatype").with("missing", "members")),
    };
    Ok(Datatype::Enum(Enum { base: Box::new(base), members }))
}

fn compound(value: &Value<'_>, limits: &Limits, depth: u32) -> Result<Compound> {
    let fields = value.need("fields")?.array()?;
    let mut end = 0u32;
    let mut members = Vec::new();
    for field in fields {
        let name = field.need("name")?.text()?.to_owned();
        let datatype = get(field.need("type")?, limits, depth + 1)?;
        let offset = field.or("offset", end, Value::uint)?;
        end = offset.checked_add(datatype.size()).ok_or_else(|| wrong("size of a compound"))?;
        members.push(Member { name, offset, datatype });
    }
    let size = value.or("size", end, Value::uint)?;
    Ok(Compound { size, members })
}
