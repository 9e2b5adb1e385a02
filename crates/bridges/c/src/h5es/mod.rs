//! H5ES: event sets, and the functions that put operations into them.
//!
//! In a container with the layer `async` an operation goes on in the background, and is in progress until it is waited for;
//! in any other it has ended when it is inserted. What failed stays in the set, with its error stack, until the program takes
//! it.

mod functions;
mod set;

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;
use std::time::Duration;

use hyperslab::asynchronous::requests;
use system::sync::Mutex;

use crate::api;
use crate::arguments::{Opaque, Out, Text, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5ES_NONE, allocate_text, free, herr_t, hid_t};
use crate::handles::Object;
use crate::ids;
use crate::stack::{self, Stack};

pub use set::EventSet;
use set::{CallSite, Failed, Inserted};

/// `H5ES_op_info_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5ES_op_info_t {
    api_name: *const c_char,
    api_args: *mut c_char,
    app_file_name: *const c_char,
    app_func_name: *const c_char,
    app_line_num: c_uint,
    op_ins_count: u64,
    op_ins_ts: u64,
    op_exec_ts: u64,
    op_exec_time: u64,
}

/// `H5ES_err_info_t`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct H5ES_err_info_t {
    api_name: *mut c_char,
    api_args: *mut c_char,
    app_file_name: *mut c_char,
    app_func_name: *mut c_char,
    app_line_num: c_uint,
    op_ins_count: u64,
    op_ins_ts: u64,
    op_exec_ts: u64,
    op_exec_time: u64,
    err_stack_id: hid_t,
}

type InsertFunction = Option<unsafe extern "C" fn(*const H5ES_op_info_t, *mut c_void) -> c_int>;
type CompleteFunction =
    Option<unsafe extern "C" fn(*const H5ES_op_info_t, c_int, hid_t, *mut c_void) -> c_int>;

fn set(id: hid_t) -> Fallible<Arc<EventSet>> {
    ids::get(id, "an event set", |object| match object {
        Object::EventSet(set) => Some(set.clone()),
        _ => None,
    })
}

/// Runs an operation and inserts it into a set. Without a set, the operation is the call itself.
pub(crate) fn run<R: Copy + PartialOrd + Default>(
    (file, function, line): (Text, Text, c_uint),
    id: hid_t,
    name: &str,
    operation: impl FnOnce() -> R,
) -> R {
    // A set that is none leaves the operation what it is without one: there is nowhere to tell how it ended.
    let Ok(set) = set(id) else { return operation() };
    let (answer, requests) = requests(operation);
    let text = |text: Text| stack::c_text(&text.optional().unwrap_or_default());
    let site = CallSite { file: text(file), function: text(function), line };
    let failed = (answer < R::default()).then(|| stack::with(|stack| stack.clone()));
    set.insert(Inserted::new(name, site), requests, failed);
    answer
}

fn register_stack(stack: Stack) -> hid_t {
    ids::register(Object::ErrorStack(Arc::new(Mutex::new(stack))))
}

fn err_info(failed: Failed) -> H5ES_err_info_t {
    let Inserted { function, site, number, time_ns } = failed.inserted;
    H5ES_err_info_t {
        api_name: allocate_text(function.as_bytes()),
        api_args: allocate_text(b""),
        app_file_name: allocate_text(site.file.as_bytes()),
        app_func_name: allocate_text(site.function.as_bytes()),
        app_line_num: site.line,
        op_ins_count: number,
        op_ins_ts: time_ns,
        op_exec_ts: 0,
        op_exec_time: 0,
        err_stack_id: register_stack(failed.stack),
    }
}

api! { EVENTSET:
    /// Creates an event set.
    fn H5EScreate() -> hid_t {
        Ok(ids::register(Object::EventSet(Arc::new(EventSet::default()))))
    }

    /// Waits until the operations of a set have ended or one has failed, for so many nanoseconds at most.
    fn H5ESwait(id: hid_t, timeout: u64, in_progress: Out<usize>, has_failed: Out<bool>) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        let set = set(id)?;
        in_progress.check("num_in_progress")?;
        has_failed.check("err_occurred")?;
        set.wait(Duration::from_nanos(timeout));
        in_progress.put_required(set.in_progress(), "num_in_progress")?;
        has_failed.put_required(set.failures() > 0, "err_occurred")
    }

    /// Takes back the operations of a set that have not begun.
    fn H5EScancel(id: hid_t, not_cancelled: Out<usize>, has_failed: Out<bool>) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        let set = set(id)?;
        not_cancelled.check("num_not_canceled")?;
        has_failed.check("err_occurred")?;
        set.cancel();
        not_cancelled.put_required(set.in_progress(), "num_not_canceled")?;
        has_failed.put_required(set.failures() > 0, "err_occurred")
    }

    /// Returns the number of operations that have not ended.
    fn H5ESget_count(id: hid_t, count: Out<usize>) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        count.put(set(id)?.in_progress());
        Ok(())
    }

    /// Returns the number of operations that were inserted.
    fn H5ESget_op_counter(id: hid_t, count: Out<u64>) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        count.put(set(id)?.inserted());
        Ok(())
    }

    /// Says whether an operation failed.
    fn H5ESget_err_status(id: hid_t, has_failed: Out<bool>) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        has_failed.put(set(id)?.failures() > 0);
        Ok(())
    }

    /// Returns the number of operations that failed.
    fn H5ESget_err_count(id: hid_t, count: Out<usize>) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        count.put(set(id)?.failures());
        Ok(())
    }

    /// Takes operations that failed out of a set.
    fn H5ESget_err_info(id: hid_t, count: usize, infos: Out<H5ES_err_info_t>, taken: Out<usize>) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        let set = set(id)?;
        infos.check("err_info")?;
        if count == 0 {
            return Err(Failure::argument("err_info array size is 0"));
        }
        let failed: Vec<_> = set.take_failures(count).into_iter().map(err_info).collect();
        infos.put_all(&failed, count);
        taken.put_required(failed.len(), "err_cleared")
    }

    /// Frees what [`H5ESget_err_info`] returned.
    fn H5ESfree_err_info(count: usize, infos: Values<H5ES_err_info_t>) -> herr_t {
        for info in infos.required(count, "err_info")? {
            for text in [info.api_name, info.api_args, info.app_file_name, info.app_func_name] {
                // SAFETY: the library allocated the texts, and the program passes them once.
                unsafe { free(text.cast()) };
            }
            ids::remove_reference(info.err_stack_id)?;
        }
        Ok(())
    }

    /// Sets a function that is called when an operation is inserted.
    fn H5ESregister_insert_func(id: hid_t, function: InsertFunction, data: *mut c_void) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        if function.is_none() {
            return Err(Failure::argument("NULL function callback pointer"));
        }
        set(id)?.call_at_insertion(function, Opaque(data));
        Ok(())
    }

    /// Sets a function that is called when an operation has ended.
    fn H5ESregister_complete_func(id: hid_t, function: CompleteFunction, data: *mut c_void) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        if function.is_none() {
            return Err(Failure::argument("NULL function callback pointer"));
        }
        set(id)?.call_at_end(function, Opaque(data));
        Ok(())
    }

    /// Closes an event set, which must have no operations in progress.
    fn H5ESclose(id: hid_t) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        if set(id)?.is_busy() {
            return Err(Failure::new(
                Major::EVENTSET,
                Minor::CANTCLOSEOBJ,
                "can't close event set while unfinished operations are present (i.e. wait on event set first)",
            ));
        }
        ids::close(id, "an event set", |object| matches!(object, Object::EventSet(_)))
    }
}

crate::refused! { EVENTSET:
    /// Requests of other connectors are not known here.
    fn H5ESinsert_request(_id: hid_t, _connector: hid_t, _request: *mut c_void) -> herr_t;
    /// Requests of other connectors are not known here.
    fn H5ESget_requests(_id: hid_t, _order: c_int, _connectors: *mut hid_t, _requests: *mut *mut c_void, _len: usize, _count: *mut usize) -> herr_t;
}
