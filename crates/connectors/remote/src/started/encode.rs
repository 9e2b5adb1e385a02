//! A task as a frame, and its answer: the task is run on a container that encodes the request and refuses it, and later
//! on one that decodes the answer.

use std::panic::{AssertUnwindSafe, catch_unwind};

use model::{Error, Kind, Result};
use protocol::frame::{self, FrameKind, Header, Outgoing};
use protocol::may_be_queued;
use protocol::wire::{Answer, Client, Request, Transport};
use system::sync::Mutex;
use vol::{Operation, Task};

use crate::connection::{Connection, Failure};

/// Transfers of more bytes go in pieces over several connections.
const FRAME_BYTES_MAX: u64 = 1 << 20;
/// Bytes of an answer that is nothing, a token or an error.
const SMALL_ANSWER_BYTES: u64 = 512;
/// Bytes of the description of one object, usually.
const INFO_ANSWER_BYTES: u64 = 1 << 10;
/// An answer of unknown size counts as one that fills the buffers of a socket.
const UNKNOWN_ANSWER_BYTES: u64 = 1 << 20;

/// How an operation goes to the server.
#[derive(Debug)]
pub(super) enum Encoded {
    /// As a frame among others.
    Frame {
        /// The frame.
        bytes: Vec<u8>,
        /// Bytes of the answer, at most or usually.
        answer_bytes: u64,
    },
    /// As a call that is waited for: it is large, or more than one frame.
    Whole,
}

impl Encoded {
    /// Appends the frame.
    pub(super) fn put(&self, acknowledged: u64, out: &mut Vec<u8>) {
        if let Encoded::Frame { bytes, .. } = self {
            let start = out.len();
            out.extend_from_slice(bytes);
            frame::acknowledge(&mut out[start..], acknowledged);
        }
    }
}

/// Encodes what is called, and refuses it.
struct Encoder {
    number: u64,
    encoded: Mutex<Option<Result<(Operation, Encoded)>>>,
}

impl Transport for Encoder {
    fn call(&self, request: Request<'_>, _answer: &mut Answer) -> Result<()> {
        *self.encoded.lock() = Some(encode_request(&request, self.number).map(|form| (request.code, form)));
        Err(Error::new(Kind::Cancelled, "encode operation"))
    }
}

fn encode_request(request: &Request<'_>, number: u64) -> Result<Encoded> {
    use Operation as O;
    let buffers: Vec<u64> = request.into.iter().map(|buffer| buffer.len() as u64).collect();
    let bulk_bytes = request.bulk.iter().map(|bulk| bulk.len() as u64).sum::<u64>();
    let read_bytes = buffers.iter().sum::<u64>();
    let is_more_than_a_frame = matches!(request.code, O::commit | O::close | O::object_copy);
    if is_more_than_a_frame || bulk_bytes.max(read_bytes) > FRAME_BYTES_MAX {
        return Ok(Encoded::Whole);
    }
    let header = Header { code: request.code.number() as u16, ..Header::new(FrameKind::Started, number) };
    let (arguments, bulk) = (request.arguments, &request.bulk[..]);
    let mut bytes = Vec::new();
    let outgoing = Outgoing { header, arguments, bulk, buffers: &buffers, elements: &[] };
    outgoing.encode_whole(&mut bytes).map_err(|e| Error::io("encode operation", &e))?;
    Ok(Encoded::Frame { bytes, answer_bytes: read_bytes + answer_bytes(request.code) })
}

fn answer_bytes(code: Operation) -> u64 {
    use Operation as O;
    match code {
        code if may_be_queued(code) => SMALL_ANSWER_BYTES,
        O::dataset_read | O::map_delete | O::object_adjust_references | O::object_refresh => {
            SMALL_ANSWER_BYTES
        }
        O::lookup | O::link_get | O::object_info | O::group_info | O::map_info => INFO_ANSWER_BYTES,
        O::dataset_info | O::dataset_storage | O::attribute_info | O::datatype_get => INFO_ANSWER_BYTES,
        _ => UNKNOWN_ANSWER_BYTES,
    }
}

/// Returns the operation of a task, and its frame under this number.
pub(super) fn encode(task: &mut dyn Task, number: u64) -> Result<(Operation, Encoded)> {
    let client = Client::new(Encoder { number, encoded: Mutex::default() });
    // The operation is refused as soon as it is encoded.
    let refused = task.run(&client);
    let encoded = client.transport().encoded.lock().take();
    encoded.unwrap_or_else(|| {
        let nothing = Error::invalid("start operation").with("problem", "the task called no operation");
        Err(refused.err().unwrap_or(nothing))
    })
}

/// Receives what answers a call that was sent already.
struct Decoder<'a> {
    number: u64,
    /// The connection, until the answer was received; then how that failed.
    connection: Mutex<Result<Option<&'a mut Connection>, Failure>>,
}

impl Transport for Decoder<'_> {
    fn call(&self, mut request: Request<'_>, answer: &mut Answer) -> Result<()> {
        let mut connection = self.connection.lock();
        let Ok(Some(there)) = &mut *connection else {
            return Err(Error::invalid(request.code.name()).with("problem", "a task is one operation"));
        };
        match there.receive(self.number, &mut request.into, answer) {
            Ok(_) => *connection = Ok(None),
            Err(failure) => *connection = Err(failure),
        }
        match &*connection {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::new(Kind::Io, "receive answer")),
        }
    }
}

/// Receives the answer of an operation into its task. An error is one of the connection; that of the operation is inside.
pub(super) fn receive(
    connection: &mut Connection,
    number: u64,
    task: &mut dyn Task,
) -> Result<Result<()>, Failure> {
    let client = Client::new(Decoder { number, connection: Mutex::new(Ok(Some(connection))) });
    let outcome = catch_unwind(AssertUnwindSafe(|| task.run(&client)));
    let received = std::mem::replace(&mut *client.transport().connection.lock(), Ok(None));
    match received? {
        None => {
            let panicked = || Err(Error::invalid("receive answer").with("problem", "the task panicked"));
            Ok(outcome.unwrap_or_else(|_| panicked()))
        }
        // The answer is still in the connection, which is of no use any more.
        Some(_) => Err(Failure::Refused(
            Error::invalid("receive answer").with("problem", "the task did not repeat its operation"),
        )),
    }
}
