//! C's forms, without a file.

use std::ffi::{CString, c_char};

use hyperslab::vol::model::datatype::{ByteOrder, CharacterSet, Compound, Datatype, DescriptorSizes};
use hyperslab::vol::model::{Heap, Reference, Selection, Token};

use super::*;
use crate::ffi::hvl_t;

fn text() -> Datatype {
    Datatype::var_string(CharacterSet::Utf8)
}

fn bytes_of<T>(values: &[T]) -> Vec<u8> {
    // SAFETY: the elements are C structs without padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }.to_vec()
}

fn texts_of(elements: &[u8]) -> Vec<Option<String>> {
    let text = |element: &[u8]| {
        let text = read::pointer(element, 0).unwrap() as *const c_char;
        // SAFETY: the elements were just written.
        (!text.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(text) }.to_str().unwrap().to_owned())
    };
    elements.chunks_exact(8).map(text).collect()
}

#[test]
fn members_move_by_what_values_before_them_grew() {
    let compound = Compound::packed([
        ("a".to_owned(), Datatype::native_int(4)),
        ("text".to_owned(), text()),
        ("list".to_owned(), Datatype::var_sequence(Datatype::native_int(2))),
        ("object".to_owned(), Datatype::reference(ReferenceKind::Object1)),
        ("region".to_owned(), Datatype::reference(ReferenceKind::DatasetRegion1)),
        ("any".to_owned(), Datatype::reference(ReferenceKind::Object)),
        ("b".to_owned(), Datatype::native_int(4)),
    ]);
    let file = Datatype::Compound(compound).with_descriptors(&DescriptorSizes::native(8));
    let Datatype::Compound(c) = c_form(&file) else { panic!("not a compound") };
    let offsets: Vec<u32> = c.members.iter().map(|member| member.offset).collect();
    assert_eq!(offsets, [0, 4, 12, 28, 36, 48, 112]);
    assert_eq!(c.size, 116);
    assert_eq!(c_form(&Datatype::Compound(c.clone())), Datatype::Compound(c));
}

#[test]
fn strings_go_to_c_and_back() {
    let strings = [CString::new("one").unwrap(), CString::new("").unwrap()];
    let pointers = [strings[0].as_ptr(), strings[1].as_ptr(), std::ptr::null()];
    let mut heap = Heap::new();
    let elements = from_c(&text(), &bytes_of(&pointers), None, &mut heap).unwrap();
    let mut out = vec![0xff; 24];
    write_values(&text(), &elements, &heap, None, &Allocator::default(), &mut out).unwrap();
    assert_eq!(texts_of(&out), [Some("one".to_owned()), Some(String::new()), None]);
    reclaim(&text(), &mut out, 3, &Allocator::default()).unwrap();
    assert_eq!(out, [0; 24]);
}

#[test]
fn nested_sequences_in_arrays_go_to_c_and_back() {
    let datatype = c_form(&Datatype::array(&[2], Datatype::var_sequence(text())));
    let word = CString::new("word").unwrap();
    let words = [word.as_ptr(), word.as_ptr()];
    let element =
        [hvl_t { len: 2, p: words.as_ptr().cast_mut().cast() }, hvl_t { len: 0, p: std::ptr::null_mut() }];
    let mut heap = Heap::new();
    let elements = from_c(&datatype, &bytes_of(&element), None, &mut heap).unwrap();
    assert_eq!(elements.len(), 32);
    let mut out = vec![0; 32];
    write_values(&datatype, &elements, &heap, None, &Allocator::default(), &mut out).unwrap();
    let (count, inner) = sequence(&out, &c_form(&text())).unwrap();
    assert_eq!((count, texts_of(inner)), (2, vec![Some("word".to_owned()); 2]));
    assert_eq!(sequence(&out[16..], &text()).unwrap().0, 0);
    reclaim(&datatype, &mut out, 1, &Allocator::default()).unwrap();
    assert_eq!(out, [0; 32]);
}

#[test]
fn references_have_equal_bytes_if_they_are_equal() {
    let region = |start| Reference::region(Token::from_u64(7), Selection::block(&[start], &[2]).unwrap());
    let stored = |reference, kind, bytes| {
        let mut out = vec![0xff; bytes];
        references::store(kind, reference, None, &mut out).unwrap();
        assert!(references::load(kind, &out, None).is_ok());
        out
    };
    let kind = ReferenceKind::DatasetRegion1;
    assert_eq!(stored(region(1), kind, 12), stored(region(1), kind, 12));
    assert_ne!(stored(region(1), kind, 12), stored(region(2), kind, 12));
    assert_eq!(stored(Reference::null(), kind, 12), [0; 12]);
    let object = |token| stored(Reference::object(token), ReferenceKind::Object1, 8);
    assert_eq!(object(Token::from_u64(800)), 800u64.to_ne_bytes());
    let wide = Token([5; 16]);
    assert_eq!(object(wide), object(wide));
    assert_eq!(
        references::load(ReferenceKind::Object1, &object(wide), None).unwrap(),
        Reference::object(wide)
    );
}

#[test]
fn random_bytes_are_no_references() {
    for kind in [ReferenceKind::Object1, ReferenceKind::DatasetRegion1, ReferenceKind::Object] {
        assert!(references::load(kind, &[0xee; 64], None).is_err());
        assert!(references::load(kind, &[0; 64], None).unwrap().is_null());
    }
    let mut owned = [0; 64];
    let value = references::OwnedReference { reference: Reference::object(Token::from_u64(1)), file: None };
    references::own(value, &mut owned);
    assert!(references::destroy(&owned) && !references::destroy(&owned));
    assert!(references::load(ReferenceKind::Object, &owned, None).is_err());
}

#[test]
fn plain_elements_are_copied_and_short_buffers_refused() {
    let number = Datatype::integer(4, true, ByteOrder::NATIVE);
    let mut out = [0; 8];
    write_values(&number, &[1; 8], &Heap::new(), None, &Allocator::default(), &mut out).unwrap();
    assert_eq!(out, [1; 8]);
    assert!(
        write_values(&number, &[1; 8], &Heap::new(), None, &Allocator::default(), &mut out[..4]).is_err()
    );
}
