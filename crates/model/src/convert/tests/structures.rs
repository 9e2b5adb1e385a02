//! Types made of other types.

use super::*;
use crate::ByteOrder::{Big, Little};
use crate::CharacterSet;
use crate::datatype::{Compound, Enum, Member, ReferenceKind, StringPad};
use crate::heap::VarSlot;

fn compound(size: u32, members: &[(&str, u32, Datatype)]) -> Datatype {
    let member = |(name, offset, t): &(&str, u32, Datatype)| Member {
        name: (*name).to_owned(),
        offset: *offset,
        datatype: t.clone(),
    };
    Datatype::Compound(Compound { size, members: members.iter().map(member).collect() })
}

fn enumeration(base: Datatype, members: &[(&str, &[u8])]) -> Datatype {
    let members = members.iter().map(|(name, value)| ((*name).to_owned(), value.to_vec())).collect();
    Datatype::Enum(Enum { base: Box::new(base), members })
}

fn i16le() -> Datatype {
    Datatype::integer(2, true, Little)
}

#[test]
fn equal_types_are_one_copy() {
    let t = compound(8, &[("a", 0, i16le()), ("b", 4, i16le())]);
    let plan = Plan::compile(&t, &t, &Conversions::default()).unwrap();
    assert!(plan.is_copy() && !plan.needs_background());
}

#[test]
fn members_are_matched_by_name_and_the_rest_of_the_target_stays() {
    let from = compound(6, &[("x", 0, i16le()), ("y", 2, i16le()), ("z", 4, i16le())]);
    let to = compound(
        9,
        &[("z", 1, Datatype::integer(2, true, Big)), ("new", 3, i16le()), ("x", 5, Datatype::native_int(4))],
    );
    let input = [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0xff, 0xff];
    let expected = [0xA5, 0, 3, 0xA5, 0xA5, 1, 0, 0, 0, 0xA5, 0xff, 0xff, 0xA5, 0xA5, 4, 0, 0, 0];
    assert_eq!(convert_plain(&from, &to, &input), expected);
    assert!(Plan::compile(&from, &to, &Conversions::default()).unwrap().needs_background());
}

#[test]
fn many_compounds_convert_as_one_does() {
    let inner =
        |t: Datatype| compound(5, &[("v", 1, Datatype::array(&[2], t)), ("w", 0, Datatype::native_int(1))]);
    let from = compound(7, &[("in", 2, inner(i16le())), ("k", 0, i16le())]);
    let to = compound(7, &[("in", 0, inner(Datatype::integer(2, false, Big))), ("k", 5, i16le())]);
    let input: Vec<u8> = (0..7 * 5000).map(|n| (n * 31 % 251) as u8).collect();
    let all = convert_plain(&from, &to, &input);
    let each: Vec<u8> = input.chunks(7).flat_map(|one| convert_plain(&from, &to, one)).collect();
    assert_eq!(all, each);
}

#[test]
fn enums_go_by_name_and_unknown_values_become_all_ones() {
    let from = enumeration(Datatype::native_int(1), &[("RED", &[0]), ("GREEN", &[1]), ("GONE", &[2])]);
    let to = enumeration(i16le(), &[("GREEN", &[7, 0]), ("RED", &[8, 0])]);
    assert_eq!(convert_plain(&from, &to, &[1, 0, 2, 9]), [7, 0, 8, 0, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(convert_plain(&from, &i16le(), &[1, 9]), [1, 0, 9, 0]);
    assert_eq!(convert_plain(&i16le(), &from, &[1, 0, 9, 1]), [1, 127]);
}

#[test]
fn strings_are_padded_cut_and_moved_to_the_heap() {
    let fixed = |size, pad| Datatype::fixed_string(size, pad, CharacterSet::Ascii);
    let (term, null, space) = (StringPad::NullTerminated, StringPad::NullPadded, StringPad::SpacePadded);
    assert_eq!(convert_plain(&fixed(4, null), &fixed(3, term), b"abcd"), b"ab\0");
    assert_eq!(convert_plain(&fixed(4, space), &fixed(6, null), b"ab  "), b"ab\0\0\0\0");
    assert_eq!(convert_plain(&fixed(4, term), &fixed(6, space), b"ab\0x"), b"ab    ");
    let mut heap = Heap::new();
    let variable = Datatype::var_string(CharacterSet::Utf8);
    let slot = convert(&fixed(4, space), &variable, b"ab  ", &mut heap);
    assert_eq!(heap.get(VarSlot::load(&slot).unwrap(), 1).unwrap(), b"ab");
    assert_eq!(convert(&variable, &fixed(3, space), &slot, &mut heap), b"ab ");
}

#[test]
fn sequences_convert_their_elements_on_the_heap() {
    let mut heap = Heap::new();
    let mut input = vec![0; 32];
    heap.push(&[1, 0, 0xff, 0xff], 2).store(&mut input).unwrap();
    let (from, to) =
        (Datatype::var_sequence(i16le()), Datatype::var_sequence(Datatype::integer(4, true, Big)));
    let output = convert(&from, &to, &input, &mut heap);
    let slot = VarSlot::load(&output).unwrap();
    assert_eq!(heap.get(slot, 4).unwrap(), [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(output[16..], [0; 16]);
}

#[test]
fn a_slot_outside_the_heap_is_an_error() {
    let (from, to) = (Datatype::var_sequence(i16le()), Datatype::var_sequence(Datatype::native_int(4)));
    let plan = Plan::compile(&from, &to, &Conversions::default()).unwrap();
    assert!(plan.run(&[0xff; 16], &mut [0; 16], 1, &mut Heap::new()).is_err());
}

#[test]
fn an_old_object_reference_serves_as_a_new_one_only() {
    let (old, new) =
        (Datatype::reference(ReferenceKind::ObjectOld), Datatype::reference(ReferenceKind::Object));
    assert!(Plan::compile(&old, &new, &Conversions::default()).unwrap().is_copy());
    assert!(Plan::compile(&new, &old, &Conversions::default()).is_err());
}
