//! Chunks as they are stored.

use std::ffi::{c_int, c_uint, c_void};

use hyperslab::extensions::{StoredChunk, StoredChunks};
use hyperslab::vol::model::properties::{ChunkIndexKind, Layout};
use hyperslab::vol::{ChunkInfo, call};

use crate::api;
use crate::arguments::{Bytes, Out, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5S_ALL, HADDR_UNDEF, haddr_t, herr_t, hid_t, hsize_t};
use crate::h5p::{self, Kind};
use crate::handles::{self, ObjectHandle};
use crate::listing::{Data, check_answer};

/// Chunks listed at a time, first and at most: a page begins with a walk over those before it.
const PAGE_FIRST: u64 = 64;
const PAGE_MAX: u64 = 1 << 16;

type ChunkOperator =
    Option<unsafe extern "C" fn(*const hsize_t, c_uint, haddr_t, hsize_t, *mut c_void) -> c_int>;

/// Returns the shape of the chunks of a dataset.
fn shape(dataset: &ObjectHandle) -> Fallible<Vec<u64>> {
    match &dataset.container().dataset_info(dataset.token)?.create.layout {
        Layout::Chunked { shape, .. } => Ok(shape.clone()),
        _ => Err(Failure::new(Major::ARGS, Minor::BADVALUE, "not a chunked dataset")),
    }
}

/// Returns the first chunk that `is_wanted` accepts, page by page.
fn find(
    dataset: &ObjectHandle,
    mut is_wanted: impl FnMut(&ChunkInfo) -> Fallible<bool>,
) -> Fallible<Option<ChunkInfo>> {
    let (mut skip, mut page_len) = (0, PAGE_FIRST);
    loop {
        let page = dataset.container().chunk_list(dataset.token, skip, page_len)?;
        (skip, page_len) = (skip + page.entries.len() as u64, PAGE_MAX.min(page_len * 4));
        for chunk in page.entries {
            if is_wanted(&chunk)? {
                return Ok(Some(chunk));
            }
        }
        if !page.more {
            return Ok(None);
        }
    }
}

/// Returns the coordinates of a chunk's first element, which must lie in the extent and where a chunk begins.
fn offset_of(dataset: &ObjectHandle, offset: Values<hsize_t>) -> Fallible<Vec<u64>> {
    let shape = shape(dataset)?;
    let info = dataset.container().dataset_info(dataset.token)?;
    let offset = offset.required(shape.len(), "offset")?.to_vec();
    if offset.iter().zip(info.space.dims()).any(|(at, dim)| at >= dim) {
        return Err(Failure::new(Major::DATASET, Minor::BADVALUE, "offset exceeds dimensions of dataset"));
    }
    if offset.iter().zip(&shape).any(|(at, each)| at % each != 0) {
        return Err(Failure::new(
            Major::DATASET,
            Minor::BADVALUE,
            "offset doesn't fall on chunks's boundary",
        ));
    }
    Ok(offset)
}

fn by_offset(dataset: &ObjectHandle, offset: Vec<u64>) -> Fallible<Option<ChunkInfo>> {
    let wanted = StoredChunk { dataset: dataset.token, offset };
    match call::<StoredChunk>(&**dataset.container(), &wanted) {
        Ok(answer) => Ok(wanted.info(&answer)),
        // Other connectors list their chunks.
        Err(error) if error.kind() == hyperslab::Kind::Unsupported => {
            find(dataset, |chunk| Ok(chunk.offset == wanted.offset))
        }
        Err(error) => Err(error.into()),
    }
}

fn count(dataset: &ObjectHandle) -> Fallible<u64> {
    match call::<StoredChunks>(&**dataset.container(), &dataset.token) {
        // Other connectors list their chunks.
        Err(error) if error.kind() == hyperslab::Kind::Unsupported => {
            let mut count = 0;
            find(dataset, |_| {
                count += 1;
                Ok(false)
            })?;
            Ok(count)
        }
        counted => Ok(counted?),
    }
}

/// Where a chunk's info is returned.
struct ChunkOut {
    mask: Out<c_uint>,
    address: Out<haddr_t>,
    size: Out<hsize_t>,
}

impl ChunkOut {
    fn put(&self, chunk: Option<&ChunkInfo>) {
        self.mask.put(chunk.map_or(0, |chunk| chunk.filter_mask));
        self.address.put(chunk.and_then(|chunk| chunk.address).unwrap_or(HADDR_UNDEF));
        self.size.put(chunk.map_or(0, |chunk| chunk.bytes));
    }
}

fn read_chunk(
    id: hid_t,
    offset: Values<hsize_t>,
    mask: Out<u32>,
    buffer: Bytes,
    size: Out<usize>,
) -> Fallible<()> {
    let dataset = handles::dataset(id)?;
    let offset = offset_of(&dataset, offset)?;
    let missing = |error| Failure::from(error).as_major(Major::DATASET).as_minor(Minor::READERROR);
    let (filters, bytes) = dataset.container().chunk_read(dataset.token, &offset).map_err(missing)?;
    let capacity = size.get().unwrap_or(bytes.len());
    size.put(bytes.len());
    // Without a buffer, or with one that is too small, only the size is told.
    if !buffer.0.is_null() && capacity >= bytes.len() {
        buffer.write(bytes.len(), "buffer")?.copy_from_slice(&bytes);
        mask.put(filters);
    }
    Ok(())
}

api! { DATASET:
    /// Returns the number of chunks that are stored.
    fn H5Dget_num_chunks(id: hid_t, space: hid_t, out: Out<hsize_t>) -> herr_t {
        let dataset = handles::dataset(id)?;
        if space != H5S_ALL {
            handles::space(space)?;
        }
        shape(&dataset)?;
        out.put_required(count(&dataset)?, "nchunks")
    }

    /// Returns the info of the chunk at a position.
    fn H5Dget_chunk_info(
        id: hid_t, _space: hid_t, n: hsize_t, offset: Out<hsize_t>, mask: Out<c_uint>, address: Out<haddr_t>, size: Out<hsize_t>,
    ) -> herr_t {
        let dataset = handles::dataset(id)?;
        shape(&dataset)?;
        let page = dataset.container().chunk_list(dataset.token, n, 1)?;
        let chunk = page.entries.first();
        let chunk = chunk.ok_or_else(|| Failure::new(Major::ARGS, Minor::BADRANGE, "chunk index is out of range"))?;
        offset.put_all(&chunk.offset, chunk.offset.len());
        ChunkOut { mask, address, size }.put(Some(chunk));
        Ok(())
    }

    /// Returns the info of the chunk at coordinates; one that is not stored has no address.
    fn H5Dget_chunk_info_by_coord(id: hid_t, offset: Values<hsize_t>, mask: Out<c_uint>, address: Out<haddr_t>, size: Out<hsize_t>) -> herr_t {
        let dataset = handles::dataset(id)?;
        let offset = offset_of(&dataset, offset)?;
        ChunkOut { mask, address, size }.put(by_offset(&dataset, offset)?.as_ref());
        Ok(())
    }

    /// Calls a function for every chunk that is stored.
    fn H5Dchunk_iter(id: hid_t, dxpl: hid_t, operator: ChunkOperator, data: Data) -> herr_t {
        h5p::check_list(dxpl, Kind::Transfer)?;
        let dataset = handles::dataset(id)?;
        shape(&dataset)?;
        let operator = operator.ok_or_else(|| Failure::argument("invalid callback"))?;
        let mut stopped = 0;
        find(&dataset, |chunk| {
            let address = chunk.address.unwrap_or(HADDR_UNDEF);
            // SAFETY: the offset lives until the function returns; the program gave function and data together.
            let answer = unsafe { operator(chunk.offset.as_ptr(), chunk.filter_mask, address, chunk.bytes, data) };
            stopped = check_answer(answer)?.unwrap_or(0);
            Ok(stopped != 0)
        })?;
        Ok(stopped)
    }

    /// Returns the bytes of a chunk in storage.
    fn H5Dget_chunk_storage_size(id: hid_t, offset: Values<hsize_t>, size: Out<hsize_t>) -> herr_t {
        let dataset = handles::dataset(id)?;
        let offset = offset_of(&dataset, offset)?;
        size.put(by_offset(&dataset, offset)?.map_or(0, |chunk| chunk.bytes));
        Ok(())
    }

    /// Reads a chunk as it is stored.
    fn H5Dread_chunk2(id: hid_t, dxpl: hid_t, offset: Values<hsize_t>, mask: Out<u32>, buffer: Bytes, size: Out<usize>) -> herr_t {
        h5p::check_list(dxpl, Kind::Transfer)?;
        if buffer.0.is_null() && !size.is_wanted() {
            return Err(Failure::argument("buf and buf_size cannot both be NULL"));
        }
        read_chunk(id, offset, mask, buffer, size)
    }

    /// Reads a chunk as it is stored; the program knows its size.
    fn H5Dread_chunk1(id: hid_t, dxpl: hid_t, offset: Values<hsize_t>, mask: Out<u32>, buffer: Bytes) -> herr_t {
        h5p::check_list(dxpl, Kind::Transfer)?;
        buffer.read(1, "buffer")?;
        read_chunk(id, offset, mask, buffer, Out(std::ptr::null_mut()))
    }

    /// Reads a chunk as it is stored: the name of [`H5Dread_chunk1`] in programs for 1.10 to 1.14.
    fn H5Dread_chunk(id: hid_t, dxpl: hid_t, offset: Values<hsize_t>, mask: Out<u32>, buffer: Bytes) -> herr_t {
        h5p::check_list(dxpl, Kind::Transfer)?;
        buffer.read(1, "buffer")?;
        read_chunk(id, offset, mask, buffer, Out(std::ptr::null_mut()))
    }

    /// Stores a chunk as it is.
    fn H5Dwrite_chunk(id: hid_t, dxpl: hid_t, mask: u32, offset: Values<hsize_t>, size: usize, buffer: *const c_void) -> herr_t {
        h5p::check_list(dxpl, Kind::Transfer)?;
        let dataset = handles::dataset(id)?;
        dataset.file.check_writable()?;
        if size == 0 {
            return Err(Failure::argument("data_size cannot be zero"));
        }
        let offset = offset_of(&dataset, offset)?;
        let data = Bytes(buffer.cast_mut()).read(size, "buf")?;
        Ok(dataset.container().chunk_write(dataset.token, &offset, mask, data)?)
    }

    /// Returns the kind of a dataset's chunk index.
    fn H5Dget_chunk_index_type(id: hid_t, kind: Out<c_int>) -> herr_t {
        let dataset = handles::dataset(id)?;
        let info = dataset.container().dataset_info(dataset.token)?;
        let Layout::Chunked { index, .. } = &info.create.layout else {
            return Err(Failure::argument("dataset is not chunked"));
        };
        kind.put(match index {
            Some(ChunkIndexKind::BTree1) | None => 0,
            Some(ChunkIndexKind::Single) => 1,
            Some(ChunkIndexKind::Implicit) => 2,
            Some(ChunkIndexKind::FixedArray) => 3,
            Some(ChunkIndexKind::ExtensibleArray) => 4,
            Some(ChunkIndexKind::BTree2) => 5,
        });
        Ok(())
    }
}
