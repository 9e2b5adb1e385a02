//! Asking the other side.
#![expect(unsafe_code, reason = "the C interface")]

use std::ffi::c_void;

use model::{Error, Result};
use protocol::wire;

use crate::abi;
use crate::object::Remote;

/// An operation, no matter who answers it.
#[derive(Debug, Default)]
pub(crate) struct Message<'a> {
    pub(crate) code: u32,
    pub(crate) arguments: &'a [u8],
    pub(crate) bulk: Vec<&'a [u8]>,
    pub(crate) into: Vec<&'a mut [u8]>,
    pub(crate) inner: Option<Remote>,
    pub(crate) resolver: Option<Remote>,
    pub(crate) registry: Option<Remote>,
}

/// The answer of a call.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) answer: wire::Answer,
    pub(crate) object: Option<Remote>,
}

impl Reply {
    /// Returns a value and nothing else.
    pub(crate) fn of<T: wire::Wire>(value: &T) -> Result<Self> {
        let answer = wire::Answer { bytes: wire::to_bytes(value)?, ..Default::default() };
        Ok(Reply { answer, object: None })
    }

    /// Returns an object and nothing else.
    pub(crate) fn object(object: Remote) -> Self {
        Reply { object: Some(object), ..Reply::default() }
    }

    /// Returns the object that was asked for.
    pub(crate) fn into_object(self) -> Result<Remote> {
        self.object.ok_or_else(|| broken("no object in the answer"))
    }
}

/// Returns the error of a plugin or host that does not keep to the interface.
pub(crate) fn broken(problem: &str) -> Error {
    Error::corrupt("call plugin").with("problem", problem)
}

fn pointer(object: Option<&Remote>) -> *const abi::Object {
    object.map_or(std::ptr::null(), Remote::as_abi)
}

/// Asks `function` of `this`. What the answer is an error in comes back as one.
///
/// # Safety
/// `function` is one of this interface, and `this` what it wants to be given.
pub(crate) unsafe fn invoke(
    function: abi::Call,
    this: *mut c_void,
    mut message: Message<'_>,
    reply: &mut Reply,
) -> Result<()> {
    let bytes = |bytes: &&[u8]| abi::Bytes { data: bytes.as_ptr(), length: bytes.len() as u64 };
    let buffer =
        |buffer: &mut &mut [u8]| abi::OutBuffer { data: buffer.as_mut_ptr(), length: buffer.len() as u64 };
    let bulk: Vec<abi::Bytes> = message.bulk.iter().map(bytes).collect();
    let into: Vec<abi::OutBuffer> = message.into.iter_mut().map(buffer).collect();
    let request = abi::Request {
        size: size_of::<abi::Request>() as u32,
        code: message.code,
        arguments: bytes(&message.arguments),
        bulk: bulk.as_ptr(),
        bulk_count: bulk.len() as u64,
        into: into.as_ptr(),
        into_count: into.len() as u64,
        inner: pointer(message.inner.as_ref()),
        resolver: pointer(message.resolver.as_ref()),
        registry: pointer(message.registry.as_ref()),
    };
    let mut answer = abi::Answer {
        this: std::ptr::from_mut(&mut reply.answer).cast(),
        bytes: Some(more_bytes),
        bulk: Some(more_bulk),
        object: abi::Object::NONE,
    };
    // SAFETY: the caller vouches for function and `this`; request and answer are valid until the call returns, and
    // nothing of them is kept by the contract.
    let status = unsafe { function(this, &request, &mut answer) };
    // SAFETY: an object in an answer is the receiver's, by the contract.
    reply.object = unsafe { Remote::adopt(answer.object) };
    match status {
        abi::OK => Ok(()),
        abi::FAILED => {
            reply.answer.failed = true;
            reply.answer.check()
        }
        status => Err(broken("unknown status").with("status", status)),
    }
}

/// Space for `length` bytes at the end of `buffer`, or null.
fn extend(buffer: &mut Vec<u8>, length: u64) -> *mut u8 {
    let Ok(length) = usize::try_from(length) else { return std::ptr::null_mut() };
    let start = buffer.len();
    if buffer.try_reserve(length).is_err() {
        return std::ptr::null_mut();
    }
    buffer.resize(start + length, 0);
    buffer[start..].as_mut_ptr()
}

unsafe extern "C" fn more_bytes(this: *mut c_void, length: u64) -> *mut u8 {
    // SAFETY: `this` is the answer that `invoke` waits for; it lives until the call returns, and is not used meanwhile.
    let answer = unsafe { &mut *this.cast::<wire::Answer>() };
    extend(&mut answer.bytes, length)
}

unsafe extern "C" fn more_bulk(this: *mut c_void, length: u64) -> *mut u8 {
    // SAFETY: as in `more_bytes`.
    let answer = unsafe { &mut *this.cast::<wire::Answer>() };
    let mut buffer = Vec::new();
    let start = extend(&mut buffer, length);
    if !start.is_null() {
        answer.bulk.push(buffer);
    }
    start
}
