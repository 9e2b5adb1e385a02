//! Strings and values of variable length, through `algorithms::transfer` and as blobs.

use model::convert::Conversions;
use model::datatype::{Compound, StringPad};
use model::heap::{Heap, VarLenDescriptor};
use model::{CharacterSet, Dataspace, Datatype, Kind, Result, Selection};
use vol::{Blobs, OpRead, OpWrite};

use crate::Subject;
use crate::kit::*;

super::suite! { "strings":
    |_| true => fixed_strings_are_kept_byte_for_byte;
    |c| c.variable_length => variable_strings_read_back, empty_strings_read_back, unwritten_strings_are_empty,
        strings_are_overwritten, some_strings_are_overwritten, sequences_read_back, sequences_of_strings_read_back,
        strings_inside_compounds_read_back, arrays_of_strings_read_back, long_values_read_back,
        file_datatype_has_the_descriptors_of_its_container, blobs_come_in_the_order_asked_for, deleted_blob_is_gone,
        strings_in_chunks_read_back;
    |c| c.variable_length && c.attributes => attribute_of_strings_reads_back;
}

const TEXTS: [&str; 5] = ["one", "", "žluť", "a longer text with spaces", "x"];

fn text() -> Datatype {
    Datatype::var_string(CharacterSet::Utf8)
}

fn fixed_strings_are_kept_byte_for_byte(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let pads = [StringPad::NullTerminated, StringPad::NullPadded, StringPad::SpacePadded];
    for pad in pads {
        let datatype = Datatype::fixed_string(5, pad, CharacterSet::Ascii);
        let data = c.dataset(c.root()?, &format!("{pad:?}"), &datatype, &[2])?;
        c.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: b"ab\0cdfull " }])?;
    }
    c.reopen()?;
    for pad in pads {
        let data = vol::path::token(&*c.container, c.root()?, &format!("{pad:?}"), 16)?;
        same(&c.dataset_info(data)?.datatype, &Datatype::fixed_string(5, pad, CharacterSet::Ascii))?;
        let mut bytes = [0; 10];
        c.dataset_read(&mut [OpRead { dataset: data, selection: &Selection::All, into: &mut bytes }])?;
        same(&bytes, b"ab\0cdfull ")?;
    }
    Ok(())
}

fn variable_strings_read_back(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let data = c.dataset(c.root()?, "d", &text(), &[5])?;
    let mut heap = Heap::new();
    let descriptors = texts_to_descriptors(&TEXTS, &mut heap)?;
    write(&*c.container, data, &Selection::All, &text(), (&descriptors, &mut heap))?;
    c.reopen_read()?;
    let data = vol::path::token(&*c.container, c.root()?, "d", 16)?;
    let mut heap = Heap::new();
    let descriptors = read(&*c.container, data, &Selection::All, &text(), &mut heap)?;
    same(descriptors_to_texts(&descriptors, &heap)?, TEXTS)
}

fn empty_strings_read_back(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.dataset(c.root()?, "d", &text(), &[2])?;
    let mut heap = Heap::new();
    let descriptors = texts_to_descriptors(&["", ""], &mut heap)?;
    write(&*c.container, data, &Selection::All, &text(), (&descriptors, &mut heap))?;
    let descriptors = read(&*c.container, data, &Selection::All, &text(), &mut heap)?;
    same(descriptors_to_texts(&descriptors, &heap)?, ["", ""])
}

fn unwritten_strings_are_empty(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.dataset(c.root()?, "d", &text(), &[3])?;
    let mut heap = Heap::new();
    let descriptors = read(&*c.container, data, &Selection::All, &text(), &mut heap)?;
    same(descriptors_to_texts(&descriptors, &heap)?, ["", "", ""])
}

fn strings_are_overwritten(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.dataset(c.root()?, "d", &text(), &[2])?;
    for texts in [["first", "second"], ["", "a much longer second text"], ["x", ""]] {
        let mut heap = Heap::new();
        let descriptors = texts_to_descriptors(&texts, &mut heap)?;
        write(&*c.container, data, &Selection::All, &text(), (&descriptors, &mut heap))?;
        let descriptors = read(&*c.container, data, &Selection::All, &text(), &mut heap)?;
        same(descriptors_to_texts(&descriptors, &heap)?, texts)?;
    }
    Ok(())
}

fn some_strings_are_overwritten(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.dataset(c.root()?, "d", &text(), &[3])?;
    let mut heap = Heap::new();
    let descriptors = texts_to_descriptors(&["a", "b", "c"], &mut heap)?;
    write(&*c.container, data, &Selection::All, &text(), (&descriptors, &mut heap))?;
    let descriptors = texts_to_descriptors(&["new"], &mut heap)?;
    write(&*c.container, data, &block(&[1], &[1])?, &text(), (&descriptors, &mut heap))?;
    let descriptors = read(&*c.container, data, &Selection::All, &text(), &mut heap)?;
    same(descriptors_to_texts(&descriptors, &heap)?, ["a", "new", "c"])
}

fn sequences_read_back(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let memory = Datatype::var_sequence(int());
    let data = c.dataset(c.root()?, "d", &memory, &[3])?;
    let (one, many) = (to_bytes(&[1]), to_bytes(&counting(100)));
    let mut heap = Heap::new();
    let descriptors = var_descriptors(&[(&many, 100), (&[], 0), (&one, 1)], &mut heap)?;
    write(&*c.container, data, &Selection::All, &memory, (&descriptors, &mut heap))?;
    c.reopen()?;
    let data = vol::path::token(&*c.container, c.root()?, "d", 16)?;
    let mut heap = Heap::new();
    let descriptors = read(&*c.container, data, &Selection::All, &memory, &mut heap)?;
    same(var_values(&descriptors, 4, &heap)?, [many, vec![], one])
}

fn sequences_of_strings_read_back(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let memory = Datatype::var_sequence(text());
    let data = c.dataset(c.root()?, "d", &memory, &[2])?;
    let mut heap = Heap::new();
    let (first, second) =
        (texts_to_descriptors(&["a", "bb"], &mut heap)?, texts_to_descriptors(&["", "ccc", "d"], &mut heap)?);
    let descriptors = var_descriptors(&[(&first, 2), (&second, 3)], &mut heap)?;
    write(&*c.container, data, &Selection::All, &memory, (&descriptors, &mut heap))?;
    let mut heap = Heap::new();
    let descriptors = read(&*c.container, data, &Selection::All, &memory, &mut heap)?;
    let inner = var_values(&descriptors, 16, &heap)?;
    let texts = inner
        .iter()
        .map(|descriptors| descriptors_to_texts(descriptors, &heap))
        .collect::<Result<Vec<_>>>()?;
    same(texts, [vec!["a", "bb"], vec!["", "ccc", "d"]])
}

fn strings_inside_compounds_read_back(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let members = [("n".to_owned(), int()), ("text".to_owned(), text()), ("m".to_owned(), int())];
    let memory = Datatype::Compound(Compound::packed(members));
    let data = c.dataset(c.root()?, "d", &memory, &[2])?;
    let mut heap = Heap::new();
    let mut elements = Vec::new();
    for (n, value) in [(1, "alpha"), (2, "")] {
        elements.extend(to_bytes(&[n]));
        elements.extend(texts_to_descriptors(&[value], &mut heap)?);
        elements.extend(to_bytes(&[-n]));
    }
    write(&*c.container, data, &Selection::All, &memory, (&elements, &mut heap))?;
    let mut heap = Heap::new();
    let found = read(&*c.container, data, &Selection::All, &memory, &mut heap)?;
    for (element, (n, value)) in found.chunks_exact(24).zip([(1, "alpha"), (2, "")]) {
        same((to_ints(&element[..4]), to_ints(&element[20..])), (vec![n], vec![-n]))?;
        same(descriptors_to_texts(&element[4..20], &heap)?, [value])?;
    }
    Ok(())
}

fn arrays_of_strings_read_back(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let memory = Datatype::array(&[2], text());
    let data = c.dataset(c.root()?, "d", &memory, &[2])?;
    let mut heap = Heap::new();
    let descriptors = texts_to_descriptors(&["a", "b", "", "dd"], &mut heap)?;
    write(&*c.container, data, &Selection::All, &memory, (&descriptors, &mut heap))?;
    let descriptors = read(&*c.container, data, &Selection::All, &memory, &mut heap)?;
    same(descriptors_to_texts(&descriptors, &heap)?, ["a", "b", "", "dd"])
}

fn long_values_read_back(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let data = c.dataset(c.root()?, "d", &text(), &[2])?;
    let long = "0123456789".repeat(100_000);
    let mut heap = Heap::new();
    let descriptors = texts_to_descriptors(&[&long, "short"], &mut heap)?;
    write(&*c.container, data, &Selection::All, &text(), (&descriptors, &mut heap))?;
    c.reopen()?;
    let data = vol::path::token(&*c.container, c.root()?, "d", 16)?;
    let mut heap = Heap::new();
    let descriptors = read(&*c.container, data, &Selection::All, &text(), &mut heap)?;
    holds(
        descriptors_to_texts(&descriptors, &heap)? == [long.as_str(), "short"],
        "a megabyte of text reads back",
    )
}

fn file_datatype_has_the_descriptors_of_its_container(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let members = [("a".to_owned(), text()), ("b".to_owned(), int())];
    let memory = Datatype::Compound(Compound::packed(members));
    let data = c.dataset(c.root()?, "d", &memory, &[1])?;
    let info = c.dataset_info(data)?;
    same(&info.datatype, &memory.with_descriptors(&c.info()?.descriptors))?;
    same(info.datatype.memory_type(), memory)
}

fn blobs_come_in_the_order_asked_for(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let ids = c.blob_put(&[b"one", b"two", b"three"])?;
    let id_bytes = c.info()?.descriptors.varlen as usize - 4;
    same(ids.len(), 3 * id_bytes)?;
    let ids: Vec<&[u8]> = ids.chunks(id_bytes).collect();
    let mut blobs = Blobs::default();
    c.blob_get(&[ids[2], ids[0], ids[2]], &mut blobs)?;
    same(blobs.iter().collect::<Vec<_>>(), [&b"three"[..], b"one", b"three"])
}

fn deleted_blob_is_gone(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let ids = c.blob_put(&[b"one", b"two"])?;
    let (one, two) = ids.split_at(ids.len() / 2);
    c.blob_delete(&[one])?;
    let mut blobs = Blobs::default();
    fails_somehow(c.blob_get(&[one], &mut blobs))?;
    let mut blobs = Blobs::default();
    c.blob_get(&[two], &mut blobs)?;
    same(blobs.iter().collect::<Vec<_>>(), [b"two"])
}

fn strings_in_chunks_read_back(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let op = dataset_op(vol::LinkLocation::new(c.root()?, "d"), text(), space(&[5]), chunked(&[2]));
    let data = c.dataset_create(&op)?;
    let mut heap = Heap::new();
    let descriptors = texts_to_descriptors(&TEXTS, &mut heap)?;
    write(&*c.container, data, &Selection::All, &text(), (&descriptors, &mut heap))?;
    let points = Selection::points(1, vec![4, 0, 2])?;
    let descriptors = read(&*c.container, data, &points, &text(), &mut heap)?;
    same(descriptors_to_texts(&descriptors, &heap)?, ["x", "one", "žluť"])
}

fn attribute_of_strings_reads_back(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    c.attribute_create(&attribute_op(c.root()?, "a", text(), space(&[2])))?;
    let mut heap = Heap::new();
    let descriptors = texts_to_descriptors(&["unit", "m/s"], &mut heap)?;
    let file_type = some(c.attribute_info(c.root()?, "a")?)?.datatype;
    let conversions = Conversions::default();
    let raw = algorithms::transfer::to_file_type(
        &*c.container,
        &text(),
        &descriptors,
        &file_type,
        &conversions,
        &mut heap,
    )?;
    c.attribute_write(c.root()?, "a", &raw)?;
    c.reopen()?;
    let raw = c.attribute_read(c.root()?, &["a"])?.remove(0);
    let mut heap = Heap::new();
    let descriptors = algorithms::transfer::from_file_type(
        &*c.container,
        &file_type,
        &raw,
        &text(),
        &conversions,
        &mut heap,
    )?;
    same(descriptors_to_texts(&descriptors, &heap)?, ["unit", "m/s"])?;
    c.attribute_create(&attribute_op(c.root()?, "scalar", text(), Dataspace::Scalar))?;
    let raw = c.attribute_read(c.root()?, &["scalar"])?.remove(0);
    let descriptor = algorithms::transfer::from_file_type(
        &*c.container,
        &file_type,
        &raw,
        &text(),
        &conversions,
        &mut heap,
    )?;
    same(VarLenDescriptor::load(&descriptor)?.count, 0)?;
    fails(c.attribute_write(c.root()?, "scalar", &raw[1..]), Kind::Invalid)
}
