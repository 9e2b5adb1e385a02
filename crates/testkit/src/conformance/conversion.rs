//! Types that differ between file and memory, through `algorithms::transfer`.

use model::datatype::{Compound, Enum, StringPad};
use model::heap::Heap;
use model::{ByteOrder, CharacterSet, Datatype, Kind, Result, Selection, Token};
use vol::{OpRead, OpWrite};

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "conversion":
    |_| true => byte_order_is_converted, integers_are_widened, integers_are_narrowed_by_clipping, signs_are_clipped,
        integers_become_floats, floats_become_integers_towards_zero, floats_change_precision, fixed_strings_change_size,
        compound_members_go_by_name, compound_members_may_be_fewer_in_memory, members_left_out_keep_their_values,
        enums_go_by_name, arrays_convert_their_elements, impossible_conversion_is_refused;
    |c| c.variable_length => sequences_convert_their_elements;
}

/// Writes `from` as type `memory`, and gives the bytes in the file.
fn stored(c: &Case<'_>, file: &Datatype, memory: &Datatype, from: &[u8]) -> Result<(Token, Vec<u8>)> {
    let count = from.len() as u64 / u64::from(memory.size());
    let data = c.dataset(c.root()?, "d", file, &[count])?;
    write(&*c.container, data, &Selection::All, memory, (from, &mut Heap::new()))?;
    let mut bytes = vec![0; count as usize * file.size() as usize];
    c.dataset_read(&mut [OpRead { dataset: data, selection: &Selection::All, into: &mut bytes }])?;
    Ok((data, bytes))
}

/// Returns what `from`, stored as type `file`, reads as in type `memory`.
fn loaded(c: &Case<'_>, file: &Datatype, from: &[u8], memory: &Datatype) -> Result<Vec<u8>> {
    let data = c.dataset(c.root()?, "d", file, &[from.len() as u64 / u64::from(file.size())])?;
    c.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from }])?;
    read(&*c.container, data, &Selection::All, memory, &mut Heap::new())
}

fn le(size: u32, signed: bool) -> Datatype {
    Datatype::integer(size, signed, ByteOrder::Little)
}

fn byte_order_is_converted(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let big = Datatype::integer(4, true, ByteOrder::Big);
    let (data, bytes) = stored(&c, &big, &le(4, true), &[1, 2, 3, 4, 5, 6, 7, 8])?;
    same(bytes, [4, 3, 2, 1, 8, 7, 6, 5])?;
    same(
        read(&*c.container, data, &Selection::All, &le(4, true), &mut Heap::new())?,
        [1, 2, 3, 4, 5, 6, 7, 8],
    )
}

fn integers_are_widened(s: &Subject) -> Result<()> {
    let found = loaded(&s.fresh()?, &le(1, true), &[1, 0xFF, 0x80], &le(2, true))?;
    same(found, [1, 0, 0xFF, 0xFF, 0x80, 0xFF])
}

fn integers_are_narrowed_by_clipping(s: &Subject) -> Result<()> {
    let values: Vec<u8> = [5i16, 300, -300].iter().flat_map(|v| v.to_le_bytes()).collect();
    same(loaded(&s.fresh()?, &le(2, true), &values, &le(1, true))?, [5, 127, 0x80])
}

fn signs_are_clipped(s: &Subject) -> Result<()> {
    same(loaded(&s.fresh()?, &le(1, true), &[1, 0xFF], &le(1, false))?, [1, 0])?;
    same(loaded(&s.fresh()?, &le(1, false), &[1, 0xFF], &le(1, true))?, [1, 127])
}

fn floats(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn integers_become_floats(s: &Subject) -> Result<()> {
    let found =
        loaded(&s.fresh()?, &le(2, true), &[1, 0, 0xFE, 0xFF], &Datatype::ieee_f64(ByteOrder::Little))?;
    same(found, floats(&[1.0, -2.0]))
}

fn floats_become_integers_towards_zero(s: &Subject) -> Result<()> {
    let values = floats(&[1.9, -1.9, 1e9, -1e9]);
    let found = loaded(&s.fresh()?, &Datatype::ieee_f64(ByteOrder::Little), &values, &le(1, true))?;
    same(found, [1, 0xFF, 127, 0x80])
}

fn floats_change_precision(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let (single, double) = (Datatype::ieee_f32(ByteOrder::Big), Datatype::ieee_f64(ByteOrder::Little));
    let (data, bytes) = stored(&c, &single, &double, &floats(&[1.5, -0.25, f64::INFINITY]))?;
    same(bytes, [1.5f32, -0.25, f32::INFINITY].iter().flat_map(|v| v.to_be_bytes()).collect::<Vec<_>>())?;
    let found = read(&*c.container, data, &Selection::All, &double, &mut Heap::new())?;
    same(found, floats(&[1.5, -0.25, f64::INFINITY]))
}

fn fixed_strings_change_size(s: &Subject) -> Result<()> {
    let fixed = |size, pad| Datatype::fixed_string(size, pad, CharacterSet::Ascii);
    let (file, memory) = (fixed(3, StringPad::SpacePadded), fixed(5, StringPad::NullPadded));
    same(loaded(&s.fresh()?, &file, b"ab xyz", &memory)?, b"ab\0\0\0xyz\0\0")?;
    let (_, bytes) = stored(&s.fresh()?, &file, &memory, b"a\0\0\0\0abcde")?;
    same(bytes, b"a  abc")
}

fn record(members: &[(&str, Datatype)]) -> Datatype {
    Datatype::Compound(Compound::packed(members.iter().map(|(name, t)| ((*name).to_owned(), t.clone()))))
}

fn compound_members_go_by_name(s: &Subject) -> Result<()> {
    let file = record(&[("a", le(1, true)), ("b", le(2, true))]);
    let memory = record(&[("b", le(2, true)), ("a", le(2, true))]);
    same(loaded(&s.fresh()?, &file, &[1, 2, 3], &memory)?, [2, 3, 1, 0])
}

fn compound_members_may_be_fewer_in_memory(s: &Subject) -> Result<()> {
    let file = record(&[("a", le(1, true)), ("b", le(2, true)), ("c", le(1, true))]);
    same(loaded(&s.fresh()?, &file, &[1, 2, 3, 4], &record(&[("c", le(1, true))]))?, [4])
}

fn members_left_out_keep_their_values(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let file = record(&[("a", le(1, true)), ("b", le(1, true))]);
    let data = c.dataset(c.root()?, "d", &file, &[2])?;
    c.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &[1, 2, 3, 4] }])?;
    let memory = record(&[("b", le(1, true))]);
    write(&*c.container, data, &Selection::All, &memory, (&[8, 9], &mut Heap::new()))?;
    same(read(&*c.container, data, &Selection::All, &file, &mut Heap::new())?, [1, 8, 3, 9])
}

fn colours(names: &[(&str, u8)]) -> Datatype {
    let members = names.iter().map(|&(name, value)| (name.to_owned(), vec![value])).collect();
    Datatype::Enum(Enum { base: Box::new(le(1, true)), members })
}

fn enums_go_by_name(s: &Subject) -> Result<()> {
    let (file, memory) =
        (colours(&[("red", 1), ("blue", 2)]), colours(&[("blue", 7), ("green", 8), ("red", 9)]));
    same(loaded(&s.fresh()?, &file, &[1, 2, 1], &memory)?, [9, 7, 9])
}

fn arrays_convert_their_elements(s: &Subject) -> Result<()> {
    let (file, memory) = (Datatype::array(&[2], le(1, false)), Datatype::array(&[2], le(2, false)));
    same(loaded(&s.fresh()?, &file, &[1, 2, 3, 4], &memory)?, [1, 0, 2, 0, 3, 0, 4, 0])
}

fn impossible_conversion_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let text = Datatype::fixed_string(4, StringPad::NullPadded, CharacterSet::Ascii);
    let data = c.dataset(c.root()?, "d", &text, &[1])?;
    fails(read(&*c.container, data, &Selection::All, &le(4, true), &mut Heap::new()), Kind::Conversion)?;
    fails(
        write(&*c.container, data, &Selection::All, &le(4, true), (&[0; 4], &mut Heap::new())),
        Kind::Conversion,
    )
}

fn sequences_convert_their_elements(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.dataset(c.root()?, "d", &Datatype::var_sequence(le(1, true)), &[2])?;
    let memory = Datatype::var_sequence(le(2, true));
    let mut heap = Heap::new();
    let descriptors = var_descriptors(&[(&[1, 0, 2, 0, 3, 0], 3), (&[4, 0], 1)], &mut heap)?;
    write(&*c.container, data, &Selection::All, &memory, (&descriptors, &mut heap))?;
    let mut heap = Heap::new();
    let descriptors = read(&*c.container, data, &Selection::All, &memory, &mut heap)?;
    same(var_values(&descriptors, 2, &heap)?, [vec![1, 0, 2, 0, 3, 0], vec![4, 0]])
}
