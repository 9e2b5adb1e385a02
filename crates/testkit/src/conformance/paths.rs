//! Paths, and what links do on the way.

use model::{Kind, LinkTarget, Result, Token};
use vol::{Lookup, OpLookup};

use crate::kit::*;
use crate::{Case, Subject};

super::suite! { "paths":
    |_| true => absolute_path_starts_at_the_root, relative_path_starts_at_its_group, doubled_slashes_and_dots_do_not_count,
        empty_path_is_where_one_is, missing_part_is_not_found, path_through_a_dataset_is_refused;
    |c| c.soft_links => soft_link_is_followed_from_its_group, absolute_soft_link_starts_at_the_root,
        soft_links_chain, too_many_soft_links_are_over_the_limit, ring_of_soft_links_is_over_the_limit,
        dangling_soft_link_is_not_found, path_goes_on_behind_a_soft_link, lookup_agrees_with_walking;
    |c| c.external_links => external_link_leads_out_with_the_rest_of_the_path,
        soft_link_to_an_external_link_leads_out;
    |c| c.user_links => user_link_gives_class_bytes_and_rest;
}

fn token(c: &Case<'_>, from: Token, path: &str) -> Result<Token> {
    vol::path::token(&*c.container, from, path, 16)
}

fn tree(s: &Subject) -> Result<(Case<'_>, Token, Token)> {
    let c = s.fresh()?;
    let a = c.group(c.root()?, "a")?;
    let b = c.group(a, "b")?;
    Ok((c, a, b))
}

fn absolute_path_starts_at_the_root(s: &Subject) -> Result<()> {
    let (c, a, b) = tree(s)?;
    same(token(&c, b, "/a/b")?, b)?;
    same(token(&c, a, "/")?, c.root()?)
}

fn relative_path_starts_at_its_group(s: &Subject) -> Result<()> {
    let (c, a, b) = tree(s)?;
    same(token(&c, a, "b")?, b)?;
    fails(token(&c, b, "a"), Kind::NotFound)
}

fn doubled_slashes_and_dots_do_not_count(s: &Subject) -> Result<()> {
    let (c, a, b) = tree(s)?;
    for path in ["//a//b", "/a/./b", "./a/b/", "a/b/.", "/./a///./b//"] {
        same(token(&c, c.root()?, path)?, b)?;
    }
    same(token(&c, a, ".")?, a)
}

fn empty_path_is_where_one_is(s: &Subject) -> Result<()> {
    let (c, a, _) = tree(s)?;
    same(token(&c, a, "")?, a)
}

fn missing_part_is_not_found(s: &Subject) -> Result<()> {
    let (c, _, _) = tree(s)?;
    for path in ["/x", "/a/x", "/x/b", "a/b/c"] {
        fails(token(&c, c.root()?, path), Kind::NotFound)?;
    }
    Ok(())
}

fn path_through_a_dataset_is_refused(s: &Subject) -> Result<()> {
    let (c, a, _) = tree(s)?;
    c.ints(a, "data", &[1])?;
    fails(token(&c, c.root()?, "a/data/x"), Kind::Invalid)
}

fn soft_link_is_followed_from_its_group(s: &Subject) -> Result<()> {
    let (c, a, b) = tree(s)?;
    c.link(a, "soft", LinkTarget::Soft("b".into()))?;
    same(token(&c, c.root()?, "a/soft")?, b)
}

fn absolute_soft_link_starts_at_the_root(s: &Subject) -> Result<()> {
    let (c, a, b) = tree(s)?;
    c.link(b, "top", LinkTarget::Soft("/a".into()))?;
    same(token(&c, c.root()?, "a/b/top")?, a)
}

fn chain(c: &Case<'_>, length: usize) -> Result<()> {
    for n in 1..length {
        c.link(c.root()?, &format!("s{n}"), LinkTarget::Soft(format!("s{}", n + 1)))?;
    }
    c.link(c.root()?, &format!("s{length}"), LinkTarget::Soft("a".into()))
}

fn soft_links_chain(s: &Subject) -> Result<()> {
    let (c, a, _) = tree(s)?;
    chain(&c, 16)?;
    same(token(&c, c.root()?, "s1")?, a)
}

fn too_many_soft_links_are_over_the_limit(s: &Subject) -> Result<()> {
    let (c, a, _) = tree(s)?;
    chain(&c, 17)?;
    fails(token(&c, c.root()?, "s1"), Kind::Limit)?;
    same(token(&c, c.root()?, "s2")?, a)?;
    fails(vol::path::token(&*c.container, c.root()?, "s17", 0), Kind::Limit)
}

fn ring_of_soft_links_is_over_the_limit(s: &Subject) -> Result<()> {
    let c = s.fresh()?;
    c.link(c.root()?, "x", LinkTarget::Soft("y".into()))?;
    c.link(c.root()?, "y", LinkTarget::Soft("/x".into()))?;
    fails(token(&c, c.root()?, "x/z"), Kind::Limit)
}

fn dangling_soft_link_is_not_found(s: &Subject) -> Result<()> {
    let (c, a, _) = tree(s)?;
    c.link(a, "soft", LinkTarget::Soft("gone/x".into()))?;
    fails(token(&c, a, "soft"), Kind::NotFound)
}

fn path_goes_on_behind_a_soft_link(s: &Subject) -> Result<()> {
    let (c, _, b) = tree(s)?;
    c.link(c.root()?, "soft", LinkTarget::Soft("/a/.".into()))?;
    same(token(&c, b, "/soft/b")?, b)
}

fn lookup_agrees_with_walking(s: &Subject) -> Result<()> {
    let (c, a, _) = tree(s)?;
    c.link(a, "soft", LinkTarget::Soft("b".into()))?;
    for path in ["a", "a/b", "/a/soft", "a/x", "x", ".", "/"] {
        let op = OpLookup { from: c.root()?, path: path.into(), traversals_max: 16 };
        let (quick, slow) = (vol::path::lookup(&*c.container, &op), vol::path::walk(&*c.container, &op));
        same(quick.map_err(|e| e.kind()), slow.map_err(|e| e.kind()))?;
    }
    Ok(())
}

fn lookup(c: &Case<'_>, path: &str) -> Result<Lookup> {
    vol::path::lookup(&*c.container, &OpLookup { from: c.root()?, path: path.into(), traversals_max: 16 })
}

fn external_link_leads_out_with_the_rest_of_the_path(s: &Subject) -> Result<()> {
    let (c, a, _) = tree(s)?;
    c.link(a, "out", LinkTarget::External { file: "f.h5".into(), path: "/x".into() })?;
    same(lookup(&c, "a/out")?, Lookup::External { file: "f.h5".into(), path: "/x".into() })?;
    same(lookup(&c, "a/out/y/./z")?, Lookup::External { file: "f.h5".into(), path: "/x/y/z".into() })
}

fn soft_link_to_an_external_link_leads_out(s: &Subject) -> Result<()> {
    let (c, a, _) = tree(s)?;
    c.link(a, "out", LinkTarget::External { file: "f.h5".into(), path: "/".into() })?;
    c.link(c.root()?, "soft", LinkTarget::Soft("a/out/p".into()))?;
    same(lookup(&c, "soft/q")?, Lookup::External { file: "f.h5".into(), path: "/p/q".into() })
}

fn user_link_gives_class_bytes_and_rest(s: &Subject) -> Result<()> {
    let (c, a, _) = tree(s)?;
    c.link(a, "own", LinkTarget::User { class: 99, data: vec![1, 2] })?;
    same(lookup(&c, "a/own/x/y")?, Lookup::User { class: 99, data: vec![1, 2], rest: "x/y".into() })
}
