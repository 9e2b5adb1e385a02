//! The calls of librados that are needed, with safe wrappers. All unsafe code of the crate is here.
//!
//! Two rules make the wrappers safe: what an operation in flight points to lives until it completed (a completion
//! waits when it is dropped), and a handle outlives all that was made from it (`Arc`).
#![expect(unsafe_code, reason = "librados is a C library")]

use std::ffi::{CString, c_char, c_int, c_uchar, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

type Handle = *mut c_void;

#[link(name = "rados")]
unsafe extern "C" {
    fn rados_create(cluster: *mut Handle, id: *const c_char) -> c_int;
    fn rados_conf_read_file(cluster: Handle, path: *const c_char) -> c_int;
    fn rados_conf_set(cluster: Handle, option: *const c_char, value: *const c_char) -> c_int;
    fn rados_connect(cluster: Handle) -> c_int;
    fn rados_shutdown(cluster: Handle);
    fn rados_ioctx_create(cluster: Handle, pool: *const c_char, io: *mut Handle) -> c_int;
    fn rados_ioctx_destroy(io: Handle);
    fn rados_ioctx_set_namespace(io: Handle, namespace: *const c_char);
    fn rados_aio_create_completion2(
        argument: *mut c_void,
        done: *const c_void,
        completion: *mut Handle,
    ) -> c_int;
    fn rados_aio_wait_for_complete(completion: Handle) -> c_int;
    fn rados_aio_is_complete(completion: Handle) -> c_int;
    fn rados_aio_get_return_value(completion: Handle) -> c_int;
    fn rados_aio_release(completion: Handle);
    fn rados_aio_read(
        io: Handle,
        name: *const c_char,
        completion: Handle,
        into: *mut u8,
        length: usize,
        from: u64,
    ) -> c_int;
    fn rados_create_write_op() -> Handle;
    fn rados_release_write_op(op: Handle);
    fn rados_write_op_create(op: Handle, exclusive: c_int, category: *const c_char);
    fn rados_write_op_write(op: Handle, bytes: *const u8, length: usize, offset: u64);
    fn rados_write_op_remove(op: Handle);
    fn rados_write_op_omap_set2(
        op: Handle,
        keys: *const *const u8,
        values: *const *const u8,
        key_lengths: *const usize,
        value_lengths: *const usize,
        count: usize,
    );
    fn rados_write_op_omap_rm_keys2(
        op: Handle,
        keys: *const *const u8,
        key_lengths: *const usize,
        count: usize,
    );
    fn rados_write_op_omap_cmp2(
        op: Handle,
        key: *const u8,
        operator: u8,
        value: *const u8,
        key_length: usize,
        value_length: usize,
        result: *mut c_int,
    );
    fn rados_aio_write_op_operate(
        op: Handle,
        io: Handle,
        completion: Handle,
        name: *const c_char,
        time: *mut c_void,
        flags: c_int,
    ) -> c_int;
    fn rados_create_read_op() -> Handle;
    fn rados_release_read_op(op: Handle);
    fn rados_read_op_omap_get_vals2(
        op: Handle,
        after: *const c_char,
        prefix: *const c_char,
        count: u64,
        iterator: *mut Handle,
        more: *mut c_uchar,
        result: *mut c_int,
    );
    fn rados_read_op_omap_get_vals_by_keys2(
        op: Handle,
        keys: *const *const u8,
        count: usize,
        key_lengths: *const usize,
        iterator: *mut Handle,
        result: *mut c_int,
    );
    fn rados_aio_read_op_operate(
        op: Handle,
        io: Handle,
        completion: Handle,
        name: *const c_char,
        flags: c_int,
    ) -> c_int;
    fn rados_omap_get_next2(
        iterator: Handle,
        key: *mut *const u8,
        value: *mut *const u8,
        key_length: *mut usize,
        value_length: *mut usize,
    ) -> c_int;
    fn rados_omap_get_end(iterator: Handle);
    fn rados_nobjects_list_open(io: Handle, list: *mut Handle) -> c_int;
    fn rados_nobjects_list_next2(
        list: Handle,
        name: *mut *const u8,
        key: *mut *const u8,
        namespace: *mut *const u8,
        name_length: *mut usize,
        key_length: *mut usize,
        namespace_length: *mut usize,
    ) -> c_int;
    fn rados_nobjects_list_close(list: Handle);
}

/// A negative number of errno.h.
pub(super) type Code = c_int;

pub(super) const NOT_PERMITTED: Code = -1;
pub(super) const NOT_FOUND: Code = -2;
pub(super) const INVALID: Code = -22;
/// A guard did not hold, and nothing changed.
pub(super) const CANCELED: Code = -125;

fn checked(code: c_int) -> Result<(), Code> {
    if code < 0 { Err(code) } else { Ok(()) }
}

/// Text for C. A 0 byte in it is an invalid argument.
fn text(text: &str) -> Result<CString, Code> {
    CString::new(text).map_err(|_| INVALID)
}

/// A connection.
#[derive(Debug)]
pub(super) struct Cluster(Handle);

// SAFETY: librados locks inside; a cluster handle may be used by any thread.
unsafe impl Send for Cluster {}
// SAFETY: as above.
unsafe impl Sync for Cluster {}

/// How far connecting came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Configuration,
    Connection,
}

impl Cluster {
    /// Connects as the configuration says; the options are set after it was read.
    pub(super) fn connect(conf: Option<&str>, options: &[(&str, &str)]) -> Result<Cluster, (Step, Code)> {
        let configuration = |code| (Step::Configuration, code);
        let mut handle = null_mut();
        // SAFETY: `handle` is a place for the result; without a name the client is `admin`.
        checked(unsafe { rados_create(&raw mut handle, null()) }).map_err(configuration)?;
        let cluster = Cluster(handle);
        let path = conf.map(text).transpose().map_err(configuration)?;
        let path = path.as_ref().map_or(null(), |path| path.as_ptr());
        // SAFETY: the handle is good; without a path librados looks where Ceph's tools look.
        checked(unsafe { rados_conf_read_file(handle, path) }).map_err(configuration)?;
        for (option, value) in options {
            let (option, value) = (text(option).map_err(configuration)?, text(value).map_err(configuration)?);
            // SAFETY: the handle is good, and both texts end with 0.
            checked(unsafe { rados_conf_set(handle, option.as_ptr(), value.as_ptr()) })
                .map_err(configuration)?;
        }
        // SAFETY: the handle is good.
        checked(unsafe { rados_connect(handle) }).map_err(|code| (Step::Connection, code))?;
        Ok(cluster)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // SAFETY: nothing else has the handle: all that was made from it holds the `Arc` of this.
        unsafe { rados_shutdown(self.0) }
    }
}

/// The objects of one namespace of a pool.
#[derive(Debug)]
pub(super) struct Names {
    io: Handle,
    _cluster: Arc<Cluster>,
}

// SAFETY: an I/O context may be used by any thread as long as its namespace is not changed, and only `new` does.
unsafe impl Send for Names {}
// SAFETY: as above.
unsafe impl Sync for Names {}

impl Drop for Names {
    fn drop(&mut self) {
        // SAFETY: operations in flight hold the `Arc` of this.
        unsafe { rados_ioctx_destroy(self.io) }
    }
}

/// An operation in flight.
#[derive(Debug)]
pub(super) struct Completion {
    handle: Handle,
    _names: Arc<Names>,
}

// SAFETY: completions may be waited for by any thread, also by several.
unsafe impl Send for Completion {}
// SAFETY: as above.
unsafe impl Sync for Completion {}

impl Completion {
    fn new(names: &Arc<Names>) -> Result<Completion, Code> {
        let mut handle = null_mut();
        // SAFETY: `handle` is a place for the result; nothing is to be called.
        checked(unsafe { rados_aio_create_completion2(null_mut(), null(), &raw mut handle) })?;
        Ok(Completion { handle, _names: names.clone() })
    }

    /// Waits for the end, and answers what came of it.
    pub(super) fn wait(&self) -> Code {
        // SAFETY: the handle is good, and every completion is given to an operation that was begun.
        unsafe {
            rados_aio_wait_for_complete(self.handle);
            rados_aio_get_return_value(self.handle)
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        // SAFETY: the handle is good.
        unsafe { rados_aio_is_complete(self.handle) != 0 }
    }

    /// Forgets a completion whose operation was never begun.
    fn abandon(mut self, code: Code) -> Code {
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

/// What a key must hold.
#[derive(Clone, Debug)]
pub(super) enum Guard {
    /// Exactly this; nothing at all where it is empty.
    Equals(Vec<u8>),
    /// Anything.
    Present,
}

/// A write of one object, all of it or nothing.
#[derive(Debug, Default)]
pub(super) struct Write<'a> {
    /// Makes the object if it is not there; with `true` it must not be there.
    pub(super) create: Option<bool>,
    pub(super) guards: Vec<(Vec<u8>, Guard)>,
    pub(super) set: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) unset: Vec<Vec<u8>>,
    /// Bytes from an offset on.
    pub(super) bytes: Option<(u64, &'a [u8])>,
    pub(super) remove: bool,
}

impl Write<'_> {
    /// Fills an operation: librados copies everything.
    fn fill(&self, op: Handle) {
        // SAFETY: pointers and lengths belong together and live through the calls; `op` is good.
        unsafe {
            if let Some(exclusive) = self.create {
                rados_write_op_create(op, exclusive.into(), null());
            }
            for (key, guard) in &self.guards {
                let (operator, value): (u8, &[u8]) = match guard {
                    Guard::Equals(value) => (1, value),
                    Guard::Present => (3, &[]),
                };
                rados_write_op_omap_cmp2(
                    op,
                    key.as_ptr(),
                    operator,
                    value.as_ptr(),
                    key.len(),
                    value.len(),
                    null_mut(),
                );
            }
            if !self.unset.is_empty() {
                let (keys, lengths) = pointers(self.unset.iter());
                rados_write_op_omap_rm_keys2(op, keys.as_ptr(), lengths.as_ptr(), keys.len());
            }
            if !self.set.is_empty() {
                let (keys, key_lengths) = pointers(self.set.iter().map(|pair| &pair.0));
                let (values, lengths) = pointers(self.set.iter().map(|pair| &pair.1));
                rados_write_op_omap_set2(
                    op,
                    keys.as_ptr(),
                    values.as_ptr(),
                    key_lengths.as_ptr(),
                    lengths.as_ptr(),
                    keys.len(),
                );
            }
            if let Some((offset, bytes)) = self.bytes {
                rados_write_op_write(op, bytes.as_ptr(), bytes.len(), offset);
            }
            if self.remove {
                rados_write_op_remove(op);
            }
        }
    }
}

fn pointers<'a>(items: impl Iterator<Item = &'a Vec<u8>>) -> (Vec<*const u8>, Vec<usize>) {
    items.map(|item| (item.as_ptr(), item.len())).unzip()
}

/// What to look for in the keys of one object.
#[derive(Clone, Debug, Default)]
pub(super) struct Ask {
    pub(super) name: String,
    /// Exactly these.
    pub(super) keys: Vec<Vec<u8>>,
    /// And so many behind this one, which must have no 0 byte.
    pub(super) after: Option<(Vec<u8>, u64)>,
}

/// Keys and values that were found.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) pairs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Those behind.
    pub(super) behind: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether there are more behind.
    pub(super) more: bool,
}

/// An `Ask` in flight. The places that librados writes to are boxed, so that they stay where they are.
struct Asked {
    op: Handle,
    places: Box<Places>,
    _after: Option<CString>,
    completion: Option<Completion>,
}

#[derive(Debug)]
struct Places {
    pairs: Handle,
    behind: Handle,
    more: c_uchar,
    codes: [c_int; 2],
}

impl Drop for Asked {
    fn drop(&mut self) {
        drop(self.completion.take());
        // SAFETY: the operation has ended; each handle is released once.
        unsafe {
            for iterator in [self.places.pairs, self.places.behind] {
                if !iterator.is_null() {
                    rados_omap_get_end(iterator);
                }
            }
            rados_release_read_op(self.op);
        }
    }
}

impl Asked {
    fn begin(names: &Arc<Names>, ask: &Ask) -> Result<Asked, Code> {
        let name = text(&ask.name)?;
        let after =
            ask.after.as_ref().map(|(key, _)| CString::new(key.clone()).map_err(|_| INVALID)).transpose()?;
        let places = Box::new(Places { pairs: null_mut(), behind: null_mut(), more: 0, codes: [0; 2] });
        // SAFETY: no argument.
        let op = unsafe { rados_create_read_op() };
        let mut asked = Asked { op, places, _after: after, completion: None };
        let completion = Completion::new(names)?;
        let places = &mut *asked.places;
        // SAFETY: `places` is boxed and goes after the completion; keys are copied by the calls.
        let code = unsafe {
            if !ask.keys.is_empty() {
                let (keys, lengths) = pointers(ask.keys.iter());
                rados_read_op_omap_get_vals_by_keys2(
                    op,
                    keys.as_ptr(),
                    keys.len(),
                    lengths.as_ptr(),
                    &raw mut places.pairs,
                    &raw mut places.codes[0],
                );
            }
            if let (Some(after), Some((_, count))) = (&asked._after, &ask.after) {
                rados_read_op_omap_get_vals2(
                    op,
                    after.as_ptr(),
                    c"".as_ptr(),
                    *count,
                    &raw mut places.behind,
                    &raw mut places.more,
                    &raw mut places.codes[1],
                );
            }
            rados_aio_read_op_operate(op, names.io, completion.handle, name.as_ptr(), 0)
        };
        if code < 0 {
            return Err(completion.abandon(code));
        }
        asked.completion = Some(completion);
        Ok(asked)
    }

    fn end(self) -> Result<Answer, Code> {
        checked(self.completion.as_ref().map_or(INVALID, Completion::wait))?;
        let places = &*self.places;
        places.codes.iter().try_for_each(|code| checked(*code))?;
        Ok(Answer { pairs: drain(places.pairs), behind: drain(places.behind), more: places.more != 0 })
    }
}

/// All that an iterator has.
fn drain(iterator: Handle) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    if iterator.is_null() {
        return all;
    }
    loop {
        let (mut key, mut value, mut key_length, mut value_length) = (null(), null(), 0, 0);
        // SAFETY: the iterator is good, and the others are places for results.
        let code = unsafe {
            rados_omap_get_next2(
                iterator,
                &raw mut key,
                &raw mut value,
                &raw mut key_length,
                &raw mut value_length,
            )
        };
        if code < 0 || key.is_null() {
            return all;
        }
        // SAFETY: the iterator keeps both until it ends, and they are as long as it says.
        unsafe { all.push((bytes(key, key_length), bytes(value, value_length))) }
    }
}

/// SAFETY: `length` bytes are at `from`, unless there are none.
unsafe fn bytes(from: *const u8, length: usize) -> Vec<u8> {
    if from.is_null() || length == 0 {
        return Vec::new();
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(from, length) }.to_vec()
}

/// Bytes to read from one object.
#[derive(Debug)]
pub(super) struct Read<'a> {
    pub(super) name: String,
    pub(super) offset: u64,
    pub(super) into: &'a mut [u8],
}

impl Names {
    pub(super) fn new(cluster: &Arc<Cluster>, pool: &str, namespace: &str) -> Result<Arc<Names>, Code> {
        let (pool, namespace) = (text(pool)?, text(namespace)?);
        let mut io = null_mut();
        // SAFETY: the cluster is connected, and `io` is a place for the result.
        checked(unsafe { rados_ioctx_create(cluster.0, pool.as_ptr(), &raw mut io) })?;
        // SAFETY: the context is good, and nobody else has it yet.
        unsafe { rados_ioctx_set_namespace(io, namespace.as_ptr()) };
        Ok(Arc::new(Names { io, _cluster: cluster.clone() }))
    }

    /// Begins a write.
    pub(super) fn begin(self: &Arc<Names>, name: &str, write: &Write<'_>) -> Result<Completion, Code> {
        let name = text(name)?;
        let completion = Completion::new(self)?;
        // SAFETY: the operation lives until it was submitted, which copies it.
        let code = unsafe {
            let op = rados_create_write_op();
            write.fill(op);
            let code =
                rados_aio_write_op_operate(op, self.io, completion.handle, name.as_ptr(), null_mut(), 0);
            rados_release_write_op(op);
            code
        };
        if code < 0 { Err(completion.abandon(code)) } else { Ok(completion) }
    }

    /// Writes, and waits for the acknowledgement.
    pub(super) fn write(self: &Arc<Names>, name: &str, write: &Write<'_>) -> Result<(), Code> {
        checked(self.begin(name, write)?.wait())
    }

    /// Asks many objects for keys, `at_once` in flight. An object that is not there has none.
    pub(super) fn ask(self: &Arc<Names>, asks: &[Ask], at_once: usize) -> Result<Vec<Answer>, Code> {
        let mut answers = Vec::with_capacity(asks.len());
        for part in asks.chunks(at_once) {
            let asked: Vec<Asked> =
                part.iter().map(|ask| Asked::begin(self, ask)).collect::<Result<_, _>>()?;
            for asked in asked {
                answers.push(match asked.end() {
                    Err(NOT_FOUND) => Answer::default(),
                    other => other?,
                });
            }
        }
        Ok(answers)
    }

    /// Reads many pieces, `at_once` in flight, and answers for each how many bytes came, or why none.
    pub(super) fn read(self: &Arc<Names>, reads: &mut [Read<'_>], at_once: usize) -> Result<Vec<Code>, Code> {
        let mut codes = Vec::with_capacity(reads.len());
        let mut flying: std::collections::VecDeque<Completion> = std::collections::VecDeque::new();
        for read in reads {
            if flying.len() >= at_once {
                codes.extend(flying.pop_front().map(|completion| completion.wait()));
            }
            let name = text(&read.name)?;
            let completion = Completion::new(self)?;
            let (into, length) = (read.into.as_mut_ptr(), read.into.len());
            // SAFETY: the buffer is borrowed until this returns, and `flying` waits for all when it goes.
            let code = unsafe {
                rados_aio_read(self.io, name.as_ptr(), completion.handle, into, length, read.offset)
            };
            if code < 0 {
                return Err(completion.abandon(code));
            }
            flying.push_back(completion);
        }
        codes.extend(flying.into_iter().map(|completion| completion.wait()));
        Ok(codes)
    }

    /// The names of all objects, in no order.
    pub(super) fn list(&self) -> Result<Vec<String>, Code> {
        let mut list = null_mut();
        // SAFETY: the context is good, and `list` is a place for the result.
        checked(unsafe { rados_nobjects_list_open(self.io, &raw mut list) })?;
        let mut names = Vec::new();
        let code = loop {
            let (mut name, mut length) = (null(), 0);
            // SAFETY: the list is open; what is not wanted may be null.
            let code = unsafe {
                rados_nobjects_list_next2(
                    list,
                    &raw mut name,
                    null_mut(),
                    null_mut(),
                    &raw mut length,
                    null_mut(),
                    null_mut(),
                )
            };
            if code < 0 {
                break code;
            }
            // SAFETY: the name is good until the next call.
            names.push(String::from_utf8_lossy(&unsafe { bytes(name, length) }).into_owned());
        };
        // SAFETY: it is open, and closed once.
        unsafe { rados_nobjects_list_close(list) };
        if code == NOT_FOUND { Ok(names) } else { Err(code) }
    }
}

/// What the system calls an error.
pub(super) fn explain(code: Code) -> std::io::Error {
    std::io::Error::from_raw_os_error(-code)
}
