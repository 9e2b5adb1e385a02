//! References to objects, regions and attributes, of the old kinds and the new.

use model::datatype::{Compound, ReferenceKind};
use model::heap::Heap;
use model::{Datatype, Kind, Reference, Result, Selection, Token};

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "references":
    |c| c.object_references => old_object_references_read_back, new_object_references_read_back, null_references_read_back,
        unwritten_references_are_null, references_follow_a_renamed_object, reference_to_a_deleted_object_still_reads,
        references_inside_compounds_read_back, reference_descriptors_have_the_size_of_their_container,
        old_object_reference_refuses_other_targets, new_references_are_written_to_the_old_kind;
    |c| c.region_references => old_region_references_read_back, new_regions_are_written_to_the_old_kind, new_region_references_read_back,
        region_of_points_keeps_their_order, region_of_many_blocks_reads_back;
    |c| c.attribute_references && c.attributes => attribute_references_read_back;
    |c| c.object_references && c.variable_length => sequences_of_references_read_back;
}

/// Writes references to a dataset, reopens, reads them.
fn read_back(
    s: &Subject,
    kind: ReferenceKind,
    make: impl Fn(&Case<'_>, Token) -> Result<Vec<Reference>>,
) -> Result<()> {
    let mut c = s.fresh()?;
    let target = c.ints(c.root()?, "target", &[6, 8])?;
    let references = make(&c, target)?;
    let memory = Datatype::reference(kind);
    let data = c.dataset(c.root()?, "d", &memory, &[references.len() as u64])?;
    let mut heap = Heap::new();
    let descriptors = reference_descriptors(&references, &mut heap)?;
    write(&*c.container, data, &Selection::All, &memory, (&descriptors, &mut heap))?;
    c.reopen()?;
    let data = vol::path::token(&*c.container, c.root()?, "d", 16)?;
    let target_now = vol::path::token(&*c.container, c.root()?, "target", 16)?;
    let mut heap = Heap::new();
    let descriptors = read(&*c.container, data, &Selection::All, &memory, &mut heap)?;
    let found = descriptors_to_references(&descriptors, &heap)?;
    same(target_now, target)?;
    same(found, references)
}

/// Writes references that are of a new kind in memory to a dataset of an old one, and reads them back as both.
fn written_as_old(
    s: &Subject,
    [new, old]: [ReferenceKind; 2],
    make: impl Fn(Token) -> Result<Reference>,
) -> Result<()> {
    let mut c = s.fresh()?;
    let target = c.ints(c.root()?, "target", &[6, 8])?;
    let references = vec![make(target)?, Reference::null()];
    let data = c.dataset(c.root()?, "d", &Datatype::reference(old), &[2])?;
    let (memory, mut heap) = (Datatype::reference(new), Heap::new());
    let descriptors = reference_descriptors(&references, &mut heap)?;
    write(&*c.container, data, &Selection::All, &memory, (&descriptors, &mut heap))?;
    c.reopen()?;
    let data = vol::path::token(&*c.container, c.root()?, "d", 16)?;
    for kind in [new, old] {
        let mut heap = Heap::new();
        let descriptors = read(&*c.container, data, &Selection::All, &Datatype::reference(kind), &mut heap)?;
        same(&descriptors_to_references(&descriptors, &heap)?, &references)?;
    }
    Ok(())
}

fn new_references_are_written_to_the_old_kind(s: &Subject) -> Result<()> {
    let kinds = [ReferenceKind::Object, ReferenceKind::Object1];
    written_as_old(s, kinds, |target| Ok(Reference::object(target)))
}

fn new_regions_are_written_to_the_old_kind(s: &Subject) -> Result<()> {
    let kinds = [ReferenceKind::Region, ReferenceKind::DatasetRegion1];
    written_as_old(s, kinds, |target| Ok(Reference::region(target, Selection::block(&[1, 2], &[2, 3])?)))
}

fn objects(c: &Case<'_>, target: Token) -> Result<Vec<Reference>> {
    let group = c.group(c.root()?, "g")?;
    Ok(vec![
        Reference::object(target),
        Reference::null(),
        Reference::object(group),
        Reference::object(c.root()?),
    ])
}

fn old_object_references_read_back(s: &Subject) -> Result<()> {
    read_back(s, ReferenceKind::Object1, objects)
}

fn new_object_references_read_back(s: &Subject) -> Result<()> {
    read_back(s, ReferenceKind::Object, objects)
}

fn null_references_read_back(s: &Subject) -> Result<()> {
    read_back(s, ReferenceKind::Object, |_, _| Ok(vec![Reference::null(), Reference::null()]))
}

fn unwritten_references_are_null(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for kind in [ReferenceKind::Object1, ReferenceKind::Object] {
        let memory = Datatype::reference(kind);
        let data = c.dataset(c.root()?, &format!("{kind:?}"), &memory, &[2])?;
        let mut heap = Heap::new();
        let descriptors = read(&*c.container, data, &Selection::All, &memory, &mut heap)?;
        same(descriptors_to_references(&descriptors, &heap)?, [Reference::null(), Reference::null()])?;
    }
    Ok(())
}

fn references_follow_a_renamed_object(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "old")?;
    let descriptor = c.reference_put(ReferenceKind::Object, &[Reference::object(group)])?.remove(0);
    let to = vol::LinkLocation::new(c.root()?, "new");
    c.link_move(&vol::OpLinkMove { from: c.root()?, name: "old".into(), to, copy: false })?;
    let found = c.reference_get(ReferenceKind::Object, &[&descriptor])?.remove(0);
    same(found.token(), Some(vol::path::token(&*c.container, c.root()?, "new", 16)?))
}

fn reference_to_a_deleted_object_still_reads(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    let descriptor = c.reference_put(ReferenceKind::Object1, &[Reference::object(group)])?.remove(0);
    c.link_delete(c.root()?, "g")?;
    let found = c.reference_get(ReferenceKind::Object1, &[&descriptor])?.remove(0);
    fails(c.object_info(some(found.token())?), Kind::NotFound)
}

fn references_inside_compounds_read_back(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let members = [("n".to_owned(), int()), ("to".to_owned(), Datatype::reference(ReferenceKind::Object1))];
    let memory = Datatype::Compound(Compound::packed(members));
    let data = c.dataset(c.root()?, "d", &memory, &[1])?;
    let mut heap = Heap::new();
    let mut element = to_bytes(&[5]);
    element.extend(reference_descriptors(&[Reference::object(data)], &mut heap)?);
    write(&*c.container, data, &Selection::All, &memory, (&element, &mut heap))?;
    let mut heap = Heap::new();
    let found = read(&*c.container, data, &Selection::All, &memory, &mut heap)?;
    same(to_ints(&found[..4]), [5])?;
    same(heap.load_reference(&found[4..])?, Reference::object(data))
}

fn reference_descriptors_have_the_size_of_their_container(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let descriptors = c.info()?.descriptors;
    for (kind, bytes) in
        [(ReferenceKind::Object1, descriptors.object_old), (ReferenceKind::Object, descriptors.reference)]
    {
        for reference in [Reference::object(c.root()?), Reference::null()] {
            same(c.reference_put(kind, &[reference])?.remove(0).len(), bytes as usize)?;
        }
    }
    Ok(())
}

fn old_object_reference_refuses_other_targets(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "d", &[4])?;
    let region = Reference::region(data, Selection::All);
    fails(c.reference_put(ReferenceKind::Object1, &[region]), Kind::Invalid)?;
    let attribute = Reference::attribute(data, "a");
    fails(c.reference_put(ReferenceKind::Object1, &[attribute]), Kind::Invalid)
}

fn regions(_: &Case<'_>, target: Token) -> Result<Vec<Reference>> {
    let strided = Selection::hyperslab(&[0, 1], &[3, 4], &[2, 2], &[2, 1])?;
    Ok(vec![
        Reference::region(target, block(&[1, 2], &[2, 3])?),
        Reference::null(),
        Reference::region(target, strided),
    ])
}

fn old_region_references_read_back(s: &Subject) -> Result<()> {
    read_back(s, ReferenceKind::DatasetRegion1, regions)
}

fn new_region_references_read_back(s: &Subject) -> Result<()> {
    read_back(s, ReferenceKind::Region, regions)
}

fn region_of_points_keeps_their_order(s: &Subject) -> Result<()> {
    for kind in [ReferenceKind::DatasetRegion1, ReferenceKind::Region] {
        read_back(s, kind, |_, target| {
            Ok(vec![Reference::region(target, Selection::points(2, vec![5, 7, 0, 0, 2, 3])?)])
        })?;
    }
    Ok(())
}

fn region_of_many_blocks_reads_back(s: &Subject) -> Result<()> {
    read_back(s, ReferenceKind::DatasetRegion1, |_, target| {
        Ok(vec![Reference::region(target, Selection::union_of_blocks(2, &[0, 0, 1, 1, 3, 3, 3, 7])?)])
    })
}

fn attribute_references_read_back(s: &Subject) -> Result<()> {
    read_back(s, ReferenceKind::Attribute, |c, target| {
        c.attribute(target, "unit", 1)?;
        Ok(vec![Reference::attribute(target, "unit"), Reference::null()])
    })
}

fn sequences_of_references_read_back(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let memory = Datatype::var_sequence(Datatype::reference(ReferenceKind::Object));
    let data = c.dataset(c.root()?, "d", &memory, &[1])?;
    let references = [Reference::object(data), Reference::object(c.root()?)];
    let mut heap = Heap::new();
    let inner = reference_descriptors(&references, &mut heap)?;
    let descriptors = var_descriptors(&[(&inner, 2)], &mut heap)?;
    write(&*c.container, data, &Selection::All, &memory, (&descriptors, &mut heap))?;
    let mut heap = Heap::new();
    let descriptors = read(&*c.container, data, &Selection::All, &memory, &mut heap)?;
    same(descriptors_to_references(&var_values(&descriptors, 16, &heap)?.remove(0), &heap)?, references)
}
