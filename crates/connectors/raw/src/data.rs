//! The elements of one dataset: their file, their extent, and their lock.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use dir::{Dir, Open};
use model::properties::{FillValue, Layout};
use model::{Error, Result};
use system::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use vol::{Allocation, DatasetInfo, StorageInfo};

use crate::elements::Elements;

/// The state of a dataset besides its object.
#[derive(Debug, Default)]
pub(crate) struct Data {
    /// Read while elements are read, written while they are written.
    lock: RwLock<()>,
    /// The metadata since a caller changed it by hand.
    edited: RwLock<Option<Arc<DatasetInfo>>>,
    /// Its file waits to take the place of the one at home.
    pub(crate) is_fresh: AtomicBool,
    /// Elements were written since the last commit.
    pub(crate) is_dirty: AtomicBool,
    /// The fill value with values of its own in the heap, once it was needed.
    stored_fill: OnceLock<Vec<u8>>,
}

impl Data {
    pub(crate) fn reading(&self) -> RwLockReadGuard<'_, ()> {
        self.lock.read()
    }

    pub(crate) fn writing(&self) -> RwLockWriteGuard<'_, ()> {
        self.is_dirty.store(true, Ordering::SeqCst);
        self.lock.write()
    }

    /// Returns the fill value as it goes to the file.
    pub(crate) fn stored_fill(&self, make: impl FnOnce() -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        if let Some(known) = self.stored_fill.get() {
            return Ok(known.clone());
        }
        let made = make()?;
        Ok(self.stored_fill.get_or_init(|| made).clone())
    }

    pub(crate) fn edited(&self) -> Option<Arc<DatasetInfo>> {
        self.edited.read().clone()
    }

    pub(crate) fn set_edited(&self, info: DatasetInfo) {
        *self.edited.write() = Some(Arc::new(info));
    }
}

/// Returns whether elements lie in other files or datasets.
pub(crate) fn is_external(info: &DatasetInfo) -> bool {
    matches!(info.create.layout, Layout::External(_) | Layout::Virtual(_))
}

/// Returns how elements are stored; `fill` is one in the form it has in the file.
pub(crate) fn elements_of(info: &DatasetInfo) -> Elements {
    let fill = match &info.create.fill.value {
        FillValue::Value(value) if value.iter().any(|&b| b != 0) => Some(value.clone()),
        _ => None,
    };
    let size = u64::from(info.datatype.size()).max(1);
    // A fill value of another size is refused when a dataset is created; text made by hand may still have one.
    Elements { size, fill: fill.filter(|fill| fill.len() as u64 == size) }
}

/// Returns the number of bytes of all elements.
pub(crate) fn extent_bytes(info: &DatasetInfo) -> Result<u64> {
    let count = info.space.element_count()?;
    let bytes = count.checked_mul(u64::from(info.datatype.size()));
    bytes.ok_or_else(|| Error::limit("count bytes").with("elements", count))
}

fn failed(dir: &Dir, path: &Path, e: &std::io::Error) -> Error {
    Error::io("open elements", e).with("path", dir.path(path).display())
}

/// Returns the file at a path, if there is one. A link to somewhere else is an error.
pub(crate) fn open_to_read(dir: &Dir, path: &Path) -> Result<Option<File>> {
    dir.find_file(path).map_err(|e| failed(dir, path, &e))
}

/// Returns the file at a path, which is made where there is none.
pub(crate) fn open_to_write(dir: &Dir, path: &Path) -> Result<File> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let opened = match dir.file(path, Open::CreateOrOpen) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            dir.make_dirs(folder).and_then(|()| dir.file(path, Open::CreateOrOpen))
        }
        opened => opened,
    };
    opened.map_err(|e| failed(dir, path, &e))
}

/// Returns the runs of elements for which a file has bytes; what lies between them reads as zeros.
pub(crate) fn stored_runs(file: &File, size: u64) -> std::io::Result<Vec<(u64, u64)>> {
    let end = file.metadata()?.len();
    // What follows the end is the fill value, and what precedes it may be a hole: they are kept apart.
    let (mut runs, mut at) = (vec![(end.saturating_sub(1) / size, 1)], 0);
    while let Some(data) = system::file::next_data(file, at)? {
        runs.push((data.start / size, data.end.div_ceil(size) - data.start / size));
        at = data.end;
    }
    Ok(runs)
}

/// Returns how much of a dataset is stored.
pub(crate) fn storage_of(info: &DatasetInfo, file: Option<&File>) -> Result<StorageInfo> {
    let wanted = extent_bytes(info)?;
    let Some(file) = file else {
        return Ok(StorageInfo::new(0, Allocation::None));
    };
    let len = file.metadata().map_err(|e| Error::io("look at elements", &e))?.len();
    let bytes = len.min(wanted);
    let allocation = match bytes {
        0 => Allocation::None,
        n if n < wanted => Allocation::Part,
        _ => Allocation::Full,
    };
    Ok(StorageInfo { offset: Some(0), ..StorageInfo::new(bytes, allocation) })
}
