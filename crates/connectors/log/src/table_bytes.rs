//! The bytes of tables: where they lie in the file, so that every process reads what it needs of them by itself.

use files::{File, Posix};
use model::properties::Layout;
use model::{Dataspace, Error, Limits, Result, Selection, Token, Within};
use vol::{Container, OpRead};

/// Some bytes of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileRange {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// The bytes of a dataset in the log's group.
#[derive(Debug, Clone)]
pub(crate) enum TableBytes {
    /// As they lie in the file, one range after another.
    File(Vec<FileRange>),
    /// All of them, where another program stored them otherwise (with filters, say).
    Memory(Vec<u8>),
}

fn broken(problem: &str) -> Error {
    Error::corrupt("read log group").with("problem", problem)
}

/// Returns the bytes of the elements of a one-dimensional dataset whose elements have `size` bytes.
pub(crate) fn length(inner: &dyn Container, dataset: Token, size: u32) -> Result<u64> {
    let info = inner.dataset_info(dataset)?;
    let count = match &info.space {
        Dataspace::Simple(_) if info.space.rank() == 1 && info.datatype.size() == size => {
            info.space.element_count()?
        }
        _ => return Err(broken("not a list of numbers").at(dataset.to_u64())),
    };
    count.checked_mul(size.into()).ok_or_else(|| broken("too many numbers").at(dataset.to_u64()))
}

impl TableBytes {
    /// Returns the bytes of a list whose elements have `size` bytes; all of them are there.
    pub(crate) fn of(inner: &dyn Container, dataset: Token, size: u32, limits: &Limits) -> Result<Self> {
        let len = length(inner, dataset, size)?;
        if let Some(ranges) = file_ranges(inner, dataset, len, size)? {
            return Ok(TableBytes::File(ranges));
        }
        if len > limits.metadata_bytes_max && len > inner.dataset_storage(dataset)?.bytes {
            return Err(broken("a table with holes").at(dataset.to_u64()));
        }
        let mut bytes = vec![0; len.within(limits.result_bytes_max, "log metadata table")?];
        inner.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut bytes }])?;
        Ok(TableBytes::Memory(bytes))
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            TableBytes::File(ranges) => ranges.iter().fold(0, |n, range| n.saturating_add(range.bytes)),
            TableBytes::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Returns the bytes from `at` on, `len` at most.
    pub(crate) fn read(&self, file: &Posix, at: u64, len: u64, limits: &Limits) -> Result<Vec<u8>> {
        let len =
            len.min(self.len().saturating_sub(at)).within(limits.result_bytes_max, "log metadata table")?;
        match self {
            TableBytes::File(ranges) => read_ranges(file, ranges, at, len),
            TableBytes::Memory(bytes) => Ok(bytes.iter().skip(at as usize).take(len).copied().collect()),
        }
    }

    /// Returns all bytes.
    pub(crate) fn all(&self, file: &Posix, limits: &Limits) -> Result<Vec<u8>> {
        self.read(file, 0, u64::MAX, limits)
    }
}

fn read_ranges(file: &Posix, ranges: &[FileRange], mut at: u64, len: usize) -> Result<Vec<u8>> {
    // What a range claims may not be in the file: it is looked at before memory is taken for it.
    let end = file.len().map_err(|e| Error::io("read log metadata table", &e))?;
    if len as u64 > end {
        return Err(broken("a table that is larger than the file"));
    }
    let (mut out, mut done) = (vec![0; len], 0);
    for range in ranges {
        if at >= range.bytes {
            at -= range.bytes;
            continue;
        }
        let now = ((range.bytes - at).min((len - done) as u64)) as usize;
        let offset = range.offset.saturating_add(at);
        let read = file.read_at(offset, &mut out[done..done + now]);
        read.map_err(|e| Error::io("read log metadata table", &e).at(offset))?;
        (at, done) = (0, done + now);
        if done == len {
            break;
        }
    }
    Ok(out)
}

/// Returns where the elements of a list lie, if that is known and they are stored as they are.
fn file_ranges(inner: &dyn Container, dataset: Token, len: u64, size: u32) -> Result<Option<Vec<FileRange>>> {
    let info = inner.dataset_info(dataset)?;
    match &info.create.layout {
        _ if len == 0 => Ok(Some(Vec::new())),
        Layout::Contiguous => {
            let storage = inner.dataset_storage(dataset)?;
            let is_whole = storage.bytes >= len;
            Ok(storage.offset.filter(|_| is_whole).map(|offset| vec![FileRange { offset, bytes: len }]))
        }
        Layout::Chunked { shape, .. } if info.create.filters.is_empty() => {
            chunk_ranges(inner, dataset, len, (shape.first().copied().unwrap_or(0), size.into()))
        }
        _ => Ok(None),
    }
}

/// Chunks that are looked at; a table with more of them is read as any dataset is.
const CHUNKS_MAX: u64 = 1 << 16;

fn chunk_ranges(
    inner: &dyn Container,
    dataset: Token,
    len: u64,
    (elements, size): (u64, u64),
) -> Result<Option<Vec<FileRange>>> {
    let each = elements.saturating_mul(size);
    if each == 0 || len.div_ceil(each) > CHUNKS_MAX {
        return Ok(None);
    }
    let mut chunks = inner.chunk_list(dataset, 0, CHUNKS_MAX)?.entries;
    chunks.sort_unstable_by_key(|chunk| chunk.offset.first().copied());
    let (mut ranges, mut at) = (Vec::new(), 0);
    for (number, chunk) in chunks.iter().enumerate() {
        let bytes = each.min(len.saturating_sub(at));
        let is_next = chunk.offset.first() == Some(&elements.saturating_mul(number as u64));
        let (Some(offset), true) = (chunk.address, is_next && chunk.bytes >= bytes) else { return Ok(None) };
        ranges.push(FileRange { offset, bytes });
        at += bytes;
    }
    Ok((at == len).then_some(ranges))
}
