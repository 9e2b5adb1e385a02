//! The error stack of each thread, and how it is printed.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_void};
use std::sync::Arc;

use system::sync::Mutex;

use crate::codes::{Major, Minor};
use crate::failure::Failure;
use crate::ffi::{H5E_DEFAULT, herr_t, hid_t};

/// Records that a stack holds; more are dropped, as in libhdf5.
const RECORDS_MAX: usize = 32;

/// One record of an error stack.
#[derive(Debug, Clone)]
pub struct Record {
    /// The class that its numbers belong to.
    pub class: hid_t,
    /// Major error number.
    pub major: hid_t,
    /// Minor error number.
    pub minor: hid_t,
    /// Line in the source.
    pub line: u32,
    /// Function that failed.
    pub function: CString,
    /// Source file.
    pub file: CString,
    /// Description.
    pub text: CString,
}

/// A function that the library calls when a function fails (`H5E_auto2_t`).
pub type Auto2 = Option<unsafe extern "C" fn(hid_t, *mut c_void) -> herr_t>;
/// A function that the library calls when a function fails, as version 1.6 had it (`H5E_auto1_t`).
pub type Auto1 = Option<unsafe extern "C" fn(*mut c_void) -> herr_t>;

/// How a stack is printed when a function fails.
#[derive(Debug, Clone, Copy)]
pub enum Automatic {
    /// In the usual layout, to standard error.
    Default,
    /// By a function of the program; `None` is not at all.
    Two(Auto2, *mut c_void),
    /// By a function of the program in its old form.
    One(Auto1, *mut c_void),
}

/// An error stack.
#[derive(Debug, Clone)]
pub struct Stack {
    /// Records, innermost first. Programs keep pointers into a record for as long as it is on the stack.
    pub records: Vec<Arc<Record>>,
    /// How it is printed.
    pub automatic: Automatic,
    /// How often it was paused: meanwhile it takes no records.
    pub paused: u32,
}

impl Stack {
    const fn new() -> Self {
        Stack { records: Vec::new(), automatic: Automatic::Default, paused: 0 }
    }
}

impl Default for Stack {
    fn default() -> Self {
        Stack::new()
    }
}

// SAFETY: the caller's pointer is only handed back to the caller's function, on the thread that fails.
unsafe impl Send for Stack {}

thread_local! {
    static STACK: RefCell<Stack> = const { RefCell::new(Stack::new()) };
    /// The stack may have records. Every function of the interface asks: most find it empty.
    static IS_USED: Cell<bool> = const { Cell::new(false) };
}

/// The stack of calls that come when a thread's own stack is gone already: destructors of C++ objects that live until the
/// process ends, and exit handlers (libnetcdf's), call the library so late. Nothing is printed of them.
static LATE: Mutex<Stack> = Mutex::new(Stack {
    records: Vec::new(),
    automatic: Automatic::Two(None, std::ptr::null_mut()),
    paused: 0,
});

/// Runs `work` on this thread's stack.
pub fn with<T>(work: impl FnOnce(&mut Stack) -> T) -> T {
    IS_USED.set(true);
    with_settings(work)
}

/// Runs `work` on this thread's stack, as [`with`] does, if it adds no record.
pub fn with_settings<T>(work: impl FnOnce(&mut Stack) -> T) -> T {
    let mut work = Some(work);
    let mut run = |stack: &mut Stack| work.take().map(|work| work(stack));
    let done = match STACK.try_with(|stack| run(&mut stack.borrow_mut())) {
        Ok(done) => done,
        Err(_) => run(&mut LATE.lock()),
    };
    done.expect("work is done once, on one of the stacks")
}

/// Empties this thread's stack.
pub fn clear() {
    if IS_USED.get() {
        with_settings(|stack| stack.records.clear());
        IS_USED.set(false);
    }
}

impl Stack {
    /// Returns a stack with the failure of an exported function.
    pub fn of(function: &str, major: Major, failure: &Failure) -> Self {
        let mut stack = Stack::new();
        stack.push_failure(function, major, failure);
        stack
    }

    fn push_failure(&mut self, function: &str, major: Major, failure: &Failure) {
        let major = failure.major.unwrap_or(major);
        self.push(record(function, major, failure.minor, Cow::Borrowed(&failure.text)));
    }

    /// Adds a record.
    pub fn push(&mut self, record: impl Into<Arc<Record>>) {
        if self.paused == 0 && self.records.len() < RECORDS_MAX {
            self.records.push(record.into());
        }
    }
}

/// Returns text that C can read: a NUL ends it.
pub fn c_text(text: &str) -> CString {
    let bytes = hyperslab::vol::model::text::as_bytes(text);
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    CString::new(&bytes[..end]).unwrap_or_default()
}

fn record(function: &str, major: Major, minor: Minor, text: Cow<'_, str>) -> Record {
    Record {
        class: crate::h5e::H5E_ERR_CLS,
        major: major.id(),
        minor: minor.id(),
        line: 1,
        function: c_text(function),
        file: c_text("hyperslab"),
        text: c_text(&text),
    }
}

/// Records the failure of an exported function.
pub fn push_failure(function: &str, major: Major, failure: &Failure) {
    with(|stack| stack.push_failure(function, major, failure));
}

/// Prints the stack as the program wants it, after a function failed.
pub fn print_automatically() {
    // The function of the program may call the library: the stack is not borrowed meanwhile.
    match with(|stack| stack.automatic) {
        Automatic::Default => {
            let text = with(|stack| crate::h5e::format(&stack.records));
            crate::h5e::write(std::ptr::null_mut(), &text);
        }
        // SAFETY: the program set both, for each other.
        Automatic::Two(Some(function), data) => drop(unsafe { function(H5E_DEFAULT, data) }),
        // SAFETY: as above.
        Automatic::One(Some(function), data) => drop(unsafe { function(data) }),
        Automatic::Two(None, _) | Automatic::One(None, _) => {}
    }
}

/// A stack that a program holds by an identifier.
pub type SharedStack = Arc<Mutex<Stack>>;
