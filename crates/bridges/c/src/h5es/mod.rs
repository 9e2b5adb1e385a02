//! H5ES: event sets, and the functions that put operations into them.
//!
//! An operation runs when it is called, so it has ended when it is inserted. What failed stays in the set, with its error
//! stack, until the program takes it.

mod functions;

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use system::sync::Mutex;

use crate::api;
use crate::arguments::{Opaque, Out, Text, Values};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5ES_NONE, allocate_text, free, herr_t, hid_t};
use crate::handles::Object;
use crate::ids;
use crate::stack::{self, Stack};

/// `H5ES_status_t`
mod status {
    use std::ffi::c_int;
    pub(super) const SUCCEED: c_int = 1;
    pub(super) const FAIL: c_int = 3;
}

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

/// An operation that failed.
#[derive(Debug)]
struct Failed {
    function: CString,
    site: CallSite,
    number: u64,
    inserted_ns: u64,
    stack: Stack,
}

/// Where a program called a function.
#[derive(Debug, Clone)]
struct CallSite {
    file: CString,
    function: CString,
    line: c_uint,
}

#[derive(Debug, Default)]
struct EventSetState {
    count: u64,
    failed: Vec<Failed>,
    on_insert: Option<(InsertFunction, Opaque)>,
    on_complete: Option<(CompleteFunction, Opaque)>,
}

/// An event set.
#[derive(Debug, Default)]
pub struct EventSet(Mutex<EventSetState>);

pub(crate) fn close_set(_set: &EventSet) -> Fallible<()> {
    Ok(())
}

fn set(id: hid_t) -> Fallible<Arc<EventSet>> {
    ids::get(id, "an event set", |object| match object {
        Object::EventSet(set) => Some(set.clone()),
        _ => None,
    })
}

fn now_ns() -> u64 {
    system::clock::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// Runs an operation and inserts it into a set. Without a set, the operation is the call itself.
pub(crate) fn run<R: Copy + PartialOrd + Default>(
    (file, function, line): (Text, Text, c_uint),
    id: hid_t,
    name: &str,
    operation: impl FnOnce() -> R,
) -> R {
    let answer = operation();
    if id == H5ES_NONE {
        return answer;
    }
    let text = |text: Text| stack::c_text(&text.optional().unwrap_or_default());
    let site = CallSite { file: text(file), function: text(function), line };
    let is_failed = answer < R::default();
    // A set that is none makes the operation fail that ran: there is nowhere to tell it.
    if let Ok(set) = set(id) {
        insert(&set, name, site, is_failed);
    }
    answer
}

fn insert(set: &EventSet, name: &str, site: CallSite, is_failed: bool) {
    let function = stack::c_text(name);
    let errors = stack::with(|stack| stack.clone());
    let (number, on_insert, on_complete) = {
        let mut state = set.0.lock();
        state.count += 1;
        (state.count, state.on_insert, state.on_complete)
    };
    let info = H5ES_op_info_t {
        api_name: function.as_ptr(),
        api_args: std::ptr::null_mut(),
        app_file_name: site.file.as_ptr(),
        app_func_name: site.function.as_ptr(),
        app_line_num: site.line,
        op_ins_count: number,
        op_ins_ts: now_ns(),
        op_exec_ts: 0,
        op_exec_time: 0,
    };
    if let Some((Some(function), data)) = on_insert {
        // SAFETY: the info lives until the function returns; the program gave function and data together.
        unsafe { function(&raw const info, data.0) };
    }
    if let Some((Some(function), data)) = on_complete {
        let (status, stack) = match is_failed {
            true => (status::FAIL, register_stack(errors.clone())),
            false => (status::SUCCEED, -1),
        };
        // SAFETY: as above.
        unsafe { function(&raw const info, status, stack, data.0) };
        let _ = ids::remove(stack);
    }
    if is_failed {
        let failed = Failed { function, site, number, inserted_ns: info.op_ins_ts, stack: errors };
        set.0.lock().failed.push(failed);
    }
}

fn register_stack(stack: Stack) -> hid_t {
    ids::register(Object::ErrorStack(Arc::new(Mutex::new(stack))))
}

fn err_info(failed: Failed) -> H5ES_err_info_t {
    H5ES_err_info_t {
        api_name: allocate_text(failed.function.as_bytes()),
        api_args: allocate_text(b""),
        app_file_name: allocate_text(failed.site.file.as_bytes()),
        app_func_name: allocate_text(failed.site.function.as_bytes()),
        app_line_num: failed.site.line,
        op_ins_count: failed.number,
        op_ins_ts: failed.inserted_ns,
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

    /// Waits for the operations of a set: all have ended.
    fn H5ESwait(id: hid_t, _timeout: u64, in_progress: Out<usize>, has_failed: Out<bool>) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        let set = set(id)?;
        in_progress.put_required(0, "num_in_progress")?;
        has_failed.put_required(!set.0.lock().failed.is_empty(), "err_occurred")
    }

    /// Cancels the operations of a set: all have ended.
    fn H5EScancel(id: hid_t, not_cancelled: Out<usize>, has_failed: Out<bool>) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        let set = set(id)?;
        not_cancelled.put_required(0, "num_not_canceled")?;
        has_failed.put_required(!set.0.lock().failed.is_empty(), "err_occurred")
    }

    /// Returns the number of operations that have not ended.
    fn H5ESget_count(id: hid_t, count: Out<usize>) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        set(id)?;
        count.put(0);
        Ok(())
    }

    /// Returns the number of operations that were inserted.
    fn H5ESget_op_counter(id: hid_t, count: Out<u64>) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        count.put(set(id)?.0.lock().count);
        Ok(())
    }

    /// Says whether an operation failed.
    fn H5ESget_err_status(id: hid_t, has_failed: Out<bool>) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        has_failed.put(!set(id)?.0.lock().failed.is_empty());
        Ok(())
    }

    /// Returns the number of operations that failed.
    fn H5ESget_err_count(id: hid_t, count: Out<usize>) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
        }
        count.put(set(id)?.0.lock().failed.len());
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
        let failed: Vec<Failed> = {
            let mut state = set.0.lock();
            let count = state.failed.len().min(count);
            state.failed.drain(..count).collect()
        };
        let failed: Vec<_> = failed.into_iter().map(err_info).collect();
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
        set(id)?.0.lock().on_insert = Some((function, Opaque(data)));
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
        set(id)?.0.lock().on_complete = Some((function, Opaque(data)));
        Ok(())
    }

    /// Closes an event set.
    fn H5ESclose(id: hid_t) -> herr_t {
        if id == H5ES_NONE {
            return Ok(());
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
