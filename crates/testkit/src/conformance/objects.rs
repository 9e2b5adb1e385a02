//! Objects: kinds, lives, counts, comments, times.

use model::properties::{DatasetCreate, GroupCreate, ObjectCreate};
use model::{Dataspace, Kind, LinkTarget, ObjectKind, Result, Selection, Token};
use vol::{LinkLocation, OpDatasetCreate, OpDatatypeCommit, OpGroupCreate, OpMapCreate};

use crate::Subject;
use crate::kit::*;

super::suite! { "objects":
    |_| true => object_info_tells_what_it_is, kinds_of_many_objects_are_returned_at_once, unlinked_object_lives_until_released,
        unlinked_object_without_a_handle_is_gone, an_object_retained_twice_needs_two_releases,
        release_without_retain_is_refused, unknown_token_is_not_found, token_of_another_container_is_refused,
        wrong_kind_of_object_is_refused, deleting_a_group_removes_its_members, releasing_an_unlinked_group_removes_its_members, elements_outlive_the_link_of_an_open_dataset,
        closing_releases_what_was_retained;
    |c| c.hard_links => hard_links_are_counted, object_lives_while_one_link_is_left, references_can_be_adjusted,
        object_goes_when_its_references_reach_zero, references_do_not_go_below_zero,
        root_does_not_lose_its_last_reference, member_of_a_deleted_group_lives_by_its_other_link;
    |c| c.anonymous_objects => anonymous_object_can_be_linked_later, released_anonymous_object_is_gone,
        anonymous_dataset_holds_elements;
    |c| c.anonymous_objects && c.committed_datatypes && c.maps => every_kind_can_be_anonymous;
    |c| c.comments => comment_is_kept_and_removed;
    |c| c.refresh => refreshed_object_shows_its_changes;
    |c| c.times => times_are_kept_where_they_are_tracked;
}

fn object_info_tells_what_it_is(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let (group, data) = (c.group(c.root()?, "g")?, c.ints(c.root()?, "d", &[1])?);
    for (token, kind) in
        [(c.root()?, ObjectKind::Group), (group, ObjectKind::Group), (data, ObjectKind::Dataset)]
    {
        let info = c.object_info(token)?;
        same((info.token, info.kind, info.references, info.attributes), (token, kind, 1, 0))?;
    }
    Ok(())
}

fn kinds_of_many_objects_are_returned_at_once(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let root = c.root()?;
    let (group, data) = (c.group(root, "g")?, c.ints(root, "d", &[1])?);
    let wanted = vec![ObjectKind::Dataset, ObjectKind::Group, ObjectKind::Group, ObjectKind::Dataset];
    match c.object_kinds(&[data, root, group, data]) {
        // It saves time where it is there; no one needs it.
        Err(error) if error.kind() == Kind::Unsupported => return Ok(()),
        kinds => same(kinds?, wanted)?,
    }
    same(c.object_kinds(&[])?, Vec::new())?;
    c.link_delete(root, "d")?;
    fails(c.object_kinds(&[root, data]), Kind::NotFound)
}

fn hard_links_are_counted(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "one", &[1])?;
    c.link(c.root()?, "two", LinkTarget::Hard(data))?;
    same(c.object_info(data)?.references, 2)?;
    c.link_delete(c.root()?, "one")?;
    same(c.object_info(data)?.references, 1)
}

fn unlinked_object_lives_until_released(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    c.retain(group)?;
    c.link_delete(c.root()?, "g")?;
    same(c.object_info(group)?.references, 0)?;
    c.group(group, "still works")?;
    c.release(group)?;
    fails(c.object_info(group), Kind::NotFound)
}

fn unlinked_object_without_a_handle_is_gone(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "d", &[1])?;
    c.link_delete(c.root()?, "d")?;
    fails(c.object_info(data), Kind::NotFound)?;
    fails(c.get(data, &Selection::All), Kind::NotFound)
}

fn an_object_retained_twice_needs_two_releases(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    c.retain(group)?;
    c.retain(group)?;
    c.link_delete(c.root()?, "g")?;
    c.release(group)?;
    c.object_info(group)?;
    c.release(group)?;
    fails(c.object_info(group), Kind::NotFound)
}

fn release_without_retain_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    fails(c.release(group), Kind::Invalid)?;
    c.object_info(group).map(|_| ())
}

fn unknown_token_is_not_found(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for token in [Token([0xEE; 16]), Token([0; 16])] {
        fails(c.object_info(token), Kind::NotFound)?;
        fails(c.group_info(token), Kind::NotFound)?;
        fails(c.dataset_info(token), Kind::NotFound)?;
        fails(c.retain(token), Kind::NotFound)?;
    }
    Ok(())
}

fn token_of_another_container_is_refused(s: &Subject) -> Result<()> {
    let (a, b) = (s.fresh()?, s.fresh()?);
    for n in 0..20 {
        a.ints(a.root()?, &format!("d{n}"), &[1])?;
    }
    let last = a.ints(a.root()?, "last", &[1])?;
    fails_somehow(b.dataset_info(last))
}

fn wrong_kind_of_object_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "d", &[1])?;
    fails(c.group_info(data), Kind::Invalid)?;
    fails(c.link_get(data, "x"), Kind::Invalid)?;
    fails(c.group(data, "x"), Kind::Invalid)?;
    fails(c.dataset_info(c.root()?), Kind::Invalid)?;
    fails(c.get(c.root()?, &Selection::All), Kind::Invalid)?;
    fails(c.dataset_resize(c.root()?, &[1]), Kind::Invalid)
}

fn deleting_a_group_removes_its_members(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let outer = c.group(c.root()?, "outer")?;
    let inner = c.group(outer, "inner")?;
    let data = c.ints(inner, "data", &[1])?;
    c.link_delete(c.root()?, "outer")?;
    for token in [outer, inner, data] {
        fails(c.object_info(token), Kind::NotFound)?;
    }
    Ok(())
}

fn releasing_an_unlinked_group_removes_its_members(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    let data = c.ints(group, "d", &[1])?;
    c.retain(group)?;
    c.link_delete(c.root()?, "g")?;
    same(c.object_info(data)?.references, 1)?;
    c.release(group)?;
    fails(c.object_info(data), Kind::NotFound)
}

fn elements_outlive_the_link_of_an_open_dataset(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "d", &[3])?;
    c.retain(data)?;
    c.put(data, &Selection::All, &[1, 2, 3])?;
    c.link_delete(c.root()?, "d")?;
    c.ints(c.root()?, "d", &[3])?;
    same(c.get(data, &Selection::All)?, [1, 2, 3])?;
    c.release(data)
}

fn closing_releases_what_was_retained(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let data = c.ints(c.root()?, "d", &[3])?;
    c.retain(data)?;
    c.link_delete(c.root()?, "d")?;
    c.reopen()?;
    same(c.group_info(c.root()?)?.links, 0)?;
    fails_somehow(c.dataset_info(data))
}

fn object_lives_while_one_link_is_left(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "one", &[2])?;
    c.link(c.root()?, "two", LinkTarget::Hard(data))?;
    c.put(data, &Selection::All, &[4, 5])?;
    c.link_delete(c.root()?, "one")?;
    same(c.get(data, &Selection::All)?, [4, 5])?;
    c.link_delete(c.root()?, "two")?;
    fails(c.object_info(data), Kind::NotFound)
}

fn references_can_be_adjusted(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    same(c.object_adjust_references(group, 3)?, 4)?;
    same(c.object_adjust_references(group, -2)?, 2)?;
    c.link_delete(c.root()?, "g")?;
    same(c.object_info(group)?.references, 1)
}

fn object_goes_when_its_references_reach_zero(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    c.object_adjust_references(group, 1)?;
    c.link_delete(c.root()?, "g")?;
    same(c.object_adjust_references(group, -1)?, 0)?;
    fails(c.object_info(group), Kind::NotFound)
}

fn references_do_not_go_below_zero(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    fails(c.object_adjust_references(group, -2), Kind::Invalid)?;
    same(c.object_info(group)?.references, 1)
}

fn root_does_not_lose_its_last_reference(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.object_adjust_references(c.root()?, -1), Kind::Invalid)?;
    c.group(c.root()?, "g").map(|_| ())
}

fn member_of_a_deleted_group_lives_by_its_other_link(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    let data = c.ints(group, "d", &[1])?;
    c.link(c.root()?, "kept", LinkTarget::Hard(data))?;
    c.link_delete(c.root()?, "g")?;
    same(c.object_info(data)?.references, 1)
}

fn anonymous_object_can_be_linked_later(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let group = c.group_create(&OpGroupCreate::default())?;
    same(c.object_info(group)?.references, 0)?;
    same(c.group_info(c.root()?)?.links, 0)?;
    c.link(c.root()?, "named", LinkTarget::Hard(group))?;
    same(c.object_info(group)?.references, 1)?;
    c.reopen()?;
    vol::path::token(&*c.container, c.root()?, "named", 16).map(|_| ())
}

fn released_anonymous_object_is_gone(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group_create(&OpGroupCreate::default())?;
    c.retain(group)?;
    c.release(group)?;
    fails(c.object_info(group), Kind::NotFound)
}

fn anonymous_dataset_holds_elements(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let op = dataset_op(LinkLocation::new(c.root()?, ""), int(), space(&[2]), DatasetCreate::default());
    let data = c.dataset_create(&OpDatasetCreate { place: None, ..op })?;
    c.put(data, &Selection::All, &[5, 6])?;
    c.link(c.root()?, "d", LinkTarget::Hard(data))?;
    same(c.get(data, &Selection::All)?, [5, 6])
}

fn every_kind_can_be_anonymous(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let create = ObjectCreate::default();
    let datatype =
        c.datatype_commit(&OpDatatypeCommit { place: None, datatype: int(), create: create.clone() })?;
    let map = c.map_create(&OpMapCreate { place: None, key: int(), value: int(), create })?;
    let space = Dataspace::Scalar;
    let create = DatasetCreate::default();
    let data =
        c.dataset_create(&OpDatasetCreate { place: None, datatype: int(), committed: None, space, create })?;
    for (token, kind) in
        [(datatype, ObjectKind::Datatype), (map, ObjectKind::Map), (data, ObjectKind::Dataset)]
    {
        let info = c.object_info(token)?;
        same((info.kind, info.references), (kind, 0))?;
    }
    Ok(())
}

fn refreshed_object_shows_its_changes(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "group")?;
    c.group(group, "inner")?;
    c.object_refresh(group)?;
    same(c.group_info(group)?.links, 1)
}

fn comment_is_kept_and_removed(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    c.object_set_comment(c.root()?, Some("hello"))?;
    c.reopen()?;
    same(c.object_info(c.root()?)?.comment.as_deref(), Some("hello"))?;
    c.object_set_comment(c.root()?, Some("other"))?;
    same(c.object_info(c.root()?)?.comment.as_deref(), Some("other"))?;
    c.object_set_comment(c.root()?, None)?;
    same(c.object_info(c.root()?)?.comment, None)
}

fn times_are_kept_where_they_are_tracked(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for track_times in [true, false] {
        let object = ObjectCreate { track_times, ..ObjectCreate::default() };
        let create = DatasetCreate { object, ..DatasetCreate::default() };
        let data = c.ints_with(c.root()?, &format!("times {track_times}"), space(&[1]), create)?;
        let times = c.object_info(data)?.times;
        same(
            times.is_some_and(|times| times.birth > 1_000_000_000 || times.change > 1_000_000_000),
            track_times,
        )?;
    }
    let create = GroupCreate::default();
    c.group_create(&OpGroupCreate { place: Some(LinkLocation::new(c.root()?, "g")), create }).map(|_| ())
}
