//! H5R: references to objects, regions and attributes, in their new form and in the two old ones.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use hyperslab::vol::model::datatype::ReferenceKind;
use hyperslab::vol::model::{Reference, ReferenceTarget};
use hyperslab::{ObjectKind, Selection, Token};

use crate::arguments::{Bytes, Out, Text, TextOut};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5P_DEFAULT, herr_t, hid_t, htri_t};
use crate::h5f::{ExternalTarget, FileHandle, open_external};
use crate::h5p::values::LinkAccessValues;
use crate::handles::{self, AttributeHandle, Object, ObjectHandle, Space, SpaceHandle};
use crate::memory::references::{self, OwnedReference};
use crate::memory::{OBJECT_REFERENCE_BYTES, REFERENCE_BYTES, REGION_REFERENCE_BYTES};
use crate::{api, h5p, ids, paths};

/// `H5R_type_t`
mod kind {
    use super::c_int;
    pub(super) const OBJECT1: c_int = 0;
    pub(super) const REGION1: c_int = 1;
    pub(super) const OBJECT2: c_int = 2;
    pub(super) const REGION2: c_int = 3;
    pub(super) const ATTRIBUTE: c_int = 4;
}

/// `H5O_type_t` of a kind of objects.
fn object_type(kind: ObjectKind) -> c_int {
    match kind {
        ObjectKind::Group => 0,
        ObjectKind::Dataset => 1,
        ObjectKind::Datatype => 2,
        ObjectKind::Map => 3,
    }
}

fn failed(minor: Minor, text: &'static str) -> Failure {
    Failure::new(Major::REFERENCE, minor, text)
}

/// `H5R_ref_t *`
type ReferencePointer = *mut c_void;

fn owned(pointer: *const c_void) -> Fallible<OwnedReference> {
    references::owned(Bytes(pointer.cast_mut()).read(REFERENCE_BYTES as usize, "reference pointer")?)
}

/// Returns the object that a name leads to.
fn named(location: hid_t, name: Text, access: hid_t) -> Fallible<Arc<ObjectHandle>> {
    handles::location(location)?;
    let opened = paths::find_from(location, &name.name("name")?, access).and_then(paths::FoundObject::open);
    opened.map_err(|failure| failure.as_major(Major::REFERENCE).as_minor(Minor::CANTGET))
}

/// Stores a new reference to an object, or to something of it.
fn create(
    (location, name, access): (hid_t, Text, hid_t),
    into: ReferencePointer,
    target: impl FnOnce(&ObjectHandle) -> Fallible<ReferenceTarget>,
) -> Fallible<()> {
    let bytes = Bytes(into).write(REFERENCE_BYTES as usize, "reference pointer")?;
    let object = named(location, name, access)?;
    let reference = Reference { target: target(&object)?, file: None };
    references::own(OwnedReference { reference, file: Some(object.file.clone()) }, bytes);
    Ok(())
}

fn region(object: &ObjectHandle, space: &Space) -> Fallible<ReferenceTarget> {
    if object.kind != ObjectKind::Dataset {
        return Err(Failure::wrong_type("not a dataset"));
    }
    Ok(ReferenceTarget::Region { dataset: object.token, selection: space.moved_selection()? })
}

/// Returns the file that a reference points into.
fn file_of(value: &OwnedReference) -> Fallible<Arc<FileHandle>> {
    let file = value.file.as_ref();
    let from = file.ok_or_else(|| failed(Minor::CANTOPENFILE, "the file of the reference is not known"))?;
    match &value.reference.file {
        None => Ok(from.clone()),
        Some(name) => {
            let target = ExternalTarget { from, group: "/".to_owned(), file: name, object: "/" };
            open_external(&target, &LinkAccessValues::default())
        }
    }
}

fn token_of(reference: &Reference) -> Fallible<Token> {
    reference.token().ok_or_else(|| failed(Minor::BADVALUE, "undefined reference pointer"))
}

fn kind_of(file: &Arc<FileHandle>, token: Token) -> Fallible<ObjectKind> {
    let info = file.container().object_info(token);
    Ok(info.map_err(|error| Failure::from(error).as_major(Major::REFERENCE).as_minor(Minor::NOTFOUND))?.kind)
}

/// Opens the object that a reference points to.
fn open(file: &Arc<FileHandle>, reference: &Reference) -> Fallible<Arc<ObjectHandle>> {
    let token = token_of(reference)?;
    let kind = kind_of(file, token)?;
    ObjectHandle::open(file.clone(), token, kind, None)
}

/// Returns an identifier for the elements that a reference points to, as a dataspace.
fn open_region(file: &Arc<FileHandle>, reference: &Reference) -> Fallible<hid_t> {
    let ReferenceTarget::Region { dataset, selection } = &reference.target else {
        return Err(Failure::argument("not a reference to a region"));
    };
    let extent = file.container().dataset_info(*dataset)?.space.clone();
    let fits = selection.rank().is_none_or(|rank| rank == extent.rank());
    let selection = if fits { selection.clone() } else { Selection::None };
    Ok(SpaceHandle::register(Space { extent, selection, offset: Vec::new() }))
}

fn open_attribute(value: &OwnedReference) -> Fallible<hid_t> {
    let ReferenceTarget::Attribute { name, .. } = &value.reference.target else {
        return Err(Failure::argument("not a reference to an attribute"));
    };
    let object = open(&file_of(value)?, &value.reference)?;
    let failed = || Failure::new(Major::REFERENCE, Minor::CANTOPENOBJ, "unable to open attribute");
    let attribute = AttributeHandle::open(object, name)?.ok_or_else(failed)?;
    Ok(ids::register(Object::Attribute(Arc::new(attribute))))
}

/// Returns an old reference as the library has it.
fn old(code: c_int, from: *const c_void) -> Fallible<Reference> {
    let (kind, bytes) = match code {
        kind::OBJECT1 => (ReferenceKind::Object1, OBJECT_REFERENCE_BYTES),
        kind::REGION1 => (ReferenceKind::DatasetRegion1, REGION_REFERENCE_BYTES),
        _ => return Err(Failure::argument("invalid reference type")),
    };
    let bytes = Bytes(from.cast_mut()).read(bytes as usize, "reference pointer")?;
    let reference = references::load(kind, bytes, None)?;
    match reference.is_null() {
        true => Err(failed(Minor::CANTOPENOBJ, "undefined reference pointer")),
        false => Ok(reference),
    }
}

fn dereference(location: hid_t, code: c_int, from: *const c_void) -> Fallible<hid_t> {
    let location = handles::location(location)?;
    open(&location.file, &old(code, from)?)?.register()
}

fn old_type(location: hid_t, code: c_int, from: *const c_void) -> Fallible<c_int> {
    let location = handles::location(location)?;
    let token = token_of(&old(code, from)?)?;
    Ok(object_type(kind_of(&location.file, token)?))
}

/// Stores an old reference: an object, or elements of it.
fn create_old(into: *mut c_void, location: hid_t, name: Text, code: c_int, space: hid_t) -> Fallible<()> {
    if into.is_null() {
        return Err(Failure::argument("invalid reference pointer"));
    }
    let object = named(location, name, H5P_DEFAULT)?;
    let (kind, bytes, target) = match code {
        kind::OBJECT1 => {
            (ReferenceKind::Object1, OBJECT_REFERENCE_BYTES, ReferenceTarget::Object(object.token))
        }
        kind::REGION1 => {
            let space = handles::space(space).map_err(|failure| failure.as_minor(Minor::BADVALUE))?.get();
            (ReferenceKind::DatasetRegion1, REGION_REFERENCE_BYTES, region(&object, &space)?)
        }
        _ => return Err(Failure::argument("invalid reference type")),
    };
    let bytes = Bytes(into).write(bytes as usize, "reference pointer")?;
    references::store(kind, Reference { target, file: None }, Some(&object.file), bytes)
}

/// Stores the path of an object; objects without links have none.
fn put_path(file: &Arc<FileHandle>, reference: &Reference, name: TextOut, size: usize) -> Fallible<isize> {
    let path = paths::name_of(&*open(file, reference)?);
    if path.is_none() {
        name.put(size, b"");
    }
    Ok(path.map_or(0, |path| name.put_text(size, &path)))
}

fn open_object(pointer: ReferencePointer) -> Fallible<hid_t> {
    let value = owned(pointer)?;
    open(&file_of(&value)?, &value.reference)?.register()
}

fn open_region2(pointer: ReferencePointer) -> Fallible<hid_t> {
    let value = owned(pointer)?;
    open_region(&file_of(&value)?, &value.reference)
}

/// Returns an error where identifiers are not those of property lists.
fn check_lists(lists: [hid_t; 2]) -> Fallible<()> {
    lists.into_iter().filter(|id| *id != H5P_DEFAULT).try_for_each(|id| h5p::list::list(id).map(drop))
}

api! { REFERENCE:
    /// Creates a reference to an object.
    fn H5Rcreate_object(location: hid_t, name: Text, access: hid_t, into: ReferencePointer) -> herr_t {
        create((location, name, access), into, |object| Ok(ReferenceTarget::Object(object.token)))
    }

    /// Creates a reference to elements of a dataset.
    fn H5Rcreate_region(location: hid_t, name: Text, space: hid_t, access: hid_t, into: ReferencePointer) -> herr_t {
        let space = handles::space(space)?.get();
        create((location, name, access), into, |object| region(object, &space))
    }

    /// Creates a reference to an attribute.
    fn H5Rcreate_attr(location: hid_t, name: Text, attribute: Text, access: hid_t, into: ReferencePointer) -> herr_t {
        let attribute = attribute.name("attribute name")?;
        create((location, name, access), into, |object| Ok(ReferenceTarget::Attribute { object: object.token, name: attribute }))
    }

    /// Ends a reference.
    fn H5Rdestroy(pointer: ReferencePointer) -> herr_t {
        let bytes = Bytes(pointer).write(REFERENCE_BYTES as usize, "reference pointer")?;
        // A reference that a conversion left empty has nothing to be ended.
        let is_empty = bytes.iter().all(|byte| *byte == 0);
        if !references::destroy(bytes) && !is_empty {
            return Err(failed(Minor::BADVALUE, "not a reference"));
        }
        bytes.fill(0);
        Ok(())
    }

    /// Returns what a reference points to.
    fn H5Rget_type(pointer: *const c_void) -> c_int {
        Ok(match owned(pointer)?.reference.target {
            ReferenceTarget::Region { .. } => kind::REGION2,
            ReferenceTarget::Attribute { .. } => kind::ATTRIBUTE,
            ReferenceTarget::Object(_) | ReferenceTarget::Null => kind::OBJECT2,
        })
    }

    /// Says whether two references point to the same.
    fn H5Requal(a: *const c_void, b: *const c_void) -> htri_t {
        let (a, b) = (owned(a)?, owned(b)?);
        let file = |value: &OwnedReference| value.reference.file.clone().or_else(|| value.file.as_ref().map(references::file_name));
        Ok(a.reference.target == b.reference.target && file(&a) == file(&b))
    }

    /// Copies a reference.
    fn H5Rcopy(from: *const c_void, into: ReferencePointer) -> herr_t {
        let value = owned(from)?;
        references::own(value, Bytes(into).write(REFERENCE_BYTES as usize, "reference pointer")?);
        Ok(())
    }

    /// Opens the object that a reference points to or into.
    fn H5Ropen_object(pointer: ReferencePointer, file_access: hid_t, access: hid_t) -> hid_t {
        check_lists([file_access, access])?;
        open_object(pointer)
    }

    /// Opens the object that a reference points to; it is done when the function returns.
    fn H5Ropen_object_async(
        _file: *const c_char, _func: *const c_char, _line: c_uint, pointer: ReferencePointer, file_access: hid_t, access: hid_t, _es: hid_t,
    ) -> hid_t {
        check_lists([file_access, access])?;
        open_object(pointer)
    }

    /// Returns the elements that a reference points to, as a dataspace.
    fn H5Ropen_region(pointer: ReferencePointer, file_access: hid_t, access: hid_t) -> hid_t {
        check_lists([file_access, access])?;
        open_region2(pointer)
    }

    /// Returns the elements that a reference points to; it is done when the function returns.
    fn H5Ropen_region_async(
        _file: *const c_char, _func: *const c_char, _line: c_uint, pointer: ReferencePointer, file_access: hid_t, access: hid_t, _es: hid_t,
    ) -> hid_t {
        check_lists([file_access, access])?;
        open_region2(pointer)
    }

    /// Opens the attribute that a reference points to.
    fn H5Ropen_attr(pointer: ReferencePointer, file_access: hid_t, access: hid_t) -> hid_t {
        check_lists([file_access, access])?;
        open_attribute(&owned(pointer)?)
    }

    /// Opens the attribute that a reference points to; it is done when the function returns.
    fn H5Ropen_attr_async(
        _file: *const c_char, _func: *const c_char, _line: c_uint, pointer: ReferencePointer, file_access: hid_t, access: hid_t, _es: hid_t,
    ) -> hid_t {
        check_lists([file_access, access])?;
        open_attribute(&owned(pointer)?)
    }

    /// Returns the type of the object that a reference points to or into.
    fn H5Rget_obj_type3(pointer: ReferencePointer, file_access: hid_t, into: Out<c_int>) -> herr_t {
        check_lists([file_access, H5P_DEFAULT])?;
        let value = owned(pointer)?;
        into.put(object_type(kind_of(&file_of(&value)?, token_of(&value.reference)?)?));
        Ok(())
    }

    /// Returns the name of the file that a reference points into.
    fn H5Rget_file_name(pointer: *const c_void, name: TextOut, size: usize) -> isize {
        let value = owned(pointer)?;
        let file = value.reference.file.clone().or_else(|| value.file.as_ref().map(references::file_name));
        Ok(name.put_text(size, &file.ok_or_else(|| failed(Minor::CANTGET, "no file name available for that reference"))?))
    }

    /// Returns the path of the object that a reference points to or into.
    fn H5Rget_obj_name(pointer: ReferencePointer, file_access: hid_t, name: TextOut, size: usize) -> isize {
        check_lists([file_access, H5P_DEFAULT])?;
        let value = owned(pointer)?;
        put_path(&file_of(&value)?, &value.reference, name, size)
    }

    /// Returns the name of the attribute that a reference points to.
    fn H5Rget_attr_name(pointer: *const c_void, name: TextOut, size: usize) -> isize {
        match owned(pointer)?.reference.target {
            ReferenceTarget::Attribute { name: attribute, .. } => Ok(name.put_text(size, &attribute)),
            _ => Err(Failure::argument("not a reference to an attribute")),
        }
    }

    /// Creates a reference of one of the old kinds.
    fn H5Rcreate(into: *mut c_void, location: hid_t, name: Text, code: c_int, space: hid_t) -> herr_t {
        create_old(into, location, name, code, space)
    }

    /// Opens the object that an old reference points to or into.
    fn H5Rdereference2(location: hid_t, access: hid_t, code: c_int, from: *const c_void) -> hid_t {
        check_lists([H5P_DEFAULT, access])?;
        dereference(location, code, from)
    }

    /// Opens the object that an old reference points to or into.
    fn H5Rdereference1(location: hid_t, code: c_int, from: *const c_void) -> hid_t {
        dereference(location, code, from)
    }

    /// Returns the type of the object that an old reference points to or into.
    fn H5Rget_obj_type2(location: hid_t, code: c_int, from: *const c_void, into: Out<c_int>) -> herr_t {
        into.put(old_type(location, code, from)?);
        Ok(())
    }

    /// Returns the type of the object that an old reference points to or into (`H5G_obj_t`).
    fn H5Rget_obj_type1(location: hid_t, code: c_int, from: *const c_void) -> c_int {
        old_type(location, code, from)
    }

    /// Returns the elements that an old region reference points to, as a dataspace.
    fn H5Rget_region(location: hid_t, code: c_int, from: *const c_void) -> hid_t {
        if code != kind::REGION1 {
            return Err(Failure::argument("invalid reference type"));
        }
        open_region(&handles::location(location)?.file, &old(code, from)?)
    }

    /// Returns the path of the object that an old reference points to or into.
    fn H5Rget_name(location: hid_t, code: c_int, from: *const c_void, name: TextOut, size: usize) -> isize {
        let location = handles::location(location)?;
        put_path(&location.file, &old(code, from)?, name, size)
    }
}
