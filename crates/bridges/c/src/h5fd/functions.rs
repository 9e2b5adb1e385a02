//! Functions on drivers.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use std::sync::Arc;

use hyperslab::extend::Onion;
use hyperslab::vol::model::text;

use super::class::{ForeignClass, H5FD_t};
use super::{BuiltIn, DriverHandle, driver, find};
use crate::arguments::{Out, Text};
use crate::codes::{Major, Minor};
use crate::failure::Failure;
use crate::ffi::{haddr_t, herr_t, hid_t, hsize_t, htri_t};
use crate::handles::Object;
use crate::{api, ids, refused};

type File = *mut H5FD_t;
type Many<T> = *mut T;

api! { VFL:
    /// Registers a driver of the program.
    fn H5FDregister(cls: *const c_void) -> hid_t {
        let class = Arc::new(ForeignClass::read(cls)?);
        Ok(ids::register(Object::Driver(Arc::new(DriverHandle::Foreign(class)))))
    }

    /// Removes a driver. Open files keep it.
    fn H5FDunregister(driver_id: hid_t) -> herr_t {
        let driver = driver(driver_id, "not a file driver")?;
        ids::remove_reference(driver_id)?;
        if let (DriverHandle::Foreign(class), false) = (&*driver, ids::is_valid(driver_id)) {
            class.terminate();
        }
        Ok(())
    }

    /// Says whether there is a driver with this name.
    fn H5FDis_driver_registered_by_name(driver_name: Text) -> htri_t {
        let name = driver_name.name("driver name")?;
        Ok(find(|driver| driver.name() == name).is_some())
    }

    /// Says whether there is a driver with this number.
    fn H5FDis_driver_registered_by_value(driver_value: c_int) -> htri_t {
        Ok(find(|driver| driver.value() == Some(driver_value)).is_some())
    }

    /// Returns what a driver can do.
    fn H5FDdriver_query(driver_id: hid_t, flags: Out<c_ulong>) -> herr_t {
        flags.check("flags parameter")?;
        match &*driver(driver_id, "not a VFL ID")? {
            DriverHandle::BuiltIn(driver) => flags.put(driver.features()),
            // What a program's driver says depends on the file.
            DriverHandle::Foreign(_) => flags.put(0),
        }
        Ok(())
    }

    /// Returns a driver's identifier; the name and what it does are libhdf5's.
    fn H5FDperform_init(init: Option<unsafe extern "C" fn() -> hid_t>) -> hid_t {
        let init = init.ok_or_else(|| Failure::argument("no function"))?;
        // SAFETY: the program passes one of the functions below, or its own.
        Ok(unsafe { init() })
    }

    /// Returns the identifier of the driver.
    fn H5FD_sec2_init() -> hid_t { Ok(BuiltIn::Sec2.id()) }
    /// Returns the identifier of the driver.
    fn H5FD_core_init() -> hid_t { Ok(BuiltIn::Core.id()) }
    /// Returns the identifier of the driver.
    fn H5FD_log_init() -> hid_t { Ok(BuiltIn::Log.id()) }
    /// Returns the identifier of the driver.
    fn H5FD_family_init() -> hid_t { Ok(BuiltIn::Family.id()) }
    /// Returns the identifier of the driver.
    fn H5FD_multi_init() -> hid_t { Ok(BuiltIn::Multi.id()) }
    /// Returns the identifier of the driver.
    fn H5FD_stdio_init() -> hid_t { Ok(BuiltIn::Stdio.id()) }
    /// Returns the identifier of the driver.
    fn H5FD_direct_init() -> hid_t { Ok(BuiltIn::Direct.id()) }
    /// Returns the identifier of the driver.
    fn H5FD_ros3_init() -> hid_t { Ok(BuiltIn::Ros3.id()) }
    /// Returns the identifier of the driver.
    fn H5FD_splitter_init() -> hid_t { Ok(BuiltIn::Splitter.id()) }
    /// Returns the identifier of the driver of files that the processes of an MPI job have open together (feature `mpi`).
    fn H5FD_mpio_init() -> hid_t {
        BuiltIn::Mpio.registered().map(|_| BuiltIn::Mpio.id()).ok_or_else(|| super::absent(BuiltIn::Mpio.name()))
    }
    /// Returns the identifier of the driver.
    fn H5FD_onion_init() -> hid_t { Ok(BuiltIn::Onion.id()) }

    /// Returns the number of revisions of a file with the onion driver.
    fn H5FDonion_get_revision_count(filename: Text, fapl_id: hid_t, revision_count: Out<u64>) -> herr_t {
        let name = filename.name("file name")?;
        revision_count.check("revision count")?;
        crate::h5p::drivers::check_driver(fapl_id, BuiltIn::Onion)?;
        let revisions = Onion::revisions(text::to_path(&name));
        let failed = |error: std::io::Error| Failure::new(Major::VFL, Minor::CANTOPENFILE, format!("unable to open file with onion driver: {error}"));
        revision_count.put(revisions.map_err(failed)?.len() as u64);
        Ok(())
    }
}

// Programs that wrap drivers of libhdf5 call these; drivers of this library have no C form.
refused! { VFL:
    /// Files of drivers are not opened by themselves.
    fn H5FDopen(_name: *const c_char, _flags: c_uint, _fapl_id: hid_t, _maxaddr: haddr_t) -> *mut c_void;
    /// Files of drivers are not used by themselves.
    fn H5FDclose(_file: File) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDcmp(_f1: *const H5FD_t, _f2: *const H5FD_t) -> c_int;
    /// Files of drivers are not used by themselves.
    fn H5FDquery(_f: *const H5FD_t, _flags: *mut c_ulong) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDalloc(_file: File, _type: c_int, _dxpl_id: hid_t, _size: hsize_t) -> haddr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDfree(_file: File, _type: c_int, _dxpl_id: hid_t, _addr: haddr_t, _size: hsize_t) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDget_eoa(_file: File, _type: c_int) -> haddr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDset_eoa(_file: File, _type: c_int, _eoa: haddr_t) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDget_eof(_file: File, _type: c_int) -> haddr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDget_vfd_handle(_file: File, _fapl: hid_t, _file_handle: *mut *mut c_void) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDread(_file: File, _type: c_int, _dxpl_id: hid_t, _addr: haddr_t, _size: usize, _buf: *mut c_void) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDwrite(_file: File, _type: c_int, _dxpl_id: hid_t, _addr: haddr_t, _size: usize, _buf: *const c_void) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDread_vector(_file: File, _dxpl_id: hid_t, _count: u32, _types: Many<c_int>, _addrs: Many<haddr_t>, _sizes: Many<usize>, _bufs: Many<*mut c_void>) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDwrite_vector(_file: File, _dxpl_id: hid_t, _count: u32, _types: Many<c_int>, _addrs: Many<haddr_t>, _sizes: Many<usize>, _bufs: Many<*const c_void>) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDread_selection(_file: File, _type: c_int, _dxpl_id: hid_t, _count: u32, _mem: Many<hid_t>, _spaces: Many<hid_t>, _offsets: Many<haddr_t>, _sizes: Many<usize>, _bufs: Many<*mut c_void>) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDwrite_selection(_file: File, _type: c_int, _dxpl_id: hid_t, _count: u32, _mem: Many<hid_t>, _spaces: Many<hid_t>, _offsets: Many<haddr_t>, _sizes: Many<usize>, _bufs: Many<*const c_void>) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDread_vector_from_selection(_file: File, _type: c_int, _dxpl_id: hid_t, _count: u32, _mem: Many<hid_t>, _spaces: Many<hid_t>, _offsets: Many<haddr_t>, _sizes: Many<usize>, _bufs: Many<*mut c_void>) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDwrite_vector_from_selection(_file: File, _type: c_int, _dxpl_id: hid_t, _count: u32, _mem: Many<hid_t>, _spaces: Many<hid_t>, _offsets: Many<haddr_t>, _sizes: Many<usize>, _bufs: Many<*const c_void>) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDread_from_selection(_file: File, _type: c_int, _dxpl_id: hid_t, _count: u32, _mem: Many<hid_t>, _spaces: Many<hid_t>, _offsets: Many<haddr_t>, _sizes: Many<usize>, _bufs: Many<*mut c_void>) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDwrite_from_selection(_file: File, _type: c_int, _dxpl_id: hid_t, _count: u32, _mem: Many<hid_t>, _spaces: Many<hid_t>, _offsets: Many<haddr_t>, _sizes: Many<usize>, _bufs: Many<*const c_void>) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDflush(_file: File, _dxpl_id: hid_t, _closing: bool) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDtruncate(_file: File, _dxpl_id: hid_t, _closing: bool) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDlock(_file: File, _rw: bool) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDunlock(_file: File) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDdelete(_name: *const c_char, _fapl_id: hid_t) -> herr_t;
    /// Files of drivers are not used by themselves.
    fn H5FDctl(_file: File, _op_code: u64, _flags: u64, _input: *const c_void, _output: *mut *mut c_void) -> herr_t;
    /// Names of subfiles are in the configuration file.
    fn H5FDsubfiling_get_file_mapping(_file_id: hid_t, _filenames: *mut *mut *mut c_char, _len: *mut usize) -> herr_t;
}
