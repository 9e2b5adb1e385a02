//! Chunks as they are stored: one of them, a list of them, the space that they take.

use model::{Error, Result};
use vol::{Allocation, ChunkInfo, Page, StorageInfo};

use super::index::{ChunkAt, Chunks};
use super::load;
use crate::format::layout::Chunked;
use crate::object::dataset::Dataset;
use crate::reader::Reader;

/// Returns one chunk as it is stored: its filter mask and bytes.
pub(crate) fn read_raw(
    file: &Reader,
    dataset: &Dataset,
    layout: &Chunked,
    offset: &[u64],
) -> Result<(u32, Vec<u8>)> {
    let chunks = Chunks::open(file, dataset, layout)?;
    let missing = || Error::not_found("read chunk").with("offset", format!("{offset:?}"));
    let at = chunks.find(&coords_of(dataset, layout, offset)?)?.ok_or_else(missing)?;
    let mut raw = Vec::new();
    load::raw(file, &chunks, at, &mut raw)?;
    Ok((at.filter_mask, raw))
}

/// Returns the coordinates of the chunk whose first element this is.
fn coords_of(dataset: &Dataset, layout: &Chunked, offset: &[u64]) -> Result<Vec<u64>> {
    let aligned =
        offset.len() == layout.shape.len() && offset.iter().zip(&layout.shape).all(|(o, c)| o % c == 0);
    if !aligned || offset.iter().zip(dataset.dims()).any(|(o, d)| o >= d) {
        return Err(Error::invalid("read chunk").with("offset", format!("{offset:?}")));
    }
    Ok(offset.iter().zip(&layout.shape).map(|(o, c)| o / c).collect())
}

/// Returns the chunk whose first element this is, if it is stored.
pub(crate) fn find(
    file: &Reader,
    dataset: &Dataset,
    layout: &Chunked,
    offset: &[u64],
) -> Result<Option<ChunkInfo>> {
    let chunks = Chunks::open(file, dataset, layout)?;
    let found = chunks.find(&coords_of(dataset, layout, offset)?)?;
    Ok(found.map(|chunk| info_of(file, offset.to_vec(), chunk)))
}

fn info_of(file: &Reader, offset: Vec<u64>, chunk: ChunkAt) -> ChunkInfo {
    ChunkInfo {
        offset,
        filter_mask: chunk.filter_mask,
        bytes: chunk.bytes,
        address: Some(file.store.absolute(chunk.address)),
    }
}

/// Returns some of the chunks that are stored. What comes after them is not visited, but for one.
pub(crate) fn list(
    file: &Reader,
    dataset: &Dataset,
    layout: &Chunked,
    skip: u64,
    count_max: u64,
) -> Result<Page<ChunkInfo>> {
    let chunks = Chunks::open(file, dataset, layout)?;
    let mut page = Page { entries: Vec::new(), more: false };
    let mut at = 0;
    let walked = chunks.walk(&mut |chunk_coords, chunk| {
        if !chunks.is_inside(chunk_coords) {
            return Ok(());
        }
        if at >= skip && (page.entries.len() as u64) < count_max {
            let offset = chunk_coords.iter().zip(&layout.shape).map(|(s, c)| s.saturating_mul(*c)).collect();
            page.entries.push(info_of(file, offset, chunk));
        } else if at >= skip {
            page.more = true;
            return Err(Error::limit("list chunks"));
        }
        at += 1;
        Ok(())
    });
    match walked {
        // The error ended the walk: the page is full.
        Err(_) if page.more => Ok(page),
        walked => walked.map(|()| page),
    }
}

/// Returns how many chunks are stored.
pub(crate) fn count(file: &Reader, dataset: &Dataset, layout: &Chunked) -> Result<u64> {
    let chunks = Chunks::open(file, dataset, layout)?;
    let mut count = 0;
    chunks.walk(&mut |chunk_coords, _| {
        count += u64::from(chunks.is_inside(chunk_coords));
        Ok(())
    })?;
    Ok(count)
}

/// Returns bytes of all stored chunks.
pub(crate) fn storage(file: &Reader, dataset: &Dataset, layout: &Chunked) -> Result<StorageInfo> {
    let chunks = Chunks::open(file, dataset, layout)?;
    let (mut bytes, mut count) = (0u64, 0u64);
    chunks.walk(&mut |chunk_coords, chunk| {
        bytes = bytes.saturating_add(chunk.bytes);
        count += u64::from(chunks.is_inside(chunk_coords));
        Ok(())
    })?;
    let grid = dataset.dims().iter().zip(&layout.shape).map(|(d, c)| d.div_ceil(*c));
    let allocation = match count {
        0 => Allocation::None,
        n if n >= grid.fold(1, u64::saturating_mul) => Allocation::Full,
        _ => Allocation::Part,
    };
    let index_address = layout.address.map(|at| file.store.absolute(at));
    Ok(StorageInfo { index_address, ..StorageInfo::new(bytes, allocation) })
}
