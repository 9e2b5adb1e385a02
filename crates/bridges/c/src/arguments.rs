//! Arguments that C passes by pointer.
//!
//! Each is a pointer with the meaning that libhdf5's documentation gives it. The caller of an exported function promises that
//! a pointer which is not NULL is good for that meaning, as with libhdf5; the types here turn that promise into safe values,
//! and NULL into an error where a value is needed.

use std::ffi::{CStr, c_char, c_void};

use hyperslab::vol::model::text;

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};

fn missing(what: &str) -> Failure {
    Failure::new(Major::ARGS, Minor::BADVALUE, format!("{what} is NULL"))
}

/// `const char *`: a name.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Text(pub *const c_char);

impl Text {
    /// Returns the bytes before the NUL, or `None` for NULL.
    pub fn bytes<'a>(self) -> Option<&'a [u8]> {
        // SAFETY: the caller of the exported function passes a string that ends with NUL.
        (!self.0.is_null()).then(|| unsafe { CStr::from_ptr(self.0) }.to_bytes())
    }

    /// Returns the text, or `None` for NULL. Bytes that are no UTF-8 are kept (`model::text`).
    pub fn optional(self) -> Option<String> {
        self.bytes().map(text::from_bytes)
    }

    /// Returns the text, which may be empty.
    pub fn required(self, what: &str) -> Fallible<String> {
        self.optional().ok_or_else(|| missing(what))
    }

    /// Returns a text that is not empty.
    pub fn name(self, what: &str) -> Fallible<String> {
        match self.required(what)? {
            name if name.is_empty() => {
                Err(Failure::new(Major::ARGS, Minor::BADVALUE, format!("{what} is empty")))
            }
            name => Ok(name),
        }
    }
}

/// `T *`: where a value is returned.
#[repr(transparent)]
#[derive(Debug)]
pub struct Out<T>(pub *mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Returns whether the caller asks for the value.
    pub fn is_wanted(self) -> bool {
        !self.0.is_null()
    }

    /// Stores a value where the caller asks for one.
    pub fn put(self, value: T) {
        if self.is_wanted() {
            // SAFETY: the caller of the exported function passes space for a value.
            unsafe { self.0.write(value) };
        }
    }

    /// Stores a value, which the caller must ask for.
    pub fn put_required(self, value: T, what: &str) -> Fallible<()> {
        self.check(what)?;
        self.put(value);
        Ok(())
    }

    /// Returns an error for NULL.
    pub fn check(self, what: &str) -> Fallible<()> {
        if self.is_wanted() { Ok(()) } else { Err(missing(what)) }
    }
}

impl<T: Copy> Out<T> {
    /// Returns the value that stands there, for arguments that go both ways.
    pub fn get(self) -> Option<T> {
        // SAFETY: the caller of the exported function passes a value.
        self.is_wanted().then(|| unsafe { self.0.read() })
    }

    /// Stores values one after another, at most `count`.
    pub fn put_all(self, values: &[T], count: usize) {
        if self.is_wanted() {
            let count = values.len().min(count);
            // SAFETY: the caller of the exported function passes space for `count` values.
            unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), self.0, count) };
        }
    }
}

/// `const T *`: values one after another.
#[repr(transparent)]
#[derive(Debug)]
pub struct Values<T>(pub *const T);

impl<T> Clone for Values<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Values<T> {}

impl<T> Values<T> {
    /// Returns `count` values, or `None` for NULL.
    pub fn optional<'a>(self, count: usize) -> Option<&'a [T]> {
        // SAFETY: the caller of the exported function passes `count` values.
        (!self.0.is_null()).then(|| unsafe { std::slice::from_raw_parts(self.0, count) })
    }

    /// Returns `count` values; NULL will do for none.
    pub fn required<'a>(self, count: usize, what: &str) -> Fallible<&'a [T]> {
        if count == 0 {
            return Ok(&[]);
        }
        self.optional(count).ok_or_else(|| missing(what))
    }

    /// Returns the one value.
    pub fn one<'a>(self, what: &str) -> Fallible<&'a T> {
        // SAFETY: the caller of the exported function passes a value.
        unsafe { self.0.as_ref() }.ok_or_else(|| missing(what))
    }
}

/// `void *`: bytes whose number another argument gives.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Bytes(pub *mut c_void);

impl Bytes {
    /// Returns `len` bytes that are read.
    pub fn read<'a>(self, len: usize, what: &str) -> Fallible<&'a [u8]> {
        Values(self.0.cast::<u8>().cast_const()).required(len, what)
    }

    /// Returns `len` bytes that are written.
    pub fn write<'a>(self, len: usize, what: &str) -> Fallible<&'a mut [u8]> {
        match (len, self.0.is_null()) {
            (0, _) => Ok(&mut []),
            (_, true) => Err(missing(what)),
            // SAFETY: the caller of the exported function passes `len` bytes that nobody else uses.
            _ => Ok(unsafe { std::slice::from_raw_parts_mut(self.0.cast(), len) }),
        }
    }
}

/// `char *` and a size: where a text is returned, cut to fit, with a NUL.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct TextOut(pub *mut c_char);

impl TextOut {
    /// Stores as much of `text` as fits, and returns its whole length. NULL asks for the length alone.
    pub fn put(self, size: usize, text: &[u8]) -> isize {
        if !self.0.is_null() && size > 0 {
            let count = text.len().min(size - 1);
            // SAFETY: the caller of the exported function passes `size` bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(text.as_ptr(), self.0.cast(), count);
                self.0.add(count).write(0);
            }
        }
        text.len() as isize
    }

    /// Returns text of the model, as [`TextOut::put`] does.
    pub fn put_text(self, size: usize, value: &str) -> isize {
        self.put(size, &text::as_bytes(value))
    }
}

/// A pointer of the caller's that is only handed back to it.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Opaque(pub *mut c_void);

// SAFETY: the library never looks at what it points to.
unsafe impl Send for Opaque {}
// SAFETY: as above.
unsafe impl Sync for Opaque {}
