//! Bytes that wait for a flush: blocks that are filled one after another and never move.

use std::sync::Arc;

use system::sync::{Mutex, MutexGuard};

use crate::buffer::Buffer;

/// The first block; later ones are twice as large, up to the last size.
const BLOCK_BYTES_MIN: usize = 64 << 10;
const BLOCK_BYTES_MAX: usize = 16 << 20;

/// Bytes of blocks that are kept for the next time.
const SPARE_BYTES_MAX: usize = 64 << 20;

/// Blocks that were filled before, no matter who filled them, from small to large: memory that was never touched is dear, and
/// models write file after file.
static SPARES: Mutex<Vec<Buffer>> = Mutex::new(Vec::new());

fn spares() -> MutexGuard<'static, Vec<Buffer>> {
    SPARES.lock()
}

/// Bytes that their owner released.
pub(crate) type Given = Arc<dyn AsRef<[u8]> + Send + Sync>;

enum Block {
    Own(Buffer),
    Given(Given),
}

impl Block {
    fn bytes(&self) -> &[u8] {
        match self {
            Block::Own(buffer) => buffer.bytes(),
            Block::Given(bytes) => (**bytes).as_ref(),
        }
    }
}

/// The bytes of pending writes.
#[derive(Default)]
pub(crate) struct Arena {
    blocks: Vec<Block>,
    bytes: u64,
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Arena {
    /// Returns the number of bytes that wait.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Copies bytes; the number of their block, and where they are in it.
    pub(crate) fn copy(&mut self, bytes: &[u8]) -> (u32, u64) {
        self.bytes += bytes.len() as u64;
        let number = self.blocks.len().wrapping_sub(1) as u32;
        if let Some(Block::Own(last)) = self.blocks.last_mut()
            && let Some(at) = last.add(bytes)
        {
            return (number, at);
        }
        let mut block = self.buffer(bytes.len());
        block.add(bytes);
        self.blocks.push(Block::Own(block));
        (number.wrapping_add(1), 0)
    }

    fn buffer(&mut self, bytes: usize) -> Buffer {
        match spares().pop_if(|spare| spare.capacity() >= bytes) {
            Some(spare) => spare,
            None => {
                let doubled = BLOCK_BYTES_MIN << self.blocks.len().min(8);
                Buffer::with_capacity(doubled.min(BLOCK_BYTES_MAX).max(bytes))
            }
        }
    }

    /// Keeps bytes as they are; the number of their block.
    pub(crate) fn keep(&mut self, bytes: Given) -> u32 {
        self.bytes += (*bytes).as_ref().len() as u64;
        self.blocks.push(Block::Given(bytes));
        self.blocks.len() as u32 - 1
    }

    /// Returns all blocks, by number.
    pub(crate) fn blocks(&self) -> Vec<&[u8]> {
        self.blocks.iter().map(Block::bytes).collect()
    }

    /// Releases everything.
    pub(crate) fn clear(&mut self) {
        self.bytes = 0;
        if self.blocks.is_empty() {
            return;
        }
        let (mut spares, mut surplus) = (spares(), Vec::new());
        let mut kept: usize = spares.iter().map(Buffer::capacity).sum();
        for block in self.blocks.drain(..) {
            if let Block::Own(mut buffer) = block {
                if kept + buffer.capacity() > SPARE_BYTES_MAX {
                    surplus.push(buffer);
                    continue;
                }
                kept += buffer.capacity();
                buffer.clear();
                spares.push(buffer);
            }
        }
        // The largest are taken first.
        spares.sort_by_key(Buffer::capacity);
        if !surplus.is_empty() {
            // To give back a gigabyte takes a tenth of the time that it takes to write it: no one waits for that. Without a
            // thread it is given back here.
            let named = system::thread::Builder::named("hyperslab-free");
            drop(named.spawn(move || drop(surplus)));
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.clear();
    }
}
