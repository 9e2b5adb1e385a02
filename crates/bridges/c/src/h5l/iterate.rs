//! Iterating over links, and visiting all links below a group.

use std::collections::HashSet;
use std::ffi::{c_char, c_int, c_void};

use hyperslab::vol::model::link::join;
use hyperslab::{Link, LinkTarget, ObjectKind, Token};

use super::info::{H5L_info1_t, H5L_info2_t, LinkInfo};
use crate::api;
use crate::arguments::{Out, Text};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5P_DEFAULT, herr_t, hid_t, hsize_t};
use crate::handles;
use crate::ids;
use crate::listing::{Data, Listing, check_answer};
use crate::paths::{self, FoundObject};
use crate::stack::c_text;

/// A function of a program's that is called for each link.
pub(crate) type Operator<T> =
    Option<unsafe extern "C" fn(hid_t, *const c_char, *const T, *mut c_void) -> herr_t>;

/// Calls the program's function for one link.
fn call<T: LinkInfo>(
    operator: Operator<T>,
    group: hid_t,
    name: &str,
    link: &Link,
    data: Data,
) -> Fallible<Option<herr_t>> {
    let operator = operator.ok_or_else(|| Failure::argument("no operator specified"))?;
    let (name, info) = (c_text(name), T::of(link)?);
    // SAFETY: name and info live until the function returns; the program gave function and data together.
    check_answer(unsafe { operator(group, name.as_ptr(), &raw const info, data) })
}

fn check_group(found: &FoundObject) -> Fallible<()> {
    match found.kind()? {
        ObjectKind::Group => Ok(()),
        _ => Err(Failure::new(Major::ARGS, Minor::BADTYPE, "not a group")),
    }
}

/// Calls a function for the links of a group, from a position on, which is brought up to date.
fn iterate<T: LinkInfo>(
    group: &FoundObject,
    id: hid_t,
    listing: Listing,
    position: Out<hsize_t>,
    operator: Operator<T>,
    data: Data,
) -> Fallible<herr_t> {
    check_group(group)?;
    if operator.is_none() {
        return Err(Failure::argument("no operator specified"));
    }
    let start = position.get().unwrap_or(0);
    let links = listing.links(&**group.container(), group.token, start)?;
    if start > 0 && links.is_empty() && start > group.container().group_info(group.token)?.links {
        return Err(Failure::argument("invalid index specified"));
    }
    for (number, link) in links.iter().enumerate() {
        let answer = call(operator, id, &link.name, link, data);
        position.put(start + number as u64 + 1);
        if let Some(stop) = answer? {
            return Ok(stop);
        }
    }
    Ok(0)
}

/// Iterates over the group of an identifier.
fn iterate_id<T: LinkInfo>(
    id: hid_t,
    (index, order): (c_int, c_int),
    position: Out<hsize_t>,
    operator: Operator<T>,
    data: Data,
) -> Fallible<herr_t> {
    let group = FoundObject::of(&*handles::group_or_file(id)?);
    iterate(&group, id, Listing::new(index, order)?, position, operator, data)
}

/// Runs `work` with an identifier of what a name leads to.
fn with_group<T>(
    id: hid_t,
    name: Text,
    lapl: hid_t,
    work: impl FnOnce(&FoundObject, hid_t) -> Fallible<T>,
) -> Fallible<T> {
    let found = paths::find_from(id, &name.name("group name")?, lapl)?;
    let group = found.clone().open_kind(ObjectKind::Group)?.register()?;
    let done = work(&found, group);
    ids::remove_reference(group)?;
    done
}

fn iterate_name<T: LinkInfo>(
    (id, name, lapl): (hid_t, Text, hid_t),
    (index, order): (c_int, c_int),
    position: Out<hsize_t>,
    operator: Operator<T>,
    data: Data,
) -> Fallible<herr_t> {
    let listing = Listing::new(index, order)?;
    with_group(id, name, lapl, |found, group| iterate(found, group, listing, position, operator, data))
}

/// Groups that were visited already: each is visited once, though several links lead to it.
struct Visit<'a> {
    group: &'a FoundObject,
    listing: Listing,
    seen: HashSet<Token>,
}

impl Visit<'_> {
    /// Returns the group that a link leads to and that was not visited yet.
    fn next_group(&mut self, link: &Link) -> Fallible<Option<Token>> {
        let LinkTarget::Hard(token) = link.target else { return Ok(None) };
        let kinds = self.group.container().object_kinds(&[token])?;
        Ok((kinds == [ObjectKind::Group] && self.seen.insert(token)).then_some(token))
    }
}

/// Calls a function for every link below a group, with its path from there.
fn visit<T: LinkInfo>(
    group: &FoundObject,
    id: hid_t,
    listing: Listing,
    operator: Operator<T>,
    data: Data,
) -> Fallible<herr_t> {
    check_group(group)?;
    let container = group.container();
    let mut visit = Visit { group, listing, seen: HashSet::from([group.token]) };
    let links = |visit: &Visit<'_>, token| visit.listing.links_of_visit(&**container, token);
    // Depth first: the links of a group come right after the link to it.
    let mut stack = vec![(String::new(), links(&visit, group.token)?.into_iter())];
    while let Some((path, remaining)) = stack.last_mut() {
        let Some(link) = remaining.next() else {
            stack.pop();
            continue;
        };
        let name = join(path, &link.name);
        if let Some(stop) = call(operator, id, &name, &link, data)? {
            return Ok(stop);
        }
        if let Some(token) = visit.next_group(&link)? {
            let below = links(&visit, token)?;
            stack.push((name, below.into_iter()));
        }
    }
    Ok(0)
}

fn visit_id<T: LinkInfo>(
    id: hid_t,
    (index, order): (c_int, c_int),
    operator: Operator<T>,
    data: Data,
) -> Fallible<herr_t> {
    let group = FoundObject::of(&*handles::group_or_file(id)?);
    visit(&group, id, Listing::new(index, order)?, operator, data)
}

fn visit_name<T: LinkInfo>(
    (id, name, lapl): (hid_t, Text, hid_t),
    (index, order): (c_int, c_int),
    operator: Operator<T>,
    data: Data,
) -> Fallible<herr_t> {
    let listing = Listing::new(index, order)?;
    with_group(id, name, lapl, |found, group| visit(found, group, listing, operator, data))
}

/// A function as version 1.6 had it, with the name alone.
type NameOperator = Option<unsafe extern "C" fn(hid_t, *const c_char, *mut c_void) -> herr_t>;

api! { LINK:
    /// Calls a function for the links of a group.
    fn H5Literate2(id: hid_t, index: c_int, order: c_int, position: Out<hsize_t>, operator: Operator<H5L_info2_t>, data: Data) -> herr_t {
        iterate_id(id, (index, order), position, operator, data)
    }

    /// Calls a function for the links of a group, as version 1.10 had it.
    fn H5Literate1(id: hid_t, index: c_int, order: c_int, position: Out<hsize_t>, operator: Operator<H5L_info1_t>, data: Data) -> herr_t {
        iterate_id(id, (index, order), position, operator, data)
    }

    /// Calls a function for the links of a group: the name of [`H5Literate1`] in programs for 1.10.
    fn H5Literate(id: hid_t, index: c_int, order: c_int, position: Out<hsize_t>, operator: Operator<H5L_info1_t>, data: Data) -> herr_t {
        iterate_id(id, (index, order), position, operator, data)
    }

    /// Calls a function for the links of the group that a name leads to.
    fn H5Literate_by_name2(id: hid_t, name: Text, index: c_int, order: c_int, position: Out<hsize_t>, operator: Operator<H5L_info2_t>, data: Data, lapl: hid_t) -> herr_t {
        iterate_name((id, name, lapl), (index, order), position, operator, data)
    }

    /// Calls a function for the links of the group that a name leads to, as version 1.10 had it.
    fn H5Literate_by_name1(id: hid_t, name: Text, index: c_int, order: c_int, position: Out<hsize_t>, operator: Operator<H5L_info1_t>, data: Data, lapl: hid_t) -> herr_t {
        iterate_name((id, name, lapl), (index, order), position, operator, data)
    }

    /// Calls a function for links: the name of [`H5Literate_by_name1`] in programs for 1.10.
    fn H5Literate_by_name(id: hid_t, name: Text, index: c_int, order: c_int, position: Out<hsize_t>, operator: Operator<H5L_info1_t>, data: Data, lapl: hid_t) -> herr_t {
        iterate_name((id, name, lapl), (index, order), position, operator, data)
    }

    /// Calls a function for all links below a group.
    fn H5Lvisit2(id: hid_t, index: c_int, order: c_int, operator: Operator<H5L_info2_t>, data: Data) -> herr_t {
        visit_id(id, (index, order), operator, data)
    }

    /// Calls a function for all links below a group, as version 1.10 had it.
    fn H5Lvisit1(id: hid_t, index: c_int, order: c_int, operator: Operator<H5L_info1_t>, data: Data) -> herr_t {
        visit_id(id, (index, order), operator, data)
    }

    /// Calls a function for all links below a group: the name of [`H5Lvisit1`] in programs for 1.10.
    fn H5Lvisit(id: hid_t, index: c_int, order: c_int, operator: Operator<H5L_info1_t>, data: Data) -> herr_t {
        visit_id(id, (index, order), operator, data)
    }

    /// Calls a function for all links below the group that a name leads to.
    fn H5Lvisit_by_name2(id: hid_t, name: Text, index: c_int, order: c_int, operator: Operator<H5L_info2_t>, data: Data, lapl: hid_t) -> herr_t {
        visit_name((id, name, lapl), (index, order), operator, data)
    }

    /// Calls a function for all links below the group that a name leads to, as version 1.10 had it.
    fn H5Lvisit_by_name1(id: hid_t, name: Text, index: c_int, order: c_int, operator: Operator<H5L_info1_t>, data: Data, lapl: hid_t) -> herr_t {
        visit_name((id, name, lapl), (index, order), operator, data)
    }

    /// Calls a function for links: the name of [`H5Lvisit_by_name1`] in programs for 1.10.
    fn H5Lvisit_by_name(id: hid_t, name: Text, index: c_int, order: c_int, operator: Operator<H5L_info1_t>, data: Data, lapl: hid_t) -> herr_t {
        visit_name((id, name, lapl), (index, order), operator, data)
    }

    /// Calls a function with the names of a group's links.
    fn H5Giterate(id: hid_t, name: Text, position: Out<c_int>, operator: NameOperator, data: Data) -> herr_t {
        let operator = operator.ok_or_else(|| Failure::argument("no operator specified"))?;
        let start = position.get().unwrap_or(0);
        let skip = hsize_t::try_from(start).map_err(|_| Failure::argument("invalid index specified"))?;
        with_group(id, name, H5P_DEFAULT, |found, group| {
            let links = Listing::by_name().links(&**found.container(), found.token, skip)?;
            for (number, link) in links.iter().enumerate() {
                let name = c_text(&link.name);
                // SAFETY: the name lives until the function returns; the program gave function and data together.
                let answer = check_answer(unsafe { operator(group, name.as_ptr(), data) });
                position.put(start + number as c_int + 1);
                if let Some(stop) = answer? {
                    return Ok(stop);
                }
            }
            Ok(0)
        })
    }
}
