//! Types made of other types.

use super::*;
use crate::ByteOrder::{Big, Little};
use crate::CharacterSet;
use crate::datatype::{Complex, Compound, Enum, Member, ReferenceKind, StringPad};
use crate::heap::VarLenDescriptor;

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
fn plans_with_heaps_or_users_code_are_not_parallel() {
    let parallel = |from: &Datatype, to: &Datatype, conversions: &Conversions| {
        Plan::compile(from, to, conversions).unwrap().is_parallel()
    };
    let plain = Conversions::default();
    let (small, large) = (i16le(), Datatype::integer(4, true, Big));
    assert!(parallel(&small, &large, &plain));
    let text = |bytes| Datatype::fixed_string(bytes, StringPad::NullPadded, CharacterSet::Ascii);
    assert!(parallel(&text(3), &text(5), &plain));
    let variable = Datatype::var_string(CharacterSet::Ascii);
    assert!(!parallel(&text(3), &variable, &plain));
    assert!(!parallel(&variable, &text(3), &plain));
    let pair = |second: &Datatype| compound(20, &[("a", 0, small.clone()), ("b", 2, second.clone())]);
    assert!(parallel(&pair(&small), &pair(&large), &plain));
    assert!(!parallel(&pair(&text(3)), &pair(&variable), &plain));
    let sequence = |base: &Datatype| Datatype::var_sequence(base.clone());
    assert!(!parallel(&sequence(&small), &sequence(&large), &plain));
    let mut told = Conversions::default();
    told.on_exception(Some(std::sync::Arc::new(|_, _, _| Handling::Default)));
    assert!(!parallel(&large, &small, &told));
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
    let descriptor = convert(&fixed(4, space), &variable, b"ab  ", &mut heap);
    assert_eq!(heap.get(VarLenDescriptor::load(&descriptor).unwrap(), 1).unwrap(), b"ab");
    assert_eq!(convert(&variable, &fixed(3, space), &descriptor, &mut heap), b"ab ");
}

#[test]
fn sequences_convert_their_elements_on_the_heap() {
    let mut heap = Heap::new();
    let mut input = vec![0; 32];
    heap.push(&[1, 0, 0xff, 0xff], 2).store(&mut input).unwrap();
    let (from, to) =
        (Datatype::var_sequence(i16le()), Datatype::var_sequence(Datatype::integer(4, true, Big)));
    let output = convert(&from, &to, &input, &mut heap);
    let descriptor = VarLenDescriptor::load(&output).unwrap();
    assert_eq!(heap.get(descriptor, 4).unwrap(), [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(output[16..], [0; 16]);
}

#[test]
fn a_descriptor_outside_the_heap_is_an_error() {
    let (from, to) = (Datatype::var_sequence(i16le()), Datatype::var_sequence(Datatype::native_int(4)));
    let plan = Plan::compile(&from, &to, &Conversions::default()).unwrap();
    assert!(plan.run(&[0xff; 16], &mut [0; 16], 1, &mut Heap::new()).is_err());
}

#[test]
fn a_reference_serves_as_one_of_any_kind() {
    let (old, new) =
        (Datatype::reference(ReferenceKind::Object1), Datatype::reference(ReferenceKind::Object));
    assert!(Plan::compile(&old, &new, &Conversions::default()).unwrap().is_copy());
    // Whether the kind can hold what the reference points to, the container says.
    assert!(Plan::compile(&new, &old, &Conversions::default()).unwrap().is_copy());
}

#[test]
fn copied_members_that_stay_together_are_one_segment() {
    let flat = |size, shift| {
        let last = if shift == 0 { i16le() } else { Datatype::native_int(4) };
        compound(size, &[("a", shift, i16le()), ("b", shift + 2, i16le()), ("c", shift + 4, last)])
    };
    let plan = Plan::compile(&flat(6, 0), &flat(10, 2), &Conversions::default()).unwrap();
    assert!(format!("{plan:?}").contains("copies: [Copy { from: 0, to: 2, len: 4 }]"), "{plan:?}");
}

#[test]
fn members_in_another_order_but_the_same_places_are_one_copy() {
    let from = compound(4, &[("a", 0, i16le()), ("b", 2, i16le())]);
    let to = compound(4, &[("b", 2, i16le()), ("a", 0, i16le())]);
    assert!(Plan::compile(&from, &to, &Conversions::default()).unwrap().is_copy());
}

#[test]
fn gaps_inside_arrays_of_compounds_stay_as_they_were() {
    let from = Datatype::array(&[2], compound(1, &[("a", 0, Datatype::native_int(1))]));
    let to = Datatype::array(&[2], compound(3, &[("a", 1, Datatype::native_int(1))]));
    let wrap = |t: Datatype| compound(t.size(), &[("v", 0, t)]);
    let expected = [0xA5, 1, 0xA5, 0xA5, 2, 0xA5, 0xA5, 3, 0xA5, 0xA5, 4, 0xA5];
    assert_eq!(convert_plain(&from, &to, &[1, 2, 3, 4]), expected);
    assert_eq!(convert_plain(&wrap(from), &wrap(to), &[1, 2, 3, 4]), expected);
}

#[test]
fn sequences_of_sequences_convert() {
    let mut heap = Heap::new();
    let (mut inner, mut input) = ([0; 32], [0; 16]);
    heap.push(&[1, 2, 3], 3).store(&mut inner).unwrap();
    heap.push(&[9], 1).store(&mut inner[16..]).unwrap();
    heap.push(&inner, 2).store(&mut input).unwrap();
    let of = |t| Datatype::var_sequence(Datatype::var_sequence(t));
    let output =
        convert(&of(Datatype::native_int(1)), &of(Datatype::integer(2, true, Big)), &input, &mut heap);
    let inner = heap.get(VarLenDescriptor::load(&output).unwrap(), 16).unwrap().to_vec();
    assert_eq!(heap.get(VarLenDescriptor::load(&inner).unwrap(), 2).unwrap(), [0, 1, 0, 2, 0, 3]);
    assert_eq!(heap.get(VarLenDescriptor::load(&inner[16..]).unwrap(), 2).unwrap(), [0, 9]);
}

#[test]
fn enum_values_beyond_the_table_are_found_too() {
    let from = enumeration(
        Datatype::native_int(4),
        &[("A", &[0xff; 4]), ("B", &[0, 0, 1, 0]), ("C", &[5, 0, 0, 0])],
    );
    let to = enumeration(Datatype::native_int(1), &[("A", &[1]), ("B", &[2]), ("C", &[3])]);
    let input = [0xff, 0xff, 0xff, 0xff, 0, 0, 1, 0, 5, 0, 0, 0, 4, 0, 0, 0, 6, 0, 0, 0, 0, 0, 2, 0];
    assert_eq!(convert_plain(&from, &to, &input), [1, 2, 3, 0xff, 0xff, 0xff]);
}

#[test]
fn complex_numbers_are_pairs_of_floats() {
    let complex = |base| Datatype::Complex(Complex { base: Box::new(base) });
    let (single, double) = (Datatype::ieee_f32(Big), Datatype::ieee_f64(Little));
    let input: Vec<u8> = [1.5f64, -2.0].iter().flat_map(|n| n.to_le_bytes()).collect();
    let expected: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|n| n.to_be_bytes()).collect();
    let from = complex(double.clone());
    assert_eq!(convert_plain(&from, &complex(single.clone()), &input), expected);
    let swapped = compound(8, &[("i", 0, single.clone()), ("r", 4, single.clone())]);
    assert_eq!(convert_plain(&from, &swapped, &input), [&expected[4..], &expected[..4]].concat());
    assert_eq!(convert_plain(&from, &single, &input), expected[..4]);
    assert_eq!(convert_plain(&double, &complex(single), &input[..8]), [&expected[..4], &[0; 4]].concat());
}

#[test]
fn segments_of_every_length_are_moved_whole_and_nothing_else() {
    for len in 1..=40u32 {
        let bytes = Datatype::array(&[len], Datatype::native_uint(1));
        let from = compound(len + 3, &[("a", 2, bytes.clone())]);
        let to = compound(len + 6, &[("a", 5, bytes)]);
        let plan = Plan::compile(&from, &to, &Conversions::default()).unwrap();
        for count in [0, 1, 2, 7, 1025] {
            let source: Vec<u8> = (0..count * (len as usize + 3)).map(|n| (n * 13 + 5) as u8).collect();
            let mut target = vec![0xA5; count * (len as usize + 6)];
            plan.run(&source, &mut target, count, &mut Heap::new()).unwrap();
            let pairs = source.chunks_exact(len as usize + 3).zip(target.chunks_exact(len as usize + 6));
            for (source, target) in pairs {
                assert_eq!(target[5..5 + len as usize], source[2..2 + len as usize]);
                assert!(target[..5].iter().chain(&target[5 + len as usize..]).all(|&b| b == 0xA5));
            }
        }
    }
}
