//! Elements of datasets and their extents.

use model::properties::Layout as LayoutProperty;
use model::{Dataspace, Error, Result, Selection, Token};
use vol::OpWrite;

use super::Writer;
use super::values::names_values;
use crate::chunk;
use crate::file::File;
use crate::format::Address;
use crate::format::header::kind;
use crate::format::layout::{Index, Layout};
use crate::object::dataset::Dataset;

/// Fill values written at a time.
const FILL_BYTES: u64 = 1 << 20;
/// Contiguous elements of this size and more that are all overwritten move to another place.
const MOVED_BYTES_MIN: u64 = 64 << 10;

impl Writer {
    /// The dataset as a reader sees it, with everything laid out.
    pub(super) fn dataset(&mut self, file: &File, at: Address) -> Result<std::sync::Arc<Dataset>> {
        self.lay_out(file, at)?;
        file.dataset(model::Token::from_u64(at.0))
    }

    /// The dataset that elements go to. A chunked one's header stays as it is while its chunks change.
    fn target(&mut self, file: &File, op: &OpWrite<'_>) -> Result<std::sync::Arc<Dataset>> {
        let at = Address(op.dataset.to_u64());
        self.check_there(at)?;
        self.current_dataset(file, at)
    }

    /// An error where a write does not fit its dataset; whether the dataset is virtual, so that the elements go elsewhere.
    pub(crate) fn check_write(&mut self, file: &File, op: &OpWrite<'_>) -> Result<bool> {
        let mut dataset = self.target(file, op)?;
        let is_virtual = matches!(dataset.layout, Layout::Virtual { .. });
        if is_virtual {
            // How far it reaches, sources in this file may say.
            self.lay_out_all(file)?;
            dataset = self.target(file, op)?;
        }
        check_elements(&dataset, op)?;
        Ok(is_virtual)
    }

    pub(crate) fn dataset_write(&mut self, file: &File, op: &OpWrite<'_>) -> Result<()> {
        let dataset = self.target(file, op)?;
        if op.from.is_empty() {
            return Ok(());
        }
        match names_values(&dataset.info.datatype) {
            true => self.write_with_blobs(file, &dataset, op),
            false => self.write_elements(file, &dataset, op),
        }
    }

    /// Writes elements that lead to nothing else, or whose old values are dealt with.
    pub(super) fn write_elements(&mut self, file: &File, dataset: &Dataset, op: &OpWrite<'_>) -> Result<()> {
        match (&dataset.info.create.layout, &dataset.layout) {
            (LayoutProperty::Virtual(_), _) => Err(Error::unsupported("write to virtual data")),
            (LayoutProperty::External(list), _) => {
                chunk::write_external(file, dataset, list, op.selection, op.from)
            }
            (_, Layout::Compact { data }) => self.write_compact(file, dataset, data.clone(), op),
            (_, Layout::Contiguous { address, .. }) => self.write_contiguous(file, dataset, *address, op),
            (_, Layout::Chunked(layout)) => self.write_chunks(file, dataset, layout, op),
            (_, Layout::Virtual { .. }) => Err(Error::unsupported("write to virtual data")),
        }
    }

    fn write_compact(
        &mut self,
        file: &File,
        dataset: &Dataset,
        mut data: Vec<u8>,
        op: &OpWrite<'_>,
    ) -> Result<()> {
        let bytes = dataset.element_bytes();
        let mut rest = op.from;
        for run in op.selection.runs(dataset.dims())? {
            let (now, later) = rest.split_at(run.len as usize * bytes);
            let start = run.offset as usize * bytes;
            let room = data.get_mut(start..start + now.len());
            room.ok_or_else(|| Error::corrupt("write compact data"))?.copy_from_slice(now);
            rest = later;
        }
        let body = Layout::Compact { data }.encode_new(self.sizes)?;
        self.draft(file, dataset.address)?.set(kind::LAYOUT, 0, body);
        Ok(())
    }

    fn write_contiguous(
        &mut self,
        file: &File,
        dataset: &Dataset,
        address: Option<Address>,
        op: &OpWrite<'_>,
    ) -> Result<()> {
        let bytes = chunk::logical_bytes(dataset)?;
        let is_whole = op.from.len() as u64 == bytes;
        match address {
            // Much that is committed is not staged, but written elsewhere: nothing of it stays.
            Some(at) if is_whole && bytes >= MOVED_BYTES_MIN && self.moves(at, bytes) => {
                self.place_contiguous(file, dataset, op)?;
                self.release_raw(at, bytes);
                Ok(())
            }
            Some(at) => self.write_runs(dataset, at, op),
            None => self.place_contiguous(file, dataset, op),
        }
    }

    /// Whether what is there is better written elsewhere: it is committed, and its room is used again.
    fn moves(&self, at: Address, bytes: u64) -> bool {
        self.space.reuses() && !self.is_fresh(at, bytes)
    }

    /// Puts all elements in new room: those that are written, and the fill value for others.
    fn place_contiguous(&mut self, file: &File, dataset: &Dataset, op: &OpWrite<'_>) -> Result<()> {
        let bytes = chunk::logical_bytes(dataset)?;
        let at = self.allocate_raw(bytes);
        let is_whole = op.from.len() as u64 == bytes;
        let filled = if is_whole { Ok(()) } else { self.write_fill(dataset, at, bytes) };
        let written = filled.and_then(|()| self.write_runs(dataset, at, op));
        if written.is_err() {
            // The dataset does not lead there yet.
            self.release_raw(at, bytes);
            return written;
        }
        let body = Layout::Contiguous { address: Some(at), bytes: Some(bytes) }.encode_new(self.sizes)?;
        self.draft(file, dataset.address)?.set(kind::LAYOUT, 0, body);
        Ok(())
    }

    fn write_runs(&mut self, dataset: &Dataset, base: Address, op: &OpWrite<'_>) -> Result<()> {
        let bytes = dataset.element_bytes() as u64;
        let mut rest = op.from;
        for run in op.selection.runs(dataset.dims())? {
            let (now, later) = rest.split_at((run.len * bytes) as usize);
            self.write(Address(base.0 + run.offset * bytes), now)?;
            rest = later;
        }
        Ok(())
    }

    /// Repeats the fill value over a range of whole elements.
    pub(super) fn write_fill(&mut self, dataset: &Dataset, at: Address, bytes: u64) -> Result<()> {
        let piece = (FILL_BYTES / dataset.element_bytes() as u64).max(1) * dataset.element_bytes() as u64;
        let mut fill = vec![0; piece.min(bytes) as usize];
        chunk::fill(dataset, &mut fill);
        if fill.iter().all(|&b| b == 0) && self.store.is_blank(at)? {
            // Zeros are there already: the commit makes the file as long as what it has allocated.
            self.is_changed = true;
            return Ok(());
        }
        let mut done = 0;
        while done < bytes {
            let len = (bytes - done).min(fill.len() as u64);
            self.write(Address(at.0 + done), &fill[..len as usize])?;
            done += len;
        }
        Ok(())
    }

    /// Makes room for the elements of a contiguous dataset that has none, for one who writes them to the file itself before
    /// the next commit. The fill value is not written. The offset in the file.
    pub(crate) fn place_for_others(&mut self, file: &File, at: Address) -> Result<u64> {
        let dataset = self.dataset(file, at)?;
        let bytes = chunk::logical_bytes(&dataset)?;
        let is_new = matches!(dataset.layout, Layout::Contiguous { address: None, .. });
        if !is_new || bytes == 0 || dataset.info.create.layout != LayoutProperty::Contiguous {
            let error = Error::invalid("make room for elements").at(at.0);
            return Err(error.with("problem", "not a contiguous dataset without room"));
        }
        let place = self.allocate_raw(bytes);
        if let Err(error) = self.store.write_fresh(&[place], bytes, |_| Ok(())) {
            self.release_raw(place, bytes);
            return Err(error);
        }
        self.is_changed = true;
        let body = Layout::Contiguous { address: Some(place), bytes: Some(bytes) }.encode_new(self.sizes)?;
        self.draft(file, at)?.set(kind::LAYOUT, 0, body);
        Ok(self.store.base() + place.0)
    }

    /// Makes room for all elements of a dataset now, with its fill value.
    pub(crate) fn allocate_early(&mut self, file: &File, at: Address) -> Result<()> {
        let dataset = self.dataset(file, at)?;
        match &dataset.layout {
            Layout::Contiguous { address: None, .. }
                if dataset.info.create.layout == LayoutProperty::Contiguous
                    && chunk::logical_bytes(&dataset)? > 0 =>
            {
                let nothing =
                    OpWrite { dataset: Token::from_u64(at.0), selection: &Selection::None, from: &[] };
                self.place_contiguous(file, &dataset, &nothing)
            }
            Layout::Chunked(layout) if matches!(layout.index, Index::Implicit) => {
                self.allocate_implicit(file, &dataset, layout)
            }
            Layout::Chunked(layout) => self.allocate_chunks(file, &dataset, layout),
            _ => Ok(()),
        }
    }
}

fn check_elements(dataset: &Dataset, op: &OpWrite<'_>) -> Result<()> {
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
