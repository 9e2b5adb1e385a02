//! Storage without chunks: contiguous, compact and external.

use std::sync::Arc;

use model::properties::ExternalFile;
use model::{Error, Result, Selection};
use vol::RawBytes;

use crate::file::File;
use crate::format::Address;
use crate::object::dataset::Dataset;

/// Elements of one run of bytes in the file. Each run of the selection goes straight into the caller's buffer.
pub(crate) fn contiguous(
    file: &File,
    dataset: &Dataset,
    address: Option<Address>,
    selection: &Selection,
    into: &mut [u8],
) -> Result<()> {
    let Some(base) = address else {
        super::fill(dataset, into);
        return Ok(());
    };
    each_run(dataset, selection, into, |offset, part| {
        let at = base.0.checked_add(offset).ok_or_else(|| Error::corrupt("read dataset").at(base.0))?;
        file.store.read(Address(at), part, "contiguous data")
    })
}

/// Elements that stand in the header.
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

/// Elements in files beside this one, which only the caller's resolver may open.
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

/// External files in the order of their bytes, opened when first needed.
struct External<'a> {
    file: &'a File,
    list: &'a [ExternalFile],
    open: Vec<Option<Arc<dyn RawBytes>>>,
}

impl External<'_> {
    fn read(&mut self, mut offset: u64, mut into: &mut [u8]) -> Result<()> {
        for i in 0..self.list.len() {
            let size = self.list[i].size;
            if offset >= size {
                offset -= size;
                continue;
            }
            let len = (size - offset).min(into.len() as u64) as usize;
            let (part, later) = into.split_at_mut(len);
            let at = self.list[i].offset.checked_add(offset);
            let at = at.ok_or_else(|| Error::corrupt("read external data").with("offset", offset))?;
            self.bytes(i)?.read_at(at, part)?;
            (into, offset) = (later, 0);
            if into.is_empty() {
                return Ok(());
            }
        }
        if into.is_empty() {
            Ok(())
        } else {
            Err(Error::corrupt("read external data").with("problem", "files are too small"))
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
