//! Drivers of programs: their class in the layouts of several versions, and their own properties.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::sync::Arc;

use crate::arguments::Opaque;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{haddr_t, herr_t, hid_t, hsize_t};

/// `H5FD_t`: the beginning of a driver's open file.
#[repr(C)]
#[derive(Debug)]
pub struct H5FD_t {
    pub driver_id: hid_t,
    pub cls: *const c_void,
    pub fileno: c_ulong,
    pub access_flags: c_uint,
    pub feature_flags: c_ulong,
    pub maxaddr: haddr_t,
    pub base_addr: haddr_t,
    pub threshold: hsize_t,
    pub alignment: hsize_t,
    pub paged_aggr: bool,
}

type Unused = *const c_void;

/// The functions that drivers have in all versions, in the order of all versions.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Common {
    name: *const c_char,
    maxaddr: haddr_t,
    fc_degree: c_int,
    terminate: Option<unsafe extern "C" fn() -> herr_t>,
    sb_size: Unused,
    sb_encode: Unused,
    sb_decode: Unused,
    fapl_size: usize,
    fapl_get: Unused,
    fapl_copy: Option<unsafe extern "C" fn(*const c_void) -> *mut c_void>,
    fapl_free: Option<unsafe extern "C" fn(*mut c_void) -> herr_t>,
    dxpl_size: usize,
    dxpl_copy: Unused,
    dxpl_free: Unused,
    open: Option<unsafe extern "C" fn(*const c_char, c_uint, hid_t, haddr_t) -> *mut H5FD_t>,
    close: Option<unsafe extern "C" fn(*mut H5FD_t) -> herr_t>,
    cmp: Unused,
    query: Option<unsafe extern "C" fn(*const H5FD_t, *mut c_ulong) -> herr_t>,
    get_type_map: Unused,
    alloc: Unused,
    free: Unused,
    get_eoa: Option<unsafe extern "C" fn(*const H5FD_t, c_int) -> haddr_t>,
    set_eoa: Option<unsafe extern "C" fn(*mut H5FD_t, c_int, haddr_t) -> herr_t>,
    get_eof: Option<unsafe extern "C" fn(*const H5FD_t, c_int) -> haddr_t>,
    get_handle: Option<unsafe extern "C" fn(*mut H5FD_t, hid_t, *mut *mut c_void) -> herr_t>,
    read: Option<unsafe extern "C" fn(*mut H5FD_t, c_int, hid_t, haddr_t, usize, *mut c_void) -> herr_t>,
    write: Option<unsafe extern "C" fn(*mut H5FD_t, c_int, hid_t, haddr_t, usize, *const c_void) -> herr_t>,
}

/// The last functions of a driver.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Last {
    flush: Option<unsafe extern "C" fn(*mut H5FD_t, hid_t, bool) -> herr_t>,
    truncate: Option<unsafe extern "C" fn(*mut H5FD_t, hid_t, bool) -> herr_t>,
    lock: Option<unsafe extern "C" fn(*mut H5FD_t, bool) -> herr_t>,
    unlock: Option<unsafe extern "C" fn(*mut H5FD_t) -> herr_t>,
}

/// `H5FD_class_t` of 1.10 and 1.12.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Class110 {
    common: Common,
    last: Last,
    fl_map: [c_int; 7],
}

/// `H5FD_class_t` from 1.14 on.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Class114 {
    version: c_uint,
    value: c_int,
    common: Common,
    vectors: [Unused; 4],
    last: Last,
    del: Option<unsafe extern "C" fn(*const c_char, hid_t) -> herr_t>,
    ctl: Unused,
    fl_map: [c_int; 7],
}

/// `H5FD_CLASS_VERSION`. Where 1.12 has a pointer to the name, these are its lower bits, which no address has.
const VERSION: c_uint = 1;

/// A driver that a program registered.
#[derive(Debug)]
pub struct ForeignClass {
    /// The name.
    pub name: String,
    /// The number, which drivers have from 1.14 on.
    pub value: Option<c_int>,
    common: Common,
    last: Last,
    del: Option<unsafe extern "C" fn(*const c_char, hid_t) -> herr_t>,
    /// The class as the program has it, for `H5FD_t`.
    original: Opaque,
}

// SAFETY: functions and constants of the program; the functions are called on threads that call the library.
unsafe impl Send for ForeignClass {}
// SAFETY: as above.
unsafe impl Sync for ForeignClass {}

fn needed<T>(function: Option<T>, text: &'static str) -> Fallible<T> {
    function.ok_or_else(|| Failure::argument(text))
}

impl ForeignClass {
    /// Takes a class that a program passes to `H5FDregister`.
    pub fn read(class: *const c_void) -> Fallible<Self> {
        if class.is_null() {
            return Err(Failure::new(Major::ARGS, Minor::UNINITIALIZED, "null class pointer is disallowed"));
        }
        // SAFETY: the program passes a class, which begins with a version or with a pointer.
        let version = unsafe { class.cast::<c_uint>().read_unaligned() };
        let (common, last, del, value) = match version {
            VERSION => {
                // SAFETY: a class with this version has this layout.
                let class = unsafe { class.cast::<Class114>().read_unaligned() };
                (class.common, class.last, class.del, Some(class.value))
            }
            _ => {
                // SAFETY: a class without a version has the layout of 1.10.
                let class = unsafe { class.cast::<Class110>().read_unaligned() };
                (class.common, class.last, None, None)
            }
        };
        Self::checked(common, last, del, value, Opaque(class.cast_mut()))
    }

    fn checked(
        common: Common,
        last: Last,
        del: Option<unsafe extern "C" fn(*const c_char, hid_t) -> herr_t>,
        value: Option<c_int>,
        original: Opaque,
    ) -> Fallible<Self> {
        needed(common.open, "'open' and/or 'close' methods are not defined")?;
        needed(common.close, "'open' and/or 'close' methods are not defined")?;
        needed(common.get_eoa, "'get_eoa' and/or 'set_eoa' methods are not defined")?;
        needed(common.set_eoa, "'get_eoa' and/or 'set_eoa' methods are not defined")?;
        needed(common.get_eof, "'get_eof' method is not defined")?;
        needed(common.read, "'read' and/or 'write' method is not defined")?;
        needed(common.write, "'read' and/or 'write' method is not defined")?;
        if common.name.is_null() {
            return Err(Failure::argument("driver has no name"));
        }
        // SAFETY: the program's class has a name that ends with NUL.
        let name = unsafe { CStr::from_ptr(common.name) }.to_string_lossy().into_owned();
        Ok(ForeignClass { name, value, common, last, del, original })
    }

    /// Opens a file.
    pub fn open(&self, driver_id: hid_t, name: &CStr, flags: c_uint, fapl: hid_t) -> Option<*mut H5FD_t> {
        let open = self.common.open?;
        // SAFETY: the program registered the function; the list is open meanwhile.
        let file = unsafe { open(name.as_ptr(), flags, fapl, haddr_t::MAX) };
        if file.is_null() {
            return None;
        }
        let mut features: c_ulong = 0;
        if let Some(query) = self.common.query {
            // SAFETY: the file was just opened by this driver.
            unsafe { query(file, &raw mut features) };
        }
        // SAFETY: files of drivers begin with these fields, which the library sets.
        unsafe {
            (*file).driver_id = driver_id;
            (*file).cls = self.original.0;
            (*file).access_flags = flags;
            (*file).feature_flags = features;
            (*file).maxaddr = self.common.maxaddr;
            (*file).base_addr = 0;
            (*file).threshold = 1;
            (*file).alignment = 1;
        }
        Some(file)
    }

    /// Closes a file.
    pub fn close(&self, file: *mut H5FD_t) -> bool {
        // SAFETY: the file was opened by this driver, and is not used any more.
        self.common.close.is_some_and(|close| unsafe { close(file) } >= 0)
    }

    /// Returns the size of a file.
    pub fn eof(&self, file: *mut H5FD_t) -> Option<u64> {
        // SAFETY: the file was opened by this driver.
        let eof = self.common.get_eof.map(|get| unsafe { get(file, 0) })?;
        (eof != haddr_t::MAX).then_some(eof)
    }

    /// Returns the end of the addresses in use.
    pub fn eoa(&self, file: *mut H5FD_t) -> Option<u64> {
        // SAFETY: the file was opened by this driver.
        let eoa = self.common.get_eoa.map(|get| unsafe { get(file, 0) })?;
        (eoa != haddr_t::MAX).then_some(eoa)
    }

    /// Sets the end of the addresses in use.
    pub fn set_eoa(&self, file: *mut H5FD_t, end: u64) -> bool {
        // SAFETY: the file was opened by this driver.
        self.common.set_eoa.is_some_and(|set| unsafe { set(file, 0, end) } >= 0)
    }

    /// Reads bytes.
    pub fn read_at(&self, file: *mut H5FD_t, dxpl: hid_t, offset: u64, buf: &mut [u8]) -> bool {
        // SAFETY: the file was opened by this driver, and the buffer has the size.
        self.common.read.is_some_and(|read| unsafe {
            read(file, 0, dxpl, offset, buf.len(), buf.as_mut_ptr().cast()) >= 0
        })
    }

    /// Writes bytes.
    pub fn write_at(&self, file: *mut H5FD_t, dxpl: hid_t, offset: u64, data: &[u8]) -> bool {
        // SAFETY: the file was opened by this driver, and the buffer has the size.
        self.common.write.is_some_and(|write| unsafe {
            write(file, 0, dxpl, offset, data.len(), data.as_ptr().cast()) >= 0
        })
    }

    /// Makes the file as long as the addresses in use.
    pub fn truncate(&self, file: *mut H5FD_t, dxpl: hid_t) -> bool {
        // SAFETY: the file was opened by this driver.
        self.last.truncate.is_none_or(|truncate| unsafe { truncate(file, dxpl, false) } >= 0)
    }

    /// Writes what the driver holds back.
    pub fn flush(&self, file: *mut H5FD_t, dxpl: hid_t) -> bool {
        // SAFETY: the file was opened by this driver.
        self.last.flush.is_none_or(|flush| unsafe { flush(file, dxpl, false) } >= 0)
    }

    /// Locks a file, for one writer or for readers.
    pub fn lock(&self, file: *mut H5FD_t, is_exclusive: bool) -> bool {
        // SAFETY: the file was opened by this driver.
        self.last.lock.is_none_or(|lock| unsafe { lock(file, is_exclusive) } >= 0)
    }

    /// Unlocks a file.
    pub fn unlock(&self, file: *mut H5FD_t) -> bool {
        // SAFETY: the file was opened by this driver.
        self.last.unlock.is_none_or(|unlock| unsafe { unlock(file) } >= 0)
    }

    /// Deletes a file, or returns `None` if the driver cannot.
    pub fn delete(&self, name: &CStr, fapl: hid_t) -> Option<bool> {
        // SAFETY: the program registered the function; the list is open meanwhile.
        self.del.map(|del| unsafe { del(name.as_ptr(), fapl) } >= 0)
    }

    /// Returns the driver's own handle of a file.
    pub fn handle(&self, file: *mut H5FD_t, fapl: hid_t) -> Option<*mut c_void> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the file was opened by this driver.
        self.common.get_handle.filter(|get| unsafe { get(file, fapl, &raw mut handle) } >= 0)?;
        Some(handle)
    }

    /// Tells the driver that it is no longer used.
    pub fn terminate(&self) {
        if let Some(terminate) = self.common.terminate {
            // SAFETY: the program registered the function.
            unsafe { terminate() };
        }
    }
}

/// Properties of a program's driver, which copies and frees them.
#[derive(Debug)]
pub struct ForeignInfo {
    class: Arc<ForeignClass>,
    copy: Opaque,
    /// Bytes that the library copied, where the driver has no function for it.
    own: Vec<u128>,
}

impl ForeignInfo {
    /// Copies what a program passes.
    pub fn copy(class: &Arc<ForeignClass>, info: *const c_void) -> Fallible<Option<Self>> {
        let failed = |text| Failure::new(Major::VFL, Minor::CANTCOPY, text);
        if info.is_null() {
            return Ok(None);
        }
        let (mut own, size) = (Vec::new(), class.common.fapl_size);
        let copy = match class.common.fapl_copy {
            // SAFETY: the program registered the function for its properties.
            Some(copy) => unsafe { copy(info) },
            None if size > 0 => {
                own = vec![0u128; size.div_ceil(16)];
                // SAFETY: the program says that its properties have this size.
                unsafe { std::ptr::copy_nonoverlapping(info.cast::<u8>(), own.as_mut_ptr().cast(), size) };
                own.as_mut_ptr().cast()
            }
            None => return Err(failed("no way to copy driver info")),
        };
        if copy.is_null() {
            return Err(failed("driver info copy callback failed"));
        }
        Ok(Some(ForeignInfo { class: class.clone(), copy: Opaque(copy), own }))
    }

    /// Returns the properties.
    pub fn pointer(&self) -> *const c_void {
        self.copy.0
    }
}

impl Drop for ForeignInfo {
    fn drop(&mut self) {
        if !self.own.is_empty() {
            return;
        }
        match self.class.common.fapl_free {
            // SAFETY: the properties came from the driver's own function.
            Some(free) => drop(unsafe { free(self.copy.0) }),
            // SAFETY: without a function drivers allocate with malloc.
            None => unsafe { crate::ffi::free(self.copy.0) },
        }
    }
}
