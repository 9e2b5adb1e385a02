//! The calls of MPI's C interface that [`Communicator`](super::Communicator) is made of.
//!
//! Calls between processes are begun and then tested: a caller can give up one that will never end, and MPI is called
//! on no thread but the caller's.
#![expect(unsafe_code, reason = "the C interface")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;

use ::mpi::ffi;
use ffi::{MPI_Comm, MPI_Info, MPI_Request};
use model::{Error, Result};

/// Bytes of one message: MPI counts in 31 bits.
pub(super) const MESSAGE_BYTES_MAX: usize = 1 << 30;

/// From which threads MPI may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Threading {
    /// From the one that began it.
    Main,
    /// From any, one at a time.
    OneAtATime,
    /// From any.
    Any,
}

/// Returns MPI's own words for what went wrong.
fn text(code: c_int) -> String {
    let mut buffer = [0 as c_char; 4096];
    let mut len = 0;
    // SAFETY: no MPI library has longer texts than this (`MPI_MAX_ERROR_STRING` is 256 or 512).
    let found = unsafe { ffi::MPI_Error_string(code, buffer.as_mut_ptr(), &raw mut len) };
    match found {
        // SAFETY: MPI ends the text with NUL.
        0 => unsafe { CStr::from_ptr(buffer.as_ptr()) }.to_string_lossy().into_owned(),
        _ => format!("error {code}"),
    }
}

/// Returns the error of a call, if its code is one.
pub(super) fn check(call: &'static str, code: c_int) -> Result<()> {
    match code {
        0 => Ok(()),
        code => Err(Error::io("call MPI", &io::Error::other(text(code))).with("call", call)),
    }
}

/// Returns whether MPI was begun, and has not ended.
pub(super) fn is_running() -> bool {
    let (mut begun, mut ended) = (0, 0);
    // SAFETY: both may be called at any time, from any thread.
    let codes = unsafe { (ffi::MPI_Initialized(&raw mut begun), ffi::MPI_Finalized(&raw mut ended)) };
    codes == (0, 0) && begun != 0 && ended == 0
}

/// Returns from which threads MPI may be called.
pub(super) fn threading() -> Result<Threading> {
    let mut level = 0;
    // SAFETY: MPI is running.
    check("MPI_Query_thread", unsafe { ffi::MPI_Query_thread(&raw mut level) })?;
    // SAFETY: these are numbers.
    let (serialized, multiple) = unsafe { (ffi::RSMPI_THREAD_SERIALIZED, ffi::RSMPI_THREAD_MULTIPLE) };
    Ok(match level {
        level if level == multiple => Threading::Any,
        level if level == serialized => Threading::OneAtATime,
        _ => Threading::Main,
    })
}

/// Returns whether this thread began MPI.
pub(super) fn is_main() -> bool {
    let mut is_main = 0;
    // SAFETY: MPI is running.
    let code = unsafe { ffi::MPI_Is_thread_main(&raw mut is_main) };
    code == 0 && is_main != 0
}

/// A communicator of the library's own.
#[derive(Debug)]
pub(super) struct OwnedComm(MPI_Comm);

// SAFETY: a communicator is a name. From which threads MPI may be called is up to `Communicator`.
unsafe impl Send for OwnedComm {}
// SAFETY: as above.
unsafe impl Sync for OwnedComm {}

impl OwnedComm {
    /// Takes a communicator that was duplicated.
    pub(super) fn new(comm: MPI_Comm) -> Result<Self> {
        let own = OwnedComm(comm);
        // An error of MPI is an error of the call, instead of the end of the program.
        // SAFETY: the communicator is valid.
        let code = unsafe { ffi::MPI_Comm_set_errhandler(own.0, ffi::RSMPI_ERRORS_RETURN) };
        check("MPI_Comm_set_errhandler", code).map(|()| own)
    }

    pub(super) fn comm(&self) -> MPI_Comm {
        self.0
    }

    /// Returns which member this is, and how many there are.
    pub(super) fn place(&self) -> Result<(usize, usize)> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the communicator is valid.
        check("MPI_Comm_rank", unsafe { ffi::MPI_Comm_rank(self.0, &raw mut rank) })?;
        // SAFETY: as above.
        check("MPI_Comm_size", unsafe { ffi::MPI_Comm_size(self.0, &raw mut size) })?;
        Ok((rank as usize, size as usize))
    }

    pub(super) fn free(&mut self) {
        // SAFETY: the communicator is valid, and no one uses it any more.
        unsafe { ffi::MPI_Comm_free(&raw mut self.0) };
    }
}

/// What a call sends and receives. MPI knows where: the bytes stay there while the call is under way.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// With one byte more than is sent: the address of an empty slice is what MPI libraries call `MPI_IN_PLACE`.
    pub(super) sent: Vec<u8>,
    pub(super) sent_parts: Parts,
    pub(super) received: Vec<u8>,
    pub(super) parts: Parts,
}

/// Lengths of parts as MPI counts them, and where each starts.
#[derive(Debug, Default)]
pub(super) struct Parts {
    counts: Vec<c_int>,
    starts: Vec<c_int>,
}

impl Parts {
    /// Returns parts that lie one after another. All of them are [`MESSAGE_BYTES_MAX`] bytes at most.
    pub(super) fn of(lengths: impl Iterator<Item = usize>) -> Self {
        let counts: Vec<c_int> = lengths.map(|len| len as c_int).collect();
        let starts = counts.iter().scan(0, |at, n| Some(std::mem::replace(at, *at + n))).collect();
        Parts { counts, starts }
    }

    fn total(&self) -> usize {
        self.counts.iter().map(|count| *count as usize).sum()
    }

    /// Returns each part of `bytes`.
    pub(super) fn split<'b>(&'b self, bytes: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
        let parts = self.starts.iter().zip(&self.counts);
        parts.map(|(start, count)| &bytes[*start as usize..][..*count as usize])
    }
}

impl Buffers {
    /// Returns buffers that send `sent` and receive parts.
    pub(super) fn new(sent: &[u8], parts: Parts) -> Self {
        let total = parts.total();
        Buffers { parts, ..Self::of_bytes(sent, total) }
    }

    /// Returns buffers that send `sent` and receive so many bytes, in parts that the caller knows.
    pub(super) fn of_bytes(sent: &[u8], received: usize) -> Self {
        let mut copy = Vec::with_capacity(sent.len() + 1);
        copy.extend_from_slice(sent);
        copy.push(0);
        Buffers { sent: copy, received: vec![0; received + 1], ..Buffers::default() }
    }

    fn sent_len(&self) -> c_int {
        (self.sent.len() - 1) as c_int
    }

    fn from(&self) -> *const c_void {
        self.sent.as_ptr().cast()
    }

    fn into(&mut self) -> *mut c_void {
        self.received.as_mut_ptr().cast()
    }
}

/// A call of all members.
#[derive(Debug, Clone, Copy)]
pub(super) enum Exchange {
    /// Everyone gets the bytes of all, the same number of each.
    GatherEqual,
    /// Everyone gets the bytes of all.
    Gather,
    /// One gets the bytes of all.
    GatherTo(usize),
    /// Everyone gets some bytes of each.
    ToAll,
    /// Everyone gets the bytes of one: they are those received, of its own there.
    Broadcast(usize),
    /// Everyone waits for all.
    Barrier,
}

/// A call that is under way, and what MPI writes to meanwhile.
#[derive(Debug)]
pub(super) struct Pending<T> {
    request: MPI_Request,
    /// `None` when MPI no longer uses it.
    result: Option<Box<T>>,
}

impl<T> Pending<T> {
    fn start(result: T, start: impl FnOnce(&mut T, &mut MPI_Request) -> c_int) -> Result<Self> {
        let mut result = Box::new(result);
        // SAFETY: a name of MPI's.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        check("a collective call", start(&mut result, &mut request))?;
        Ok(Pending { request, result: Some(result) })
    }
}

impl Pending<Buffers> {
    /// Begins a call.
    pub(super) fn begin(own: &OwnedComm, exchange: Exchange, buffers: Buffers) -> Result<Self> {
        Self::start(buffers, |buffers, request| start(own.0, exchange, buffers, request))
    }
}

impl Pending<MPI_Comm> {
    /// Begins to duplicate a communicator. All its members do.
    ///
    /// # Safety
    /// MPI is running, and `comm` is one of its communicators.
    pub(super) unsafe fn duplicate(comm: MPI_Comm) -> Result<Self> {
        if comm == nothing().0 {
            return Err(Error::invalid("duplicate communicator").with("problem", "it is MPI_COMM_NULL"));
        }
        // SAFETY: the caller's promise; the result stays where it is while the call is under way.
        Self::start(comm, |own, request| unsafe { ffi::MPI_Comm_idup(comm, own, request) })
    }
}

impl<T> Pending<T> {
    /// Returns the result when the call is done, and `None` while it is not.
    pub(super) fn test(&mut self) -> Result<Option<T>> {
        let mut is_done = 0;
        // SAFETY: the request was begun, and is not done.
        let code =
            unsafe { ffi::MPI_Test(&raw mut self.request, &raw mut is_done, ffi::RSMPI_STATUS_IGNORE) };
        check("MPI_Test", code)?;
        Ok(if is_done != 0 { self.result.take().map(|result| *result) } else { None })
    }
}

impl<T> Drop for Pending<T> {
    /// A call that was given up may still write its result: the space for it is never freed.
    fn drop(&mut self) {
        if let Some(result) = self.result.take() {
            Box::leak(result);
        }
    }
}

/// Begins a call of MPI.
fn start(comm: MPI_Comm, exchange: Exchange, buffers: &mut Buffers, request: &mut MPI_Request) -> c_int {
    // SAFETY: a name of MPI's.
    let byte = unsafe { ffi::RSMPI_UINT8_T };
    let (from, into, len) = (buffers.from(), buffers.into(), buffers.sent_len());
    let (counts, starts) = (buffers.parts.counts.as_ptr(), buffers.parts.starts.as_ptr());
    let (sent_counts, sent_starts) = (buffers.sent_parts.counts.as_ptr(), buffers.sent_parts.starts.as_ptr());
    // SAFETY: `Pending` keeps the buffers until MPI is done with them, and they have space for these parts.
    unsafe {
        match exchange {
            Exchange::GatherEqual => ffi::MPI_Iallgather(from, len, byte, into, len, byte, comm, request),
            Exchange::Gather => {
                ffi::MPI_Iallgatherv(from, len, byte, into, counts, starts, byte, comm, request)
            }
            Exchange::GatherTo(root) => {
                let root = root as c_int;
                ffi::MPI_Igatherv(from, len, byte, into, counts, starts, byte, root, comm, request)
            }
            Exchange::ToAll => ffi::MPI_Ialltoallv(
                from,
                sent_counts,
                sent_starts,
                byte,
                into,
                counts,
                starts,
                byte,
                comm,
                request,
            ),
            Exchange::Broadcast(root) => {
                let len = (buffers.received.len() - 1) as c_int;
                ffi::MPI_Ibcast(into, len, byte, root as c_int, comm, request)
            }
            Exchange::Barrier => ffi::MPI_Ibarrier(comm, request),
        }
    }
}

/// The function that runs before MPI ends.
static BEFORE_END: system::sync::Mutex<Option<fn()>> = system::sync::Mutex::new(None);

/// Runs a function at the beginning of `MPI_Finalize`, while MPI can still be used. The first one counts.
pub fn before_end(run: fn()) -> Result<()> {
    let mut before_end = BEFORE_END.lock();
    if before_end.is_some() {
        return Ok(());
    }
    let mut key = 0;
    // SAFETY: MPI frees its own communicator of this process first of all, and calls `deleted` then.
    let code = unsafe {
        ffi::MPI_Comm_create_keyval(Some(not_copied), Some(deleted), &raw mut key, std::ptr::null_mut())
    };
    check("MPI_Comm_create_keyval", code)?;
    // SAFETY: the key is valid.
    let code = unsafe { ffi::MPI_Comm_set_attr(ffi::RSMPI_COMM_SELF, key, std::ptr::null_mut()) };
    check("MPI_Comm_set_attr", code)?;
    *before_end = Some(run);
    Ok(())
}

/// A duplicate of the communicator does not have the function.
unsafe extern "C" fn not_copied(
    _comm: MPI_Comm,
    _key: c_int,
    _extra: *mut c_void,
    _value: *mut c_void,
    _copy: *mut c_void,
    is_copied: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes space for the answer.
    unsafe { is_copied.write(0) };
    0
}

unsafe extern "C" fn deleted(
    _comm: MPI_Comm,
    _key: c_int,
    _value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    let run = BEFORE_END.lock().take();
    // Nothing unwinds into MPI.
    let run = std::panic::catch_unwind(|| run.map(|run| run()));
    c_int::from(run.is_err())
}

/// Returns what stands for no communicator and no hints.
pub fn nothing() -> (MPI_Comm, MPI_Info) {
    // SAFETY: names of MPI's.
    unsafe { (ffi::RSMPI_COMM_NULL, ffi::RSMPI_INFO_NULL) }
}
