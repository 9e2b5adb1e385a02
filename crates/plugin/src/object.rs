//! Objects on both sides: one of the other side, and one that is lent to the other side.
#![expect(unsafe_code, reason = "the C interface")]

use std::ffi::c_void;
use std::sync::Arc;

use model::Result;
use protocol::wire::{self, Transport};

use crate::abi;
use crate::call::{Message, Reply, broken, invoke};
use crate::serve::serve;

/// An object that counts us among its holders.
#[derive(Debug)]
pub(crate) struct Remote(abi::Object);

// SAFETY: the interface asks of every object that it is called from any thread, and from many at once.
unsafe impl Send for Remote {}
// SAFETY: as above.
unsafe impl Sync for Remote {}

impl Remote {
    /// Returns an object that was given to us to keep; `None` where it is none.
    ///
    /// # Safety
    /// The object keeps to the interface, and one holder is counted for us.
    pub(crate) unsafe fn adopt(object: abi::Object) -> Option<Self> {
        object.call.map(|_| Remote(object))
    }

    /// Returns an object that was lent to us.
    ///
    /// # Safety
    /// The pointer is null or that of an object that keeps to the interface.
    pub(crate) unsafe fn borrow(object: *const abi::Object) -> Option<Self> {
        // SAFETY: as the caller says.
        let object = unsafe { object.as_ref() }?;
        if let Some(retain) = object.retain {
            // SAFETY: the function belongs to the object.
            unsafe { retain(object.this) };
        }
        // SAFETY: it counts us now.
        unsafe { Remote::adopt(*object) }
    }

    /// Returns the same object, held once more.
    pub(crate) fn again(&self) -> Self {
        if let Some(retain) = self.0.retain {
            // SAFETY: the function belongs to the object, and we are one of its holders.
            unsafe { retain(self.0.this) };
        }
        Remote(self.0)
    }

    pub(crate) fn as_abi(&self) -> *const abi::Object {
        &self.0
    }

    /// Returns the object in its C form. The caller holds it from now on.
    pub(crate) fn into_abi(self) -> abi::Object {
        let object = self.0;
        std::mem::forget(self);
        object
    }

    /// Asks it.
    pub(crate) fn call(&self, message: Message<'_>) -> Result<Reply> {
        let mut reply = Reply { answer: wire::Answer::new(), object: None };
        self.call_into(message, &mut reply)?;
        Ok(reply)
    }

    fn call_into(&self, message: Message<'_>, reply: &mut Reply) -> Result<()> {
        let function = self.0.call.ok_or_else(|| broken("an object that cannot be called"))?;
        // SAFETY: the function belongs to the object, which counts us among its holders.
        unsafe { invoke(function, self.0.this, message, reply) }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: we are one of its holders, and use it no more.
            unsafe { release(self.0.this) };
        }
    }
}

/// A container on the other side.
impl Transport for Remote {
    fn call(&self, request: wire::Request<'_>, answer: &mut wire::Answer) -> Result<()> {
        let wire::Request { code, arguments, bulk, into } = request;
        let message = Message { code: code.number(), arguments, bulk, into, ..Message::default() };
        let mut reply = Reply { answer: std::mem::take(answer), object: None };
        let called = self.call_into(message, &mut reply);
        *answer = reply.answer;
        called
    }
}

/// Something of ours that answers requests of the other side.
pub(crate) trait Callee: Send + Sync {
    fn answer(&self, message: Message<'_>) -> Result<Reply>;
}

/// Returns an object that the other side may hold.
pub(crate) fn lend(callee: impl Callee + 'static) -> Remote {
    // A thin pointer: that of a trait object does not fit into one of C.
    let shared: Arc<Box<dyn Callee>> = Arc::new(Box::new(callee));
    Remote(abi::Object {
        this: Arc::into_raw(shared).cast_mut().cast(),
        call: Some(called),
        retain: Some(retained),
        release: Some(released),
    })
}

unsafe extern "C" fn called(
    this: *mut c_void,
    request: *const abi::Request,
    answer: *mut abi::Answer,
) -> i32 {
    // SAFETY: `this` comes from `lend`, and the caller is one of its holders.
    let callee = unsafe { &*this.cast::<Box<dyn Callee>>() };
    // SAFETY: the pointers are those of this call.
    unsafe { serve(request, answer, |message| callee.answer(message)) }
}

unsafe extern "C" fn retained(this: *mut c_void) {
    // SAFETY: `this` comes from `lend`, and the caller is one of its holders.
    unsafe { Arc::increment_strong_count(this.cast::<Box<dyn Callee>>()) };
}

unsafe extern "C" fn released(this: *mut c_void) {
    // SAFETY: as above. A panic of a destructor would end the program at the boundary; it ends here.
    let dropped =
        std::panic::catch_unwind(|| unsafe { Arc::decrement_strong_count(this.cast::<Box<dyn Callee>>()) });
    drop(dropped);
}
