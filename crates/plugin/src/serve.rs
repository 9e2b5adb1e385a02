//! Answering the other side.
#![expect(unsafe_code, reason = "the C interface")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use model::{Error, Kind, Result};
use protocol::wire::{self, Wire};

use crate::abi;
use crate::call::{Message, Reply, broken};
use crate::object::Remote;

/// Returns the bytes of a slice that may be nowhere where it is empty.
///
/// # Safety
/// Where `length` is not 0, `data` points to so many initialised values that stay for `'a`.
unsafe fn slice<'a, T>(data: *const T, length: u64) -> Result<&'a [T]> {
    match usize::try_from(length) {
        Ok(0) => Ok(&[]),
        Ok(_) if data.is_null() => Err(broken("no bytes where there should be some")),
        // SAFETY: as the caller says.
        Ok(length) => Ok(unsafe { std::slice::from_raw_parts(data, length) }),
        Err(_) => Err(broken("more bytes than there is memory")),
    }
}

/// Returns the bytes of a space that may be nowhere where it is empty.
///
/// # Safety
/// As for [`slice`], and no other caller looks at them.
unsafe fn slice_mut<'a>(buffer: &abi::OutBuffer) -> Result<&'a mut [u8]> {
    match usize::try_from(buffer.length) {
        Ok(0) => Ok(&mut []),
        Ok(_) if buffer.data.is_null() => Err(broken("a buffer is missing")),
        // SAFETY: as the caller says.
        Ok(length) => Ok(unsafe { std::slice::from_raw_parts_mut(buffer.data, length) }),
        Err(_) => Err(broken("more bytes than there is memory")),
    }
}

/// Returns a request as safe values.
///
/// # Safety
/// The request keeps to the interface and stays for `'a`.
unsafe fn message<'a>(request: *const abi::Request) -> Result<Message<'a>> {
    // SAFETY: a request is never null, and its size stands first.
    let size = unsafe { (*request).size };
    if (size as usize) < size_of::<abi::Request>() {
        return Err(broken("request is too small").with("size", size));
    }
    // SAFETY: a request of that size has all the fields; its pointers hold by the contract.
    unsafe {
        let request = &*request;
        let bulk = slice(request.bulk, request.bulk_count)?.iter();
        let into = slice(request.into, request.into_count)?.iter();
        Ok(Message {
            code: request.code,
            arguments: slice(request.arguments.data, request.arguments.length)?,
            bulk: bulk.map(|bytes| slice(bytes.data, bytes.length)).collect::<Result<_>>()?,
            into: into.map(|buffer| slice_mut(buffer)).collect::<Result<_>>()?,
            inner: Remote::borrow(request.inner),
            resolver: Remote::borrow(request.resolver),
            registry: Remote::borrow(request.registry),
        })
    }
}

/// Answers a request with what `run` makes of it. A panic is an error like any other.
///
/// # Safety
/// Both pointers are those of a call of this interface that has not returned.
pub(crate) unsafe fn serve(
    request: *const abi::Request,
    answer: *mut abi::Answer,
    run: impl FnOnce(Message<'_>) -> Result<Reply>,
) -> i32 {
    // SAFETY: as the caller says.
    let outcome = catch_unwind(AssertUnwindSafe(|| run(unsafe { message(request) }?)));
    let outcome = outcome.unwrap_or_else(|panic| Err(panicked(&*panic)));
    // SAFETY: an answer is never null, and ours until the call returns.
    let answer = unsafe { &mut *answer };
    let sent = outcome.and_then(|reply| send(reply, answer));
    match sent {
        Ok(()) => abi::OK,
        Err(error) => {
            // Where there is no memory for the error, its bytes are short, and the caller says so.
            let _ = wire::to_bytes(&error).and_then(|bytes| write(answer.this, answer.bytes, &bytes));
            abi::FAILED
        }
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    Error::new(Kind::Io, "run plugin").with("problem", "panicked").with("message", said.unwrap_or("?"))
}

/// The parts of a reply, each into space that the caller makes. An error is possible only before the first byte.
fn send(reply: Reply, to: &mut abi::Answer) -> Result<()> {
    for bulk in &reply.answer.bulk {
        write(to.this, to.bulk, bulk)?;
    }
    if !reply.answer.bytes.is_empty() {
        write(to.this, to.bytes, &reply.answer.bytes)?;
    }
    if let Some(object) = reply.object {
        to.object = object.into_abi();
    }
    reply.answer.recycle();
    Ok(())
}

type MakeBuffer = unsafe extern "C" fn(*mut std::ffi::c_void, u64) -> *mut u8;

fn write(this: *mut std::ffi::c_void, make_space: Option<MakeBuffer>, bytes: &[u8]) -> Result<()> {
    let make_space = make_space.ok_or_else(|| broken("an answer without functions"))?;
    // SAFETY: both come from one answer of a call that has not returned.
    let buffer = unsafe { make_space(this, bytes.len() as u64) };
    if buffer.is_null() {
        return Err(Error::limit("answer").with("problem", "no memory").with("bytes", bytes.len()));
    }
    // SAFETY: the space has as many bytes as were asked for, and is no other caller's yet.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer, bytes.len()) };
    Ok(())
}

/// Returns the arguments of a message.
pub(crate) fn arguments<T: Wire>(message: &Message<'_>) -> Result<T> {
    wire::from_bytes(message.arguments)
}
