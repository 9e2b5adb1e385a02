//! H5A: attributes.

mod handle;
mod iterate;

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use hyperslab::vol::algorithms::transfer;
use hyperslab::vol::model::datatype::Datatype;
use hyperslab::vol::model::{CharacterSet, Heap};
use hyperslab::vol::{AttributeInfo, OpAttributeCreate, OpList, Page};
use hyperslab::{Index, Order};

use crate::api;
use crate::arguments::{Bytes, Out, Text, TextOut};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5P_DEFAULT, herr_t, hid_t, hsize_t, htri_t};
use crate::h5f::FileHandle;
use crate::handles::{self, MemoryType, Object, ObjectHandle, Space, SpaceHandle, TypeHandle};
use crate::listing::Listing;
use crate::memory::{self, Allocator};
use crate::paths;
use crate::{h5p, ids};

pub use handle::{AttributeHandle, Attributes};

/// `H5A_info_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5A_info_t {
    corder_valid: bool,
    corder: u32,
    cset: c_int,
    data_size: hsize_t,
}

impl H5A_info_t {
    fn of(info: &AttributeInfo) -> Self {
        H5A_info_t {
            corder_valid: info.creation_order.is_some(),
            corder: info.creation_order.unwrap_or(0),
            cset: c_int::from(info.charset == CharacterSet::Utf8),
            data_size: data_bytes(info),
        }
    }
}

/// Bytes of a value that is copied while the table of identifiers is locked.
const IN_MEMORY_BYTES_MAX: usize = 4096;

fn data_bytes(info: &AttributeInfo) -> hsize_t {
    info.space.element_count().unwrap_or(0).saturating_mul(info.datatype.size().into())
}

/// Returns the object that attributes belong to: an attribute has none of its own.
fn owner(id: hid_t) -> Fallible<Arc<ObjectHandle>> {
    ids::get(id, "a location that is valid for an attribute", |object| match object {
        Object::Attribute(_) => None,
        object => object.location(),
    })
}

fn owner_named(id: hid_t, name: Text, lapl: hid_t) -> Fallible<Arc<ObjectHandle>> {
    let object = owner(id)?;
    // Most programs name an object by itself.
    if name.bytes() == Some(b".") && !object.file.has_mounts() {
        h5p::check_list(lapl, h5p::Kind::LinkAccess)?;
        return Ok(object);
    }
    paths::find_from(id, &name.name("object name")?, lapl)?.open()
}

pub(crate) fn missing(name: &str) -> Failure {
    Failure::new(Major::ATTR, Minor::NOTFOUND, format!("can't locate attribute: '{name}'"))
}

fn info_of(object: &ObjectHandle, name: &str) -> Fallible<AttributeInfo> {
    object.container().attribute_info(object.token, name)?.ok_or_else(|| missing(name))
}

fn info(attribute: &AttributeHandle) -> Fallible<AttributeInfo> {
    info_of(&attribute.object, &attribute.name())
}

fn register(attribute: AttributeHandle) -> hid_t {
    ids::register(Object::Attribute(Arc::new(attribute)))
}

fn open(object: Arc<ObjectHandle>, name: Text) -> Fallible<hid_t> {
    let object = match AttributeHandle::open_again(object, name.bytes().unwrap_or_default()) {
        Ok(attribute) => return Ok(register(attribute)),
        Err(object) => object,
    };
    let name = name.name("attribute name")?;
    let attribute = AttributeHandle::open(object, &name)?.ok_or_else(|| missing(&name))?;
    Ok(register(attribute))
}

fn at_index(object: &ObjectHandle, (index, order, n): (c_int, c_int, hsize_t)) -> Fallible<AttributeInfo> {
    Listing::new(index, order)?.nth(n, |op| list(object, op))
}

/// Returns a page of attributes. An object that does not track their creation order lists them as they are stored, as libhdf5 does.
fn list(object: &ObjectHandle, op: &OpList) -> hyperslab::Result<Page<AttributeInfo>> {
    match object.container().attribute_list(object.token, op) {
        Err(error) if error.kind() == hyperslab::Kind::Invalid && op.index == Index::CreationOrder => {
            list_stored(object, op)
        }
        listed => listed,
    }
}

/// Returns a page of attributes in the order in which they are stored.
fn list_stored(object: &ObjectHandle, op: &OpList) -> hyperslab::Result<Page<AttributeInfo>> {
    let stored = OpList { index: Index::Name, order: Order::Native, ..*op };
    if op.order != Order::Decreasing {
        return object.container().attribute_list(object.token, &stored);
    }
    let whole = OpList { skip: 0, count_max: u64::MAX, ..stored };
    let all = object.container().attribute_list(object.token, &whole)?.entries;
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let (skip, count) = (size(op.skip), size(op.count_max));
    let more = all.len() > skip.saturating_add(count);
    Ok(Page { entries: all.into_iter().rev().skip(skip).take(count).collect(), more })
}

/// Creates an attribute. Its type may be a committed datatype of the same file.
fn create(
    object: Arc<ObjectHandle>,
    name: Text,
    (datatype, space, acpl): (hid_t, hid_t, hid_t),
) -> Fallible<hid_t> {
    let name = name.name("attribute name")?;
    object.file.check_writable()?;
    let datatype = handles::datatype(datatype)?;
    let space = handles::extent(space)?;
    let encoding = h5p::attribute_create(acpl)?.encoding;
    let op = OpAttributeCreate {
        object: object.token,
        name,
        charset: if encoding == 1 { CharacterSet::Utf8 } else { CharacterSet::Ascii },
        committed: committed_in(&datatype, &object.file)?,
        datatype: (*datatype.datatype()).clone(),
        space,
    };
    object.container().attribute_create(&op).map_err(|error| match error.kind() {
        hyperslab::Kind::Exists => Failure {
            text: "unable to create attribute (attribute already exists)".into(),
            ..Failure::from(error).as_minor(Minor::EXISTS)
        },
        _ => Failure::from(error),
    })?;
    let attribute = match op.datatype {
        // A number is stored as it is: there is nothing to ask.
        Datatype::Integer(_) | Datatype::Float(_) if op.committed.is_none() => {
            AttributeHandle::new(object, info_of_new(op))
        }
        _ => AttributeHandle::open(object, &op.name)?.ok_or_else(|| missing(&op.name))?,
    };
    Ok(register(attribute))
}

/// Returns the info of an attribute that was just created, without its position in the order of creation.
fn info_of_new(op: OpAttributeCreate) -> AttributeInfo {
    let OpAttributeCreate { name, charset, datatype, committed, space, .. } = op;
    AttributeInfo { name, charset, creation_order: None, datatype, committed, space }
}

/// Returns the committed datatype that a new object shares: one of the same file.
pub(crate) fn committed_in(datatype: &TypeHandle, file: &FileHandle) -> Fallible<Option<hyperslab::Token>> {
    match datatype.committed() {
        Some(committed) if committed.file.is_same(file) => Ok(Some(committed.token)),
        Some(_) => Err(Failure::argument("datatype is committed in another file")),
        None => Ok(None),
    }
}

/// Copies a value that is in memory, if it has the datatype that the program wants; returns whether it did.
fn read_in_memory(object: &Object, memory_type: &MemoryType, buffer: Bytes) -> bool {
    let Object::Attribute(attribute) = object else { return false };
    let Some(value) = attribute.value_in_memory() else { return false };
    let is_copied = value.len() <= IN_MEMORY_BYTES_MAX
        && **memory_type == attribute.info().datatype
        && !memory_type.has_descriptors();
    let Some(Ok(into)) = is_copied.then(|| buffer.write(value.len(), "buffer")) else { return false };
    into.copy_from_slice(value);
    true
}

fn read(id: hid_t, datatype: hid_t, buffer: Bytes) -> Fallible<()> {
    let is_read = |memory_type| ids::with(id, |object| read_in_memory(object, &memory_type, buffer));
    match handles::memory_type(datatype).and_then(is_read) {
        Ok(true) => Ok(()),
        _ => read_converted(id, datatype, buffer),
    }
}

fn read_converted(id: hid_t, datatype: hid_t, buffer: Bytes) -> Fallible<()> {
    let attribute = handles::attribute(id)?;
    let memory_type = handles::memory_type(datatype)?;
    attribute.with_value(|raw| convert(&attribute, raw, &memory_type, buffer))
}

/// Converts the value of an attribute from the file datatype.
fn convert(attribute: &AttributeHandle, raw: &[u8], memory_type: &MemoryType, buffer: Bytes) -> Fallible<()> {
    let (info, object) = (attribute.info(), &attribute.object);
    let count = info.space.element_count()?;
    let bytes = memory::buffer_bytes(count, memory_type)?;
    let into = buffer.write(bytes, "buffer")?;
    if **memory_type == info.datatype && !memory_type.has_descriptors() {
        if raw.len() != into.len() {
            return Err(Failure::new(
                Major::ATTR,
                Minor::READERROR,
                "the value of the attribute has another size",
            ));
        }
        into.copy_from_slice(raw);
        return Ok(());
    }
    let in_library = memory_type.memory_type();
    let conversions = crate::h5t::conversions(&h5p::transfer(H5P_DEFAULT)?)?;
    let mut heap = Heap::new();
    let container = &**object.container();
    let converted =
        transfer::from_file_type(container, &info.datatype, raw, &in_library, &conversions, &mut heap)?;
    match memory_type.has_descriptors() {
        true => memory::to_c(memory_type, &converted, &heap, &object.file, &Allocator::default(), into),
        false => {
            into.copy_from_slice(&converted);
            Ok(())
        }
    }
}

fn write(id: hid_t, datatype: hid_t, buffer: *const c_void) -> Fallible<()> {
    let attribute = handles::attribute(id)?;
    let memory_type = handles::memory_type(datatype)?;
    let (object, name) = (&attribute.object, attribute.name());
    object.file.check_writable()?;
    let container = object.container();
    let info = attribute.info();
    let count = info.space.element_count()?;
    let bytes = memory::buffer_bytes(count, &memory_type)?;
    let from = Bytes(buffer.cast_mut()).read(bytes, "buffer")?;
    if *memory_type == info.datatype && !memory_type.has_descriptors() {
        return Ok(container.attribute_write(object.token, &name, from)?);
    }
    let mut heap = Heap::new();
    let converted;
    let values = match memory_type.has_descriptors() {
        true => {
            converted = memory::from_c(&memory_type, from, Some(&object.file), &mut heap)?;
            &converted[..]
        }
        false => from,
    };
    let conversions = crate::h5t::conversions(&h5p::transfer(H5P_DEFAULT)?)?;
    let in_library = memory_type.memory_type();
    let data =
        transfer::to_file_type(&**container, &in_library, values, &info.datatype, &conversions, &mut heap)?;
    Ok(container.attribute_write(object.token, &name, &data)?)
}

fn delete(object: &ObjectHandle, name: &str) -> Fallible<()> {
    object.file.check_writable()?;
    object.container().attribute_delete(object.token, name).map_err(|error| match error.kind() {
        hyperslab::Kind::NotFound => missing(name),
        _ => error.into(),
    })
}

fn rename(object: &ObjectHandle, from: Text, to: Text) -> Fallible<()> {
    let (from, to) = (from.name("old attribute name")?, to.name("new attribute name")?);
    object.file.check_writable()?;
    if from == to {
        return Ok(());
    }
    object.container().attribute_rename(object.token, &from, &to)?;
    // Handles that are open keep what they were opened for.
    let is_it = |known: &AttributeHandle| {
        known.object.file.is_same(&object.file) && known.object.token == object.token && known.is_named(&from)
    };
    for id in ids::find(|known| matches!(known, Object::Attribute(known) if is_it(known))) {
        if let Ok(known) = handles::attribute(id) {
            known.set_name(&to);
        }
    }
    Ok(())
}

fn exists(object: &ObjectHandle, name: Text) -> Fallible<bool> {
    let name = name.name("attribute name")?;
    Ok(object.container().attribute_info(object.token, &name)?.is_some())
}

fn put_info(info: &AttributeInfo, out: Out<H5A_info_t>) -> Fallible<()> {
    out.put_required(H5A_info_t::of(info), "info struct")
}

/// Stores a name, and returns its length. NULL asks for the length alone, and then has no size.
fn put_name(into: TextOut, size: usize, name: &str) -> Fallible<isize> {
    match into.0.is_null() && size > 0 {
        true => Err(Failure::argument("buf cannot be NULL if buf_size is non-zero")),
        false => Ok(into.put_text(size, name)),
    }
}

api! { ATTR:
    /// Closes an attribute.
    fn H5Aclose(id: hid_t) -> herr_t {
        ids::close(id, "an attribute", |object| matches!(object, Object::Attribute(_)))
    }

    /// Creates an attribute.
    fn H5Acreate2(id: hid_t, name: Text, datatype: hid_t, space: hid_t, acpl: hid_t, aapl: hid_t) -> hid_t {
        h5p::check_list(aapl, h5p::Kind::AttributeAccess)?;
        create(owner(id)?, name, (datatype, space, acpl))
    }

    /// Creates an attribute.
    fn H5Acreate1(id: hid_t, name: Text, datatype: hid_t, space: hid_t, acpl: hid_t) -> hid_t {
        create(owner(id)?, name, (datatype, space, acpl))
    }

    /// Creates an attribute of the object that a name leads to.
    fn H5Acreate_by_name(id: hid_t, object: Text, name: Text, datatype: hid_t, space: hid_t, acpl: hid_t, aapl: hid_t, lapl: hid_t) -> hid_t {
        h5p::check_list(aapl, h5p::Kind::AttributeAccess)?;
        create(owner_named(id, object, lapl)?, name, (datatype, space, acpl))
    }

    /// Opens an attribute.
    fn H5Aopen(id: hid_t, name: Text, aapl: hid_t) -> hid_t {
        h5p::check_list(aapl, h5p::Kind::AttributeAccess)?;
        open(owner(id)?, name)
    }

    /// Opens an attribute.
    fn H5Aopen_name(id: hid_t, name: Text) -> hid_t {
        open(owner(id)?, name)
    }

    /// Opens an attribute of the object that a name leads to.
    fn H5Aopen_by_name(id: hid_t, object: Text, name: Text, aapl: hid_t, lapl: hid_t) -> hid_t {
        h5p::check_list(aapl, h5p::Kind::AttributeAccess)?;
        open(owner_named(id, object, lapl)?, name)
    }

    /// Opens the attribute at a position.
    fn H5Aopen_by_idx(id: hid_t, object: Text, index: c_int, order: c_int, n: hsize_t, aapl: hid_t, lapl: hid_t) -> hid_t {
        h5p::check_list(aapl, h5p::Kind::AttributeAccess)?;
        let object = owner_named(id, object, lapl)?;
        let info = at_index(&object, (index, order, n))?;
        Ok(register(AttributeHandle::new(object, info)))
    }

    /// Opens the attribute at a position in the order of creation, as far as there is one.
    fn H5Aopen_idx(id: hid_t, n: c_uint) -> hid_t {
        let object = owner(id)?;
        let by = |index| at_index(&object, (index, crate::ffi::H5_ITER_INC, n.into()));
        let info = by(crate::ffi::H5_INDEX_CRT_ORDER).or_else(|_| by(crate::ffi::H5_INDEX_NAME))?;
        Ok(register(AttributeHandle::new(object, info)))
    }

    /// Reads an attribute.
    fn H5Aread(id: hid_t, datatype: hid_t, buffer: Bytes) -> herr_t {
        read(id, datatype, buffer)
    }

    /// Writes an attribute.
    fn H5Awrite(id: hid_t, datatype: hid_t, buffer: *const c_void) -> herr_t {
        write(id, datatype, buffer)
    }

    /// Removes an attribute.
    fn H5Adelete(id: hid_t, name: Text) -> herr_t {
        delete(&*owner(id)?, &name.name("attribute name")?)
    }

    /// Removes an attribute of the object that a name leads to.
    fn H5Adelete_by_name(id: hid_t, object: Text, name: Text, lapl: hid_t) -> herr_t {
        delete(&*owner_named(id, object, lapl)?, &name.name("attribute name")?)
    }

    /// Removes the attribute at a position.
    fn H5Adelete_by_idx(id: hid_t, object: Text, index: c_int, order: c_int, n: hsize_t, lapl: hid_t) -> herr_t {
        let object = owner_named(id, object, lapl)?;
        let info = at_index(&object, (index, order, n))?;
        delete(&object, &info.name)
    }

    /// Renames an attribute.
    fn H5Arename(id: hid_t, from: Text, to: Text) -> herr_t {
        rename(&*owner(id)?, from, to)
    }

    /// Renames an attribute of the object that a name leads to.
    fn H5Arename_by_name(id: hid_t, object: Text, from: Text, to: Text, lapl: hid_t) -> herr_t {
        rename(&*owner_named(id, object, lapl)?, from, to)
    }

    /// Says whether an attribute is there.
    fn H5Aexists(id: hid_t, name: Text) -> htri_t {
        exists(&*owner(id)?, name)
    }

    /// Says whether the object that a name leads to has an attribute.
    fn H5Aexists_by_name(id: hid_t, object: Text, name: Text, lapl: hid_t) -> htri_t {
        exists(&*owner_named(id, object, lapl)?, name)
    }

    /// Returns the creation properties of an attribute.
    fn H5Aget_create_plist(id: hid_t) -> hid_t {
        let encoding = c_int::from(handles::attribute(id)?.info().charset == CharacterSet::Utf8);
        Ok(h5p::register_attribute_create(h5p::values::AttributeCreateValues { encoding }))
    }

    /// Returns the info of an attribute.
    fn H5Aget_info(id: hid_t, out: Out<H5A_info_t>) -> herr_t {
        put_info(&info(&*handles::attribute(id)?)?, out)
    }

    /// Returns the info of an attribute of the object that a name leads to.
    fn H5Aget_info_by_name(id: hid_t, object: Text, name: Text, out: Out<H5A_info_t>, lapl: hid_t) -> herr_t {
        let object = owner_named(id, object, lapl)?;
        put_info(&info_of(&object, &name.name("attribute name")?)?, out)
    }

    /// Returns the info of the attribute at a position.
    fn H5Aget_info_by_idx(id: hid_t, object: Text, index: c_int, order: c_int, n: hsize_t, out: Out<H5A_info_t>, lapl: hid_t) -> herr_t {
        put_info(&at_index(&*owner_named(id, object, lapl)?, (index, order, n))?, out)
    }

    /// Returns the name of an attribute.
    fn H5Aget_name(id: hid_t, size: usize, name: TextOut) -> isize {
        put_name(name, size, &handles::attribute(id)?.name())
    }

    /// Returns the name of the attribute at a position.
    fn H5Aget_name_by_idx(id: hid_t, object: Text, index: c_int, order: c_int, n: hsize_t, name: TextOut, size: usize, lapl: hid_t) -> isize {
        put_name(name, size, &at_index(&*owner_named(id, object, lapl)?, (index, order, n))?.name)
    }

    /// Returns the dataspace of an attribute.
    fn H5Aget_space(id: hid_t) -> hid_t {
        Ok(SpaceHandle::register(Space::all(handles::attribute(id)?.info().space.clone())))
    }

    /// Returns the bytes of an attribute in storage.
    fn H5Aget_storage_size(id: hid_t) -> hsize_t {
        Ok(data_bytes(handles::attribute(id)?.info()))
    }

    /// Returns the datatype of an attribute.
    fn H5Aget_type(id: hid_t) -> hid_t {
        let attribute = handles::attribute(id)?;
        let info = attribute.info();
        crate::h5d::register_type(&attribute.object, &info.datatype, info.committed)
    }

    /// Returns the number of attributes of an object.
    fn H5Aget_num_attrs(id: hid_t) -> c_int {
        let object = handles::location(id)?;
        Ok(object.container().object_info(object.token)?.attributes as c_int)
    }
}
