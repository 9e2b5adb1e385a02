//! Frames: a header of 40 bytes, a table of lengths, arguments, then raw bulk (`docs/protocol.md`).
//!
//! Every length is checked against [`FrameLimits`] before it sizes anything, and space for bulk grows with the bytes that
//! really came.

use std::io::{self, IoSlice, Read, Write};

use twox_hash::XxHash3_64;

/// The first bytes of every frame. The last one is the version of frames.
pub const MAGIC: [u8; 4] = *b"H5S\x01";

/// Bytes of a header.
pub const HEADER_BYTES: usize = 40;

/// Bulk up to so many bytes is copied behind the header, so that a small frame is one write.
const SMALL_BYTES: usize = 16 << 10;

/// Space grows by so many bytes at a time: who claims much has to send much.
const STEP_BYTES: usize = 1 << 20;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal),+ $(,)?) => {
        /// The kind of a frame.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum FrameKind { $($(#[$doc])* $name = $number),+ }

        impl FrameKind {
            /// Returns the kind of this number.
            pub fn of(number: u8) -> Option<Self> {
                match number {
                    $( $number => Some(FrameKind::$name), )+
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// The first frame of a connection, which identifies the client.
    Hello = 1,
    /// Creates or opens a container, and begins a session.
    Open = 2,
    /// Goes on with a session, on a new connection.
    Attach = 3,
    /// An operation whose answer is waited for.
    Call = 4,
    /// An operation that is not answered; see `docs/protocol.md`.
    Queued = 5,
    /// Removes a container.
    Delete = 6,
    /// Whether there is a container.
    Accessible = 7,
    /// Asks for nothing but an answer.
    Ping = 8,
    /// The session ends without a close.
    Bye = 9,
    /// Where the file of the session is.
    Direct = 10,
    /// Asks for a shared lock on datasets, and where their elements lie.
    Lock = 11,
    /// Asks for more time for a lock.
    Renew = 12,
    /// Gives a lock back; it is not answered.
    Unlock = 13,
    /// An operation that is answered, and that more may follow before its answer comes; see `docs/protocol.md`.
    Started = 14,
    /// The answer to a request.
    Answer = 128,
    /// An error.
    Failed = 129,
}

/// The fixed part of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The kind of the frame.
    pub kind: FrameKind,
    /// The operation, for calls.
    pub code: u16,
    /// The number of the operation in its session; answers have that of what they answer.
    pub sequence: u64,
    /// Requests: every operation below this number was answered. Answers: every queued one up to this was run.
    pub acknowledged: u64,
    /// Bytes of arguments.
    pub arguments: u32,
    /// Byte strings that follow.
    pub bulk: u32,
    /// Buffers for elements; in an answer their bytes follow the byte strings.
    pub buffers: u32,
    /// The [`checksum`] of everything behind the table of lengths.
    pub checksum: u32,
}

impl Header {
    /// Returns a header of this kind and nothing else.
    pub fn new(kind: FrameKind, sequence: u64) -> Self {
        Header { kind, code: 0, sequence, acknowledged: 0, arguments: 0, bulk: 0, buffers: 0, checksum: 0 }
    }

    /// Returns the number of byte strings and buffers.
    pub fn parts(&self) -> u32 {
        self.bulk.saturating_add(self.buffers)
    }

    fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = self.kind as u8;
        bytes[6..8].copy_from_slice(&self.code.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.acknowledged.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.arguments.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.bulk.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.buffers.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; HEADER_BYTES]) -> io::Result<Self> {
        if bytes[..4] != MAGIC {
            return Err(broken("not a frame of this version"));
        }
        if bytes[5] != 0 {
            return Err(broken("a reserved byte is not zero"));
        }
        let kind = FrameKind::of(bytes[4]).ok_or_else(|| broken("unknown kind of frame"))?;
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let code = u16::from_le_bytes([bytes[6], bytes[7]]);
        Ok(Header {
            kind,
            code,
            sequence: u64_at(8),
            acknowledged: u64_at(16),
            arguments: u32_at(24),
            bulk: u32_at(28),
            buffers: u32_at(32),
            checksum: u32_at(36),
        })
    }
}

/// Returns the error of a peer that does not keep to the protocol.
pub fn broken(problem: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// Returns the checksum of the parts of a frame: arguments, byte strings, and the bytes of buffers that it brings. It is the
/// lower half of XXH3 over each part, seeded with that of the part before.
pub fn checksum<'b>(parts: impl IntoIterator<Item = &'b [u8]>) -> u32 {
    parts.into_iter().fold(0, XxHash3_64::oneshot_with_seed) as u32
}

/// Returns the error for bytes that changed on the way. The connection is of no use any more; what was asked is asked again.
fn changed_on_the_way() -> io::Error {
    io::Error::new(
        io::ErrorKind::ConnectionAborted,
        "the checksum of a frame is wrong: bytes changed on the way",
    )
}

/// Sets the number below which every operation was answered, in a frame that is encoded already.
pub fn acknowledge(frame: &mut [u8], number: u64) {
    if let Some(bytes) = frame.get_mut(16..24) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
}

/// The limits of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameLimits {
    /// Bytes of arguments.
    pub arguments_max: u32,
    /// Byte strings and buffers.
    pub parts_max: u32,
    /// Bytes of all byte strings, and of all buffers.
    pub bulk_bytes_max: u64,
}

impl Default for FrameLimits {
    fn default() -> Self {
        FrameLimits { arguments_max: 16 << 20, parts_max: 1 << 20, bulk_bytes_max: 256 << 20 }
    }
}

/// A frame that came, without its bulk; used again for the next one.
#[derive(Debug)]
pub struct Frame {
    /// The fixed part.
    pub header: Header,
    /// Lengths of the byte strings, then of the buffers.
    pub lengths: Vec<u64>,
    /// Arguments, or the answer's values.
    pub arguments: Vec<u8>,
}

impl Default for Frame {
    fn default() -> Self {
        Frame { header: Header::new(FrameKind::Ping, 0), lengths: Vec::new(), arguments: Vec::new() }
    }
}

impl Frame {
    /// Receives the next frame up to its bulk; `false` where the other side ended in good order.
    pub fn receive(&mut self, from: &mut impl Read, limits: &FrameLimits) -> io::Result<bool> {
        if !self.receive_header(from, limits)? {
            return Ok(false);
        }
        self.receive_rest(from, limits)?;
        Ok(true)
    }

    /// Receives the fixed part, which says how large the rest is; `false` where the other side ended in good order.
    pub fn receive_header(&mut self, from: &mut impl Read, limits: &FrameLimits) -> io::Result<bool> {
        let mut bytes = [0; HEADER_BYTES];
        if !fill_or_end(from, &mut bytes)? {
            return Ok(false);
        }
        self.header = Header::decode(&bytes)?;
        if self.header.arguments > limits.arguments_max || self.header.parts() > limits.parts_max {
            return Err(broken("a frame larger than is allowed"));
        }
        Ok(true)
    }

    /// Receives what lies between the fixed part and the bulk.
    pub fn receive_rest(&mut self, from: &mut impl Read, limits: &FrameLimits) -> io::Result<()> {
        receive_lengths(from, self.header.parts() as usize, &mut self.lengths)?;
        let (bulks, buffer_lengths) = self.lengths.split_at(self.header.bulk as usize);
        if total(bulks)? > limits.bulk_bytes_max || total(buffer_lengths)? > limits.bulk_bytes_max {
            return Err(broken("more bulk than is allowed"));
        }
        self.arguments.clear();
        receive_bytes(from, u64::from(self.header.arguments), &mut self.arguments)
    }

    /// Passes over what follows the fixed part, bulk and all, without memory for it.
    pub fn skip_rest(&mut self, from: &mut impl Read, limits: &FrameLimits) -> io::Result<()> {
        let (mut bulk_bytes, mut length) = (0u64, [0; 8]);
        for number in 0..self.header.parts() {
            from.read_exact(&mut length)?;
            let counted = if number < self.header.bulk { u64::from_le_bytes(length) } else { 0 };
            bulk_bytes = bulk_bytes.checked_add(counted).ok_or_else(|| broken("lengths without end"))?;
        }
        if bulk_bytes > limits.bulk_bytes_max {
            return Err(broken("more bulk than is allowed"));
        }
        self.lengths.clear();
        self.arguments.clear();
        skip_bytes(from, u64::from(self.header.arguments) + bulk_bytes)
    }

    /// Compares the checksum with what came: the arguments, and then `bulk`.
    ///
    /// # Errors
    /// Returns `ConnectionAborted` if bytes changed on the way.
    pub fn verify<'b>(&'b self, bulk: impl IntoIterator<Item = &'b [u8]>) -> io::Result<()> {
        self.verify_parts(std::iter::once(&self.arguments[..]).chain(bulk))
    }

    /// Compares the checksum as [`Frame::verify`] does, if the arguments were moved.
    pub fn verify_parts<'b>(&self, parts: impl IntoIterator<Item = &'b [u8]>) -> io::Result<()> {
        if checksum(parts) == self.header.checksum { Ok(()) } else { Err(changed_on_the_way()) }
    }

    /// Gives back the memory that a large frame took.
    pub fn shrink(&mut self, bytes: usize) {
        self.arguments.clear();
        self.arguments.shrink_to(bytes);
        self.lengths.clear();
        self.lengths.shrink_to(bytes / size_of::<u64>());
    }

    /// Returns the lengths of the byte strings.
    pub fn bulk_lengths(&self) -> &[u64] {
        self.lengths.get(..self.header.bulk as usize).unwrap_or(&[])
    }

    /// Returns the lengths of the buffers.
    pub fn buffer_lengths(&self) -> &[u64] {
        self.lengths.get(self.header.bulk as usize..).unwrap_or(&[])
    }
}

/// Returns the sum of lengths.
pub fn total(lengths: &[u64]) -> io::Result<u64> {
    let sum = lengths.iter().try_fold(0u64, |sum, length| sum.checked_add(*length));
    sum.ok_or_else(|| broken("lengths without end"))
}

fn receive_lengths(from: &mut impl Read, count: usize, lengths: &mut Vec<u64>) -> io::Result<()> {
    lengths.clear();
    let mut bytes = [0; 8];
    for _ in 0..count {
        from.read_exact(&mut bytes)?;
        lengths.try_reserve(1).map_err(|_| broken("more lengths than there is memory"))?;
        lengths.push(u64::from_le_bytes(bytes));
    }
    Ok(())
}

/// Fills the buffer; `false` where there is not even a first byte.
fn fill_or_end(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    let mut have = 0;
    while have < bytes.len() {
        match from.read(&mut bytes[have..]) {
            Ok(0) if have == 0 => return Ok(false),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => have += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Appends `length` bytes; space is made as they come.
pub fn receive_bytes(from: &mut impl Read, length: u64, into: &mut Vec<u8>) -> io::Result<()> {
    let mut left = usize::try_from(length).map_err(|_| broken("more bytes than there is memory"))?;
    while left > 0 {
        let step = left.min(STEP_BYTES);
        let start = into.len();
        into.try_reserve(step).map_err(|_| broken("more bytes than there is memory"))?;
        into.resize(start + step, 0);
        from.read_exact(&mut into[start..])?;
        left -= step;
    }
    Ok(())
}

/// Passes over `length` bytes.
pub fn skip_bytes(from: &mut impl Read, length: u64) -> io::Result<()> {
    let mut bytes = [0; 8 << 10];
    let mut left = length;
    while left > 0 {
        let step = left.min(bytes.len() as u64);
        from.read_exact(&mut bytes[..step as usize])?;
        left -= step;
    }
    Ok(())
}

/// A frame that is sent.
#[derive(Debug)]
pub struct Outgoing<'a> {
    /// The fixed part; its counts are set when it is encoded.
    pub header: Header,
    /// Arguments, or the answer's values.
    pub arguments: &'a [u8],
    /// Byte strings.
    pub bulk: &'a [&'a [u8]],
    /// Lengths of buffers. In an answer their bytes are `elements`.
    pub buffers: &'a [u64],
    /// Bytes of the buffers.
    pub elements: &'a [&'a [u8]],
}

impl Outgoing<'_> {
    /// Appends everything but large bulk to `out`; whether the bulk is in it too.
    pub fn encode(&self, out: &mut Vec<u8>) -> io::Result<bool> {
        let too_many = |_| broken("a frame larger than is possible");
        let mut header = self.header;
        header.arguments = u32::try_from(self.arguments.len()).map_err(too_many)?;
        header.bulk = u32::try_from(self.bulk.len()).map_err(too_many)?;
        header.buffers = u32::try_from(self.buffers.len()).map_err(too_many)?;
        header.checksum = checksum(std::iter::once(self.arguments).chain(self.parts()));
        out.extend_from_slice(&header.encode());
        for bulk in self.bulk {
            out.extend_from_slice(&(bulk.len() as u64).to_le_bytes());
        }
        for buffer in self.buffers {
            out.extend_from_slice(&buffer.to_le_bytes());
        }
        out.extend_from_slice(self.arguments);
        let is_small = self.parts().map(<[u8]>::len).sum::<usize>() <= SMALL_BYTES;
        if is_small {
            self.parts().for_each(|part| out.extend_from_slice(part));
        }
        Ok(is_small)
    }

    /// Appends everything to `out`, however large the bulk is.
    pub fn encode_whole(&self, out: &mut Vec<u8>) -> io::Result<()> {
        if !self.encode(out)? {
            self.parts().for_each(|part| out.extend_from_slice(part));
        }
        Ok(())
    }

    /// Returns bytes that follow the arguments.
    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.bulk.iter().chain(self.elements).copied()
    }

    /// Sends it, with `scratch` for the small parts; what is in there goes first.
    pub fn send(&self, to: &mut impl Write, scratch: &mut Vec<u8>) -> io::Result<()> {
        let is_whole = self.encode(scratch)?;
        if is_whole {
            to.write_all(scratch)?;
        } else {
            let mut slices: Vec<IoSlice<'_>> = std::iter::once(&scratch[..])
                .chain(self.parts().filter(|part| !part.is_empty()))
                .map(IoSlice::new)
                .collect();
            write_all_slices(to, &mut slices)?;
        }
        scratch.clear();
        to.flush()
    }
}

/// The kernel takes so many slices at once.
const SLICES_MAX: usize = 512;

fn write_all_slices(to: &mut impl Write, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    while !slices.is_empty() {
        let some = slices.len().min(SLICES_MAX);
        match to.write_vectored(&slices[..some]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
