//! Groups and links of every kind.

use model::properties::PhaseChange;
use model::{CharacterSet, Kind, LinkTarget, Result, Selection, Token};
use vol::{LinkLocation, OpGroupCreate, OpLinkMove, OpList};

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "links":
    |_| true => groups_nest, duplicate_name_is_refused, impossible_names_are_refused, dots_make_an_ordinary_name,
        missing_link_is_none, deleting_a_missing_link_is_not_found, deleted_name_may_be_used_again,
        group_info_counts_links, names_in_utf8_are_kept, a_thousand_links_are_kept, link_to_an_unknown_object_is_refused,
        move_renames_in_its_group, move_goes_to_another_group, move_onto_an_existing_name_is_refused,
        move_of_a_missing_link_is_not_found, moved_object_keeps_its_token, group_properties_are_kept,
        long_names_are_kept, names_differ_by_case;
    |c| c.hard_links => hard_link_gives_a_second_name, copied_link_shares_the_object, a_group_may_hold_itself,
        link_delete_removes_only_that_name, hard_links_survive_reopening;
    |c| c.soft_links => soft_link_keeps_its_path, soft_link_may_dangle, moved_soft_link_keeps_its_path,
        soft_link_does_not_count_as_a_reference;
    |c| c.external_links => external_link_keeps_file_and_path;
    |c| c.user_links => user_link_keeps_class_and_bytes, user_link_of_a_library_class_is_refused;
    |c| c.creation_order => links_tell_their_position, deleted_position_is_not_used_again, moved_link_comes_last,
        emptied_group_tells_no_position;
}

fn moving(c: &Case<'_>, from: Token, name: &str, to: Token, new: &str, copy: bool) -> Result<()> {
    c.link_move(&OpLinkMove { from, name: name.to_owned(), to: LinkLocation::new(to, new), copy })
}

fn groups_nest(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let mut here = c.root()?;
    for _ in 0..20 {
        here = c.group(here, "down")?;
    }
    let path = ["down"; 20].join("/");
    same(vol::path::token(&*c.container, c.root()?, &path, 16)?, here)
}

fn duplicate_name_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "name")?;
    fails(c.group(c.root()?, "name"), Kind::Exists)?;
    fails(c.ints(c.root()?, "name", &[1]), Kind::Exists)?;
    same(some(c.link_get(c.root()?, "name")?)?.target, LinkTarget::Hard(group))?;
    same(c.group_info(c.root()?)?.links, 1)
}

fn impossible_names_are_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for name in ["", ".", "a/b", "/", "nul\0"] {
        fails(c.group(c.root()?, name), Kind::Invalid)?;
    }
    same(c.group_info(c.root()?)?.links, 0)
}

fn dots_make_an_ordinary_name(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for name in ["..", "...", " ", ".hidden"] {
        let group = c.group(c.root()?, name)?;
        same(vol::path::token(&*c.container, c.root()?, name, 16)?, group)?;
    }
    Ok(())
}

fn missing_link_is_none(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    same(c.link_get(c.root()?, "nothing")?, None)
}

fn deleting_a_missing_link_is_not_found(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.link_delete(c.root()?, "nothing"), Kind::NotFound)
}

fn deleted_name_may_be_used_again(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    c.group(c.root()?, "x")?;
    c.link_delete(c.root()?, "x")?;
    let data = c.ints(c.root()?, "x", &[1])?;
    c.put(data, &Selection::All, &[3])?;
    c.reopen()?;
    let data = vol::path::token(&*c.container, c.root()?, "x", 16)?;
    same(c.get(data, &Selection::All)?, [3])
}

fn group_info_counts_links(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for n in 1..=12 {
        c.group(c.root()?, &format!("g{n}"))?;
        same(c.group_info(c.root()?)?.links, n)?;
    }
    c.link_delete(c.root()?, "g5")?;
    same(c.group_info(c.root()?)?.links, 11)
}

fn names_in_utf8_are_kept(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    for name in ["žluťoučký kůň", "数据", "🦀", "naïve"] {
        c.group(c.root()?, name)?;
    }
    c.reopen()?;
    let link = some(c.link_get(c.root()?, "数据")?)?;
    same((link.name.as_str(), link.charset), ("数据", CharacterSet::Utf8))?;
    same(c.group_info(c.root()?)?.links, 4)
}

fn a_thousand_links_are_kept(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let names: Vec<String> = (0..1000).map(|n| format!("link {n:04}")).collect();
    for name in &names {
        c.group(c.root()?, name)?;
    }
    c.reopen()?;
    same(c.link_names(c.root()?, &OpList::default())?, names)?;
    same(c.link_get(c.root()?, "link 0500")?.is_some(), true)
}

fn link_to_an_unknown_object_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(c.link(c.root()?, "x", LinkTarget::Hard(Token([0xEE; 16]))), Kind::NotFound)?;
    same(c.link_get(c.root()?, "x")?, None)
}

fn move_renames_in_its_group(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "old")?;
    moving(&c, c.root()?, "old", c.root()?, "new", false)?;
    same(c.link_names(c.root()?, &OpList::default())?, ["new"])?;
    same(c.object_info(group)?.references, 1)
}

fn move_goes_to_another_group(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let (from, to) = (c.group(c.root()?, "from")?, c.group(c.root()?, "to")?);
    let data = c.ints(from, "data", &[1])?;
    moving(&c, from, "data", to, "moved", false)?;
    same(c.link_get(from, "data")?, None)?;
    same(some(c.link_get(to, "moved")?)?.target, LinkTarget::Hard(data))
}

fn move_onto_an_existing_name_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.group(c.root()?, "a")?;
    c.group(c.root()?, "b")?;
    fails(moving(&c, c.root()?, "a", c.root()?, "b", false), Kind::Exists)?;
    same(c.link_names(c.root()?, &OpList::default())?, ["a", "b"])
}

fn move_of_a_missing_link_is_not_found(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    fails(moving(&c, c.root()?, "a", c.root()?, "b", false), Kind::NotFound)
}

fn moved_object_keeps_its_token(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "a", &[2])?;
    c.put(data, &Selection::All, &[1, 2])?;
    moving(&c, c.root()?, "a", c.root()?, "b", false)?;
    same(vol::path::token(&*c.container, c.root()?, "b", 16)?, data)?;
    same(c.get(data, &Selection::All)?, [1, 2])
}

fn group_properties_are_kept(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let mut create = ordered();
    create.link_phase = PhaseChange { compact_max: 3, dense_min: 2 };
    if !c.info()?.capability.creation_order {
        create = Default::default();
    }
    c.group_create(&OpGroupCreate {
        place: Some(LinkLocation::new(c.root()?, "g")),
        create: create.clone(),
    })?;
    c.reopen()?;
    let group = vol::path::token(&*c.container, c.root()?, "g", 16)?;
    let found = c.group_info(group)?.create;
    same((found.link_order, found.link_phase), (create.link_order, create.link_phase))
}

fn long_names_are_kept(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let name = "long ".repeat(100);
    c.group(c.root()?, &name)?;
    c.reopen()?;
    same(some(c.link_get(c.root()?, &name)?)?.name, name)
}

fn names_differ_by_case(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.group(c.root()?, "Name")?;
    c.group(c.root()?, "name")?;
    same(c.link_names(c.root()?, &OpList::default())?, ["Name", "name"])
}

fn hard_link_gives_a_second_name(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "one", &[1])?;
    c.link(c.root()?, "two", LinkTarget::Hard(data))?;
    same(vol::path::token(&*c.container, c.root()?, "two", 16)?, data)
}

fn copied_link_shares_the_object(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "one", &[1])?;
    moving(&c, c.root()?, "one", c.root()?, "two", true)?;
    same(c.link_names(c.root()?, &OpList::default())?, ["one", "two"])?;
    same(c.object_info(data)?.references, 2)
}

fn a_group_may_hold_itself(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    c.link(group, "self", LinkTarget::Hard(group))?;
    c.link(group, "up", LinkTarget::Hard(c.root()?))?;
    same(vol::path::token(&*c.container, c.root()?, "g/self/self/up/g", 16)?, group)?;
    same(c.object_info(group)?.references, 2)
}

fn link_delete_removes_only_that_name(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let data = c.ints(c.root()?, "one", &[1])?;
    c.link(c.root()?, "two", LinkTarget::Hard(data))?;
    c.link_delete(c.root()?, "one")?;
    same(c.link_names(c.root()?, &OpList::default())?, ["two"])
}

fn hard_links_survive_reopening(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let data = c.ints(c.root()?, "one", &[1])?;
    c.link(c.root()?, "two", LinkTarget::Hard(data))?;
    c.reopen()?;
    let one = vol::path::token(&*c.container, c.root()?, "one", 16)?;
    same(vol::path::token(&*c.container, c.root()?, "two", 16)?, one)?;
    same(c.object_info(one)?.references, 2)
}

fn soft_link_keeps_its_path(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    c.link(c.root()?, "soft", LinkTarget::Soft("/some//path/./x".into()))?;
    c.reopen()?;
    same(some(c.link_get(c.root()?, "soft")?)?.target, LinkTarget::Soft("/some//path/./x".into()))
}

fn soft_link_may_dangle(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.link(c.root()?, "soft", LinkTarget::Soft("nowhere".into()))?;
    fails(vol::path::token(&*c.container, c.root()?, "soft", 16), Kind::NotFound)?;
    let group = c.group(c.root()?, "nowhere")?;
    same(vol::path::token(&*c.container, c.root()?, "soft", 16)?, group)
}

fn moved_soft_link_keeps_its_path(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    c.link(c.root()?, "soft", LinkTarget::Soft("x".into()))?;
    moving(&c, c.root()?, "soft", group, "soft", false)?;
    same(some(c.link_get(group, "soft")?)?.target, LinkTarget::Soft("x".into()))
}

fn soft_link_does_not_count_as_a_reference(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    let group = c.group(c.root()?, "g")?;
    c.link(c.root()?, "soft", LinkTarget::Soft("g".into()))?;
    same(c.object_info(group)?.references, 1)?;
    c.link_delete(c.root()?, "soft")?;
    same(c.object_info(group)?.references, 1)
}

fn external_link_keeps_file_and_path(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    let target = LinkTarget::External { file: "other file.h5".into(), path: "/a/b".into() };
    c.link(c.root()?, "out", target.clone())?;
    c.reopen()?;
    same(some(c.link_get(c.root()?, "out")?)?.target, target)
}

fn user_link_keeps_class_and_bytes(s: &Subject) -> Result<()> {
    let mut c = s.fresh()?;
    for (name, class, data) in [("empty", 65, vec![]), ("full", 255, vec![0, 1, 255])] {
        c.link(c.root()?, name, LinkTarget::User { class, data })?;
    }
    c.reopen()?;
    same(some(c.link_get(c.root()?, "empty")?)?.target, LinkTarget::User { class: 65, data: vec![] })?;
    same(some(c.link_get(c.root()?, "full")?)?.target, LinkTarget::User { class: 255, data: vec![0, 1, 255] })
}

fn user_link_of_a_library_class_is_refused(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    for class in [0, 1, 2, 64] {
        fails(c.link(c.root()?, "x", LinkTarget::User { class, data: vec![1] }), Kind::Invalid)?;
    }
    Ok(())
}

fn links_tell_their_position(s: &Subject) -> Result<()> {
    let mut c = s.fresh_with(&ordered_file())?;
    for name in ["z", "a", "m"] {
        c.group(c.root()?, name)?;
    }
    c.reopen()?;
    for (name, position) in [("z", 0), ("a", 1), ("m", 2)] {
        same(some(c.link_get(c.root()?, name)?)?.creation_order, Some(position))?;
    }
    same(c.group_info(c.root()?)?.creation_order_next, 3)
}

fn deleted_position_is_not_used_again(s: &Subject) -> Result<()> {
    let c = s.fresh_with(&ordered_file())?;
    for name in ["a", "b"] {
        c.group(c.root()?, name)?;
    }
    c.link_delete(c.root()?, "b")?;
    c.group(c.root()?, "c")?;
    same(some(c.link_get(c.root()?, "c")?)?.creation_order, Some(2))
}

fn emptied_group_tells_no_position(s: &Subject) -> Result<()> {
    let c = s.fresh_with(&ordered_file())?;
    for name in ["a", "b"] {
        c.group(c.root()?, name)?;
    }
    for name in ["a", "b"] {
        c.link_delete(c.root()?, name)?;
    }
    same(c.group_info(c.root()?)?.creation_order_next, 0)
}

fn moved_link_comes_last(s: &Subject) -> Result<()> {
    let c = s.fresh_with(&ordered_file())?;
    for name in ["a", "b"] {
        c.group(c.root()?, name)?;
    }
    moving(&c, c.root()?, "a", c.root()?, "again", false)?;
    same(some(c.link_get(c.root()?, "again")?)?.creation_order, Some(2))
}
