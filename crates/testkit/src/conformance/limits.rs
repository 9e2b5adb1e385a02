//! Limits, and arguments that make no sense.

use model::datatype::{Compound, Member};
use model::properties::{DatasetCreate, FileCreate, FilterSpec};
use model::{CharacterSet, Dataspace, Datatype, Heap, Kind, Limits, Result, Selection};
use vol::{Durability, FileAccess, OpWrite};

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "limits":
    |_| true => chunk_over_the_limit_is_refused, deeply_nested_type_is_over_the_limit, more_bytes_than_can_be_counted_are_refused,
        overlapping_members_are_refused, members_outside_their_compound_are_refused, members_of_one_name_are_refused,
        array_too_large_to_count_is_refused;
    |c| c.filters => elements_that_filters_made_small_are_refused_or_read_back;
    |c| c.variable_length => blob_over_the_limit_is_refused, values_that_the_account_has_no_memory_for_are_refused,
        a_value_that_elements_share_is_not_multiplied;
    |c| c.attributes => attribute_over_the_limit_is_refused;
}

fn text() -> Datatype {
    Datatype::var_string(CharacterSet::Utf8)
}

fn limited<'s>(s: &'s Subject, change: impl FnOnce(&mut Limits)) -> Result<Case<'s>> {
    let mut limits = Limits::default();
    change(&mut limits);
    s.fresh_as(&FileCreate::default(), &FileAccess { limits, ..s.access() })
}

fn chunk_over_the_limit_is_refused(s: &Subject) -> Result<()> {
    let c = limited(s, |limits| limits.chunk_bytes_max = 1 << 12)?;
    c.ints_with(c.root()?, "fits", space(&[4096]), chunked(&[1024]))?;
    fails(c.ints_with(c.root()?, "d", space(&[4096]), chunked(&[1025])), Kind::Limit)
}

fn elements_that_filters_made_small_are_refused_or_read_back(s: &Subject) -> Result<()> {
    let mut limits = Limits::default();
    (limits.chunk_expansion_free_bytes, limits.chunk_expansion_max) = (1 << 10, 8);
    let access = FileAccess { limits, ..s.access() };
    let mut c = s.fresh_as(&FileCreate::default(), &access)?;
    let deflate = FilterSpec { id: 1, name: None, optional: false, values: vec![6] };
    let create = DatasetCreate { filters: vec![deflate], ..chunked(&[1 << 14]) };
    let data = c.ints_with(c.root()?, "zeros", space(&[1 << 14]), create)?;
    match c.put(data, &Selection::All, &[0; 1 << 14]).and_then(|()| c.commit(Durability::None)) {
        Ok(()) => {
            c.reopen_as(&access)?;
            let data = vol::path::token(&*c.container, c.root()?, "zeros", 16)?;
            same(c.get(data, &Selection::All)?, vec![0; 1 << 14])
        }
        refused => fails(refused, Kind::Limit),
    }
}

fn deeply_nested_type_is_over_the_limit(s: &Subject) -> Result<()> {
    let c = limited(s, |limits| limits.depth_max = 16)?;
    let nested = |depth| (1..depth).fold(int(), |inner, _| Datatype::array(&[1], inner));
    c.dataset(c.root()?, "fits", &nested(10), &[1])?;
    fails(c.dataset(c.root()?, "d", &nested(17), &[1]), Kind::Limit)
}

fn more_bytes_than_can_be_counted_are_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let extent = Dataspace::simple(&[1 << 63])?;
    fails_somehow(c.ints_with(c.root()?, "d", extent, chunked(&[16])))?;
    same(c.group_info(c.root()?)?.links, 0)
}

fn compound(size: u32, members: &[(&str, u32)]) -> Datatype {
    let member = |&(name, offset): &(&str, u32)| Member { name: name.to_owned(), offset, datatype: int() };
    Datatype::Compound(Compound { size, members: members.iter().map(member).collect() })
}

fn refused(s: &Subject, datatype: &Datatype) -> Result<()> {
    let c = s.fresh()?;
    fails(c.dataset(c.root()?, "d", datatype, &[1]), Kind::Invalid)
}

fn overlapping_members_are_refused(s: &Subject) -> Result<()> {
    refused(s, &compound(8, &[("a", 0), ("b", 2)]))
}

fn members_outside_their_compound_are_refused(s: &Subject) -> Result<()> {
    refused(s, &compound(6, &[("a", 0), ("b", 4)]))
}

fn members_of_one_name_are_refused(s: &Subject) -> Result<()> {
    refused(s, &compound(8, &[("a", 0), ("a", 4)]))
}

fn array_too_large_to_count_is_refused(s: &Subject) -> Result<()> {
    refused(s, &Datatype::array(&[1 << 16, 1 << 16, 4], int()))
}

fn blob_over_the_limit_is_refused(s: &Subject) -> Result<()> {
    let c = limited(s, |limits| limits.blob_bytes_max = 100)?;
    c.blob_put(&[&[1; 100]])?;
    fails(c.blob_put(&[&[1; 101]]), Kind::Limit)
}

fn attribute_over_the_limit_is_refused(s: &Subject) -> Result<()> {
    let c = limited(s, |limits| limits.metadata_bytes_max = 1 << 16)?;
    fails(c.attribute_create(&attribute_op(c.root()?, "a", int(), space(&[1 << 20]))), Kind::Limit)?;
    same(c.object_info(c.root()?)?.attributes, 0)
}

/// Bytes of a value that is worth counting.
const LARGE: usize = 16 << 10;

fn values_that_the_account_has_no_memory_for_are_refused(s: &Subject) -> Result<()> {
    let c = limited(s, |limits| limits.memory_bytes_max = 1 << 20)?;
    let data = c.dataset(c.root()?, "d", &text(), &[256])?;
    for n in 0..256 {
        let (mut heap, one) = (Heap::new(), Selection::block(&[n], &[1])?);
        let value = n.to_string().repeat(LARGE / 4);
        let descriptors = texts_to_descriptors(&[&value], &mut heap)?;
        write(&*c.container, data, &one, &text(), (&descriptors, &mut heap))?;
    }
    fails(read(&*c.container, data, &Selection::All, &text(), &mut Heap::new()), Kind::Limit)?;
    let mut heap = Heap::new();
    let descriptors = read(&*c.container, data, &Selection::block(&[7], &[1])?, &text(), &mut heap)?;
    same(descriptors_to_texts(&descriptors, &heap)?, ["7".repeat(LARGE / 4)])
}

/// Elements of a broken container may name one value many times: it is fetched once, and what it would take as many values
/// is charged.
fn a_value_that_elements_share_is_not_multiplied(s: &Subject) -> Result<()> {
    let c = limited(s, |limits| limits.memory_bytes_max = 1 << 20)?;
    let data = c.dataset(c.root()?, "d", &text(), &[256])?;
    let value = "shared ".repeat(LARGE / 7);
    let mut descriptor = (value.len() as u32).to_le_bytes().to_vec();
    descriptor.extend(c.blob_put(&[value.as_bytes()])?);
    for n in 0..256 {
        let one = Selection::block(&[n], &[1])?;
        c.dataset_write(&[OpWrite { dataset: data, selection: &one, from: &descriptor }])?;
    }
    fails(read(&*c.container, data, &Selection::All, &text(), &mut Heap::new()), Kind::Limit)?;
    let mut heap = Heap::new();
    let descriptors = read(&*c.container, data, &Selection::block(&[5], &[20])?, &text(), &mut heap)?;
    same(descriptors_to_texts(&descriptors, &heap)?, vec![value.clone(); 20])?;
    holds(heap.len() < 2 * value.len(), "the value is in memory once")
}
