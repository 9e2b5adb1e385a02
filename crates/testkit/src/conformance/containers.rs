//! Containers: made, opened, committed, closed, removed.

use model::properties::{CreationOrder, DatasetCreate, FileCreate, GroupCreate};
use model::{Dataspace, Kind, LinkTarget, Result, Selection};
use vol::{ContainerOpen, Durability, LinkLocation, OpDatatypeCommit, OpGroupCreate, OpList};

use crate::Subject;
use crate::kit::*;

super::suite! { "containers":
    |_| true => new_container_has_an_empty_root_group, creating_an_existing_container_is_refused,
        opening_a_missing_container_is_not_found, deleted_container_is_gone, accessible_only_while_it_exists,
        truncating_replaces_a_closed_container, written_objects_are_there_after_reopening,
        written_elements_are_there_after_reopening, dropping_the_last_handle_commits,
        a_handle_that_is_shared_closes_with_its_last_owner, operations_after_close_fail, commit_may_be_repeated,
        every_durability_commits, read_only_container_refuses_changes, read_only_container_reads,
        info_tells_whether_it_is_writable, unknown_optional_operation_is_unsupported, two_containers_are_apart;
    |c| c.attributes => written_attributes_are_there_after_reopening;
    |c| c.creation_order => creation_properties_of_the_root_are_kept;
}

fn new_container_has_an_empty_root_group(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    same(c.group_info(c.root()?)?.links, 0)?;
    same(c.link_list(c.root()?, &OpList::default())?.entries.len(), 0)?;
    same(c.object_info(c.root()?)?.kind, model::ObjectKind::Group)
}

fn creating_an_existing_container_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(s.registry().create(&c.location, &FileCreate::default(), &s.access(), false), Kind::Exists)
}

fn opening_a_missing_container_is_not_found(s: &Subject) -> Result<()> {
    fails(s.registry().open(&s.unused_location(), &s.access()), Kind::NotFound)
}

fn deleted_container_is_gone(s: &Subject) -> Result<()> {
    let location = s.unused_location();
    s.registry().create(&location, &FileCreate::default(), &s.access(), false)?.close()?;
    s.registry().delete(&location, &s.access())?;
    fails(s.registry().open(&location, &s.access()), Kind::NotFound)?;
    fails(s.registry().delete(&location, &s.access()), Kind::NotFound)
}

fn accessible_only_while_it_exists(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.commit(Durability::None)?;
    let place = vol::Location::parse(&c.location);
    let connector = s.registry().by_name(place.connector.as_deref().unwrap_or(&c.info()?.connector))?;
    let access = s.access();
    let accessible = |path: &str| {
        let engine = place.engine.as_deref();
        let op = ContainerOpen { registry: s.registry(), engine, ..ContainerOpen::new(path, &access) };
        connector.is_accessible(&op)
    };
    same(accessible(&place.path)?, true)?;
    let unused = vol::Location::parse(&s.unused_location());
    same(accessible(&unused.path)?, false)
}

fn truncating_replaces_a_closed_container(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.group(c.root()?, "old")?;
    c.close()?;
    let new = s.registry().create(&c.location, &FileCreate::default(), &s.access(), true)?;
    same(new.link_get(new.info()?.root, "old")?, None)?;
    new.close()
}

fn written_objects_are_there_after_reopening(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let group = c.group(c.root()?, "group")?;
    c.group(group, "inner")?;
    c.ints(group, "data", &[3])?;
    c.reopen()?;
    let group = vol::path::token(&*c.container, c.root()?, "/group", 16)?;
    same(c.link_names(group, &OpList::default())?, ["data", "inner"])?;
    let data = vol::path::token(&*c.container, group, "data", 16)?;
    same(c.dataset_info(data)?.space.dims(), [3])
}

fn written_elements_are_there_after_reopening(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    for (name, create) in [("plain", DatasetCreate::default()), ("chunks", chunked(&[4, 3]))] {
        let data = c.ints_with(c.root()?, name, space(&[10, 10]), create)?;
        c.put(data, &Selection::All, &counting(100))?;
    }
    c.reopen_read()?;
    for name in ["plain", "chunks"] {
        let data = vol::path::token(&*c.container, c.root()?, name, 16)?;
        same(c.get(data, &Selection::All)?, counting(100))?;
    }
    Ok(())
}

fn written_attributes_are_there_after_reopening(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    c.attribute(c.root()?, "answer", 42)?;
    c.reopen()?;
    same(c.attribute_value(c.root()?, "answer")?, [42])
}

fn dropping_the_last_handle_commits(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let data = c.ints(c.root()?, "data", &[3])?;
    c.put(data, &Selection::All, &[1, 2, 3])?;
    c.commit(Durability::Full)?;
    c.put(data, &Selection::All, &[4, 5, 6])?;
    c.group(c.root()?, "late")?;
    c.drop_and_reopen_read()?;
    let data = vol::path::token(&*c.container, c.root()?, "data", 16)?;
    same(c.get(data, &Selection::All)?, [4, 5, 6])?;
    same(c.link_names(c.root()?, &OpList::default())?, ["data", "late"])
}

fn a_handle_that_is_shared_closes_with_its_last_owner(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let other = c.container.clone();
    drop(other);
    c.group(c.root()?, "after one owner went")?;
    c.drop_and_reopen_read()?;
    same(c.link_names(c.root()?, &OpList::default())?, ["after one owner went"])
}

fn operations_after_close_fail(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let root = c.root()?;
    c.close()?;
    fails(c.group(root, "late"), Kind::Invalid)?;
    fails(c.link_get(root, "late"), Kind::Invalid)?;
    fails(c.commit(Durability::None), Kind::Invalid)?;
    fails(c.close(), Kind::Invalid)
}

fn commit_may_be_repeated(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    for name in ["a", "b", "c"] {
        c.group(c.root()?, name)?;
        c.commit(Durability::None)?;
        c.commit(Durability::None)?;
    }
    c.reopen()?;
    same(c.link_names(c.root()?, &OpList::default())?, ["a", "b", "c"])
}

fn every_durability_commits(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "data", &[1])?;
    for (n, durability) in [Durability::None, Durability::Ordered, Durability::Full].into_iter().enumerate() {
        c.put(data, &Selection::All, &[n as i32])?;
        c.commit(durability)?;
        same(c.get(data, &Selection::All)?, [n as i32])?;
    }
    Ok(())
}

fn read_only_container_refuses_changes(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    c.ints(c.root()?, "data", &[2])?;
    c.reopen_read()?;
    let root = c.root()?;
    let data = vol::path::token(&*c.container, root, "data", 16)?;
    fails(c.group(root, "new"), Kind::Denied)?;
    fails(c.ints(root, "more", &[1]), Kind::Denied)?;
    fails(c.link(root, "again", LinkTarget::Hard(data)), Kind::Denied)?;
    fails(c.link_delete(root, "data"), Kind::Denied)?;
    fails(c.put(data, &Selection::All, &[1, 2]), Kind::Denied)?;
    let capability = c.info()?.capability;
    if capability.attributes {
        fails(c.attribute_create(&attribute_op(root, "a", int(), Dataspace::Scalar)), Kind::Denied)?;
    }
    if capability.committed_datatypes {
        let place = Some(LinkLocation::new(root, "type"));
        let op = OpDatatypeCommit { place, datatype: int(), create: Default::default() };
        fails(c.datatype_commit(&op), Kind::Denied)?;
    }
    same(c.link_names(root, &OpList::default())?, ["data"])
}

fn read_only_container_reads(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let data = c.ints(c.root()?, "data", &[3])?;
    c.put(data, &Selection::All, &[7, 8, 9])?;
    c.reopen_read()?;
    let data = vol::path::token(&*c.container, c.root()?, "data", 16)?;
    c.retain(data)?;
    same(c.get(data, &Selection::All)?, [7, 8, 9])?;
    c.release(data)
}

fn info_tells_whether_it_is_writable(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    same(c.info()?.writable, true)?;
    c.reopen_read()?;
    same(c.info()?.writable, false)
}

fn unknown_optional_operation_is_unsupported(s: &Subject) -> Result<()> {
    fails(s.fresh()?.optional("no connector has this", &[]), Kind::Unsupported)
}

fn two_containers_are_apart(s: &Subject) -> Result<()> {
    let (a, b) = (s.fresh()?, s.fresh()?);
    a.group(a.root()?, "only in a")?;
    same(b.group_info(b.root()?)?.links, 0)
}

fn creation_properties_of_the_root_are_kept(s: &Subject) -> Result<()> {
    let root = GroupCreate { link_order: CreationOrder::Tracked, ..ordered() };
    let mut c = s.fresh_with(&FileCreate { root, ..FileCreate::default() })?;
    c.reopen()?;
    let info = c.group_info(c.root()?)?;
    same(info.create.link_order, CreationOrder::Tracked)?;
    same(info.create.object.attribute_order, CreationOrder::Indexed)?;
    c.group_create(&OpGroupCreate {
        place: Some(LinkLocation::new(c.root()?, "x")),
        create: GroupCreate::default(),
    })?;
    same(some(c.link_get(c.root()?, "x")?)?.creation_order, Some(0))
}
