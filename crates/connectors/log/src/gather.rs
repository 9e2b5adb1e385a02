//! Many pieces of memory to one range of the file, in few large writes.

use files::{File, Posix};
use model::{Error, Result};
use vol::workers;

/// Pieces of this size and more are written as they are.
const DIRECT_BYTES_MIN: usize = 256 << 10;
/// Smaller ones are copied together up to this size.
const TOGETHER_BYTES: usize = 1 << 20;
/// Bytes that one thread takes at a time.
const SHARE_BYTES: usize = 8 << 20;

/// An offset, and what goes there.
type Share<'a> = (u64, &'a [&'a [u8]]);

/// Writes pieces one after another from `at` on.
pub(crate) fn write(file: &Posix, at: u64, pieces: &[&[u8]], threads: usize) -> Result<()> {
    let mut shares: Vec<Result<Share<'_>>> = Vec::new();
    let (mut from, mut start, mut bytes) = (0, at, 0);
    for (n, piece) in pieces.iter().enumerate() {
        bytes += piece.len();
        if bytes >= SHARE_BYTES || n + 1 == pieces.len() {
            shares.push(Ok((start, &pieces[from..=n])));
            (from, start, bytes) = (n + 1, start + bytes as u64, 0);
        }
    }
    let threads = threads.min(shares.len());
    workers::each(shares.into_iter(), threads, |(at, pieces), buffer| write_share(file, at, pieces, buffer))
}

fn write_share(file: &Posix, mut at: u64, pieces: &[&[u8]], buffer: &mut Vec<u8>) -> Result<()> {
    buffer.clear();
    let mut put = |bytes: &[u8]| {
        let done = file.write_at(at, bytes).map_err(|e| Error::io("write log", &e).at(at));
        at += bytes.len() as u64;
        done
    };
    for piece in pieces {
        if !buffer.is_empty() && buffer.len() + piece.len() > TOGETHER_BYTES {
            put(buffer)?;
            buffer.clear();
        }
        if piece.len() >= DIRECT_BYTES_MIN {
            put(buffer)?;
            buffer.clear();
            put(piece)?;
        } else {
            buffer.extend_from_slice(piece);
        }
    }
    put(buffer)
}
