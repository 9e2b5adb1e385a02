//! Operations that a connector lacks return `Unsupported`, and never succeed silently.

use model::datatype::ReferenceKind;
use model::properties::ObjectCreate;
use model::{Kind, LinkTarget, Reference, Result};
use vol::{LinkLocation, OpDatatypeCommit, OpGroupCreate, OpMapCreate, OpObjectCopy};

use crate::Subject;
use crate::kit::*;

super::suite! { "unsupported":
    |c| !c.maps => maps_it_lacks_are_unsupported;
    |c| !c.attributes => attributes_it_lacks_are_unsupported;
    |c| !c.committed_datatypes => committed_types_it_lacks_are_unsupported;
    |c| !c.soft_links => soft_links_it_lacks_are_unsupported;
    |c| !c.external_links => external_links_it_lacks_are_unsupported;
    |c| !c.user_links => user_links_it_lacks_are_unsupported;
    |c| !c.hard_links => hard_links_it_lacks_are_unsupported;
    |c| !c.anonymous_objects => anonymous_objects_it_lacks_are_unsupported;
    |c| !c.comments => comments_it_lacks_are_unsupported;
    |c| !c.refresh => refresh_it_lacks_is_unsupported;
    |c| !c.object_copy => copies_it_lacks_are_unsupported;
    |c| !c.raw_chunks => raw_chunks_it_lacks_are_unsupported;
    |c| !c.object_references => references_it_lacks_are_unsupported;
    |c| !c.variable_length => blobs_it_lacks_are_unsupported;
    |_| true => capability_of_a_container_is_its_connectors;
}

fn maps_it_lacks_are_unsupported(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let place = Some(LinkLocation::new(c.root()?, "map"));
    let op = OpMapCreate { place, key: int(), value: int(), create: ObjectCreate::default() };
    fails(c.map_create(&op), Kind::Unsupported)
}

fn attributes_it_lacks_are_unsupported(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.attribute(c.root()?, "a", 1), Kind::Unsupported)
}

fn committed_types_it_lacks_are_unsupported(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let place = Some(LinkLocation::new(c.root()?, "type"));
    let op = OpDatatypeCommit { place, datatype: int(), create: ObjectCreate::default() };
    fails(c.datatype_commit(&op), Kind::Unsupported)
}

fn links_are_unsupported(s: &Subject, target: LinkTarget) -> Result<()> {
    let c = s.fresh()?;
    fails(c.link(c.root()?, "link", target), Kind::Unsupported)?;
    same(c.group_info(c.root()?)?.links, 0)
}

fn soft_links_it_lacks_are_unsupported(s: &Subject) -> Result<()> {
    links_are_unsupported(s, LinkTarget::Soft("x".into()))
}

fn external_links_it_lacks_are_unsupported(s: &Subject) -> Result<()> {
    links_are_unsupported(s, LinkTarget::External { file: "f".into(), path: "/".into() })
}

fn user_links_it_lacks_are_unsupported(s: &Subject) -> Result<()> {
    links_are_unsupported(s, LinkTarget::User { class: 99, data: vec![1] })
}

fn hard_links_it_lacks_are_unsupported(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    fails(c.link(c.root()?, "again", LinkTarget::Hard(group)), Kind::Unsupported)
}

fn anonymous_objects_it_lacks_are_unsupported(s: &Subject) -> Result<()> {
    fails(s.fresh()?.group_create(&OpGroupCreate::default()), Kind::Unsupported)
}

fn comments_it_lacks_are_unsupported(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.object_set_comment(c.root()?, Some("x")), Kind::Unsupported)
}

fn refresh_it_lacks_is_unsupported(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.object_refresh(c.root()?), Kind::Unsupported)
}

fn copies_it_lacks_are_unsupported(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    fails(c.object_copy(&OpObjectCopy::new(group, LinkLocation::new(c.root()?, "copy"))), Kind::Unsupported)
}

fn raw_chunks_it_lacks_are_unsupported(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints_with(c.root()?, "d", space(&[4]), chunked(&[2]))?;
    fails(c.chunk_list(data, 0, 1), Kind::Unsupported)?;
    fails(c.chunk_write(data, &[0], 0, &[0; 8]), Kind::Unsupported)
}

fn references_it_lacks_are_unsupported(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.reference_put(ReferenceKind::Object, &[Reference::object(c.root()?)]), Kind::Unsupported)
}

fn blobs_it_lacks_are_unsupported(s: &Subject) -> Result<()> {
    fails(s.fresh()?.blob_put(&[b"x"]), Kind::Unsupported)
}

fn capability_of_a_container_is_its_connectors(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let info = c.info()?;
    let place = vol::Location::parse(&c.location);
    match place.connector.filter(|name| *name != info.connector) {
        None => same(info.capability, s.registry().by_name(&info.connector)?.info().capability),
        // The way to a container that another connector stores: it can do what both can.
        Some(way) => {
            let most = s.registry().by_name(&way)?.info().capability;
            let beyond = info.capability.to_bits() & !most.to_bits();
            same(beyond, 0)
        }
    }
}
