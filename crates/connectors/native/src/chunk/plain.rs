//! Storage without chunks: contiguous, compact and external.

use std::sync::Arc;

use algorithms::thread_pool;
use model::properties::{ExternalFile, Layout};
use model::{Error, Result, Selection};
use vol::RawBytes;

use super::pieces::{self, FileRun};
use crate::file::File;
use crate::format::Address;
use crate::object::dataset::Dataset;
use crate::reader::Reader;

/// Less than this is not worth other cores, whatever lies between the elements.
const SHARED_BYTES_MIN: usize = 32 << 10;
/// What a core reads at a time, with what lies between the elements.
const SHARE_BYTES: u64 = 1 << 20;
/// Shares for each core: one that is slower leaves some to the others.
const SHARES_EACH: u64 = 4;

/// Reads elements of one run of bytes in the file, on all cores if that pays.
pub(crate) fn contiguous(
    file: &Reader,
    dataset: &Dataset,
    address: Option<Address>,
    selection: &Selection,
    into: &mut [u8],
) -> Result<()> {
    let Some(base) = address else {
        super::fill(dataset, into);
        return Ok(());
    };
    let shares = shares(file, dataset, selection, into.len())?;
    if shares <= 1 {
        return read_runs(file, dataset, base, selection, into);
    }
    let (dims, bytes) = (dataset.dims(), dataset.element_bytes());
    let count = selection.element_count(dims)?;
    let (mut parts, mut rest) = (Vec::new(), into);
    for strip in selection.strips(dims, count.div_ceil(shares))? {
        let len = strip.element_count(dims)? as usize * bytes;
        let (now, later) = std::mem::take(&mut rest).split_at_mut(len);
        parts.push((strip, now));
        rest = later;
    }
    thread_pool::each(parts, |(strip, into)| read_runs(file, dataset, base, &strip, into))
}

/// Returns in how many shares a selection is read. One run of bytes is left to the store.
fn shares(file: &Reader, dataset: &Dataset, selection: &Selection, bytes: usize) -> Result<u64> {
    let is_alone = bytes < SHARED_BYTES_MIN || matches!(selection, Selection::All);
    if is_alone || file.store.is_serial() || file.store.shared.is_remote() {
        return Ok(1);
    }
    let (each, whole) = (dataset.element_bytes() as u64, super::logical_bytes(dataset)?);
    let touched = pieces::touched_bytes(selection, bytes as u64, each, whole);
    Ok((touched / SHARE_BYTES).min(SHARES_EACH * thread_pool::threads() as u64))
}

/// Reads runs that lie apart straight into the caller's buffer.
fn read_runs(
    file: &Reader,
    dataset: &Dataset,
    base: Address,
    selection: &Selection,
    into: &mut [u8],
) -> Result<()> {
    let bytes = dataset.element_bytes();
    let mut to = 0;
    let pieces = selection.runs(dataset.dims())?.map(|run| {
        let piece =
            FileRun { from: run.offset.saturating_mul(bytes as u64), to, len: run.len as usize * bytes };
        to += piece.len;
        piece
    });
    file.works.with(|work| pieces::read(&file.store, base, pieces, into, work))
}

/// Copies elements that are stored in the header.
pub(crate) fn compact(dataset: &Dataset, data: &[u8], selection: &Selection, into: &mut [u8]) -> Result<()> {
    each_run(dataset, selection, into, |offset, part| {
        let from = usize::try_from(offset).ok();
        let source = from.and_then(|from| data.get(from..from.checked_add(part.len())?));
        let short = || Error::corrupt("read compact data").at(dataset.address.0).with("bytes", data.len());
        part.copy_from_slice(source.ok_or_else(short)?);
        Ok(())
    })
}

/// Calls `read` with the byte offset of each run and its part of the buffer.
fn each_run(
    dataset: &Dataset,
    selection: &Selection,
    into: &mut [u8],
    mut read: impl FnMut(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let element_bytes = dataset.element_bytes() as u64;
    let mut rest = into;
    for run in selection.runs(dataset.dims())? {
        let offset = run.offset.checked_mul(element_bytes);
        let offset = offset.ok_or_else(|| Error::corrupt("read dataset").at(dataset.address.0))?;
        let (part, later) = rest.split_at_mut((run.len * element_bytes) as usize);
        read(offset, part)?;
        rest = later;
    }
    Ok(())
}

/// Reads elements in files next to this one, which only the caller's resolver may open.
pub(crate) fn external(
    file: &File,
    dataset: &Dataset,
    list: &[ExternalFile],
    selection: &Selection,
    into: &mut [u8],
) -> Result<()> {
    let mut parts = External { file, list, open: vec![None; list.len()] };
    each_run(dataset, selection, into, |offset, part| parts.read(offset, part))
}

/// Writes elements to files next to this one.
pub(crate) fn write_external(
    file: &File,
    dataset: &Dataset,
    selection: &Selection,
    from: &[u8],
) -> Result<()> {
    let Layout::External(list) = &dataset.info.create.layout else {
        return Err(Error::invalid("write external data").at(dataset.address.0));
    };
    let mut parts = External { file, list, open: vec![None; list.len()] };
    let element_bytes = dataset.element_bytes() as u64;
    let mut rest = from;
    for run in selection.runs(dataset.dims())? {
        let (now, later) = rest.split_at((run.len * element_bytes) as usize);
        parts.write(run.offset * element_bytes, now)?;
        rest = later;
    }
    Ok(())
}

/// External files in the order of their bytes, opened when first needed.
struct External<'a> {
    file: &'a File,
    list: &'a [ExternalFile],
    open: Vec<Option<Arc<dyn RawBytes>>>,
}

impl External<'_> {
    fn read(&mut self, offset: u64, mut into: &mut [u8]) -> Result<()> {
        for (i, at, len) in self.pieces(offset, into.len() as u64)? {
            let (part, later) = std::mem::take(&mut into).split_at_mut(len);
            self.bytes(i)?.read_at(at, part)?;
            into = later;
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, mut from: &[u8]) -> Result<()> {
        for (i, at, len) in self.pieces(offset, from.len() as u64)? {
            let (part, later) = from.split_at(len);
            self.bytes(i)?.write_at(at, part)?;
            from = later;
        }
        Ok(())
    }

    /// Returns the file, the offset in it and the number of bytes, for each file that a range touches.
    fn pieces(&self, mut offset: u64, mut len: u64) -> Result<Vec<(usize, u64, usize)>> {
        let mut pieces = Vec::new();
        for (i, file) in self.list.iter().enumerate() {
            if len == 0 {
                break;
            }
            if offset >= file.size {
                offset -= file.size;
                continue;
            }
            let at = file.offset.checked_add(offset);
            let at = at.ok_or_else(|| Error::corrupt("find external data").with("offset", offset))?;
            let here = (file.size - offset).min(len);
            pieces.push((i, at, here as usize));
            (offset, len) = (0, len - here);
        }
        match len {
            0 => Ok(pieces),
            _ => Err(Error::corrupt("find external data").with("problem", "files are too small")),
        }
    }

    fn bytes(&mut self, i: usize) -> Result<Arc<dyn RawBytes>> {
        if let Some(open) = &self.open[i] {
            return Ok(open.clone());
        }
        let name = &self.list[i].name;
        let resolver = self.file.resolver.as_ref().ok_or_else(|| refuse(name))?;
        let bytes = resolver.bytes(name, &self.file.path)?;
        self.open[i] = Some(bytes.clone());
        Ok(bytes)
    }
}

fn refuse(name: &str) -> Error {
    Error::denied("open external data").with("file", name).with("problem", "no resolver was given")
}
