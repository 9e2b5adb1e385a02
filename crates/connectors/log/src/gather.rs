//! Many pieces of memory to one range of the file, in few large writes.

use std::io::IoSlice;

use algorithms::workers;
use files::{File, Posix};
use model::{Error, Result};

use crate::plan::{Bytes, Plan, Share};

/// Pieces of this size and more are written from where they are.
const DIRECT_BYTES_MIN: usize = 4 << 10;
/// Smaller ones are copied together, up to this size: a core's cache holds it.
const TOGETHER_BYTES: usize = 512 << 10;
/// Pieces of one write that are written from where they are; as many copied ones may lie between. The system takes 1024 in all.
const DIRECT_MAX: usize = 500;
/// So many bytes to copy are worth more than one thread. The system runs the writes of all threads to one file one after another.
const THREADS_BYTES_MIN: u64 = 16 << 20;

/// Writes everything of a plan from `at` on; on several threads where all cores are this process's own.
pub(crate) fn write(file: &Posix, at: u64, plan: &Plan<'_>, is_alone: bool) -> Result<()> {
    let threads = if is_alone { workers::threads(copied_bytes(plan), THREADS_BYTES_MIN) } else { 1 };
    if threads == 1 {
        let mut batch = Batch { file, at, buffer: Vec::new(), direct: Vec::new() };
        plan.shares.iter().try_for_each(|share| batch.add_share(plan, share))?;
        return batch.write();
    }
    workers::each(plan.shares.iter().map(Ok), threads, |share, buffer| {
        let mut batch = Batch { file, at: at + share.at, buffer: std::mem::take(buffer), direct: Vec::new() };
        batch.add_share(plan, share)?;
        batch.write()?;
        *buffer = batch.buffer;
        Ok(())
    })
}

/// Returns the number of bytes that are copied before they are written, about: the first piece of a share stands for all.
fn copied_bytes(plan: &Plan<'_>) -> u64 {
    let ends = plan.shares.iter().skip(1).map(|share| share.at).chain([plan.bytes]);
    let is_copied = |share: &Share<'_>| match share.bytes {
        Bytes::Pieces([first, ..], size) => first.len * size < DIRECT_BYTES_MIN as u64,
        _ => false,
    };
    plan.shares
        .iter()
        .zip(ends)
        .filter(|(share, _)| is_copied(share))
        .map(|(share, end)| end - share.at)
        .sum()
}

/// Pieces that are written together.
struct Batch<'f, 'a> {
    file: &'f Posix,
    at: u64,
    /// Small ones.
    buffer: Vec<u8>,
    /// Large ones, each with the bytes of the buffer that come before it.
    direct: Vec<(usize, &'a [u8])>,
}

impl<'a> Batch<'_, 'a> {
    fn add_share(&mut self, plan: &Plan<'a>, share: &Share<'a>) -> Result<()> {
        match share.bytes {
            Bytes::Whole(bytes) => self.add(bytes),
            Bytes::Pieces(pieces, size) => {
                pieces.iter().try_for_each(|piece| self.add(plan.slice(piece, size)?))
            }
        }
    }

    #[inline]
    fn add(&mut self, piece: &'a [u8]) -> Result<()> {
        if piece.len() < DIRECT_BYTES_MIN {
            if self.buffer.len() + piece.len() > TOGETHER_BYTES {
                self.write()?;
            }
            self.buffer.extend_from_slice(piece);
            return Ok(());
        }
        self.direct.push((self.buffer.len(), piece));
        if self.direct.len() >= DIRECT_MAX { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        let failed = |e: std::io::Error| Error::io("write log", &e).at(self.at);
        let bytes = self.buffer.len() + self.direct.iter().map(|(_, piece)| piece.len()).sum::<usize>();
        if self.direct.is_empty() {
            self.file.write_at(self.at, &self.buffer).map_err(failed)?;
        } else {
            let (mut slices, mut done) = (Vec::with_capacity(2 * self.direct.len() + 1), 0);
            for (before, piece) in &self.direct {
                slices.push(IoSlice::new(&self.buffer[done..*before]));
                slices.push(IoSlice::new(piece));
                done = *before;
            }
            slices.push(IoSlice::new(&self.buffer[done..]));
            self.file.write_slices_at(self.at, &mut slices).map_err(failed)?;
        }
        self.at += bytes as u64;
        self.buffer.clear();
        self.direct.clear();
        Ok(())
    }
}
