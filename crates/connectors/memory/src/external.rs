//! Elements in files next to the container, through the resolver.

use std::sync::Arc;

use model::properties::ExternalFile;
use model::{Dataspace, Datatype, Error, Result, Selection};
use vol::{DatasetInfo, FileAccess, RawBytes};

use crate::check;

/// Checks that the files have space for the extent, which may grow in its first dimension only.
pub(crate) fn check(files: &[ExternalFile], space: &Dataspace, datatype: &Datatype) -> Result<()> {
    let invalid = |problem: &str| Err(Error::invalid("create external dataset").with("problem", problem));
    if datatype.has_descriptors() {
        return invalid("variable-length values and references cannot lie outside");
    }
    let fixed = space.dims().iter().zip(space.max_dims()).skip(1);
    if fixed.into_iter().any(|(dim, max)| dim != max) {
        return invalid("only the first dimension may change");
    }
    if capacity(files) < check::space_bytes(space, datatype)? {
        return invalid("the files are smaller than the extent");
    }
    Ok(())
}

/// Returns the number of bytes allocated in all files.
fn capacity(files: &[ExternalFile]) -> u64 {
    files.iter().fold(0u64, |sum, file| sum.saturating_add(file.size))
}

/// A piece of a transfer: in one file.
struct FileRange {
    file: usize,
    offset: u64,
    packed: std::ops::Range<usize>,
}

/// Returns the pieces of a selection, in its order.
fn pieces(files: &[ExternalFile], info: &DatasetInfo, selection: &Selection) -> Result<Vec<FileRange>> {
    let element_bytes = u64::from(info.datatype.size());
    let (mut pieces, mut packed) = (Vec::new(), 0);
    for run in selection.runs(info.space.dims())? {
        let (mut at, mut left) = (run.offset * element_bytes, run.len * element_bytes);
        while left > 0 {
            let (file, within) = locate(files, at)?;
            let len = left.min(files[file].size - within);
            let offset = files[file].offset.checked_add(within);
            let offset = offset.ok_or_else(|| Error::limit("find external data").with("offset", within))?;
            pieces.push(FileRange { file, offset, packed: packed..packed + len as usize });
            (at, left, packed) = (at + len, left - len, packed + len as usize);
        }
    }
    Ok(pieces)
}

/// Returns the file that holds byte `at` of the dataset, and where in its part.
fn locate(files: &[ExternalFile], mut at: u64) -> Result<(usize, u64)> {
    for (n, file) in files.iter().enumerate() {
        if at < file.size {
            return Ok((n, at));
        }
        at -= file.size;
    }
    Err(Error::invalid("find external data").with("problem", "beyond the capacity of the files"))
}

/// Opens each file once, when it is first needed.
struct ExternalFiles<'a> {
    access: &'a FileAccess,
    from: &'a str,
    files: Vec<Option<Arc<dyn RawBytes>>>,
}

impl ExternalFiles<'_> {
    fn get(&mut self, n: usize, name: &str) -> Result<&dyn RawBytes> {
        if self.files[n].is_none() {
            let resolver = self.access.resolver.as_ref();
            let resolver = resolver.ok_or_else(|| Error::denied("open external data").with("file", name))?;
            self.files[n] = Some(resolver.bytes(name, self.from)?);
        }
        self.files[n].as_deref().ok_or_else(|| Error::not_found("open external data").with("file", name))
    }
}

/// One transfer with external data: the files, the caller's access, and the dataset.
pub(crate) struct Transfer<'a> {
    pub(crate) files: &'a [ExternalFile],
    pub(crate) info: &'a DatasetInfo,
    pub(crate) access: &'a FileAccess,
    pub(crate) from: &'a str,
}

impl Transfer<'_> {
    fn opened(&self) -> ExternalFiles<'_> {
        ExternalFiles { access: self.access, from: self.from, files: vec![None; self.files.len()] }
    }

    pub(crate) fn read(&self, selection: &Selection, into: &mut [u8]) -> Result<()> {
        let mut opened = self.opened();
        for piece in pieces(self.files, self.info, selection)? {
            opened
                .get(piece.file, &self.files[piece.file].name)?
                .read_at(piece.offset, &mut into[piece.packed])?;
        }
        Ok(())
    }

    pub(crate) fn write(&self, selection: &Selection, data: &[u8]) -> Result<()> {
        let mut opened = self.opened();
        for piece in pieces(self.files, self.info, selection)? {
            opened
                .get(piece.file, &self.files[piece.file].name)?
                .write_at(piece.offset, &data[piece.packed])?;
        }
        Ok(())
    }
}
