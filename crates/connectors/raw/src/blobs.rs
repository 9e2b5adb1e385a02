//! Variable-length values and references: what descriptors stand for.
//!
//! What elements of datasets need goes to one file, the heap: eight bytes of length, then the value; its offset is
//! in the element. What metadata says in words is kept in memory while the container is open, with a bit that tells.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use dir::{Dir, Open};
use model::{Error, Kind, Limits, Result};
use system::file::{read_exact_at, write_all_at};
use system::sync::{Mutex, MutexGuard};
use vol::Released;

/// The first bytes of the heap; no value has an offset below.
const HEAD: &[u8; 16] = b"hyperslab heap 1";
/// Identities of values that are in memory.
const IN_MEMORY: u64 = 1 << 63;
/// In the length of a value that was given up.
const GIVEN_UP: u64 = 1 << 63;
const LENGTH_BYTES: u64 = 8;

/// The values of one container.
#[derive(Debug)]
pub(crate) struct Blobs {
    dir: Dir,
    path: PathBuf,
    state: Mutex<BlobState>,
    /// Values that were released, and that readers may still need.
    pub(crate) released: Released<[u8; 8]>,
}

#[derive(Debug, Default)]
struct BlobState {
    /// The heap and its end, once it was needed for writing.
    heap: Option<(File, u64)>,
    in_memory: BTreeMap<u64, Vec<u8>>,
    number_next: u64,
    is_dirty: bool,
}

fn number(id: &[u8], operation: &str) -> Result<u64> {
    let bytes: Result<[u8; 8], _> = id.try_into();
    bytes.map(u64::from_le_bytes).map_err(|_| Error::invalid(operation).with("bytes", id.len()))
}

fn missing(id: u64) -> Error {
    Error::not_found("read blob").with("identity", format!("{id:#x}"))
}

impl Blobs {
    /// Returns the values that are in the file at `path` in `dir`.
    pub(crate) fn new(dir: &Dir, path: PathBuf) -> Self {
        Blobs { dir: dir.clone(), path, state: Mutex::default(), released: Released::default() }
    }

    fn state(&self) -> MutexGuard<'_, BlobState> {
        self.state.lock()
    }

    fn failed(&self, operation: &str, e: &std::io::Error) -> Error {
        Error::io(operation, e).with("path", self.dir.path(&self.path).display())
    }

    /// Adds values to those in memory.
    pub(crate) fn keep(&self, values: &[&[u8]]) -> Vec<u8> {
        let mut state = self.state();
        let mut ids = Vec::with_capacity(values.len() * 8);
        for value in values {
            state.number_next += 1;
            let id = state.number_next | IN_MEMORY;
            state.in_memory.insert(id, value.to_vec());
            ids.extend(id.to_le_bytes());
        }
        ids
    }

    /// Appends values to the heap.
    pub(crate) fn put(&self, values: &[&[u8]], limits: &Limits) -> Result<Vec<u8>> {
        if let Some(value) = values.iter().find(|value| value.len() as u64 > limits.blob_bytes_max) {
            let error = Error::limit("store blob").with("bytes", value.len());
            return Err(error.with("limit", limits.blob_bytes_max));
        }
        let mut state = self.state();
        if state.heap.is_none() {
            state.heap = Some(self.open_heap()?);
        }
        let Some((file, end)) = &mut state.heap else { return Ok(Vec::new()) };
        let (mut bytes, mut ids) = (Vec::new(), Vec::with_capacity(values.len() * 8));
        for value in values {
            bytes.extend((value.len() as u64).to_le_bytes());
            ids.extend((*end + bytes.len() as u64).to_le_bytes());
            bytes.extend_from_slice(value);
        }
        write_all_at(file, &bytes, *end).map_err(|e| self.failed("write heap", &e))?;
        *end += bytes.len() as u64;
        state.is_dirty = true;
        Ok(ids)
    }

    fn open_heap(&self) -> Result<(File, u64)> {
        let failed = |e: std::io::Error| self.failed("open heap", &e);
        self.dir.make_dirs(self.path.parent().unwrap_or(Path::new(""))).map_err(failed)?;
        let file = self.dir.file(&self.path, Open::CreateOrOpen).map_err(failed)?;
        let end = file.metadata().map_err(failed)?.len();
        if end == 0 {
            write_all_at(&file, HEAD, 0).map_err(failed)?;
        }
        Ok((file, end.max(HEAD.len() as u64)))
    }

    /// Appends the values of `ids` to `out`.
    pub(crate) fn get(&self, ids: &[&[u8]], limits: &Limits, out: &mut vol::Blobs) -> Result<()> {
        let mut file = None;
        for id in ids {
            let id = number(id, "read blob")?;
            if id & IN_MEMORY != 0 {
                out.push(self.state().in_memory.get(&id).ok_or_else(|| missing(id))?)?;
                continue;
            }
            if file.is_none() {
                file = Some(self.dir.file(&self.path, Open::Read).map_err(|e| self.failed("open heap", &e))?);
            }
            let Some(file) = &file else { continue };
            let len = self.length(file, id, limits)?;
            let mut value = vec![0; len];
            read_exact_at(file, &mut value, id).map_err(|e| self.failed("read heap", &e))?;
            out.push(&value)?;
        }
        Ok(())
    }

    /// Returns the length of a value, which is within limits and in the file.
    fn length(&self, file: &File, id: u64, limits: &Limits) -> Result<usize> {
        let end = file.metadata().map_err(|e| self.failed("look at heap", &e))?.len();
        if id < HEAD.len() as u64 + LENGTH_BYTES || id > end {
            return Err(missing(id));
        }
        let mut length = [0; LENGTH_BYTES as usize];
        read_exact_at(file, &mut length, id - LENGTH_BYTES).map_err(|e| self.failed("read heap", &e))?;
        let length = u64::from_le_bytes(length);
        if length & GIVEN_UP != 0 || length > end - id {
            return Err(missing(id));
        }
        model::Within::within(length, limits.blob_bytes_max, "blob")
    }

    /// Gives values up. Space at the end of the heap is used again; other space when the heap goes.
    pub(crate) fn delete(&self, ids: &[&[u8]], limits: &Limits) -> Result<()> {
        let mut state = self.state();
        if state.heap.is_none() && self.dir.is_file(&self.path) {
            state.heap = Some(self.open_heap()?);
        }
        for id in ids.iter().rev() {
            let id = number(id, "delete blob")?;
            if id & IN_MEMORY != 0 {
                state.in_memory.remove(&id).ok_or_else(|| missing(id))?;
                continue;
            }
            let BlobState { heap: Some((file, end)), .. } = &mut *state else { return Err(missing(id)) };
            let len = self.length(file, id, limits)? as u64;
            if id + len == *end {
                *end = id - LENGTH_BYTES;
                file.set_len(*end).map_err(|e| self.failed("cut heap", &e))?;
            } else {
                let length = (len | GIVEN_UP).to_le_bytes();
                write_all_at(file, &length, id - LENGTH_BYTES).map_err(|e| self.failed("write heap", &e))?;
            }
            state.is_dirty = true;
        }
        Ok(())
    }

    /// Takes values that no element has any more, one identity after another; they go when no reader needs them.
    pub(crate) fn release(&self, ids: &[u8], limits: &Limits) -> Result<()> {
        self.remove_released(self.released.release(ids.as_chunks::<8>().0.to_vec()), limits)
    }

    /// Removes values that no reader waits for.
    pub(crate) fn remove_released(&self, due: Vec<[u8; 8]>, limits: &Limits) -> Result<()> {
        for id in due {
            match self.delete(&[&id], limits) {
                Err(error) if matches!(error.kind(), Kind::Io | Kind::Denied) => return Err(error),
                // What was there may be broken, and was overwritten all the same.
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes what was written survive.
    pub(crate) fn sync(&self) -> Result<()> {
        let mut state = self.state();
        if let Some((file, _)) = state.heap.as_ref().filter(|_| state.is_dirty) {
            file.sync_all().map_err(|e| self.failed("sync heap", &e))?;
        }
        state.is_dirty = false;
        Ok(())
    }

    /// Removes the heap, which no element needs any more.
    pub(crate) fn remove(&self) {
        let mut state = self.state();
        state.heap = None;
        // It may never have been there.
        let _ = self.dir.remove_file(&self.path);
    }
}
