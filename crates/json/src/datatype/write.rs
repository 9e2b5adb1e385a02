//! From a datatype to JSON.

use model::datatype::*;

use super::predefined;
use crate::names::Word;
use crate::text::{Fields, Value, list};
use crate::values::number_to_json;

/// Returns a datatype as JSON. Descriptors have no size there: the type is written as it stands in memory.
pub fn datatype_to_json(datatype: &Datatype) -> Value<'static> {
    put(&datatype.memory_type())
}

fn put(datatype: &Datatype) -> Value<'static> {
    if let Some(base) = predefined(datatype) {
        return Fields::class(datatype.class_name()).with("base", base).into();
    }
    let fields = Fields::class(datatype.class_name());
    match datatype {
        Datatype::Integer(t) => bits(fields, &t.bits).with("signed", t.signed),
        Datatype::Float(t) => float(bits(fields, &t.bits), t),
        Datatype::Time(t) => {
            fields.with("size", t.size).with("order", t.order.word()).with("precision", t.precision)
        }
        Datatype::String(t) => text(fields, t.charset, t.padding).with("length", t.size),
        Datatype::Bitfield(t) => bits(fields, t),
        Datatype::Opaque(t) => fields.with("size", t.size).with("tag", t.tag.clone()),
        Datatype::Compound(t) => compound(fields, t),
        Datatype::Reference(t) => reference(fields, t.kind),
        Datatype::Enum(t) => {
            let member = |(name, value): &(String, Vec<u8>)| {
                Fields::new().with("name", name.clone()).with("value", number_to_json(&t.base, value))
            };
            fields.with("base", put(&t.base)).with("members", list(t.members.iter().map(member)))
        }
        Datatype::VarLen(VarLen { kind: VarLenKind::String { padding, charset }, .. }) => {
            text(fields, *charset, *padding).with("length", "H5T_VARIABLE")
        }
        Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(base), .. }) => fields.with("base", put(base)),
        Datatype::Array(t) => fields.with("base", put(&t.base)).with("dims", list(t.dims.iter().copied())),
        Datatype::Complex(t) => fields.with("base", put(&t.base)),
    }
    .into()
}

/// Returns the fields that numbers of unusual shape have.
fn bits(fields: Fields<'static>, bits: &Bits) -> Fields<'static> {
    fields
        .with("size", bits.size)
        .with("order", bits.order.word())
        .with("offset", bits.offset)
        .with("precision", bits.precision)
        .unless(&BitPad::Zero.word(), "lowPad", bits.low_pad.word())
        .unless(&BitPad::Zero.word(), "highPad", bits.high_pad.word())
}

fn float(fields: Fields<'static>, float: &Float) -> Fields<'static> {
    fields
        .unless(&BitPad::Zero.word(), "internalPad", float.internal_pad.word())
        .with("normalization", float.normalization.word())
        .with("signPosition", float.sign_position)
        .with("exponentPosition", float.exponent_position)
        .with("exponentBits", float.exponent_bits)
        .with("mantissaPosition", float.mantissa_position)
        .with("mantissaBits", float.mantissa_bits)
        .with("exponentBias", float.exponent_bias)
}

fn text(fields: Fields<'static>, charset: CharacterSet, padding: StringPad) -> Fields<'static> {
    fields.with("charSet", charset.word()).with("strPad", padding.word())
}

fn reference(fields: Fields<'static>, kind: ReferenceKind) -> Fields<'static> {
    match kind {
        ReferenceKind::Object1 | ReferenceKind::DatasetRegion1 => fields.with("base", kind.word()),
        // The newer kinds have one predefined type, which holds any of them.
        _ => fields.with("base", "H5T_STD_REF").with("kind", kind.word()),
    }
}

/// Offsets stand there only where members are not simply one after another.
fn compound(fields: Fields<'static>, compound: &Compound) -> Fields<'static> {
    let pairs = compound.members.iter().map(|m| (m.name.clone(), m.datatype.clone()));
    let is_packed = Compound::packed(pairs) == *compound;
    let member = |m: &Member| {
        let field = Fields::new().with("name", m.name.clone()).with("type", put(&m.datatype));
        if is_packed { field } else { field.with("offset", m.offset) }
    };
    let members = list(compound.members.iter().map(member));
    let fields = if is_packed { fields } else { fields.with("size", compound.size) };
    fields.with("fields", members)
}
