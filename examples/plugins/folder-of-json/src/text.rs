//! Types, extents and elements as JSON.
//!
//! A type is written as NumPy writes it (`<i4`, `>f8`, `S10`); any other as `h5:` and its message in hexadecimal digits.
//! An element is a number or a text where its type is one of the first kind, else `{"hex": "…"}`.

use model::datatype::StringPad;
use model::{ByteOrder, CharacterSet, Dataspace, Datatype, Error, Limits, Result, UNLIMITED};
use serde_json::{Value, json};

/// Returns an error about what stands in a file.
pub(crate) fn corrupt(problem: &str) -> Error {
    Error::corrupt("read JSON").with("problem", problem)
}

/// Returns a field that must be there.
pub(crate) fn field<'v>(value: &'v Value, name: &str) -> Result<&'v Value> {
    value.get(name).ok_or_else(|| corrupt("a field is missing").with("field", name))
}

/// Returns a text that must be there.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> Result<&'v str> {
    field(value, name)?.as_str().ok_or_else(|| corrupt("not a text").with("field", name))
}

/// Returns a number that must be there.
pub(crate) fn number(value: &Value, name: &str) -> Result<u64> {
    field(value, name)?.as_u64().ok_or_else(|| corrupt("not a number").with("field", name))
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(text: &str) -> Result<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16).map(|digit| digit as u8);
    let byte = |pair: &[u8]| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?);
    text.as_bytes()
        .chunks(2)
        .map(byte)
        .collect::<Option<_>>()
        .ok_or_else(|| corrupt("not hexadecimal digits"))
}

/// What elements are written as.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shape {
    Integer { signed: bool, order: ByteOrder },
    Float { order: ByteOrder },
    Text,
    Raw,
}

/// Types that have a short name, other than strings.
fn named() -> impl Iterator<Item = (String, Datatype, Shape)> {
    [('<', ByteOrder::Little), ('>', ByteOrder::Big)].into_iter().flat_map(|(mark, order)| {
        let integers = [1, 2, 4, 8].into_iter().flat_map(move |size| {
            [('i', true), ('u', false)].map(|(letter, signed)| {
                let datatype = Datatype::integer(size, signed, order);
                (format!("{mark}{letter}{size}"), datatype, Shape::Integer { signed, order })
            })
        });
        let floats = [(4, Datatype::ieee_f32(order)), (8, Datatype::ieee_f64(order))];
        integers.chain(
            floats.map(|(size, datatype)| (format!("{mark}f{size}"), datatype, Shape::Float { order })),
        )
    })
}

fn fixed_string(size: u32) -> Datatype {
    Datatype::fixed_string(size, StringPad::NullPadded, CharacterSet::Ascii)
}

pub(crate) fn shape_of(datatype: &Datatype) -> Shape {
    match named().find(|(_, known, _)| known == datatype) {
        Some((_, _, shape)) => shape,
        None if *datatype == fixed_string(datatype.size()) => Shape::Text,
        None => Shape::Raw,
    }
}

pub(crate) fn type_to_text(datatype: &Datatype) -> Result<String> {
    Ok(match named().find(|(_, known, _)| known == datatype) {
        Some((name, ..)) => name,
        None if *datatype == fixed_string(datatype.size()) => format!("S{}", datatype.size()),
        None => format!("h5:{}", to_hex(&datatype.encode(3)?)),
    })
}

pub(crate) fn type_from_text(text: &str, limits: &Limits) -> Result<Datatype> {
    if let Some(message) = text.strip_prefix("h5:") {
        return Datatype::decode(&from_hex(message)?, limits);
    }
    if let Some(size) = text.strip_prefix('S') {
        return size
            .parse()
            .map(fixed_string)
            .map_err(|_| corrupt("not the size of a string").with("type", text));
    }
    let known = named().find(|(name, ..)| name == text);
    known.map(|(_, datatype, _)| datatype).ok_or_else(|| corrupt("not a type").with("type", text))
}

/// `null`, `"scalar"`, or dimensions and their maxima, of which `null` is none.
pub(crate) fn space_to_json(space: &Dataspace) -> Value {
    let bounded = |max: &u64| (*max != UNLIMITED).then_some(*max);
    match space {
        Dataspace::Null => Value::Null,
        Dataspace::Scalar => json!("scalar"),
        Dataspace::Simple(_) => {
            json!({"dims": space.dims(), "max_dims": space.max_dims().iter().map(bounded).collect::<Vec<_>>()})
        }
    }
}

pub(crate) fn space_from_json(value: &Value) -> Result<Dataspace> {
    let list = |name| field(value, name)?.as_array().ok_or_else(|| corrupt("not a list").with("field", name));
    let dim = |value: &Value| value.as_u64().ok_or_else(|| corrupt("not a dimension"));
    let max = |value: &Value| if value.is_null() { Ok(UNLIMITED) } else { dim(value) };
    match value {
        Value::Null => Ok(Dataspace::Null),
        Value::String(text) if text == "scalar" => Ok(Dataspace::Scalar),
        _ => {
            let dims: Vec<u64> = list("dims")?.iter().map(dim).collect::<Result<_>>()?;
            let max_dims: Vec<u64> = list("max_dims")?.iter().map(max).collect::<Result<_>>()?;
            Dataspace::resizable(&dims, &max_dims).map_err(|e| corrupt("dimensions").because(e))
        }
    }
}

/// Elements one after another.
pub(crate) fn elements_to_json(shape: Shape, size: u32, bytes: &[u8]) -> Value {
    bytes.chunks_exact(size.max(1) as usize).map(|element| element_to_json(shape, element)).collect()
}

fn element_to_json(shape: Shape, element: &[u8]) -> Value {
    let plain = match shape {
        Shape::Integer { signed, order } => Some(integer_to_json(element, signed, order)),
        // Numbers that JSON lacks are written as bytes.
        Shape::Float { order } => serde_json::Number::from_f64(float(element, order)).map(Value::Number),
        Shape::Text => {
            let end = element.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            std::str::from_utf8(&element[..end]).ok().map(|text| json!(text))
        }
        Shape::Raw => None,
    };
    plain.unwrap_or_else(|| json!({"hex": to_hex(element)}))
}

/// Returns the bytes of a number, least significant first, in eight.
fn little(element: &[u8], order: ByteOrder, fill: u8) -> [u8; 8] {
    let mut bytes = [fill; 8];
    for (n, byte) in bytes.iter_mut().zip(element).map(|(to, _)| to).enumerate() {
        *byte = if order == ByteOrder::Big { element[element.len() - 1 - n] } else { element[n] };
    }
    bytes
}

fn integer_to_json(element: &[u8], signed: bool, order: ByteOrder) -> Value {
    let top = little(element, order, 0)[element.len().clamp(1, 8) - 1];
    let is_negative = signed && top >= 0x80;
    match is_negative {
        true => json!(i64::from_le_bytes(little(element, order, 0xff))),
        false => json!(u64::from_le_bytes(little(element, order, 0))),
    }
}

fn float(element: &[u8], order: ByteOrder) -> f64 {
    let bits = u64::from_le_bytes(little(element, order, 0));
    if element.len() == 4 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

pub(crate) fn elements_from_json(shape: Shape, size: u32, value: &Value) -> Result<Vec<u8>> {
    let list = value.as_array().ok_or_else(|| corrupt("elements are not a list"))?;
    let mut bytes = Vec::new();
    for element in list {
        let one = element_from_json(shape, size as usize, element)?;
        if one.len() != size as usize {
            return Err(corrupt("an element does not fit its type").with("element", element));
        }
        bytes.extend(one);
    }
    Ok(bytes)
}

fn element_from_json(shape: Shape, size: usize, value: &Value) -> Result<Vec<u8>> {
    if let Some(hex) = value.get("hex").and_then(Value::as_str) {
        return from_hex(hex);
    }
    let wrong = || corrupt("an element does not fit its type").with("element", value);
    match shape {
        Shape::Integer { signed, order } => integer_from_json(size, signed, order, value).ok_or_else(wrong),
        Shape::Float { order } => {
            let number = value.as_f64().ok_or_else(wrong)?;
            let bits = if size == 4 { u64::from((number as f32).to_bits()) } else { number.to_bits() };
            Ok(ordered(bits, size, order))
        }
        Shape::Text => {
            let mut bytes = value.as_str().ok_or_else(wrong)?.as_bytes().to_vec();
            bytes.resize(bytes.len().max(size), 0);
            Ok(bytes)
        }
        Shape::Raw => Err(wrong()),
    }
}

fn integer_from_json(size: usize, signed: bool, order: ByteOrder, value: &Value) -> Option<Vec<u8>> {
    let number = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from))?;
    let bits = size as u32 * 8;
    let (low, high) = match signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    (low..=high).contains(&number).then(|| ordered(number as u64, size, order))
}

fn ordered(bits: u64, size: usize, order: ByteOrder) -> Vec<u8> {
    let mut bytes = bits.to_le_bytes()[..size.min(8)].to_vec();
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survive(datatype: &Datatype, bytes: &[u8], wanted: &Value) {
        let name = type_to_text(datatype).unwrap();
        assert_eq!(type_from_text(&name, &Limits::default()).unwrap(), *datatype);
        let (shape, size) = (shape_of(datatype), datatype.size());
        let json = elements_to_json(shape, size, bytes);
        assert_eq!(json, *wanted);
        let again: Value = serde_json::from_str(&json.to_string()).unwrap();
        assert_eq!(elements_from_json(shape, size, &again).unwrap(), bytes);
    }

    #[test]
    fn elements_are_readable_where_they_can_be() {
        survive(&Datatype::integer(2, true, ByteOrder::Big), &[0xff, 0xfe, 0, 7], &json!([-2, 7]));
        survive(&Datatype::integer(8, false, ByteOrder::Little), &[0xff; 8], &json!([u64::MAX]));
        survive(&Datatype::ieee_f32(ByteOrder::Little), &1.5f32.to_le_bytes(), &json!([1.5]));
        survive(&Datatype::ieee_f64(ByteOrder::Big), &(-0.1f64).to_be_bytes(), &json!([-0.1]));
        survive(&Datatype::ieee_f64(ByteOrder::Big), &[0xff; 8], &json!([{"hex": "ffffffffffffffff"}]));
        survive(&fixed_string(4), b"ab\0\0\xff\xff\xff\xff", &json!(["ab", {"hex": "ffffffff"}]));
        survive(&Datatype::boolean(), &[1, 0], &json!([{"hex": "01"}, {"hex": "00"}]));
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let shape = Shape::Integer { signed: true, order: ByteOrder::Little };
        assert!(elements_from_json(shape, 1, &json!([128])).is_err());
        assert!(elements_from_json(shape, 1, &json!([-128])).is_ok());
        assert!(elements_from_json(Shape::Text, 2, &json!(["abc"])).is_err());
        assert!(from_hex("0").is_err() && from_hex("zz").is_err());
    }
}
