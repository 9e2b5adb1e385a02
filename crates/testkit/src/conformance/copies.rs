//! Copies of objects in one container.

use model::datatype::ReferenceKind;
use model::heap::Heap;
use model::properties::DatasetCreate;
use model::{CharacterSet, Datatype, Kind, LinkTarget, Reference, Result, Selection, Token};
use vol::{CopyOptions, LinkLocation, OpDatasetCreate, OpDatatypeCommit, OpList, OpObjectCopy};

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "copies":
    |c| c.object_copy => copied_dataset_is_independent, copied_group_is_deep, shallow_copy_stops_at_the_first_level,
        copy_onto_a_used_name_is_refused, copy_of_an_unknown_object_is_not_found, copy_into_itself_ends;
    |c| c.object_copy && c.attributes => copy_takes_attributes_along, copy_without_attributes_leaves_them;
    |c| c.object_copy && c.hard_links => hard_links_inside_a_copy_are_kept, ring_of_groups_is_copied;
    |c| c.object_copy && c.soft_links => soft_links_are_copied_as_links, expanded_soft_links_become_objects,
        dangling_soft_link_stays_a_link_when_expanded;
    |c| c.object_copy && c.external_links => external_links_are_copied_as_links, expanded_external_links_become_objects;
    |c| c.object_copy && c.committed_datatypes => copied_dataset_keeps_a_committed_type,
        merged_copy_shares_the_committed_type;
    |c| c.object_copy && c.variable_length => copied_strings_are_independent;
    |c| c.object_copy && c.object_references => expanded_references_point_to_copies, plain_references_stay_as_they_are;
}

fn op(c: &Case<'_>, object: Token, name: &str) -> Result<OpObjectCopy> {
    Ok(OpObjectCopy::new(object, LinkLocation::new(c.root()?, name)))
}

fn with(c: &Case<'_>, object: Token, name: &str, options: CopyOptions) -> Result<OpObjectCopy> {
    Ok(OpObjectCopy { options, ..op(c, object, name)? })
}

fn at(c: &Case<'_>, path: &str) -> Result<Token> {
    vol::path::token(&*c.container, c.root()?, path, 16)
}

fn copied_dataset_is_independent(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints_with(c.root()?, "d", space(&[4]), chunked(&[3]))?;
    c.put(data, &Selection::All, &[1, 2, 3, 4])?;
    let copy = c.object_copy(&op(&c, data, "copy")?)?;
    holds(copy != data, "the copy is another object")?;
    c.put(data, &Selection::All, &[0; 4])?;
    same(c.get(copy, &Selection::All)?, [1, 2, 3, 4])?;
    same((c.object_info(copy)?.references, c.object_info(data)?.references), (1, 1))?;
    same(c.dataset_info(copy)?, c.dataset_info(data)?)
}

fn tree(c: &Case<'_>) -> Result<Token> {
    let top = c.group(c.root()?, "top")?;
    let inner = c.group(top, "inner")?;
    let data = c.ints(inner, "data", &[2])?;
    c.put(data, &Selection::All, &[1, 2])?;
    c.ints(top, "flat", &[1])?;
    Ok(top)
}

fn copied_group_is_deep(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let top = tree(&c)?;
    c.object_copy(&op(&c, top, "copy")?)?;
    c.link_delete(c.root()?, "top")?;
    c.reopen()?;
    same(c.link_names(at(&c, "copy")?, &OpList::default())?, ["flat", "inner"])?;
    same(c.get(at(&c, "copy/inner/data")?, &Selection::All)?, [1, 2])
}

fn shallow_copy_stops_at_the_first_level(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let top = tree(&c)?;
    c.object_copy(&with(&c, top, "copy", CopyOptions { shallow: true, ..CopyOptions::default() })?)?;
    same(c.link_names(at(&c, "copy")?, &OpList::default())?, ["flat", "inner"])?;
    same(c.group_info(at(&c, "copy/inner")?)?.links, 0)
}

fn copy_onto_a_used_name_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let top = tree(&c)?;
    fails(c.object_copy(&op(&c, top, "top")?), Kind::Exists)?;
    same(c.group_info(c.root()?)?.links, 1)
}

fn copy_of_an_unknown_object_is_not_found(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.object_copy(&op(&c, Token([0xEE; 16]), "copy")?), Kind::NotFound)
}

fn copy_into_itself_ends(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let top = tree(&c)?;
    c.object_copy(&OpObjectCopy::new(top, LinkLocation::new(top, "again")))?;
    same(c.link_names(top, &OpList::default())?, ["again", "flat", "inner"])?;
    same(c.link_names(at(&c, "top/again")?, &OpList::default())?, ["flat", "inner"])
}

fn copy_takes_attributes_along(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let top = tree(&c)?;
    c.attribute(top, "a", 5)?;
    c.attribute(at(&c, "top/inner/data")?, "b", 6)?;
    let copy = c.object_copy(&op(&c, top, "copy")?)?;
    same(c.attribute_value(copy, "a")?, [5])?;
    same(c.attribute_value(at(&c, "copy/inner/data")?, "b")?, [6])
}

fn copy_without_attributes_leaves_them(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let top = tree(&c)?;
    c.attribute(top, "a", 5)?;
    c.attribute(at(&c, "top/flat")?, "b", 5)?;
    let copy = c.object_copy(&with(
        &c,
        top,
        "copy",
        CopyOptions { without_attributes: true, ..CopyOptions::default() },
    )?)?;
    same(c.object_info(copy)?.attributes, 0)?;
    same(c.object_info(at(&c, "copy/flat")?)?.attributes, 0)
}

fn hard_links_inside_a_copy_are_kept(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let top = tree(&c)?;
    c.link(top, "second", LinkTarget::Hard(at(&c, "top/inner/data")?))?;
    c.object_copy(&op(&c, top, "copy")?)?;
    let copy = at(&c, "copy/second")?;
    same(at(&c, "copy/inner/data")?, copy)?;
    same(c.object_info(copy)?.references, 2)?;
    same(c.object_info(at(&c, "top/second")?)?.references, 2)
}

fn ring_of_groups_is_copied(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let top = tree(&c)?;
    c.link(at(&c, "top/inner")?, "up", LinkTarget::Hard(top))?;
    let copy = c.object_copy(&op(&c, top, "copy")?)?;
    same(at(&c, "copy/inner/up")?, copy)?;
    same(c.object_info(copy)?.references, 2)
}

fn soft_links_are_copied_as_links(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let top = tree(&c)?;
    c.link(top, "soft", LinkTarget::Soft("inner/data".into()))?;
    c.object_copy(&op(&c, top, "copy")?)?;
    same(some(c.link_get(at(&c, "copy")?, "soft")?)?.target, LinkTarget::Soft("inner/data".into()))
}

fn expanded_soft_links_become_objects(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let top = tree(&c)?;
    let outside = c.ints(c.root()?, "outside", &[1])?;
    c.put(outside, &Selection::All, &[77])?;
    c.link(top, "soft", LinkTarget::Soft("/outside".into()))?;
    c.object_copy(&with(
        &c,
        top,
        "copy",
        CopyOptions { expand_soft_links: true, ..CopyOptions::default() },
    )?)?;
    let copy = at(&c, "copy/soft")?;
    same(some(c.link_get(at(&c, "copy")?, "soft")?)?.target, LinkTarget::Hard(copy))?;
    holds(copy != outside, "the target is copied")?;
    same(c.get(copy, &Selection::All)?, [77])
}

fn dangling_soft_link_stays_a_link_when_expanded(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let top = tree(&c)?;
    c.link(top, "soft", LinkTarget::Soft("nowhere".into()))?;
    c.object_copy(&with(
        &c,
        top,
        "copy",
        CopyOptions { expand_soft_links: true, ..CopyOptions::default() },
    )?)?;
    same(some(c.link_get(at(&c, "copy")?, "soft")?)?.target, LinkTarget::Soft("nowhere".into()))
}

/// Returns a container with a dataset.
fn outside(s: &Subject) -> Result<Case<'_>> {
    let other = s.fresh()?;
    let data = other.ints(other.root()?, "data", &[1])?;
    other.put(data, &Selection::All, &[77])?;
    other.close()?;
    Ok(other)
}

/// Returns a group with an external link to the dataset.
fn linked(c: &Case<'_>, other: &Case<'_>) -> Result<(Token, LinkTarget)> {
    let top = c.group(c.root()?, "top")?;
    let target = LinkTarget::External { file: other.location.clone(), path: "/data".into() };
    c.link(top, "outside", target.clone())?;
    Ok((top, target))
}

fn external_links_are_copied_as_links(s: &Subject) -> Result<()> {
    let (c, other) = (s.fresh()?, outside(s)?);
    let (top, target) = linked(&c, &other)?;
    c.object_copy(&op(&c, top, "copy")?)?;
    same(some(c.link_get(at(&c, "copy")?, "outside")?)?.target, target)
}

fn expanded_external_links_become_objects(s: &Subject) -> Result<()> {
    let (c, other) = (s.fresh()?, outside(s)?);
    let (top, _) = linked(&c, &other)?;
    let options = CopyOptions { expand_external_links: true, ..CopyOptions::default() };
    c.object_copy(&with(&c, top, "copy", options)?)?;
    same(c.get(at(&c, "copy/outside")?, &Selection::All)?, [77])
}

fn typed(c: &Case<'_>) -> Result<(Token, Token)> {
    let place = Some(LinkLocation::new(c.root()?, "type"));
    let datatype =
        c.datatype_commit(&OpDatatypeCommit { place, datatype: int(), create: Default::default() })?;
    let made = dataset_op(LinkLocation::new(c.root()?, "d"), int(), space(&[1]), DatasetCreate::default());
    Ok((datatype, c.dataset_create(&OpDatasetCreate { committed: Some(datatype), ..made })?))
}

fn copied_dataset_keeps_a_committed_type(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let (_, data) = typed(&c)?;
    let copy = c.object_copy(&op(&c, data, "copy")?)?;
    let used = some(c.dataset_info(copy)?.committed)?;
    same(c.datatype_get(used)?, int())
}

fn merged_copy_shares_the_committed_type(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let (datatype, data) = typed(&c)?;
    let copy = c.object_copy(&with(
        &c,
        data,
        "copy",
        CopyOptions { merge_committed_types: true, ..CopyOptions::default() },
    )?)?;
    same(c.dataset_info(copy)?.committed, Some(datatype))?;
    same(c.object_info(datatype)?.references, 3)
}

fn copied_strings_are_independent(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let text = Datatype::var_string(CharacterSet::Utf8);
    let data = c.dataset(c.root()?, "d", &text, &[2])?;
    let mut heap = Heap::new();
    let descriptors = texts_to_descriptors(&["a", "bb"], &mut heap)?;
    write(&*c.container, data, &Selection::All, &text, (&descriptors, &mut heap))?;
    let copy = c.object_copy(&op(&c, data, "copy")?)?;
    // A descriptor is four bytes of length and the identity of a blob.
    let descriptor_bytes = c.info()?.descriptors.varlen as usize;
    let mut raw = vec![0; 2 * descriptor_bytes];
    c.dataset_read(&mut [vol::OpRead { dataset: data, selection: &Selection::All, into: &mut raw }])?;
    c.blob_delete(
        &raw.chunks_exact(descriptor_bytes).map(|descriptor| &descriptor[4..]).collect::<Vec<_>>(),
    )?;
    c.link_delete(c.root()?, "d")?;
    let descriptors = read(&*c.container, copy, &Selection::All, &text, &mut heap)?;
    same(descriptors_to_texts(&descriptors, &heap)?, ["a", "bb"])
}

fn pointing(c: &Case<'_>) -> Result<(Token, Token)> {
    let target = c.ints(c.root()?, "target", &[1])?;
    c.put(target, &Selection::All, &[5])?;
    let memory = Datatype::reference(ReferenceKind::Object1);
    let data = c.dataset(c.root()?, "d", &memory, &[1])?;
    let mut heap = Heap::new();
    let descriptors = reference_descriptors(&[Reference::object(target)], &mut heap)?;
    write(&*c.container, data, &Selection::All, &memory, (&descriptors, &mut heap))?;
    Ok((target, data))
}

fn pointed(c: &Case<'_>, data: Token) -> Result<Token> {
    let mut heap = Heap::new();
    let memory = Datatype::reference(ReferenceKind::Object1);
    let descriptors = read(&*c.container, data, &Selection::All, &memory, &mut heap)?;
    some(heap.load_reference(&descriptors)?.token())
}

fn expanded_references_point_to_copies(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let (target, data) = pointing(&c)?;
    let copy = c.object_copy(&with(
        &c,
        data,
        "copy",
        CopyOptions { expand_references: true, ..CopyOptions::default() },
    )?)?;
    let found = pointed(&c, copy)?;
    holds(found != target, "the target is copied")?;
    same(c.get(found, &Selection::All)?, [5])?;
    same(pointed(&c, data)?, target)
}

fn plain_references_stay_as_they_are(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let (target, data) = pointing(&c)?;
    let copy = c.object_copy(&op(&c, data, "copy")?)?;
    same(pointed(&c, copy)?, target)
}
