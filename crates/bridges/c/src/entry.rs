//! The prologue of every exported function.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::stack;

/// A type that exported functions return.
pub trait Returned {
    /// The value that says that the call failed.
    const FAILED: Self;
}

macro_rules! returned {
    ($($ty:ty = $failed:expr;)+) => { $(impl Returned for $ty { const FAILED: Self = $failed; })+ };
}

returned! {
    c_int = -1;
    i64 = -1;
    isize = -1;
    usize = 0;
    u64 = 0;
    c_uint = 0;
    u8 = 0;
    bool = false;
    f64 = -1.0;
    *mut c_void = std::ptr::null_mut();
    *mut c_char = std::ptr::null_mut();
    *const c_char = std::ptr::null();
    () = ();
}

impl<T> Returned for Option<T> {
    const FAILED: Self = None;
}

/// The answer of a function's body, as C gets it.
pub trait Answer<R> {
    /// Returns the value that is returned to C.
    fn into_c(self) -> R;
}

impl<R: Returned> Answer<R> for R {
    fn into_c(self) -> R {
        self
    }
}

impl Answer<c_int> for () {
    fn into_c(self) -> c_int {
        0
    }
}

impl Answer<c_int> for bool {
    fn into_c(self) -> c_int {
        c_int::from(self)
    }
}

/// Whether a function clears the error stack first. Those that work on error stacks do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clearing {
    /// As most functions do.
    Clear,
    /// As functions on error stacks do.
    Keep,
}

/// Runs the body of an exported function: nothing unwinds into C, a failure is on the thread's error stack, and `failed` is
/// returned.
pub fn enter<R: Returned, A: Answer<R>>(
    function: &'static str,
    major: Major,
    clearing: Clearing,
    failed: R,
    body: impl FnOnce() -> Fallible<A>,
) -> R {
    if clearing == Clearing::Clear {
        stack::clear();
    }
    // What a panic leaves behind is the library's own: locks are poisoned, and a change that was interrupted is not committed.
    let done = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Failure::new(Major::INTERNAL, Minor::SYSTEM, format!("internal error: {text}")))
    });
    match done {
        Ok(answer) => answer.into_c(),
        Err(failure) => {
            stack::push_failure(function, major, &failure);
            stack::print_automatically();
            failed
        }
    }
}

/// Defines exported functions of one family. The first word is the major error number of the family.
///
/// ```ignore
/// api! { SYM:
///     /// Closes a group.
///     fn H5Gclose(group_id: hid_t) -> herr_t {
///         ids::close(group_id, "group", |object| matches!(object, Object::Group(_)))
///     }
/// }
/// ```
///
/// The body returns [`Fallible`] of the returned type, of `()` for `herr_t`, or of `bool` for `htri_t`. `or VALUE` after the
/// returned type is returned instead of the usual value of a failure.
#[macro_export]
macro_rules! api {
    ($major:ident : $($(#[$doc:meta])* fn $name:ident($($arg:ident : $ty:ty),* $(,)?) -> $ret:ty $(, or $failed:path)? $body:block)+) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
                #[allow(unused_mut, unused_assignments)]
                let mut failed: $ret = <$ret as $crate::entry::Returned>::FAILED;
                $(failed = $failed;)?
                $crate::entry::enter(
                    stringify!($name),
                    $crate::codes::Major::$major,
                    $crate::entry::Clearing::Clear,
                    failed,
                    || $body,
                )
            }
        )+
    };
}

/// Like [`api`], for functions that leave the error stack as it is.
#[macro_export]
macro_rules! api_on_stacks {
    ($major:ident : $($(#[$doc:meta])* fn $name:ident($($arg:ident : $ty:ty),* $(,)?) -> $ret:ty $body:block)+) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
                $crate::entry::enter(
                    stringify!($name),
                    $crate::codes::Major::$major,
                    $crate::entry::Clearing::Keep,
                    <$ret as $crate::entry::Returned>::FAILED,
                    || $body,
                )
            }
        )+
    };
}

/// Defines exported functions that this library does not do: they fail and say so.
#[macro_export]
macro_rules! refused {
    ($major:ident : $($(#[$doc:meta])* fn $name:ident($($arg:ident : $ty:ty),* $(,)?) -> $ret:ty;)+) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
                $( let _ = $arg; )*
                $crate::entry::enter::<$ret, $ret>(
                    stringify!($name),
                    $crate::codes::Major::$major,
                    $crate::entry::Clearing::Clear,
                    <$ret as $crate::entry::Returned>::FAILED,
                    || {
                        let text = concat!(stringify!($name), " is not supported by this library");
                        Err($crate::failure::Failure::unsupported(text))
                    },
                )
            }
        )+
    };
}
