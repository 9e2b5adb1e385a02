//! Committed datatypes.

use std::ffi::c_uint;
use std::sync::Arc;

use hyperslab::ObjectKind;
use hyperslab::vol::{LinkLocation, OpDatatypeCommit};

use crate::api;
use crate::arguments::Text;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5P_DEFAULT, herr_t, hid_t, htri_t};
use crate::h5f::FileHandle;
use crate::handles::{self, ObjectHandle};
use crate::{h5p, paths};

/// Commits a transient datatype, which its identifier stands for from then on.
fn commit(
    file: Arc<FileHandle>,
    place: Option<(LinkLocation, Option<String>)>,
    datatype: hid_t,
    tcpl: hid_t,
) -> Fallible<()> {
    file.check_writable()?;
    let handle = handles::datatype(datatype)?;
    if handle.committed().is_some() {
        return Err(Failure::new(Major::ARGS, Minor::CANTSET, "datatype is already committed"));
    }
    if handle.is_immutable() {
        return Err(Failure::new(Major::ARGS, Minor::CANTSET, "datatype is immutable"));
    }
    let (place, path) = place.map_or((None, None), |(place, path)| (Some(place), path));
    let op =
        OpDatatypeCommit { place, datatype: (*handle.datatype()).clone(), create: h5p::object_create(tcpl)? };
    let token = file.container().datatype_commit(&op).map_err(crate::h5g::exists)?;
    handle.set_committed(ObjectHandle::open(file, token, ObjectKind::Datatype, path)?);
    Ok(())
}

fn commit_at(
    id: hid_t,
    name: Text,
    datatype: hid_t,
    (lcpl, tcpl, tapl): (hid_t, hid_t, hid_t),
) -> Fallible<()> {
    let base = handles::location(id)?;
    let name = name.name("datatype name")?;
    let place = paths::new_link(&base, &name, &h5p::link_create(lcpl)?, &h5p::link_access(tapl)?)?;
    commit(place.file, Some((place.location, place.path)), datatype, tcpl)
}

fn open(id: hid_t, name: Text, tapl: hid_t) -> Fallible<hid_t> {
    let found = paths::find_from(id, &name.name("datatype name")?, tapl)?;
    match found.kind()? {
        ObjectKind::Datatype => found.open()?.register(),
        _ => Err(Failure::new(Major::DATATYPE, Minor::BADTYPE, "not a datatype")),
    }
}

fn committed(id: hid_t) -> Fallible<Option<Arc<ObjectHandle>>> {
    Ok(handles::datatype(id)?.committed())
}

api! { DATATYPE:
    /// Commits a datatype.
    fn H5Tcommit2(id: hid_t, name: Text, datatype: hid_t, lcpl: hid_t, tcpl: hid_t, tapl: hid_t) -> herr_t {
        commit_at(id, name, datatype, (lcpl, tcpl, tapl))
    }

    /// Commits a datatype.
    fn H5Tcommit1(id: hid_t, name: Text, datatype: hid_t) -> herr_t {
        commit_at(id, name, datatype, (H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))
    }

    /// Commits a datatype without a link.
    fn H5Tcommit_anon(id: hid_t, datatype: hid_t, tcpl: hid_t, tapl: hid_t) -> herr_t {
        h5p::check_list(tapl, h5p::Kind::DatatypeAccess)?;
        commit(handles::location(id)?.file.clone(), None, datatype, tcpl)
    }

    /// Opens a committed datatype.
    fn H5Topen2(id: hid_t, name: Text, tapl: hid_t) -> hid_t {
        open(id, name, tapl)
    }

    /// Opens a committed datatype.
    fn H5Topen1(id: hid_t, name: Text) -> hid_t {
        open(id, name, H5P_DEFAULT)
    }

    /// Says whether a datatype is committed.
    fn H5Tcommitted(id: hid_t) -> htri_t {
        Ok(committed(id)?.is_some())
    }

    /// Returns the creation properties of a datatype.
    fn H5Tget_create_plist(id: hid_t) -> hid_t {
        let values = match committed(id)? {
            Some(object) => object.container().object_info(object.token)?.create,
            None => Default::default(),
        };
        Ok(h5p::register_datatype_create(values))
    }
}

/// Runs the commit of a datatype and inserts it into an event set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn H5Tcommit_async(
    file: Text,
    function: Text,
    line: c_uint,
    id: hid_t,
    name: Text,
    datatype: hid_t,
    lcpl: hid_t,
    tcpl: hid_t,
    tapl: hid_t,
    es_id: hid_t,
) -> herr_t {
    // SAFETY: the caller's promises are those of the function that is run.
    crate::h5es::run((file, function, line), es_id, "H5Tcommit_async", || unsafe {
        H5Tcommit2(id, name, datatype, lcpl, tcpl, tapl)
    })
}

/// Opens a committed datatype, and inserts the operation into an event set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn H5Topen_async(
    file: Text,
    function: Text,
    line: c_uint,
    id: hid_t,
    name: Text,
    tapl: hid_t,
    es_id: hid_t,
) -> hid_t {
    // SAFETY: the caller's promises are those of the function that is run.
    crate::h5es::run((file, function, line), es_id, "H5Topen_async", || unsafe { H5Topen2(id, name, tapl) })
}
