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
type ImageFree = Option<unsafe extern "C" fn(*mut c_void, c_int, *mut c_void) -> herr_t>;
type CopyData = Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>;
type FreeData = Option<unsafe extern "C" fn(*mut c_void) -> herr_t>;

/// `H5FD_FILE_IMAGE_OP_…`: what the memory of an image is used for.
pub(crate) mod image_op {
    use std::ffi::c_int;
    pub(crate) const LIST_SET: c_int = 1;
    pub(crate) const LIST_GET: c_int = 3;
    pub(crate) const LIST_CLOSE: c_int = 4;
    pub(crate) const FILE_OPEN: c_int = 5;
    pub(crate) const FILE_RESIZE: c_int = 6;
    pub(crate) const FILE_CLOSE: c_int = 7;
}

/// `H5FD_file_image_callbacks_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5FD_file_image_callbacks_t {
    image_malloc: Malloc,
    image_memcpy: Memcpy,
    image_realloc: Realloc,
    image_free: ImageFree,
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

impl Default for ImageCallbacks {
    /// Those of the C library.
    fn default() -> Self {
        let functions = H5FD_file_image_callbacks_t {
            image_malloc: None,
            image_memcpy: None,
            image_realloc: None,
            image_free: None,
            udata_copy: None,
            udata_free: None,
            udata: std::ptr::null_mut(),
        };
        ImageCallbacks { functions, data: Opaque(std::ptr::null_mut()) }
    }
}

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

    /// Copies an image the way the program wants it. Programs may share their buffer instead: their functions see the addresses of
    /// both, and every use of them.
    pub(crate) fn copied(&self, image: &[u8], op: c_int) -> Option<*mut c_void> {
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

    /// Returns memory of another size with the same content. NULL is no memory yet.
    pub(crate) fn resized(&self, memory: *mut c_void, size: usize) -> Option<*mut c_void> {
        let resized = match self.functions.image_realloc {
            // SAFETY: the memory came from the program's own functions.
            Some(realloc) => unsafe { realloc(memory, size, image_op::FILE_RESIZE, self.data.0) },
            // SAFETY: the memory came from `allocate`.
            None => unsafe { crate::ffi::reallocate(memory, size) },
        };
        (!resized.is_null()).then_some(resized)
    }

    pub(crate) fn free(&self, memory: *mut c_void, op: c_int) {
        match self.functions.image_free {
            // SAFETY: the memory came from the program's own function.
            Some(free) => drop(unsafe { free(memory, op, self.data.0) }),
            // SAFETY: the memory came from `allocate`.
            None => unsafe { crate::ffi::free(memory) },
        }
    }
}

/// The initial content of a file in memory, in memory of the program's functions where it has any.
pub struct FileImage {
    memory: Opaque,
    len: usize,
    callbacks: Arc<ImageCallbacks>,
}

impl FileImage {
    fn copy_of(image: &[u8], callbacks: Arc<ImageCallbacks>) -> Fallible<Self> {
        let copied = callbacks.copied(image, image_op::LIST_SET);
        let failed = || Failure::new(Major::RESOURCE, Minor::CANTALLOC, "image malloc callback failed");
        Ok(FileImage { memory: Opaque(copied.ok_or_else(failed)?), len: image.len(), callbacks })
    }

    /// Returns its bytes, where the program's functions know them.
    pub(crate) fn bytes(&self) -> &[u8] {
        Bytes(self.memory.0).read(self.len, "image").unwrap_or_default()
    }
}

impl std::fmt::Debug for FileImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileImage").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

impl Drop for FileImage {
    fn drop(&mut self) {
        self.callbacks.free(self.memory.0, image_op::LIST_CLOSE);
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
        let bytes = Bytes(buf_ptr).read(buf_len, "image")?;
        let image = match bytes {
            [] => None,
            bytes => Some(Arc::new(FileImage::copy_of(bytes, callbacks.unwrap_or_default())?)),
        };
        change(fapl_id, &["file_image_info"], |access| access.image = image)
    }

    /// Returns the initial content of a file in memory, which the program frees.
    fn H5Pget_file_image(fapl_id: hid_t, buf_ptr_ptr: Out<*mut c_void>, buf_len_ptr: Out<usize>) -> herr_t {
        let image = read(fapl_id, |access| access.image.clone())?;
        buf_len_ptr.put(image.as_ref().map_or(0, |image| image.len));
        if !buf_ptr_ptr.is_wanted() {
            return Ok(());
        }
        let Some(image) = image else {
            buf_ptr_ptr.put(std::ptr::null_mut());
            return Ok(());
        };
        let copied = image.callbacks.copied(image.bytes(), image_op::LIST_GET);
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
            None => ImageCallbacks::default().functions,
        };
        callbacks_ptr.put(functions);
        Ok(())
    }
}
