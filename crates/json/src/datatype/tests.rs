use model::datatype::*;
use model::{ByteOrder, CharacterSet, Limits};

use super::*;
use crate::text;

fn again(datatype: &Datatype) -> String {
    let text = text::write(&datatype_to_json(datatype)).unwrap();
    let read = datatype_from_json(&text::read(&text).unwrap(), &Limits::default()).unwrap();
    assert_eq!(read, datatype.memory_type(), "{text}");
    text
}

fn odd_bits() -> Bits {
    Bits { offset: 3, precision: 17, high_pad: BitPad::One, ..Bits::full(4, ByteOrder::Big) }
}

fn every_class() -> Vec<Datatype> {
    let int = Datatype::integer(4, true, ByteOrder::Little);
    let bfloat = Datatype::Float(Float::ieee(2, ByteOrder::Little, 8, 7));
    let vax = Float { bits: Bits::full(4, ByteOrder::Vax), ..Float::ieee(4, ByteOrder::Vax, 8, 23) };
    let time = Time { size: 4, order: ByteOrder::Little, precision: 32 };
    let members =
        [("a b".to_owned(), int.clone()), ("é".to_owned(), Datatype::var_string(CharacterSet::Utf8))];
    let gaps = Compound {
        size: 32,
        members: vec![Member { name: "x".into(), offset: 8, datatype: Datatype::ieee_f64(ByteOrder::Big) }],
    };
    let huge = vec![
        ("min".to_owned(), i64::MIN.to_le_bytes().to_vec()),
        ("max".into(), i64::MAX.to_le_bytes().to_vec()),
    ];
    let kinds = ReferenceKind::WORDS.iter().map(|(_, kind)| Datatype::reference(*kind));
    let mut all = vec![
        int.clone(),
        Datatype::integer(16, false, ByteOrder::Big),
        Datatype::Integer(Integer { bits: odd_bits(), signed: true }),
        Datatype::ieee_f16(ByteOrder::Big),
        Datatype::ieee_f64(ByteOrder::Little),
        bfloat.clone(),
        Datatype::Float(vax),
        Datatype::Time(time),
        Datatype::fixed_string(7, StringPad::SpacePadded, CharacterSet::Ascii),
        Datatype::Bitfield(Bits::full(2, ByteOrder::Big)),
        Datatype::Bitfield(odd_bits()),
        Datatype::Opaque(Opaque { size: 5, tag: "a \"tag\"\n".into() }),
        Datatype::Compound(Compound::packed(members)),
        Datatype::Compound(gaps),
        Datatype::boolean(),
        Datatype::Enum(Enum { base: Box::new(Datatype::integer(8, true, ByteOrder::Little)), members: huge }),
        Datatype::var_sequence(Datatype::var_sequence(int.clone())),
        Datatype::array(&[2, 3], Datatype::array(&[4], int)),
        Datatype::Complex(Complex { base: Box::new(bfloat) }),
    ];
    all.extend(kinds);
    all
}

use crate::names::Word;

#[test]
fn every_class_reads_back() {
    for datatype in every_class() {
        again(&datatype);
    }
}

#[test]
fn common_types_look_as_published() {
    let text = again(&Datatype::integer(4, true, ByteOrder::Little));
    assert_eq!(text, "{\"class\": \"H5T_INTEGER\", \"base\": \"H5T_STD_I32LE\"}\n");
    let text = again(&Datatype::fixed_string(3, StringPad::NullPadded, CharacterSet::Ascii));
    assert!(text.contains("\"charSet\": \"H5T_CSET_ASCII\", \"strPad\": \"H5T_STR_NULLPAD\", \"length\": 3"));
}

#[test]
fn broken_types_are_refused() {
    for text in [
        "\"H5T_STD_I24LE\"",
        "{\"class\": \"H5T_INTEGER\", \"base\": \"H5T_IEEE_F32LE\"}",
        "{\"class\": \"H5T_NOTHING\"}",
        "{\"class\": \"H5T_ARRAY\", \"base\": \"H5T_STD_I32LE\", \"dims\": [4294967295, 4294967295]}",
        "{\"class\": \"H5T_COMPOUND\", \"fields\": []}",
        "{\"class\": \"H5T_OPAQUE\", \"size\": 0}",
        "{\"class\": \"H5T_OPAQUE\", \"size\": 4000000000}",
        "{\"class\": \"H5T_COMPLEX\", \"base\": \"H5T_STD_I32LE\"}",
        "{\"class\": \"H5T_ENUM\", \"base\": \"H5T_STD_I8LE\", \"mapping\": {\"a\": 300}}",
        "3",
    ] {
        assert!(datatype_from_json(&text::read(text).unwrap(), &Limits::default()).is_err(), "{text}");
    }
    let deep = "{\"class\": \"H5T_VLEN\", \"base\": ".repeat(80) + "\"H5T_STD_I8LE\"" + &"}".repeat(80);
    let error = datatype_from_json(&text::read(&deep).unwrap(), &Limits::default()).unwrap_err();
    assert_eq!(error.kind(), model::Kind::Limit);
}
