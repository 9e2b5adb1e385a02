//! Runs of bytes that lie near each other in the file are read in one go.

use model::{Error, Result, Selection};

use crate::format::Address;
use crate::store::Store;
use crate::work::{self, Work};

/// Runs nearer than this are read together: a call of the system costs as much as it takes to copy so many bytes.
const GAP_BYTES: u64 = 4 << 10;
/// Bytes that are read together at most.
const TOGETHER_BYTES: u64 = 1 << 20;

/// Pieces of a remote file that are asked for at a time.
const REMOTE_BATCH: usize = 4096;

/// Bytes of the file that have a place in a buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileRun {
    /// Offset from where the storage starts.
    pub(crate) from: u64,
    /// Offset in the buffer.
    pub(crate) to: usize,
    pub(crate) len: usize,
}

/// Returns about how many bytes of `whole` bytes are read for `bytes` bytes of selected elements: what lies between elements
/// that are apart is read too.
pub(super) fn touched_bytes(selection: &Selection, bytes: u64, element_bytes: u64, whole: u64) -> u64 {
    match selection.is_block() {
        true => bytes,
        false => (bytes / element_bytes.max(1)).saturating_mul(GAP_BYTES).min(whole).max(bytes),
    }
}

impl FileRun {
    fn end(&self) -> u64 {
        self.from.saturating_add(self.len as u64)
    }
}

/// Reads pieces of what starts at `base` into a buffer.
pub(crate) fn read(
    store: &Store,
    base: Address,
    pieces: impl Iterator<Item = FileRun>,
    into: &mut [u8],
    work: &mut Work,
) -> Result<()> {
    if store.shared.is_remote() {
        return read_remote(store, base, pieces, into, work);
    }
    read_pieces(store, base, pieces, into, work)
}

/// Reads pieces of a remote file: many are fetched at once before the first is read.
fn read_remote(
    store: &Store,
    base: Address,
    pieces: impl Iterator<Item = FileRun>,
    into: &mut [u8],
    work: &mut Work,
) -> Result<()> {
    let mut pieces = pieces.peekable();
    while pieces.peek().is_some() {
        let batch: Vec<FileRun> = pieces.by_ref().take(REMOTE_BATCH).collect();
        if batch.len() > 1 {
            let range =
                |piece: &FileRun| base.0.saturating_add(piece.from)..base.0.saturating_add(piece.end());
            store.shared.prefetch(&batch.iter().map(range).collect::<Vec<_>>())?;
        }
        read_pieces(store, base, batch.into_iter(), into, work)?;
    }
    Ok(())
}

fn read_pieces(
    store: &Store,
    base: Address,
    pieces: impl Iterator<Item = FileRun>,
    into: &mut [u8],
    work: &mut Work,
) -> Result<()> {
    let mut together = std::mem::take(&mut work.pieces);
    together.clear();
    let mut done = Ok(());
    for piece in pieces {
        if together.last().is_some_and(|last| !goes_with(&together[0], last, &piece)) {
            done = read_together(store, base, &together, into, work);
            if done.is_err() {
                break;
            }
            together.clear();
        }
        together.push(piece);
    }
    done = done.and_then(|()| read_together(store, base, &together, into, work));
    work.pieces = together;
    done
}

fn goes_with(first: &FileRun, last: &FileRun, next: &FileRun) -> bool {
    next.from >= last.end()
        && next.from - last.end() <= GAP_BYTES
        && next.end() - first.from <= TOGETHER_BYTES.max(first.len as u64)
}

/// Reads one piece to its place, or several with what lies between them.
fn read_together(
    store: &Store,
    base: Address,
    pieces: &[FileRun],
    into: &mut [u8],
    work: &mut Work,
) -> Result<()> {
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Ok(()) };
    let at = base.0.checked_add(first.from).ok_or_else(|| Error::corrupt("read elements").at(base.0))?;
    if pieces.len() == 1 {
        return store.read(Address(at), &mut into[first.to..first.to + first.len], "elements");
    }
    let bytes = work::sized(&mut work.plain, (last.end() - first.from) as usize);
    store.read(Address(at), bytes, "elements")?;
    for piece in pieces {
        let start = (piece.from - first.from) as usize;
        into[piece.to..piece.to + piece.len].copy_from_slice(&bytes[start..start + piece.len]);
    }
    Ok(())
}
