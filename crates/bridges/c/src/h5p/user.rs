//! Properties that programs define, and their callbacks.

use std::ffi::{CString, c_char, c_int, c_void};

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::stack::c_text;

/// `H5P_prp_create_func_t`, `H5P_prp_copy_func_t` and `H5P_prp_close_func_t`.
pub type ValueFunction = Option<unsafe extern "C" fn(*const c_char, usize, *mut c_void) -> herr_t>;
/// `H5P_prp_set_func_t`, `H5P_prp_get_func_t` and `H5P_prp_delete_func_t`.
pub type ListValueFunction = Option<unsafe extern "C" fn(hid_t, *const c_char, usize, *mut c_void) -> herr_t>;
/// `H5P_prp_compare_func_t`
pub type CompareFunction = Option<unsafe extern "C" fn(*const c_void, *const c_void, usize) -> c_int>;

/// The callbacks of a property.
#[derive(Debug, Clone, Copy, Default)]
pub struct Callbacks {
    pub create: ValueFunction,
    pub set: ListValueFunction,
    pub get: ListValueFunction,
    pub delete: ListValueFunction,
    pub copy: ValueFunction,
    pub compare: CompareFunction,
    pub close: ValueFunction,
}

/// A property that a program defined, with its value as C has it.
#[derive(Debug, Clone)]
pub struct UserProperty {
    pub name: String,
    pub value: Vec<u8>,
    pub callbacks: Callbacks,
}

/// A copy of a value that is aligned for anything, which callbacks may change.
struct Scratch {
    words: Vec<u128>,
    len: usize,
}

impl Scratch {
    fn new(value: &[u8]) -> Self {
        let mut words = vec![0u128; value.len().div_ceil(16).max(1)];
        // SAFETY: the words have at least as many bytes as the value, and any bytes make words.
        unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), words.as_mut_ptr().cast(), value.len()) };
        Scratch { words, len: value.len() }
    }

    /// C gets NULL for a value without bytes.
    fn pointer(&mut self) -> *mut c_void {
        if self.len == 0 { std::ptr::null_mut() } else { self.words.as_mut_ptr().cast() }
    }

    fn bytes(&self) -> Vec<u8> {
        // SAFETY: the words have at least `len` bytes.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast::<u8>(), self.len) }.to_vec()
    }
}

fn failed(text: &'static str) -> Failure {
    Failure::new(Major::PLIST, Minor::CANTINIT, text)
}

impl UserProperty {
    fn c_name(&self) -> CString {
        c_text(&self.name)
    }

    /// Calls a callback with a copy of a value and returns what it made of it.
    fn call(&self, function: ValueFunction, what: &'static str) -> Fallible<Vec<u8>> {
        let Some(function) = function else { return Ok(self.value.clone()) };
        let mut scratch = Scratch::new(&self.value);
        // SAFETY: the program registered the function for values of this size.
        match unsafe { function(self.c_name().as_ptr(), self.value.len(), scratch.pointer()) } {
            status if status < 0 => Err(failed(what)),
            _ => Ok(scratch.bytes()),
        }
    }

    /// Calls a callback that gets the list, and returns the value that it leaves.
    fn call_on(
        &self,
        function: ListValueFunction,
        list: hid_t,
        value: &[u8],
        what: &'static str,
    ) -> Fallible<Vec<u8>> {
        let Some(function) = function else { return Ok(value.to_vec()) };
        let mut scratch = Scratch::new(value);
        // SAFETY: as above.
        match unsafe { function(list, self.c_name().as_ptr(), value.len(), scratch.pointer()) } {
            status if status < 0 => Err(failed(what)),
            _ => Ok(scratch.bytes()),
        }
    }

    fn with(&self, value: Vec<u8>) -> Self {
        UserProperty { name: self.name.clone(), value, callbacks: self.callbacks }
    }

    /// Returns the property of a new list.
    pub fn created(&self) -> Fallible<Self> {
        Ok(self.with(self.call(self.callbacks.create, "Can't initialize property")?))
    }

    /// Returns the property of a copied list.
    pub fn copied(&self) -> Fallible<Self> {
        Ok(self.with(self.call(self.callbacks.copy, "Can't copy property")?))
    }

    /// Returns the property with a value that is set.
    pub fn set(&self, list: hid_t, value: &[u8]) -> Fallible<Self> {
        Ok(self.with(self.call_on(self.callbacks.set, list, value, "can't set property value")?))
    }

    /// Returns the value as it is read.
    pub fn get(&self, list: hid_t) -> Fallible<Vec<u8>> {
        self.call_on(self.callbacks.get, list, &self.value, "can't get property value")
    }

    /// Tells the program that the value leaves a list.
    pub fn delete(&self, list: hid_t) -> Fallible<()> {
        self.call_on(self.callbacks.delete, list, &self.value, "can't release property value").map(drop)
    }

    /// Tells the program that the list of the value is closed.
    pub fn close(&self) -> Fallible<()> {
        self.call(self.callbacks.close, "can't close property value").map(drop)
    }

    /// Returns whether two values are equal.
    pub fn is_equal(&self, other: &UserProperty) -> bool {
        if self.value.len() != other.value.len() {
            return false;
        }
        let Some(compare) = self.callbacks.compare else { return self.value == other.value };
        let (mut a, mut b) = (Scratch::new(&self.value), Scratch::new(&other.value));
        // SAFETY: the program registered the function for values of this size.
        unsafe { compare(a.pointer(), b.pointer(), self.value.len()) == 0 }
    }
}
