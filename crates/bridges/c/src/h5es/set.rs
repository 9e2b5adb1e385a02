//! The state of an event set: operations in progress, and those that failed.

use std::ffi::{CString, c_int, c_uint};
use std::time::{Duration, UNIX_EPOCH};

use hyperslab::asynchronous::{Request, Status};
use system::clock::Instant;
use system::sync::Mutex;

use super::{CompleteFunction, H5ES_op_info_t, InsertFunction, register_stack};
use crate::arguments::Opaque;
use crate::codes::Major;
use crate::failure::Failure;
use crate::ids;
use crate::stack::{self, Stack};

/// `H5ES_status_t`
mod status {
    use std::ffi::c_int;
    pub(super) const SUCCEED: c_int = 1;
    pub(super) const CANCELED: c_int = 2;
    pub(super) const FAIL: c_int = 3;
}

/// An event set.
#[derive(Debug, Default)]
pub struct EventSet(Mutex<EventSetState>);

#[derive(Debug, Default)]
struct EventSetState {
    count: u64,
    /// In the order in which they were inserted.
    in_progress: Vec<InProgress>,
    failed: Vec<Failed>,
    on_insert: Option<(InsertFunction, Opaque)>,
    on_complete: Option<(CompleteFunction, Opaque)>,
}

/// An operation that was inserted.
#[derive(Debug)]
pub(super) struct Inserted {
    pub(super) function: CString,
    pub(super) site: CallSite,
    pub(super) number: u64,
    pub(super) time_ns: u64,
}

/// Where a program called a function.
#[derive(Debug)]
pub(super) struct CallSite {
    pub(super) file: CString,
    pub(super) function: CString,
    pub(super) line: c_uint,
}

/// An operation that goes on in the background: all that it queued.
#[derive(Debug)]
struct InProgress {
    inserted: Inserted,
    requests: Vec<Request>,
}

/// An operation that failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) inserted: Inserted,
    pub(super) stack: Stack,
}

/// How an operation ended.
enum Ended {
    Well,
    Cancelled,
    Failed(Stack),
}

impl Inserted {
    /// Describes an operation, which gets its number in its set.
    pub(super) fn new(function: &str, site: CallSite) -> Self {
        let since = system::clock::now().duration_since(UNIX_EPOCH);
        let time_ns = since.map_or(0, |since| since.as_nanos() as u64);
        Inserted { function: stack::c_text(function), site, number: 0, time_ns }
    }

    /// Returns what the program's functions get; it points to what is here.
    fn info(&self) -> H5ES_op_info_t {
        H5ES_op_info_t {
            api_name: self.function.as_ptr(),
            api_args: std::ptr::null_mut(),
            app_file_name: self.site.file.as_ptr(),
            app_func_name: self.site.function.as_ptr(),
            app_line_num: self.site.line,
            op_ins_count: self.number,
            op_ins_ts: self.time_ns,
            op_exec_ts: 0,
            op_exec_time: 0,
        }
    }
}

impl InProgress {
    fn has_ended(&self) -> bool {
        self.requests.iter().all(|request| request.status().is_final())
    }

    /// Returns how it ended: as the first of its requests that did not end well.
    fn end(&self) -> Ended {
        for request in &self.requests {
            let Some(Err(error)) = request.wait(Duration::ZERO) else { continue };
            return match request.status() {
                Status::Cancelled => Ended::Cancelled,
                _ => {
                    let function = self.inserted.function.to_string_lossy();
                    Ended::Failed(Stack::of(&function, Major::EVENTSET, &Failure::from(error)))
                }
            };
        }
        Ended::Well
    }
}

impl EventSet {
    /// Inserts an operation with what it queued. `failed` has the error stack of one that failed at once.
    pub(super) fn insert(&self, mut inserted: Inserted, requests: Vec<Request>, failed: Option<Stack>) {
        let on_insert = {
            let mut state = self.0.lock();
            state.count += 1;
            inserted.number = state.count;
            state.on_insert
        };
        if let Some((Some(function), data)) = on_insert {
            // SAFETY: what the info points to lives until the function returns; the program gave function and data together.
            unsafe { function(&inserted.info(), data.0) };
        }
        match failed {
            Some(stack) => self.end(inserted, Ended::Failed(stack)),
            None if requests.is_empty() => self.end(inserted, Ended::Well),
            None => self.0.lock().in_progress.push(InProgress { inserted, requests }),
        }
    }

    /// Tells the program how an operation ended, and keeps one that failed.
    fn end(&self, inserted: Inserted, ended: Ended) {
        let on_complete = self.0.lock().on_complete;
        if let Some((Some(function), data)) = on_complete {
            let (status, stack): (c_int, _) = match &ended {
                Ended::Well => (status::SUCCEED, -1),
                Ended::Cancelled => (status::CANCELED, -1),
                Ended::Failed(stack) => (status::FAIL, register_stack(stack.clone())),
            };
            // SAFETY: as at insertion.
            unsafe { function(&inserted.info(), status, stack, data.0) };
            let _ = ids::remove(stack);
        }
        if let Ended::Failed(stack) = ended {
            self.0.lock().failed.push(Failed { inserted, stack });
        }
    }

    /// Takes out what has ended. The program's function is called by the thread that asks, and may use the set.
    fn take_ended(&self) {
        let ended: Vec<_> = self.0.lock().in_progress.extract_if(.., |one| one.has_ended()).collect();
        for one in ended {
            let how = one.end();
            self.end(one.inserted, how);
        }
    }

    /// Waits until all have ended or one has failed, for so long at most.
    pub(super) fn wait(&self, timeout: Duration) {
        let begun = Instant::now();
        let left = || timeout.saturating_sub(begun.elapsed());
        self.take_ended();
        while let Some(requests) = self.first() {
            if self.failures() > 0 || left().is_zero() {
                return;
            }
            requests.iter().for_each(|request| drop(request.wait(left())));
            self.take_ended();
        }
    }

    /// Returns what the first operation in progress queued.
    fn first(&self) -> Option<Vec<Request>> {
        self.0.lock().in_progress.first().map(|one| one.requests.clone())
    }

    /// Takes back what has not begun, the last first: nothing begins whose other half is taken back.
    pub(super) fn cancel(&self) {
        let requests: Vec<_> =
            self.0.lock().in_progress.iter().flat_map(|one| &one.requests).cloned().collect();
        for request in requests.iter().rev() {
            request.cancel();
        }
        self.take_ended();
    }

    /// Returns how many operations have not ended, as far as the program was told: how one ended, it learns with that.
    pub(super) fn in_progress(&self) -> usize {
        self.0.lock().in_progress.len()
    }

    /// Returns whether operations have not ended.
    pub(super) fn is_busy(&self) -> bool {
        self.0.lock().in_progress.iter().any(|one| !one.has_ended())
    }

    /// Returns how many operations were inserted.
    pub(super) fn inserted(&self) -> u64 {
        self.0.lock().count
    }

    /// Returns how many operations failed that the program has not taken.
    pub(super) fn failures(&self) -> usize {
        self.0.lock().failed.len()
    }

    /// Takes so many failures at most, in the order in which the operations ended.
    pub(super) fn take_failures(&self, count_max: usize) -> Vec<Failed> {
        let mut state = self.0.lock();
        let count = state.failed.len().min(count_max);
        state.failed.drain(..count).collect()
    }

    pub(super) fn call_at_insertion(&self, function: InsertFunction, data: Opaque) {
        self.0.lock().on_insert = Some((function, data));
    }

    pub(super) fn call_at_end(&self, function: CompleteFunction, data: Opaque) {
        self.0.lock().on_complete = Some((function, data));
    }
}
