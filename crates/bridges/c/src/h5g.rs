//! H5G: groups.

use std::ffi::{c_char, c_int, c_uint, c_ulong};

use hyperslab::extensions::LinkStorage;
use hyperslab::vol::{OpGroupCreate, call};
use hyperslab::{LinkTarget, ObjectKind};

use crate::api;
use crate::arguments::{Bytes, Out, Text, TextOut};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5P_DEFAULT, herr_t, hid_t, hsize_t};
use crate::h5l;
use crate::h5o;
use crate::h5p::values::GroupCreateValues;
use crate::handles::{self, Object, ObjectHandle};
use crate::listing::Listing;
use crate::paths::{self, FoundObject};
use crate::{h5p, ids};

/// `H5G_storage_type_t`
mod storage {
    use std::ffi::c_int;
    pub(super) const UNKNOWN: c_int = -1;
}

/// `H5G_obj_t`
mod kind {
    use std::ffi::c_int;
    pub(super) const GROUP: c_int = 0;
    pub(super) const DATASET: c_int = 1;
    pub(super) const TYPE: c_int = 2;
    pub(super) const LINK: c_int = 3;
    pub(super) const USER_LINK: c_int = 4;
    pub(super) const UNKNOWN: c_int = -1;
}

/// `H5G_info_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5G_info_t {
    storage_type: c_int,
    nlinks: hsize_t,
    max_corder: i64,
    mounted: bool,
}

/// `H5O_stat_t`
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct H5O_stat_t {
    size: hsize_t,
    free: hsize_t,
    nmesgs: c_uint,
    nchunks: c_uint,
}

/// `H5G_stat_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5G_stat_t {
    fileno: [c_ulong; 2],
    objno: [c_ulong; 2],
    nlink: c_uint,
    kind: c_int,
    mtime: i64,
    linklen: usize,
    ohdr: H5O_stat_t,
}

/// Creates a group at a path.
fn create(id: hid_t, name: Text, lcpl: hid_t, create: GroupCreateValues, lapl: hid_t) -> Fallible<hid_t> {
    let base = handles::location(id)?;
    let name = name.name("group name")?;
    let place = paths::new_link(&base, &name, &h5p::link_create(lcpl)?, &h5p::link_access(lapl)?)?;
    place.file.check_creatable(Major::SYM)?;
    let op = OpGroupCreate { place: Some(place.location), create };
    let token = place.file.container().group_create(&op).map_err(exists)?;
    ObjectHandle::open(place.file, token, ObjectKind::Group, place.path)?.register()
}

/// Returns the failure to create an object, in the words that programs look for.
pub(crate) fn exists(error: hyperslab::Error) -> Failure {
    match error.kind() {
        hyperslab::Kind::Exists => Failure {
            text: "unable to create link (name already exists)".into(),
            cause: Some(Box::new(error)),
            ..Failure::new(Major::LINK, Minor::EXISTS, "")
        },
        _ => error.into(),
    }
}

fn open(id: hid_t, name: Text, lapl: hid_t) -> Fallible<hid_t> {
    let found = paths::find_from(id, &name.name("group name")?, lapl)?;
    match found.kind()? {
        ObjectKind::Group => found.open_kind(ObjectKind::Group)?.register(),
        _ => Err(Failure::new(Major::SYM, Minor::BADTYPE, "not a group")),
    }
}

fn info(group: &FoundObject) -> Fallible<H5G_info_t> {
    let container = group.container();
    let info = container.group_info(group.token)?;
    // Connectors without symbol tables and heaps say nothing of them.
    let storage_type = match call::<LinkStorage>(&**container, &group.token) {
        Ok(storage) => storage as c_int,
        Err(_) => storage::UNKNOWN,
    };
    Ok(H5G_info_t {
        storage_type,
        nlinks: info.links,
        max_corder: info.creation_order_next,
        mounted: group.file.mounted_on.read().is_some() && group.token == group.file.root_token(),
    })
}

/// Returns the group of an identifier of any object that is one.
fn group(id: hid_t) -> Fallible<FoundObject> {
    let found = FoundObject::of(&*handles::location(id)?);
    match found.kind()? {
        ObjectKind::Group => Ok(found),
        _ => Err(Failure::new(Major::ARGS, Minor::BADTYPE, "not a group")),
    }
}

/// Returns the kind of an object, as version 1.6 numbered it.
fn kind_of(found: &FoundObject) -> Fallible<c_int> {
    Ok(match found.kind()? {
        ObjectKind::Group => kind::GROUP,
        ObjectKind::Dataset => kind::DATASET,
        ObjectKind::Datatype => kind::TYPE,
        ObjectKind::Map => kind::UNKNOWN,
    })
}

fn stat_link(link: &hyperslab::Link) -> Fallible<H5G_stat_t> {
    Ok(H5G_stat_t {
        fileno: [0; 2],
        objno: [0; 2],
        nlink: 0,
        kind: if matches!(link.target, LinkTarget::Soft(_)) { kind::LINK } else { kind::USER_LINK },
        mtime: 0,
        linklen: h5l::info::value_bytes(link)?.len(),
        ohdr: H5O_stat_t::default(),
    })
}

fn stat_object(found: &FoundObject) -> Fallible<H5G_stat_t> {
    let info = found.container().object_info(found.token)?;
    Ok(H5G_stat_t {
        fileno: [found.file.shared.number as c_ulong, 0],
        objno: [info.token.to_u64() as c_ulong, 0],
        nlink: info.references,
        kind: kind_of(found)?,
        mtime: info.times.map_or(0, |times| times.change.into()),
        linklen: 0,
        ohdr: H5O_stat_t::default(),
    })
}

const LINK_HARD: c_int = 0;
const LINK_SOFT: c_int = 1;

fn make_link(kind: c_int, from: hid_t, old: Text, to: hid_t, new: Text) -> Fallible<()> {
    let lists = (H5P_DEFAULT, H5P_DEFAULT);
    match kind {
        LINK_HARD => {
            let object = paths::find_from(from, &old.name("current name")?, H5P_DEFAULT)?;
            h5l::create(to, new, lists, |file| h5l::hard_target(file, &object))
        }
        LINK_SOFT => {
            let target = old.name("current name")?;
            h5l::create(to, new, lists, |_| Ok(LinkTarget::Soft(target)))
        }
        _ => Err(Failure::argument("not a valid link type")),
    }
}

/// Returns the location of a second argument, which may be that of the first.
fn or_same(id: hid_t, other: hid_t) -> hid_t {
    if id == 0 { other } else { id }
}

api! { SYM:
    /// Creates a group.
    fn H5Gcreate2(id: hid_t, name: Text, lcpl: hid_t, gcpl: hid_t, gapl: hid_t) -> hid_t {
        create(id, name, lcpl, h5p::group_create(gcpl)?, gapl)
    }

    /// Creates a group, with a hint about the space for names.
    fn H5Gcreate1(id: hid_t, name: Text, size_hint: usize) -> hid_t {
        let local_heap_bytes = u32::try_from(size_hint).map_err(|_| Failure::argument("size_hint is too large"))?;
        let values = GroupCreateValues { local_heap_bytes, ..GroupCreateValues::default() };
        create(id, name, H5P_DEFAULT, values, H5P_DEFAULT)
    }

    /// Creates a group without a link.
    fn H5Gcreate_anon(id: hid_t, gcpl: hid_t, gapl: hid_t) -> hid_t {
        let file = handles::location(id)?.file.clone();
        h5p::check_list(gapl, h5p::Kind::GroupAccess)?;
        file.check_writable()?;
        let op = OpGroupCreate { place: None, create: h5p::group_create(gcpl)? };
        let token = file.container().group_create(&op)?;
        ObjectHandle::open(file, token, ObjectKind::Group, None)?.register()
    }

    /// Opens a group.
    fn H5Gopen2(id: hid_t, name: Text, gapl: hid_t) -> hid_t {
        open(id, name, gapl)
    }

    /// Opens a group.
    fn H5Gopen1(id: hid_t, name: Text) -> hid_t {
        open(id, name, H5P_DEFAULT)
    }

    /// Returns the creation properties of a group.
    fn H5Gget_create_plist(id: hid_t) -> hid_t {
        let group = handles::group(id)?;
        Ok(h5p::register_group_create(group.container().group_info(group.token)?.create))
    }

    /// Returns the info of a group.
    fn H5Gget_info(id: hid_t, out: Out<H5G_info_t>) -> herr_t {
        out.check("info struct")?;
        out.put(info(&FoundObject::of(&*handles::group_or_file(id)?))?);
        Ok(())
    }

    /// Returns the info of the group that a name leads to.
    fn H5Gget_info_by_name(id: hid_t, name: Text, out: Out<H5G_info_t>, lapl: hid_t) -> herr_t {
        out.check("info struct")?;
        let found = paths::find_from(id, &name.name("group name")?, lapl)?;
        if found.kind()? != ObjectKind::Group {
            return Err(Failure::new(Major::SYM, Minor::BADTYPE, "not a group"));
        }
        out.put(info(&found)?);
        Ok(())
    }

    /// Returns the info of the group at a position.
    fn H5Gget_info_by_idx(id: hid_t, name: Text, index: c_int, order: c_int, n: hsize_t, out: Out<H5G_info_t>, lapl: hid_t) -> herr_t {
        out.check("info struct")?;
        let found = h5o::by_index(id, name, (index, order, n), lapl)?;
        if found.kind()? != ObjectKind::Group {
            return Err(Failure::new(Major::SYM, Minor::BADTYPE, "not a group"));
        }
        out.put(info(&found)?);
        Ok(())
    }

    /// Commits what was written to the file of a group.
    fn H5Gflush(id: hid_t) -> herr_t {
        let group = handles::group(id)?;
        h5o::flush(&group, id)
    }

    /// Forgets what is cached of a group.
    fn H5Grefresh(id: hid_t) -> herr_t {
        let group = handles::group(id)?;
        Ok(group.container().object_refresh(group.token)?)
    }

    /// Closes a group.
    fn H5Gclose(id: hid_t) -> herr_t {
        ids::close(id, "a group ID", |object| matches!(object, Object::Group(_)))
    }

    /// Creates a link.
    fn H5Glink(id: hid_t, kind: c_int, old: Text, new: Text) -> herr_t {
        make_link(kind, id, old, id, new)
    }

    /// Creates a link in another group.
    fn H5Glink2(from: hid_t, old: Text, kind: c_int, to: hid_t, new: Text) -> herr_t {
        make_link(kind, or_same(from, to), old, or_same(to, from), new)
    }

    /// Moves a link.
    fn H5Gmove(id: hid_t, old: Text, new: Text) -> herr_t {
        h5l::move_link((id, old), (id, new), (H5P_DEFAULT, H5P_DEFAULT), false)
    }

    /// Moves a link to another group.
    fn H5Gmove2(from: hid_t, old: Text, to: hid_t, new: Text) -> herr_t {
        h5l::move_link((from, old), (to, new), (H5P_DEFAULT, H5P_DEFAULT), false)
    }

    /// Removes a link.
    fn H5Gunlink(id: hid_t, name: Text) -> herr_t {
        let (group, link) = h5l::link(id, &name.name("link name")?, H5P_DEFAULT)?;
        h5l::delete(&group, &link)
    }

    /// Returns the value of a link.
    fn H5Gget_linkval(id: hid_t, name: Text, size: usize, buffer: *mut c_char) -> herr_t {
        let (_, link) = h5l::link(id, &name.name("link name")?, H5P_DEFAULT)?;
        h5l::put_value(&link, Bytes(buffer.cast()), size)
    }

    /// Sets the comment on an object.
    fn H5Gset_comment(id: hid_t, name: Text, comment: Text) -> herr_t {
        let found = paths::find_from(id, &name.name("name")?, H5P_DEFAULT)?;
        h5o::set_comment(&found, comment)
    }

    /// Returns the comment on an object.
    fn H5Gget_comment(id: hid_t, name: Text, size: usize, buffer: TextOut) -> c_int {
        let found = paths::find_from(id, &name.name("name")?, H5P_DEFAULT)?;
        let comment = found.container().object_info(found.token)?.comment.unwrap_or_default();
        Ok(buffer.put_text(size, &comment) as c_int)
    }

    /// Returns the number of links in a group.
    fn H5Gget_num_objs(id: hid_t, count: Out<hsize_t>) -> herr_t {
        let group = handles::group_or_file(id)?;
        count.put_required(group.container().group_info(group.token)?.links, "number of objects")
    }

    /// Returns the info of an object or a link.
    fn H5Gget_objinfo(id: hid_t, name: Text, follow: bool, out: Out<H5G_stat_t>) -> herr_t {
        let name = name.name("name")?;
        if !follow && let Ok((_, link)) = h5l::link(id, &name, H5P_DEFAULT) && !matches!(link.target, LinkTarget::Hard(_)) {
            out.put(stat_link(&link)?);
            return Ok(());
        }
        out.put(stat_object(&paths::find_from(id, &name, H5P_DEFAULT)?)?);
        Ok(())
    }

    /// Returns the name of the link at a position.
    fn H5Gget_objname_by_idx(id: hid_t, n: hsize_t, name: TextOut, size: usize) -> isize {
        let group = group(id)?;
        Ok(name.put_text(size, &Listing::by_name().link(&**group.container(), group.token, n)?.name))
    }

    /// Returns what the link at a position leads to.
    fn H5Gget_objtype_by_idx(id: hid_t, n: hsize_t) -> c_int {
        let group = group(id)?;
        let link = Listing::by_name().link(&**group.container(), group.token, n)?;
        match link.target {
            LinkTarget::Hard(token) => kind_of(&FoundObject { token, path: None, ..group }),
            LinkTarget::Soft(_) => Ok(kind::LINK),
            _ => Ok(kind::USER_LINK),
        }
    }
}
