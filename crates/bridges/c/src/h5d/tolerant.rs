//! Reading chunks that are damaged, where a program says that it wants them all the same: without a look at checksums
//! (`H5Pset_edc_check`), or with a function that is asked where a filter fails (`H5Pset_filter_callback`).
//!
//! Elements are read as ever. Only where that fails, chunk by chunk is read again, by the calling thread: a damaged one
//! as it is stored, and through its filters here. So nothing that was not verified gets into a cache.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use hyperslab::extend::Tolerance;
use hyperslab::vol::model::properties::{FilterSpec, Layout};
use hyperslab::vol::model::selection::PointIndex;
use hyperslab::vol::{Container, Layer, OpRead};
use hyperslab::{Error, Kind, Result, Selection, Token};

use crate::arguments::Opaque;
use crate::h5p::values::{FilterFunction, TransferValues};
use crate::h5z;

/// `H5Z_CB_CONT`
const GO_ON: c_int = 1;
/// `H5Z_DISABLE_EDC`
const UNVERIFIED: c_int = 0;

/// A container whose damaged chunks are read as far as a transfer list asks for it.
pub(super) struct Tolerant {
    inner: Arc<dyn Container>,
    is_unverified: bool,
    callback: (FilterFunction, Option<Opaque>),
}

impl Tolerant {
    /// Returns the container for a transfer, or `None` if the transfer accepts no damage.
    pub(super) fn of(inner: &Arc<dyn Container>, values: &TransferValues) -> Option<Self> {
        let (is_unverified, callback) = (values.edc_check == UNVERIFIED, values.filter_callback);
        let is_tolerant = is_unverified || callback.0.is_some();
        is_tolerant.then(|| Tolerant { inner: inner.clone(), is_unverified, callback })
    }

    /// Reads chunk by chunk. `error` is what reading all at once gave.
    fn read_chunks(&self, read: &mut OpRead<'_>, error: Error) -> Result<()> {
        let info = self.inner.dataset_info(read.dataset)?;
        let Layout::Chunked { shape, .. } = &info.create.layout else { return Err(error) };
        let filters = &info.create.filters;
        if filters.is_empty() {
            return Err(error);
        }
        let (dims, element_bytes) = (info.space.dims(), info.datatype.size() as usize);
        let chunks =
            DamagedDataset { container: self, dataset: read.dataset, dims, shape, element_bytes, filters };
        chunks.read(read.selection, read.into)
    }

    /// Returns a chunk from what is stored of it.
    fn undo(&self, filters: &[FilterSpec], stored: (u32, Vec<u8>), chunk_bytes: usize) -> Result<Vec<u8>> {
        let (function, data) = self.callback;
        let data = data.map_or(std::ptr::null_mut(), |data| data.0);
        let mut ask = |filter: u16, bytes: &mut [u8]| {
            let Some(function) = function else { return false };
            let at = bytes.as_mut_ptr().cast::<c_void>();
            // SAFETY: the program gave function and data together; the bytes live until it returns.
            unsafe { function(filter.into(), at, bytes.len(), data) == GO_ON }
        };
        let is_unverified = self.is_unverified;
        let mut tolerance = Tolerance { is_unverified, on_failure: Some(&mut ask) };
        h5z::undo(filters, stored, chunk_bytes, &mut tolerance)
    }
}

impl Layer for Tolerant {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn is_serial(&self, dataset: Token) -> bool {
        self.callback.0.is_some() || self.inner.is_serial(dataset)
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        match reads {
            [read] => match self.inner.dataset_read(std::slice::from_mut(read)) {
                Err(error) if error.kind() == Kind::Corrupt => self.read_chunks(read, error),
                done => done,
            },
            _ => reads.iter_mut().try_for_each(|read| Layer::dataset_read(self, std::slice::from_mut(read))),
        }
    }
}

/// A dataset some of whose chunks cannot be read as they should.
struct DamagedDataset<'a> {
    container: &'a Tolerant,
    dataset: Token,
    dims: &'a [u64],
    shape: &'a [u64],
    element_bytes: usize,
    filters: &'a [FilterSpec],
}

impl DamagedDataset<'_> {
    fn read(&self, selection: &Selection, into: &mut [u8]) -> Result<()> {
        if let Selection::Points(points) = selection {
            let points = PointIndex::new(points, self.shape)?;
            return points.chunks().try_for_each(|coords| {
                let chunk = self.chunk(&self.start_of(&coords))?;
                points.chunk_runs(&coords)?.copy_out(self.element_bytes, &chunk, 0, into)
            });
        }
        for coords in selection.chunks(self.dims, self.shape)? {
            let start = self.start_of(&coords);
            let runs = selection.chunk_runs(self.dims, &start, self.shape)?;
            runs.copy_out(self.element_bytes, &self.chunk(&start)?, 0, into)?;
        }
        Ok(())
    }

    fn start_of(&self, coords: &[u64]) -> Vec<u64> {
        coords.iter().zip(self.shape).map(|(at, len)| at * len).collect()
    }

    /// Returns the elements of a chunk.
    fn chunk(&self, start: &[u64]) -> Result<Vec<u8>> {
        let part: Vec<u64> = start
            .iter()
            .zip(self.shape)
            .zip(self.dims)
            .map(|((at, len), dim)| *len.min(&(dim - at)))
            .collect();
        let (block, mut elements) = (Selection::block(start, &part)?, self.zeros(&part)?);
        let read = OpRead { dataset: self.dataset, selection: &block, into: &mut elements };
        match self.container.inner.dataset_read(&mut [read]) {
            Err(error) if error.kind() == Kind::Corrupt => {
                let stored = self.container.inner.chunk_read(self.dataset, start).map_err(|_| error)?;
                self.container.undo(self.filters, stored, self.zeros(self.shape)?.len())
            }
            Err(error) => Err(error),
            Ok(()) => {
                let mut chunk = self.zeros(self.shape)?;
                let runs = block.chunk_runs(self.dims, start, self.shape)?;
                runs.copy_in(self.element_bytes, &elements, &mut chunk).map(|()| chunk)
            }
        }
    }

    /// Returns space for the elements of a block.
    fn zeros(&self, shape: &[u64]) -> Result<Vec<u8>> {
        let bytes = shape.iter().try_fold(self.element_bytes as u64, |n, len| n.checked_mul(*len));
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let mut zeros = Vec::new();
        let reserved = bytes.filter(|bytes| zeros.try_reserve_exact(*bytes).is_ok());
        zeros.resize(reserved.ok_or_else(|| Error::limit("read damaged chunk"))?, 0);
        Ok(zeros)
    }
}
