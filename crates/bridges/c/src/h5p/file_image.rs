//! Images of files in memory.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::file_access::{change, read};
use crate::api;
use crate::arguments::{Bytes, Opaque, Out, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{allocate, herr_t, hid_t};

type Malloc = Option<unsafe extern "C" fn(usize, c_int, *mut c_void) -> *mut c_void>;
type Memcpy =
    Option<unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int, *mut c_void) -> *mut c_void>;
type Realloc = Option<unsafe extern "C" fn(*mut c_void, usize, c_int, *mut c_void) -> *mut c_void>;
type Free = Option<unsafe extern "C" fn(*mut c_void, c_int, *mut c_void) -> herr_t>;
type CopyData = Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>;
type FreeData = Option<unsafe extern "C" fn(*mut c_void) -> herr_t>;

/// `H5FD_FILE_IMAGE_OP_PROPERTY_LIST_SET`, `…_GET` and `…_CLOSE`
const OP_SET: c_int = 1;
const OP_GET: c_int = 3;
const OP_CLOSE: c_int = 4;

/// `H5FD_file_image_callbacks_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5FD_file_image_callbacks_t {
    image_malloc: Malloc,
    image_memcpy: Memcpy,
    image_realloc: Realloc,
    image_free: Free,
    udata_copy: CopyData,
    udata_free: FreeData,
    udata: *mut c_void,
}

/// The program's functions for the memory of images, with a copy of its data that is freed with the last list.
#[derive(Debug)]
pub struct ImageCallbacks {
    functions: H5FD_file_image_callbacks_t,
    data: Opaque,
}

// SAFETY: the pointer is only handed to the program's functions.
unsafe impl Send for ImageCallbacks {}
// SAFETY: as above.
unsafe impl Sync for ImageCallbacks {}

impl ImageCallbacks {
    fn new(functions: H5FD_file_image_callbacks_t) -> Fallible<Self> {
        let data = match (functions.udata.is_null(), functions.udata_copy) {
            (true, _) => functions.udata,
            // SAFETY: the program passes the function for its data.
            (false, Some(copy)) => unsafe { copy(functions.udata) },
            (false, None) => return Err(Failure::argument("udata callbacks must be set if udata is set")),
        };
        Ok(ImageCallbacks { functions, data: Opaque(data) })
    }

    /// Copies an image the way the program wants it, and returns its own copy.
    fn copied(&self, image: &[u8], op: c_int) -> Option<*mut c_void> {
        let functions = &self.functions;
        let memory = match functions.image_malloc {
            // SAFETY: the program passes the function with its data.
            Some(malloc) => unsafe { malloc(image.len(), op, self.data.0) },
            None => allocate(image.len()),
        };
        if memory.is_null() {
            return None;
        }
        match functions.image_memcpy {
            // SAFETY: the program passes the function, and memory of this size.
            Some(memcpy) => unsafe {
                if memcpy(memory, image.as_ptr().cast(), image.len(), op, self.data.0) != memory {
                    return None;
                }
            },
            None => Bytes(memory).write(image.len(), "image").ok()?.copy_from_slice(image),
        }
        Some(memory)
    }

    fn free(&self, memory: *mut c_void, op: c_int) {
        match self.functions.image_free {
            // SAFETY: the memory came from the program's own function.
            Some(free) => drop(unsafe { free(memory, op, self.data.0) }),
            // SAFETY: the memory came from `allocate`.
            None => unsafe { crate::ffi::free(memory) },
        }
    }
}

impl Drop for ImageCallbacks {
    fn drop(&mut self) {
        if let (false, Some(free)) = (self.data.0.is_null(), self.functions.udata_free) {
            // SAFETY: the data is the program's copy for this list.
            unsafe { free(self.data.0) };
        }
    }
}

api! { PLIST:
    /// Sets the initial content of a file in memory.
    fn H5Pset_file_image(fapl_id: hid_t, buf_ptr: *mut c_void, buf_len: usize) -> herr_t {
        if buf_ptr.is_null() != (buf_len == 0) {
            return Err(Failure::argument("inconsistent buf_ptr and buf_len"));
        }
        let callbacks = read(fapl_id, |access| access.image_callbacks.clone())?;
        let mut image = Bytes(buf_ptr).read(buf_len, "image")?.to_vec();
        // Programs may share their buffer instead of copying it: their functions see every use of it.
        if let (Some(callbacks), true) = (&callbacks, buf_len > 0) {
            let copied = callbacks.copied(&image, OP_SET);
            let copied = copied.ok_or_else(|| Failure::new(Major::RESOURCE, Minor::CANTALLOC, "image malloc callback failed"))?;
            image = Bytes(copied).read(buf_len, "image")?.to_vec();
            callbacks.free(copied, OP_CLOSE);
        }
        change(fapl_id, &["file_image_info"], |access| access.image = (buf_len > 0).then(|| Arc::new(image)))
    }

    /// Returns the initial content of a file in memory, which the program frees.
    fn H5Pget_file_image(fapl_id: hid_t, buf_ptr_ptr: Out<*mut c_void>, buf_len_ptr: Out<usize>) -> herr_t {
        let (image, callbacks) = read(fapl_id, |access| (access.image.clone(), access.image_callbacks.clone()))?;
        buf_len_ptr.put(image.as_ref().map_or(0, |image| image.len()));
        if !buf_ptr_ptr.is_wanted() {
            return Ok(());
        }
        let Some(image) = image else {
            buf_ptr_ptr.put(std::ptr::null_mut());
            return Ok(());
        };
        let copied = match callbacks {
            Some(callbacks) => callbacks.copied(&image, OP_GET),
            None => Some(allocate(image.len())).filter(|memory| !memory.is_null()).inspect(|memory| {
                if let Ok(bytes) = Bytes(*memory).write(image.len(), "image") {
                    bytes.copy_from_slice(&image);
                }
            }),
        };
        let copied = copied.ok_or_else(|| Failure::new(Major::RESOURCE, Minor::NOSPACE, "unable to allocate copy"))?;
        buf_ptr_ptr.put(copied);
        Ok(())
    }

    /// Sets functions for the memory of file images.
    fn H5Pset_file_image_callbacks(fapl_id: hid_t, callbacks_ptr: Values<H5FD_file_image_callbacks_t>) -> herr_t {
        let functions = *callbacks_ptr.one("callbacks_ptr").map_err(|_| Failure::argument("NULL callbacks_ptr"))?;
        if read(fapl_id, |access| access.image.is_some())? {
            return Err(Failure::new(
                Major::PLIST,
                Minor::SETDISALLOWED,
                "setting callbacks when an image is already set is forbidden. It could cause memory leaks.",
            ));
        }
        if !functions.udata.is_null() && (functions.udata_copy.is_none() || functions.udata_free.is_none()) {
            return Err(Failure::argument("udata callbacks must be set if udata is set"));
        }
        let callbacks = Arc::new(ImageCallbacks::new(functions)?);
        change(fapl_id, &["file_image_info"], |access| access.image_callbacks = Some(callbacks))
    }

    /// Returns functions for the memory of file images.
    fn H5Pget_file_image_callbacks(fapl_id: hid_t, callbacks_ptr: Out<H5FD_file_image_callbacks_t>) -> herr_t {
        callbacks_ptr.check("callbacks_ptr")?;
        let callbacks = read(fapl_id, |access| access.image_callbacks.clone())?;
        let functions = match callbacks {
            Some(callbacks) => {
                let udata = match (callbacks.data.0.is_null(), callbacks.functions.udata_copy) {
                    // SAFETY: the program passed the function for its data.
                    (false, Some(copy)) => unsafe { copy(callbacks.data.0) },
                    _ => std::ptr::null_mut(),
                };
                H5FD_file_image_callbacks_t { udata, ..callbacks.functions }
            }
            None => H5FD_file_image_callbacks_t {
                image_malloc: None,
                image_memcpy: None,
                image_realloc: None,
                image_free: None,
                udata_copy: None,
                udata_free: None,
                udata: std::ptr::null_mut(),
            },
        };
        callbacks_ptr.put(functions);
        Ok(())
    }
}
