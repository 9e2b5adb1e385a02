//! H5L: links.

mod classes;
pub(crate) mod info;
pub(crate) mod iterate;

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use hyperslab::vol::model::text;
use hyperslab::vol::{OpLinkCreate, OpLinkMove};
use hyperslab::{Link, LinkTarget, ObjectKind};

use crate::api;
use crate::arguments::{Bytes, Out, Text, TextOut, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, hsize_t, htri_t};
use crate::h5f::FileHandle;
use crate::handles::{self, ObjectHandle};
use crate::listing::Listing;
use crate::paths::{self, FoundObject};
use crate::{h5p, ids};
use classes::Change;
pub(crate) use classes::traverse;
use info::{H5L_info1_t, H5L_info2_t, LinkInfo, kind, value_bytes};

/// The location of the other argument.
const SAME_LOCATION: hid_t = 0;

/// Returns the group that a link is in, and the link.
pub(crate) fn link(id: hid_t, name: &str, lapl: hid_t) -> Fallible<(FoundObject, Link)> {
    let base = handles::location(id)?;
    let (group, last) = paths::parent(&base, name, &h5p::link_access(lapl)?)?;
    let link = group.container().link_get(group.token, last)?;
    let link = link
        .ok_or_else(|| Failure::new(Major::LINK, Minor::NOTFOUND, format!("link '{last}' doesn't exist")))?;
    Ok((group, link))
}

/// Returns link `n` of the group that `name` leads to.
fn link_by_index(
    id: hid_t,
    name: Text,
    (index, order, n): (c_int, c_int, hsize_t),
    lapl: hid_t,
) -> Fallible<(FoundObject, Link)> {
    let listing = Listing::new(index, order)?;
    let group = paths::find_from(id, &name.name("group name")?, lapl)?;
    let link = listing.link(&**group.container(), group.token, n)?;
    Ok((group, link))
}

/// Creates a link from a place of a program's.
pub(crate) fn create(
    id: hid_t,
    name: Text,
    (lcpl, lapl): (hid_t, hid_t),
    target: impl FnOnce(&Arc<FileHandle>) -> Fallible<LinkTarget>,
) -> Fallible<()> {
    let base = handles::location(id)?;
    let name = name.name("link name")?;
    let place = paths::new_link(&base, &name, &h5p::link_create(lcpl)?, &h5p::link_access(lapl)?)?;
    place.file.check_writable()?;
    let target = target(&place.file)?;
    let container = place.file.container();
    if let LinkTarget::User { class, data } = &target {
        let group = ObjectHandle::open(place.file.clone(), place.location.group, ObjectKind::Group, None)?
            .register()?;
        let told = classes::tell(Change::Create, *class, &place.location.name, group, data);
        ids::remove_reference(group)?;
        told?;
    }
    container.link_create(&OpLinkCreate { place: place.location, target }).map_err(|error| {
        match error.kind() {
            hyperslab::Kind::Exists => Failure { text: "name already exists".into(), ..Failure::from(error) },
            _ => Failure::from(error),
        }
    })
}

/// Returns the target of a hard link in a file to an object that is there.
pub(crate) fn hard_target(file: &FileHandle, object: &FoundObject) -> Fallible<LinkTarget> {
    match object.file.is_same(file) {
        true => Ok(LinkTarget::Hard(object.token)),
        false => Err(Failure::new(
            Major::LINK,
            Minor::CANTCREATE,
            "source and destination should be in the same file",
        )),
    }
}

fn create_hard(from: hid_t, object: Text, to: hid_t, name: Text, lists: (hid_t, hid_t)) -> Fallible<()> {
    let (from, to) = both(from, to)?;
    let object = paths::find_from(from, &object.name("name of the object")?, lists.1)?;
    create(to, name, lists, |file| hard_target(file, &object))
}

/// Returns two locations of which one may be that of the other.
fn both(a: hid_t, b: hid_t) -> Fallible<(hid_t, hid_t)> {
    match (a, b) {
        (SAME_LOCATION, SAME_LOCATION) => {
            Err(Failure::argument("source and destination should not both be H5L_SAME_LOC"))
        }
        (SAME_LOCATION, b) => Ok((b, b)),
        (a, SAME_LOCATION) => Ok((a, a)),
        (a, b) => Ok((a, b)),
    }
}

pub(crate) fn delete(group: &FoundObject, link: &Link) -> Fallible<()> {
    group.file.check_writable().map_err(|failure| failure.as_minor(Minor::CANTDELETE))?;
    if let LinkTarget::User { class, data } = &link.target {
        let file = crate::h5f::file_id(&group.file)?;
        let told = classes::tell(Change::Delete, *class, &link.name, file, data);
        ids::remove_reference(file)?;
        told?;
    }
    group.container().link_delete(group.token, &link.name)?;
    if let Some(path) = &group.path {
        paths::renamed(&group.file, &hyperslab::vol::model::link::join(path, &link.name), None);
    }
    Ok(())
}

/// Moves or copies a link that is not hard to another file.
fn move_across(group: &FoundObject, link: Link, place: paths::NewLink, copy: bool) -> Fallible<()> {
    place.file.container().link_create(&OpLinkCreate { place: place.location, target: link.target })?;
    match copy {
        true => Ok(()),
        false => Ok(group.container().link_delete(group.token, &link.name)?),
    }
}

/// Moves or copies a link.
pub(crate) fn move_link(
    from: (hid_t, Text),
    to: (hid_t, Text),
    lists: (hid_t, hid_t),
    copy: bool,
) -> Fallible<()> {
    let (from_id, to_id) = both(from.0, to.0)?;
    let (name, new_name) = (from.1.name("name of the link")?, to.1.name("new name of the link")?);
    let (group, link) = self::link(from_id, &name, lists.1)?;
    let target = handles::location(to_id)?;
    let place =
        paths::new_link(&target, &new_name, &h5p::link_create(lists.0)?, &h5p::link_access(lists.1)?)?;
    let is_same_file = place.file.is_same(&group.file);
    if !is_same_file && matches!(link.target, LinkTarget::Hard(_)) {
        return Err(Failure::new(Major::LINK, Minor::CANTMOVE, "moving a link across files is not allowed"));
    }
    place.file.check_writable()?;
    if !copy {
        group.file.check_writable()?;
    }
    if let LinkTarget::User { class, data } = &link.target {
        let change = if copy { Change::Copy } else { Change::Move };
        let there = ObjectHandle::open(place.file.clone(), place.location.group, ObjectKind::Group, None)?
            .register()?;
        let told = classes::tell(change, *class, &place.location.name, there, data);
        ids::remove_reference(there)?;
        told?;
    }
    if !is_same_file {
        return move_across(&group, link, place, copy);
    }
    let op = OpLinkMove { from: group.token, name: link.name.clone(), to: place.location, copy };
    group.container().link_move(&op)?;
    if let (false, Some(path), Some(new_path)) = (copy, &group.path, &place.path) {
        let old = hyperslab::vol::model::link::join(path, &link.name);
        paths::renamed(&group.file, &old, Some(new_path));
    }
    Ok(())
}

pub(crate) fn put_value(link: &Link, buffer: Bytes, size: usize) -> Fallible<()> {
    let value = value_bytes(link)?;
    let count = value.len().min(size);
    if !buffer.0.is_null() && count > 0 {
        let buffer = buffer.write(count, "buffer")?;
        buffer.copy_from_slice(&value[..count]);
        // A text that was cut still ends.
        if count < value.len() && matches!(link.target, LinkTarget::Soft(_)) {
            buffer[count - 1] = 0;
        }
    }
    Ok(())
}

fn put_info<T: LinkInfo>(link: &Link, info: Out<T>) -> Fallible<()> {
    info.check("info struct")?;
    info.put(T::of(link)?);
    Ok(())
}

/// Says whether a link is there. The root group is, though no link leads to it.
pub(crate) fn exists(id: hid_t, name: &str, lapl: hid_t) -> Fallible<bool> {
    let base = handles::location(id)?;
    if hyperslab::vol::model::link::components(name).next().is_none() {
        return Ok(true);
    }
    let (group, last) = paths::parent(&base, name, &h5p::link_access(lapl)?)?;
    Ok(group.container().link_get(group.token, last)?.is_some())
}

/// Returns the target that packed bytes of an external link mean.
fn unpack_external(value: &[u8]) -> Fallible<(&[u8], &[u8])> {
    let wrong = || Failure::argument("not a valid external link linkval buffer");
    let rest =
        value.split_first().filter(|(head, _)| **head >> 4 == 0).map(|(_, rest)| rest).ok_or_else(wrong)?;
    let end = rest.iter().position(|byte| *byte == 0).ok_or_else(wrong)?;
    let object = &rest[end + 1..];
    match object.contains(&0) {
        true => Ok((&rest[..end], object)),
        false => Err(wrong()),
    }
}

fn user_target(number: c_int, data: &[u8]) -> Fallible<LinkTarget> {
    match number {
        kind::EXTERNAL => {
            let (file, object) = unpack_external(data)?;
            Ok(LinkTarget::External { file: text::from_bytes(file), path: text::from_bytes_to_nul(object) })
        }
        65..=kind::MAX => Ok(LinkTarget::User { class: number as u8, data: data.to_vec() }),
        _ => Err(Failure::argument("invalid link class")),
    }
}

api! { LINK:
    /// Moves a link.
    fn H5Lmove(from: hid_t, name: Text, to: hid_t, new_name: Text, lcpl: hid_t, lapl: hid_t) -> herr_t {
        move_link((from, name), (to, new_name), (lcpl, lapl), false)
    }

    /// Copies a link.
    fn H5Lcopy(from: hid_t, name: Text, to: hid_t, new_name: Text, lcpl: hid_t, lapl: hid_t) -> herr_t {
        move_link((from, name), (to, new_name), (lcpl, lapl), true)
    }

    /// Creates a hard link.
    fn H5Lcreate_hard(from: hid_t, object: Text, to: hid_t, name: Text, lcpl: hid_t, lapl: hid_t) -> herr_t {
        create_hard(from, object, to, name, (lcpl, lapl))
    }

    /// Creates a soft link.
    fn H5Lcreate_soft(target: Text, id: hid_t, name: Text, lcpl: hid_t, lapl: hid_t) -> herr_t {
        let target = target.name("link target")?;
        create(id, name, (lcpl, lapl), |_| Ok(LinkTarget::Soft(target)))
    }

    /// Creates an external link.
    fn H5Lcreate_external(file: Text, object: Text, id: hid_t, name: Text, lcpl: hid_t, lapl: hid_t) -> herr_t {
        let (file, path) = (file.name("file name")?, object.name("object name")?);
        create(id, name, (lcpl, lapl), |_| Ok(LinkTarget::External { file, path }))
    }

    /// Creates a link of a user-defined class.
    fn H5Lcreate_ud(id: hid_t, name: Text, class: c_int, data: *const c_void, size: usize, lcpl: hid_t, lapl: hid_t) -> herr_t {
        if !(kind::EXTERNAL..=kind::MAX).contains(&class) {
            return Err(Failure::argument("invalid link class"));
        }
        let data = Bytes(data.cast_mut()).read(size, "link data")?;
        let target = user_target(class, data)?;
        create(id, name, (lcpl, lapl), |_| Ok(target))
    }

    /// Removes a link.
    fn H5Ldelete(id: hid_t, name: Text, lapl: hid_t) -> herr_t {
        let (group, link) = link(id, &name.name("link name")?, lapl)?;
        delete(&group, &link)
    }

    /// Removes the link at a position.
    fn H5Ldelete_by_idx(id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, lapl: hid_t) -> herr_t {
        let (group, link) = link_by_index(id, group, (index, order, n), lapl)?;
        delete(&group, &link)
    }

    /// Returns the value of a link.
    fn H5Lget_val(id: hid_t, name: Text, buffer: Bytes, size: usize, lapl: hid_t) -> herr_t {
        let (_, link) = link(id, &name.name("link name")?, lapl)?;
        put_value(&link, buffer, size)
    }

    /// Returns the value of the link at a position.
    fn H5Lget_val_by_idx(
        id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, buffer: Bytes, size: usize, lapl: hid_t,
    ) -> herr_t {
        let (_, link) = link_by_index(id, group, (index, order, n), lapl)?;
        put_value(&link, buffer, size)
    }

    /// Says whether a link is there.
    fn H5Lexists(id: hid_t, name: Text, lapl: hid_t) -> htri_t {
        exists(id, &name.name("link name")?, lapl)
    }

    /// Returns the info of a link.
    fn H5Lget_info2(id: hid_t, name: Text, info: Out<H5L_info2_t>, lapl: hid_t) -> herr_t {
        put_info(&link(id, &name.name("link name")?, lapl)?.1, info)
    }

    /// Returns the info of a link, as version 1.10 had it.
    fn H5Lget_info1(id: hid_t, name: Text, info: Out<H5L_info1_t>, lapl: hid_t) -> herr_t {
        put_info(&link(id, &name.name("link name")?, lapl)?.1, info)
    }

    /// Returns the info of a link: the name of [`H5Lget_info1`] in programs for 1.10.
    fn H5Lget_info(id: hid_t, name: Text, info: Out<H5L_info1_t>, lapl: hid_t) -> herr_t {
        put_info(&link(id, &name.name("link name")?, lapl)?.1, info)
    }

    /// Returns the info of the link at a position.
    fn H5Lget_info_by_idx2(id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, info: Out<H5L_info2_t>, lapl: hid_t) -> herr_t {
        put_info(&link_by_index(id, group, (index, order, n), lapl)?.1, info)
    }

    /// Returns the info of the link at a position, as version 1.10 had it.
    fn H5Lget_info_by_idx1(id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, info: Out<H5L_info1_t>, lapl: hid_t) -> herr_t {
        put_info(&link_by_index(id, group, (index, order, n), lapl)?.1, info)
    }

    /// Returns the info of the link at a position: the name of [`H5Lget_info_by_idx1`] in programs for 1.10.
    fn H5Lget_info_by_idx(id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, info: Out<H5L_info1_t>, lapl: hid_t) -> herr_t {
        put_info(&link_by_index(id, group, (index, order, n), lapl)?.1, info)
    }

    /// Returns the name of the link at a position.
    fn H5Lget_name_by_idx(
        id: hid_t, group: Text, index: c_int, order: c_int, n: hsize_t, name: TextOut, size: usize, lapl: hid_t,
    ) -> isize {
        Ok(name.put_text(size, &link_by_index(id, group, (index, order, n), lapl)?.1.name))
    }

    /// Takes the value of an external link apart.
    fn H5Lunpack_elink_val(
        value: *const c_void, size: usize, flags: Out<c_uint>, file: Out<*const c_char>, object: Out<*const c_char>,
    ) -> herr_t {
        let value = Values(value.cast::<u8>()).required(size, "link value")?;
        let (file_name, object_name) = unpack_external(value)?;
        flags.put(c_uint::from(value[0] & 0xf));
        file.put(file_name.as_ptr().cast());
        object.put(object_name.as_ptr().cast());
        Ok(())
    }
}
