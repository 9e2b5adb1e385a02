//! Requests and replies of libhdf5's mirror driver: big-endian numbers without gaps.

use std::io;

use crate::Mode;

const MAGIC: u32 = 0x87F8_005B;
const VERSION: u8 = 1;
/// Bytes of a path, with its NUL.
pub(super) const PATH_BYTES: usize = 4097;
/// Bytes of what every message begins with.
pub(super) const HEAD_BYTES: usize = 14;
/// Bytes of a reply's text.
pub(super) const TEXT_BYTES: usize = 256;
/// Bytes of a reply.
pub(super) const REPLY_BYTES: usize = HEAD_BYTES + 4 + TEXT_BYTES;
pub(super) const REPLY: u8 = 5;
/// `H5FD_MEM_DRAW`: files of the server have one kind of bytes.
const RAW: u8 = 3;
/// The largest address of ordinary files.
const ADDRESS_MAX: u64 = i64::MAX as u64;

/// Flags of `H5FDopen`.
const READ_WRITE: u32 = 0x01;
const EXCLUSIVE: u32 = 0x04;
const CREATE: u32 = 0x10;

/// A request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation<'a> {
    Open { name: &'a str, mode: Mode },
    Close,
    Write { offset: u64, bytes: u64 },
    Truncate,
    SetEnd(u64),
    Lock { is_exclusive: bool },
    Unlock,
}

impl Operation<'_> {
    fn number(self) -> u8 {
        match self {
            Operation::Open { .. } => 1,
            Operation::Close => 2,
            Operation::Write { .. } => 3,
            Operation::Truncate => 4,
            Operation::SetEnd(_) => 6,
            Operation::Lock { .. } => 7,
            Operation::Unlock => 8,
        }
    }
}

pub(super) fn invalid(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

/// What the messages of a connection are numbered with.
#[derive(Debug)]
pub(super) struct Session {
    token: u32,
    count: u32,
}

impl Session {
    /// A token of 0 would mean that there is no session.
    pub(super) fn new(token: u32) -> Session {
        Session { token: token | 1, count: 0 }
    }

    fn next(&mut self) -> u32 {
        let count = self.count;
        self.count = self.count.wrapping_add(1);
        count
    }

    /// Returns the bytes of a request.
    pub(super) fn request(&mut self, operation: Operation<'_>) -> io::Result<Vec<u8>> {
        let mut bytes = MAGIC.to_be_bytes().to_vec();
        bytes.push(VERSION);
        bytes.extend(self.token.to_be_bytes());
        bytes.extend(self.next().to_be_bytes());
        bytes.push(operation.number());
        match operation {
            Operation::Open { name, mode } => {
                if name.is_empty() || name.len() >= PATH_BYTES || name.contains('\0') {
                    return Err(invalid("the server cannot take this path"));
                }
                let flags = match mode {
                    Mode::Read => 0,
                    Mode::ReadWrite => READ_WRITE,
                    Mode::Create => READ_WRITE | CREATE,
                    Mode::CreateNew => READ_WRITE | CREATE | EXCLUSIVE,
                };
                bytes.extend(flags.to_be_bytes());
                bytes.extend(ADDRESS_MAX.to_be_bytes());
                // The largest size of memory on this machine.
                bytes.extend((usize::MAX as u64).to_be_bytes());
                bytes.extend(name.as_bytes());
                bytes.resize(HEAD_BYTES + 20 + PATH_BYTES, 0);
            }
            Operation::Write { offset, bytes: len } => {
                bytes.push(RAW);
                bytes.extend(offset.to_be_bytes());
                bytes.extend(len.to_be_bytes());
            }
            Operation::SetEnd(end) => {
                bytes.push(RAW);
                bytes.extend(end.to_be_bytes());
            }
            Operation::Lock { is_exclusive } => bytes.extend(u64::from(is_exclusive).to_be_bytes()),
            Operation::Close | Operation::Truncate | Operation::Unlock => {}
        }
        Ok(bytes)
    }

    /// Checks that a reply is the one that is due, and a good one.
    pub(super) fn check_reply(&mut self, bytes: &[u8; REPLY_BYTES]) -> io::Result<()> {
        let number = |at: usize| bytes[at..at + 4].try_into().map_or(0, u32::from_be_bytes);
        let due = self.next();
        let is_due = number(0) == MAGIC
            && bytes[4] == VERSION
            && number(5) == self.token
            && number(9) == due
            && bytes[13] == REPLY;
        if !is_due {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the server replied to something else"));
        }
        match number(HEAD_BYTES) {
            0 => Ok(()),
            _ => {
                let text = &bytes[HEAD_BYTES + 4..];
                let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
                Err(io::Error::other(format!("the server refused: {}", String::from_utf8_lossy(text))))
            }
        }
    }
}
