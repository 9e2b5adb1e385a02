//! Operations in flight.

use std::ptr::{null, null_mut};
use std::sync::Arc;

use super::calls::{
    Handle, rados_aio_create_completion2, rados_aio_get_return_value, rados_aio_is_complete,
    rados_aio_release, rados_aio_wait_for_complete,
};
use super::{Code, Names, checked};

/// An operation in flight.
#[derive(Debug)]
pub(in crate::rados) struct Completion {
    pub(super) handle: Handle,
    _names: Arc<Names>,
}

// SAFETY: completions may be waited for by any thread, also by several.
unsafe impl Send for Completion {}
// SAFETY: as above.
unsafe impl Sync for Completion {}

impl Completion {
    pub(super) fn new(names: &Arc<Names>) -> Result<Completion, Code> {
        let mut handle = null_mut();
        // SAFETY: `handle` is a place for the result; nothing is to be called.
        checked(unsafe { rados_aio_create_completion2(null_mut(), null(), &raw mut handle) })?;
        Ok(Completion { handle, _names: names.clone() })
    }

    /// Waits for the end, and answers what came of it.
    pub(in crate::rados) fn wait(&self) -> Code {
        // SAFETY: the handle is good, and every completion is given to an operation that was begun.
        unsafe {
            rados_aio_wait_for_complete(self.handle);
            rados_aio_get_return_value(self.handle)
        }
    }

    pub(in crate::rados) fn is_complete(&self) -> bool {
        // SAFETY: the handle is good.
        unsafe { rados_aio_is_complete(self.handle) != 0 }
    }

    /// Forgets a completion whose operation was never begun.
    pub(super) fn abandon(mut self, code: Code) -> Code {
        // SAFETY: nothing is in flight, and without a handle nothing is released again.
        unsafe { rados_aio_release(std::mem::replace(&mut self.handle, null_mut())) };
        code
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if self.handle.is_null() {
            return;
        }
        // SAFETY: what the operation points to may go after this, so it must have ended.
        unsafe {
            rados_aio_wait_for_complete(self.handle);
            rados_aio_release(self.handle);
        }
    }
}
