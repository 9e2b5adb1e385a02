//! Elements of datasets and their extents.

use files::DataKind;
use model::properties::Layout as LayoutProperty;
use model::{Dataspace, Error, Result, Selection, Token};
use vol::OpWrite;

use super::Writer;
use super::storage::Storage;
use super::values::names_values;
use crate::chunk;
use crate::format::Address;
use crate::format::layout::{Index, Layout};
use crate::object::dataset::Dataset;

/// Fill values written at a time.
const FILL_BYTES: u64 = 1 << 20;
/// Contiguous elements of this size and more that are all overwritten move to another place.
const MOVED_BYTES_MIN: u64 = 64 << 10;

impl Writer {
    /// Checks that a write fits its dataset, and returns whether its elements are in this file. Before a write to a
    /// virtual dataset everything is serialized, because sources in this file may decide how far the dataset reaches.
    pub(crate) fn check_write(&mut self, op: &OpWrite<'_>) -> Result<bool> {
        let dataset = self.dataset(Address(op.dataset.to_u64()))?;
        match dataset.info.create.layout {
            LayoutProperty::Virtual(_) => self.serialize_all().map(|()| false),
            LayoutProperty::External(_) => Ok(false),
            _ => check_elements(&dataset, op).map(|()| true),
        }
    }

    pub(crate) fn dataset_write(&mut self, op: &OpWrite<'_>) -> Result<()> {
        let dataset = self.dataset(Address(op.dataset.to_u64()))?;
        if op.from.is_empty() {
            return Ok(());
        }
        match names_values(&dataset.info.datatype) {
            true => self.write_with_blobs(&dataset, op),
            false => self.write_elements(&dataset, op),
        }
    }

    /// Writes elements that lead to nothing else, or whose old values are dealt with.
    pub(super) fn write_elements(&mut self, dataset: &Dataset, op: &OpWrite<'_>) -> Result<()> {
        match &dataset.layout {
            Layout::Compact { data } => self.write_compact(dataset, data.clone(), op),
            Layout::Contiguous { address, .. } => self.write_contiguous(dataset, *address, op),
            Layout::Chunked(layout) => self.write_chunks(dataset, layout, op),
            Layout::Virtual { .. } => Err(Error::unsupported("write to virtual data")),
        }
    }

    fn write_compact(&mut self, dataset: &Dataset, mut data: Vec<u8>, op: &OpWrite<'_>) -> Result<()> {
        let bytes = dataset.element_bytes();
        let mut rest = op.from;
        for run in op.selection.runs(dataset.dims())? {
            let (now, later) = rest.split_at(run.len as usize * bytes);
            let start = run.offset as usize * bytes;
            let old = data.get_mut(start..start + now.len());
            old.ok_or_else(|| Error::corrupt("write compact data"))?.copy_from_slice(now);
            rest = later;
        }
        self.set_layout(dataset.address, &Layout::Compact { data })
    }

    fn write_contiguous(
        &mut self,
        dataset: &Dataset,
        address: Option<Address>,
        op: &OpWrite<'_>,
    ) -> Result<()> {
        let bytes = chunk::logical_bytes(dataset)?;
        let is_whole = op.from.len() as u64 == bytes;
        match address {
            Some(at) if self.chunks.is_in_place(dataset.address) => {
                self.storage.write_runs(dataset, at, op, Storage::overwrite)
            }
            // Much that is committed is not staged, but written to other space: nothing of it stays.
            Some(at) if is_whole && bytes >= MOVED_BYTES_MIN && self.storage.moves(at, bytes) => {
                self.place_contiguous(dataset, op)?;
                self.storage.release_raw(at, bytes);
                Ok(())
            }
            Some(at) => self.storage.write_runs(dataset, at, op, Storage::write),
            None => self.place_contiguous(dataset, op),
        }
    }

    /// Puts all elements in new space: those that are written, and the fill value for others.
    fn place_contiguous(&mut self, dataset: &Dataset, op: &OpWrite<'_>) -> Result<()> {
        let bytes = chunk::logical_bytes(dataset)?;
        let at = self.storage.allocate(bytes, DataKind::Raw);
        let is_whole = op.from.len() as u64 == bytes;
        let filled = if is_whole { Ok(()) } else { self.storage.write_fill(dataset, at, bytes) };
        let written = filled.and_then(|()| self.storage.write_runs(dataset, at, op, Storage::write));
        if written.is_err() {
            // The dataset does not lead there yet.
            self.storage.release_raw(at, bytes);
            return written;
        }
        self.set_layout(dataset.address, &Layout::Contiguous { address: Some(at), bytes: Some(bytes) })
    }

    /// Chooses whether elements that a commit has are overwritten where they are, at once: they are written once, and a crash
    /// may leave some of them old and some new.
    pub(crate) fn set_in_place(&mut self, at: Address, is_in_place: bool) -> Result<()> {
        let dataset = self.dataset(at)?;
        let is_here =
            matches!(dataset.info.create.layout, LayoutProperty::Contiguous | LayoutProperty::Chunked { .. });
        if !is_here || names_values(&dataset.info.datatype) || !dataset.filters().is_empty() {
            let problem =
                "only contiguous and chunked elements without filters and values of variable length can be";
            return Err(Error::invalid("overwrite in place").at(at.0).with("problem", problem));
        }
        self.chunks.set_in_place(at, is_in_place);
        Ok(())
    }

    /// Allocates a contiguous dataset that has no storage yet, for a caller who writes all of its elements to the file itself
    /// before the next commit. The fill value is not written. Returns the offset in the file.
    pub(super) fn allocate_unfilled(&mut self, dataset: &Dataset) -> Result<u64> {
        let (at, bytes) = (dataset.address, chunk::logical_bytes(dataset)?);
        let place = self.storage.allocate(bytes, DataKind::Raw);
        if let Err(error) = self.storage.store().write_fresh(&[place], bytes, |_| Ok(())) {
            self.storage.release_raw(place, bytes);
            return Err(error);
        }
        self.storage.transaction.is_changed = true;
        self.set_layout(at, &Layout::Contiguous { address: Some(place), bytes: Some(bytes) })?;
        Ok(self.storage.store().base() + place.0)
    }

    /// Reserves space for all elements of a dataset now, with its fill value.
    pub(crate) fn allocate_early(&mut self, at: Address) -> Result<()> {
        let dataset = self.dataset(at)?;
        match &dataset.layout {
            Layout::Contiguous { address: None, .. }
                if dataset.info.create.layout == LayoutProperty::Contiguous
                    && chunk::logical_bytes(&dataset)? > 0 =>
            {
                let nothing =
                    OpWrite { dataset: Token::from_u64(at.0), selection: &Selection::None, from: &[] };
                self.place_contiguous(&dataset, &nothing)
            }
            Layout::Chunked(layout) if matches!(layout.index, Index::Implicit) => {
                self.allocate_implicit(&dataset, layout)
            }
            Layout::Chunked(layout) => self.allocate_chunks(&dataset, layout),
            _ => Ok(()),
        }
    }
}

impl Storage {
    /// Returns whether what is there is better written to other space: it is committed, and its space is used again.
    fn moves(&self, at: Address, bytes: u64) -> bool {
        self.reuses() && !self.is_fresh(at, bytes)
    }

    /// Writes the elements of a selection of a contiguous dataset.
    fn write_runs(
        &mut self,
        dataset: &Dataset,
        base: Address,
        op: &OpWrite<'_>,
        write: fn(&mut Storage, Address, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let bytes = dataset.element_bytes() as u64;
        let mut rest = op.from;
        for run in op.selection.runs(dataset.dims())? {
            let (now, later) = rest.split_at((run.len * bytes) as usize);
            write(self, Address(base.0 + run.offset * bytes), now)?;
            rest = later;
        }
        Ok(())
    }

    /// Returns space for elements, which reads as zeros.
    pub(super) fn allocate_zeros(&mut self, bytes: u64) -> Result<Address> {
        let at = self.allocate(bytes, DataKind::Raw);
        let piece = || vec![0; bytes.min(FILL_BYTES) as usize];
        let filled = match self.reads_as_zeros(at) {
            Ok(true) => Ok(()),
            Ok(false) => self.repeat(&piece(), at, bytes),
            Err(error) => Err(error),
        };
        if filled.is_err() {
            self.release_raw(at, bytes);
        }
        filled.map(|()| at)
    }

    /// Returns whether new space has zeros already: the commit makes the file as long as what it has allocated.
    fn reads_as_zeros(&mut self, at: Address) -> Result<bool> {
        let is_empty = self.store().is_empty_group(at)?;
        self.transaction.is_changed |= is_empty;
        Ok(is_empty)
    }

    /// Repeats the fill value over a range of whole elements.
    pub(super) fn write_fill(&mut self, dataset: &Dataset, at: Address, bytes: u64) -> Result<()> {
        if chunk::fills_with_zeros(dataset) && self.reads_as_zeros(at)? {
            return Ok(());
        }
        let piece = (FILL_BYTES / dataset.element_bytes() as u64).max(1) * dataset.element_bytes() as u64;
        let mut fill = vec![0; piece.min(bytes) as usize];
        chunk::fill(dataset, &mut fill);
        self.repeat(&fill, at, bytes)
    }

    fn repeat(&mut self, piece: &[u8], at: Address, bytes: u64) -> Result<()> {
        let mut done = 0;
        while done < bytes {
            let len = (bytes - done).min(piece.len() as u64);
            self.write_raw(Address(at.0 + done), &piece[..len as usize])?;
            done += len;
        }
        Ok(())
    }

    /// Writes elements. Where other processes write more of them next, those in fresh space are in the file at once.
    pub(crate) fn write_raw(&mut self, at: Address, data: &[u8]) -> Result<()> {
        if self.followed.is_none() || !self.is_fresh(at, data.len() as u64) {
            return self.write(at, data);
        }
        self.transaction.is_changed = true;
        self.store().write_fresh(&[at], data.len() as u64, |write| write.put(at, data))
    }
}

/// Returns an error where elements do not fit the extent.
pub(crate) fn check_elements(dataset: &Dataset, op: &OpWrite<'_>) -> Result<()> {
    let count = match &dataset.info.space {
        Dataspace::Null => 0,
        space => {
            op.selection.validate(space.dims())?;
            op.selection.element_count(space.dims())?
        }
    };
    match count.checked_mul(dataset.element_bytes() as u64) == Some(op.from.len() as u64) {
        true => Ok(()),
        false => {
            Err(Error::invalid("write dataset").with("elements", count).with("buffer bytes", op.from.len()))
        }
    }
}
