//! Functions on files.

use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyperslab::extensions::{FileImage, FileMetadata, IncreaseFileSize};
use hyperslab::vol::model::text::to_path;
use hyperslab::vol::{FileAccess, LibVersion, call};

use super::settings::{H5F_sect_info_t, free_sections, libver, set_version_bounds};
use super::{FileHandle, flags, is_of, opening};
use crate::api;
use crate::arguments::{Bytes, Out, Text, TextOut};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{haddr_t, herr_t, hid_t, hsize_t, hssize_t, htri_t, id_type};
use crate::handles::{self, Object};
use crate::{h5p, ids};

/// `H5F_OBJ_…`
mod kinds {
    use std::ffi::c_uint;
    pub(super) const FILE: c_uint = 1;
    pub(super) const DATASET: c_uint = 2;
    pub(super) const GROUP: c_uint = 4;
    pub(super) const DATATYPE: c_uint = 8;
    pub(super) const ATTR: c_uint = 0x10;
    pub(super) const ALL: c_uint = 0x1f;
    pub(super) const LOCAL: c_uint = 0x20;
}

/// `H5_ih_info_t`
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct H5_ih_info_t {
    pub index_size: hsize_t,
    pub heap_size: hsize_t,
}

/// `H5F_info2_t`
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct H5F_info2_t {
    super_version: c_uint,
    super_size: hsize_t,
    super_ext_size: hsize_t,
    free_version: c_uint,
    free_meta_size: hsize_t,
    free_tot_space: hsize_t,
    sohm_version: c_uint,
    sohm_hdr_size: hsize_t,
    sohm_msgs_info: H5_ih_info_t,
}

/// `H5F_info1_t`
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct H5F_info1_t {
    super_ext_size: hsize_t,
    sohm_hdr_size: hsize_t,
    sohm_msgs_info: H5_ih_info_t,
}

fn check_intent(intent: c_uint) -> Fallible<()> {
    let known =
        flags::RDWR | flags::TRUNC | flags::EXCL | flags::CREAT | flags::SWMR_WRITE | flags::SWMR_READ;
    match intent & !known {
        0 => Ok(()),
        _ => Err(Failure::argument("invalid flags")),
    }
}

fn open(name: Text, intent: c_uint, list: hid_t) -> Fallible<hid_t> {
    let name = name.name("file name")?;
    check_intent(intent)?;
    let (swmr_write, swmr_read) = (intent & flags::SWMR_WRITE != 0, intent & flags::SWMR_READ != 0);
    if intent & (flags::TRUNC | flags::EXCL) != 0 {
        return Err(Failure::argument("invalid file open flags"));
    }
    if swmr_write && intent & flags::RDWR == 0 {
        return Err(Failure::argument(
            "SWMR write access on a file open for read-only access is not allowed",
        ));
    }
    if swmr_read && intent & flags::RDWR != 0 {
        return Err(Failure::argument(
            "SWMR read access on a file open for read-write access is not allowed",
        ));
    }
    let file = opening::open(&name, intent, &h5p::file_access(list)?)?;
    Ok(ids::register(Object::File(file)))
}

fn create(name: Text, intent: c_uint, creation: hid_t, access: hid_t) -> Fallible<hid_t> {
    let name = name.name("file name")?;
    if intent & !(flags::TRUNC | flags::EXCL | flags::SWMR_WRITE) != 0 {
        return Err(Failure::argument("invalid flags"));
    }
    if intent & flags::TRUNC != 0 && intent & flags::EXCL != 0 {
        return Err(Failure::argument("mutually exclusive flags for file creation"));
    }
    let file = opening::create(&name, intent, &h5p::file_create(creation)?, &h5p::file_access(access)?)?;
    Ok(ids::register(Object::File(file)))
}

/// Returns the bit of an identifier's type among those that may be asked for.
fn kind_bit(id: hid_t) -> c_uint {
    match ids::type_of(id) {
        id_type::FILE => kinds::FILE,
        id_type::DATASET => kinds::DATASET,
        id_type::GROUP => kinds::GROUP,
        id_type::DATATYPE => kinds::DATATYPE,
        id_type::ATTR => kinds::ATTR,
        _ => 0,
    }
}

/// Returns the identifiers of open objects of a file, or of all files.
fn open_objects(id: hid_t, wanted: c_uint) -> Fallible<Vec<hid_t>> {
    let is_everywhere = id == hid_t::from(kinds::ALL) || id == hid_t::from(kinds::ALL | kinds::LOCAL);
    let file = if is_everywhere { None } else { Some(handles::file(id)?) };
    if wanted & kinds::ALL == 0 {
        return Err(Failure::argument("not an object type"));
    }
    let found = ids::find(|object| match &file {
        None => matches!(object, Object::File(_)) || object.location().is_some(),
        Some(file) if wanted & kinds::LOCAL != 0 => match object {
            Object::File(other) => Arc::ptr_eq(other, file),
            object => object.location().is_some_and(|location| Arc::ptr_eq(&location.file, file)),
        },
        Some(file) => is_of(object, &file.shared),
    });
    Ok(found.into_iter().filter(|id| kind_bit(*id) & wanted != 0).collect())
}

fn metadata(file: &FileHandle) -> Fallible<FileMetadata> {
    Ok(call::<FileMetadata>(&**file.container(), &())?)
}

fn superblock_version(file: &FileHandle) -> Fallible<c_uint> {
    let info = file.container().info()?;
    let known = info.versions.iter().find(|(name, _)| name == "superblock");
    Ok(known.map_or(0, |(_, version)| *version))
}

fn info2(file: &FileHandle) -> Fallible<H5F_info2_t> {
    let metadata = metadata(file).unwrap_or_default();
    Ok(H5F_info2_t {
        super_version: superblock_version(file)?,
        super_size: metadata.superblock_bytes,
        super_ext_size: metadata.extension_bytes,
        free_version: 0,
        free_meta_size: metadata.manager_bytes,
        free_tot_space: metadata.free_bytes,
        sohm_version: 0,
        sohm_hdr_size: metadata.shared_table_bytes,
        sohm_msgs_info: H5_ih_info_t {
            index_size: metadata.shared_index_bytes,
            heap_size: metadata.shared_heap_bytes,
        },
    })
}

/// Returns the bytes of a file in storage.
fn storage_bytes(file: &FileHandle) -> Fallible<u64> {
    // What was not committed yet may be longer.
    if file.shared.is_writable {
        file.flush()?;
    }
    let bytes = file.container().info()?.storage_bytes;
    let of_path = || std::fs::metadata(to_path(&file.shared.location)).ok().map(|data| data.len());
    bytes.or_else(of_path).ok_or_else(|| Failure::unsupported("the container has no size"))
}

fn is_accessible(name: Text, list: hid_t) -> Fallible<bool> {
    let name = name.name("file name")?;
    let values = h5p::file_access(list)?;
    match opening::open_shared(&name, flags::RDONLY, &values, false) {
        Ok(_) => Ok(true),
        Err(failure) => match failure.cause.as_ref().map(|cause| cause.kind()) {
            Some(hyperslab::Kind::NotFound | hyperslab::Kind::Denied | hyperslab::Kind::Io) => Err(failure),
            // Another process writes it: it is an HDF5 file.
            Some(hyperslab::Kind::Busy) => Ok(true),
            _ => Ok(false),
        },
    }
}

api! { FILE:
    /// Opens a file.
    fn H5Fopen(name: Text, intent: c_uint, list: hid_t) -> hid_t {
        open(name, intent, list)
    }

    /// Creates a file.
    fn H5Fcreate(name: Text, intent: c_uint, creation: hid_t, access: hid_t) -> hid_t {
        create(name, intent, creation, access)
    }

    /// Opens a file once more.
    fn H5Freopen(id: hid_t) -> hid_t {
        let file = handles::file(id)?;
        Ok(ids::register(Object::File(opening::reopen(&file))))
    }

    /// Commits everything that was written to the file of an object.
    fn H5Fflush(id: hid_t, _scope: c_int) -> herr_t {
        let file = handles::location(id)?.file.clone();
        match file.shared.is_writable {
            true => file.flush(),
            false => Ok(()),
        }
    }

    /// Closes a file.
    fn H5Fclose(id: hid_t) -> herr_t {
        ids::close(id, "a file ID", |object| matches!(object, Object::File(_)))
    }

    /// Deletes a file.
    fn H5Fdelete(name: Text, list: hid_t) -> herr_t {
        let name = name.name("file name")?;
        let values = h5p::file_access(list)?;
        if super::already_open(|file| file.location == name).is_some() {
            return Err(Failure::new(Major::FILE, Minor::CANTDELETEFILE, "unable to delete the file: it is open"));
        }
        let location = super::locations::of_name(&name, &values)?;
        let choice = opening::Choice::of(&values)?;
        let access = FileAccess { driver: choice.driver, ..FileAccess::write() };
        let deleted = choice.registry.delete(&location, &access);
        deleted.map_err(|error| Failure::from(error).as_minor(Minor::CANTDELETEFILE))
    }

    /// Says whether a container can be opened.
    fn H5Fis_accessible(name: Text, list: hid_t) -> htri_t {
        is_accessible(name, list)
    }

    /// Says whether a file is an HDF5 file.
    fn H5Fis_hdf5(name: Text) -> htri_t {
        is_accessible(name, crate::ffi::H5P_DEFAULT)
    }

    /// Returns the creation properties of a file.
    fn H5Fget_create_plist(id: hid_t) -> hid_t {
        let file = handles::file(id)?;
        Ok(h5p::register_file_create(file.container().info()?.create.clone()))
    }

    /// Returns the access properties of a file.
    fn H5Fget_access_plist(id: hid_t) -> hid_t {
        let file = handles::file(id)?;
        let values = file.shared.values.read().clone();
        Ok(h5p::register_file_access(values))
    }

    /// Returns the flags that a file was opened with.
    fn H5Fget_intent(id: hid_t, intent: Out<c_uint>) -> herr_t {
        let file = handles::file(id)?;
        let is_swmr = file.shared.is_writable && file.shared.is_swmr.load(Ordering::Relaxed);
        let swmr = if is_swmr { flags::SWMR_WRITE } else { 0 };
        intent.put(if file.shared.is_writable { file.intent | flags::RDWR | swmr } else { file.intent });
        Ok(())
    }

    /// Returns the number of a file in this process.
    fn H5Fget_fileno(id: hid_t, number: Out<c_ulong>) -> herr_t {
        number.put_required(handles::file(id)?.shared.number as c_ulong, "fileno")
    }

    /// Returns the number of open objects of a file.
    fn H5Fget_obj_count(id: hid_t, wanted: c_uint) -> isize {
        Ok(open_objects(id, wanted)?.len() as isize)
    }

    /// Returns the identifiers of open objects of a file.
    fn H5Fget_obj_ids(id: hid_t, wanted: c_uint, count_max: usize, list: Out<hid_t>) -> isize {
        let found = open_objects(id, wanted)?;
        list.put_all(&found, count_max);
        Ok(found.len().min(count_max) as isize)
    }

    /// Returns the name that a file was opened by.
    fn H5Fget_name(id: hid_t, name: TextOut, size: usize) -> isize {
        Ok(name.put_text(size, &handles::location(id)?.file.name))
    }

    /// Returns the size of a file.
    fn H5Fget_filesize(id: hid_t, size: Out<hsize_t>) -> herr_t {
        size.put_required(storage_bytes(&*handles::file(id)?)?, "size")
    }

    /// Returns the end of what is allocated in a file.
    fn H5Fget_eoa(id: hid_t, end: Out<haddr_t>) -> herr_t {
        end.put(storage_bytes(&*handles::file(id)?)?);
        Ok(())
    }

    /// Returns the bytes of free space that a file knows of.
    fn H5Fget_freespace(id: hid_t) -> hssize_t {
        Ok(metadata(&*handles::file(id)?)?.free_bytes as hssize_t)
    }

    /// Returns the free sections of a file: all, or those that are managed for a kind of data.
    fn H5Fget_free_sections(id: hid_t, kind: c_int, count: usize, sections: Out<H5F_sect_info_t>) -> isize {
        let found = free_sections(&*handles::file(id)?, kind)?;
        sections.put_all(&found, count);
        Ok(found.len() as isize)
    }

    /// Returns the bytes of a file as the last commit left them.
    fn H5Fget_file_image(id: hid_t, buffer: Bytes, size: usize) -> isize {
        let file = handles::file(id)?;
        if file.shared.is_writable {
            file.flush()?;
        }
        let image = call::<FileImage>(&**file.container(), &())?;
        if !buffer.0.is_null() {
            if size < image.len() {
                return Err(Failure::argument("supplied buffer too small"));
            }
            buffer.write(image.len(), "buffer")?.copy_from_slice(&image);
        }
        Ok(image.len() as isize)
    }

    /// Returns sizes of metadata that belongs to no object.
    fn H5Fget_info2(id: hid_t, info: Out<H5F_info2_t>) -> herr_t {
        info.put_required(info2(&handles::location(id)?.file.clone())?, "file_info")
    }

    /// Returns sizes of metadata that belongs to no object, as version 1.8 had it.
    fn H5Fget_info1(id: hid_t, info: Out<H5F_info1_t>) -> herr_t {
        let all = info2(&handles::location(id)?.file.clone())?;
        info.put_required(H5F_info1_t {
            super_ext_size: all.super_ext_size,
            sohm_hdr_size: all.sohm_hdr_size,
            sohm_msgs_info: all.sohm_msgs_info,
        }, "file_info")
    }

    /// Lets other processes read a file while this one writes it.
    fn H5Fstart_swmr_write(id: hid_t) -> herr_t {
        let file = handles::file(id)?;
        file.container().start_swmr()?;
        file.shared.is_swmr.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Sets which versions of the format are written.
    fn H5Fset_libver_bounds(id: hid_t, low: c_int, high: c_int) -> herr_t {
        let (low, high) = (libver(low)?, libver(high)?);
        if low > high {
            return Err(Failure::argument("low bound is above high bound"));
        }
        set_version_bounds(&*handles::file(id)?, low, high)
    }

    /// Sets whether the newest format is written.
    fn H5Fset_latest_format(id: hid_t, latest: bool) -> herr_t {
        let low = if latest { LibVersion::LATEST } else { LibVersion::Earliest };
        set_version_bounds(&*handles::file(id)?, low, LibVersion::LATEST)
    }

    /// Returns whether new datasets of a file have no space for attributes.
    fn H5Fget_dset_no_attrs_hint(id: hid_t, hint: Out<bool>) -> herr_t {
        hint.put_required(handles::file(id)?.shared.no_attributes_hint.load(Ordering::Relaxed), "minimize")
    }

    /// Sets whether new datasets of a file have no space for attributes: a hint.
    fn H5Fset_dset_no_attrs_hint(id: hid_t, hint: bool) -> herr_t {
        handles::file(id)?.shared.no_attributes_hint.store(hint, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the file descriptor of a file; of a family that of the member which has the byte at the list's offset.
    fn H5Fget_vfd_handle(id: hid_t, list: hid_t, handle: Out<*mut c_void>) -> herr_t {
        let file = handles::file(id)?;
        handle.check("file_handle")?;
        super::vfd_handle::of(&file, &h5p::file_access(list)?).map(|pointer| handle.put(pointer))
    }

    /// Closes files that external links led to and that are kept open.
    fn H5Fclear_elink_file_cache(id: hid_t) -> herr_t {
        handles::file(id)?.shared.clear_external()
    }

    /// Files are written in the versions that their bounds ask for: nothing is converted.
    fn H5Fformat_convert(id: hid_t) -> herr_t {
        handles::file(id)?;
        Err::<(), _>(Failure::unsupported("files are not converted in place: hyperslab repack --low does that"))
    }

    /// Takes bytes at the end of a file, in which nothing will be.
    fn H5Fincrement_filesize(id: hid_t, by: hsize_t) -> herr_t {
        let file = handles::file(id)?;
        file.check_writable()?;
        Ok(call::<IncreaseFileSize>(&**file.container(), &by)?)
    }
}
