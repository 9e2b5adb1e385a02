//! Elements in and out of their files, and extents that change.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use algorithms::{replaced_blobs, transfer};
use json_text::SiblingResolver;
use model::convert::Conversions;
use model::properties::{Layout, VirtualMapping};
use model::{Datatype, Error, Heap, Kind, Result, Token};
use vol::{Blobs, Container, DatasetInfo, OpRead, OpWrite};

use crate::container::RawContainer;
use crate::data::*;
use crate::elements::Elements;
use crate::folder::Folder;

impl RawContainer {
    /// Returns a dataset as the metadata says it is.
    pub(crate) fn shown(&self, folder: &Folder, dataset: Token) -> Result<Arc<DatasetInfo>> {
        let info = Container::dataset_info(&self.opened, dataset)?;
        if let Some(edited) = folder.data(dataset).edited() {
            return Ok(edited);
        }
        let Layout::Virtual(mappings) = &info.create.layout else { return Ok(info) };
        let layout = Layout::Virtual(renamed(mappings, SiblingResolver::OWN, "."));
        let mut shown = DatasetInfo::clone(&info);
        shown.create.layout = layout;
        Ok(Arc::new(shown))
    }

    pub(crate) fn read_one(&self, read: &mut OpRead<'_>) -> Result<()> {
        let folder = self.folder()?;
        let info = self.shown(&folder, read.dataset)?;
        if is_external(&info) {
            let OpRead { dataset, selection, into } = read;
            return Container::dataset_read(
                &self.opened,
                &mut [OpRead { dataset: *dataset, selection, into }],
            );
        }
        let data = folder.data(read.dataset);
        let _reading = data.reading();
        // The extent may have changed before the lock was there.
        let info = self.shown(&folder, read.dataset)?;
        algorithms::checks::transfer(&info, read.selection, read.into.len())?;
        if read.into.is_empty() {
            return Ok(());
        }
        let file = folder.elements(read.dataset, &data)?;
        elements_of(&info).read(file.as_ref(), read.selection, info.space.dims(), read.into)
    }

    pub(crate) fn write_one(&self, write: &OpWrite<'_>) -> Result<()> {
        let folder = self.folder()?;
        let info = self.shown(&folder, write.dataset)?;
        if is_external(&info) {
            return Container::dataset_write(&self.opened, std::slice::from_ref(write));
        }
        let data = folder.data(write.dataset);
        let _writing = data.writing();
        let info = self.shown(&folder, write.dataset)?;
        algorithms::checks::transfer(&info, write.selection, write.from.len())?;
        if write.from.is_empty() {
            return Ok(());
        }
        let file = folder.elements_mut(write.dataset, &data)?;
        let (elements, dims) = (self.stored_elements(&data, &info)?, info.space.dims());
        let mut old = Vec::new();
        if info.datatype.has_descriptors() {
            old.resize(write.from.len(), 0);
            elements.read(Some(&file), write.selection, dims, &mut old)?;
        }
        let before = length(&file)?;
        elements.write(&file, write.selection, dims, write.from)?;
        if length(&file)? != before {
            // The metadata says how long the file is.
            folder.touch(write.dataset);
        }
        folder.keeper().shared().change();
        self.release_replaced(&folder, (&info.datatype, elements.fill.as_deref()), &old, write.from)
    }

    /// Releases the values that only the old elements had.
    fn release_replaced(
        &self,
        folder: &Folder,
        (datatype, fill): (&Datatype, Option<&[u8]>),
        old: &[u8],
        new: &[u8],
    ) -> Result<()> {
        let mut get = |ids: &[&[u8]], out: &mut Blobs| folder.blobs.get(ids, &self.limits, out);
        let ids = replaced_blobs(datatype, old, new, fill, &mut get)?;
        folder.blobs.release(&ids, &self.limits)
    }

    /// Returns how elements are stored when they are written: a fill value with descriptors needs values that stay.
    fn stored_elements(&self, data: &Data, info: &DatasetInfo) -> Result<Elements> {
        let mut elements = elements_of(info);
        if let Some(fill) = elements.fill.take() {
            elements.fill = Some(match info.datatype.has_descriptors() {
                false => fill,
                true => data.stored_fill(|| self.with_own_values(info, &fill))?,
            });
        }
        Ok(elements)
    }

    /// Returns an element whose values are in the heap, where those of metadata are not.
    fn with_own_values(&self, info: &DatasetInfo, element: &[u8]) -> Result<Vec<u8>> {
        let (memory, none, mut heap) = (info.datatype.memory_type(), Conversions::default(), Heap::new());
        let values = transfer::from_file_type(self, &info.datatype, element, &memory, &none, &mut heap)?;
        transfer::to_file_type(self, &memory, &values, &info.datatype, &none, &mut heap)
    }

    /// Changes the extent of a dataset, and brings its file to it.
    pub(crate) fn resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        self.writing()?;
        let folder = self.fresh(dataset)?;
        let data = folder.data(dataset);
        let _resizing = folder.resizing.read();
        let _writing = data.writing();
        let old = self.shown(&folder, dataset)?;
        match data.edited() {
            Some(edited) => data.set_edited(resized(&edited, dims)?),
            None => Container::dataset_resize(&self.opened, dataset, dims)?,
        }
        folder.touch(dataset);
        if is_external(&old) || old.space.dims() == dims {
            return Ok(());
        }
        let elements = self.stored_elements(&data, &old)?;
        let moved = folder.relay(dataset, &data, &elements, (old.space.dims(), dims));
        if moved.is_err() {
            // What the file holds is still the old extent. Should this fail as well, the first error says more.
            match data.edited() {
                Some(_) => data.set_edited(DatasetInfo::clone(&old)),
                None => drop(Container::dataset_resize(&self.opened, dataset, old.space.dims())),
            }
        }
        folder.keeper().shared().change();
        moved
    }
}

/// Returns the mappings whose sources in one file are in another.
pub(crate) fn renamed(mappings: &[VirtualMapping], from: &str, to: &str) -> Vec<VirtualMapping> {
    let rename = |mapping: &VirtualMapping| {
        let file = if mapping.file == from { to.to_owned() } else { mapping.file.clone() };
        VirtualMapping { file, ..mapping.clone() }
    };
    mappings.iter().map(rename).collect()
}

/// Returns a dataset whose metadata was changed by hand, with another extent.
fn resized(info: &DatasetInfo, dims: &[u64]) -> Result<DatasetInfo> {
    let is_chunked = matches!(info.create.layout, Layout::Chunked { .. });
    if dims.len() != info.space.rank() || dims.is_empty() || !(is_chunked || dims == info.space.dims()) {
        return Err(Error::invalid("resize dataset").with("rank", dims.len()));
    }
    Ok(DatasetInfo { space: info.space.resized(dims)?, ..info.clone() })
}

fn length(file: &File) -> Result<u64> {
    Ok(file.metadata().map_err(|e| Error::io("look at elements", &e))?.len())
}

impl Folder {
    /// Returns bytes of a dataset's elements, as far as they are in a file.
    pub(crate) fn stored_bytes(&self, dataset: Token) -> Result<Option<u64>> {
        let file = match self.elements(dataset, &self.data(dataset)) {
            // A caller put something else there by hand.
            Err(error) if error.kind() == Kind::Denied => None,
            file => file?,
        };
        file.map(|file| length(&file)).transpose()
    }

    /// Brings the file of a dataset from one extent to another; the dataset is locked.
    fn relay(
        &self,
        dataset: Token,
        data: &Data,
        elements: &Elements,
        extents: (&[u64], &[u64]),
    ) -> Result<()> {
        let (old, dims) = extents;
        let Some(from) = self.elements(dataset, data)? else { return Ok(()) };
        if old.get(1..) == dims.get(1..) {
            // Rows stay where they are: what is beyond the smaller of both extents goes.
            let rows = |dims: &[u64]| dims.iter().try_fold(elements.size, |n, &dim| n.checked_mul(dim));
            let end = rows(old).zip(rows(dims)).map_or(0, |(a, b)| a.min(b));
            let file = self.elements_mut(dataset, data)?;
            let len = length(&file)?;
            return match len > end {
                true => file.set_len(end).map_err(|e| Error::io("cut elements", &e)),
                false => Ok(()),
            };
        }
        let waiting = self.waiting_path(dataset)?;
        let temporary = waiting.with_extension("tmp");
        let failed = |e: std::io::Error| {
            Error::io("move elements", &e).with("path", self.dir().path(&waiting).display())
        };
        let to = open_to_write(self.dir(), &temporary)?;
        to.set_len(0).map_err(failed)?;
        elements.relay(&from, old, &to, dims)?;
        // Windows renames no open file, and none over an open one.
        drop((from, to));
        // A commit moves what waits: not now.
        let _homes = self.homes();
        self.dir().rename(&temporary, &waiting).map_err(failed)?;
        data.is_fresh.store(true, Ordering::SeqCst);
        Ok(())
    }
}
