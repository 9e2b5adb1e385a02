//! Chunk indexes: each kind that libhdf5 has, chosen as it would, changed where few chunks changed, or built whole.

mod arrays;

use std::cmp::Ordering;

use model::properties::{AllocTime, DatasetCreate};
use model::{Dataspace, Error, Kind, Result, UNLIMITED};
use vol::LibVersion;

use super::parts::{ChunkChanges, ChunkMap, ChunkSet};
use super::storage::Storage;
use crate::chunk;
use crate::chunk::index::{ChunkAt, number};
use crate::format::Address;
use crate::format::btree1::ChunkKey;
use crate::format::fractal_heap::StoredSize;
use crate::format::header::{Message, kind};
use crate::format::layout::{Chunked, Index, Layout};
use crate::format::records::{Element, ElementForm, kind as record};
use crate::reader::Reader;
use crate::update::btree2::Tree;
use crate::update::chunk_tree::{ChunkTree, Geometry};

/// Nodes of a version 2 B-tree of chunks, unless the layout says otherwise.
const NODE_BYTES: u32 = 2048;

/// Returns the index that libhdf5 gives a new dataset, and the version of the layout message that says so.
pub(crate) fn choose(
    low: LibVersion,
    space: &Dataspace,
    shape: &[u64],
    create: &DatasetCreate,
    edges_unfiltered: bool,
) -> (u8, Index) {
    let filtered = !create.filters.is_empty();
    let version = match low {
        // Only the sizes of filtered chunks are written in another way.
        LibVersion::V200 if filtered => 5,
        low if low >= LibVersion::V110 || edges_unfiltered => 4,
        _ => return (3, Index::BTree1),
    };
    let (dims, max_dims) = (space.dims(), space.max_dims());
    let index = match max_dims.iter().filter(|&&d| d == UNLIMITED).count() {
        0 if dims == shape && max_dims == shape => Index::Single { filtered: filtered.then_some((0, 0)) },
        0 if !filtered && create.alloc_time == AllocTime::Early => Index::Implicit,
        0 => Index::FixedArray,
        1 => Index::ExtensibleArray,
        _ => Index::BTree2,
    };
    (version, index)
}

/// Returns the layout message of a chunked dataset, whose index is written: changed where few chunks changed, else built.
pub(crate) fn layout_message(
    body: &[u8],
    set: &mut ChunkSet,
    reader: &Reader,
    storage: &mut Storage,
) -> Result<Option<Message>> {
    let Layout::Chunked(mut layout) = Layout::decode(body, storage.sizes)? else { return Ok(None) };
    layout.version = layout.version.max(3);
    layout.address = match updated(&layout, set, reader, storage)? {
        Some(address) => Some(address),
        // Its chunks stay where they are.
        None if matches!(layout.index, Index::Implicit) => layout.address,
        None => {
            let (chunks, blocks) = (set.all(reader)?, set.blocks(reader)?);
            blocks.into_iter().for_each(|(at, len)| storage.release(at, len));
            storage.build_index(set, &chunks, &mut layout)?
        }
    };
    let body = Layout::Chunked(layout).encode_new(storage.sizes)?;
    Ok(Some(Message { kind: kind::LAYOUT, flags: 0, creation_order: None, body }))
}

/// Puts changes in their places in the index; where it is then. Nothing where it must be built.
fn updated(
    layout: &Chunked,
    set: &ChunkSet,
    reader: &Reader,
    storage: &mut Storage,
) -> Result<Option<Address>> {
    let Some(at) = layout.address else { return Ok(None) };
    // Readers that look on follow the index that they know.
    let Some(changes) = set.changes_to_put(reader, storage.allocator.is_swmr)? else { return Ok(None) };
    match layout.index {
        Index::ExtensibleArray => {
            let elements = set.numbered(changes.iter().map(|(s, c)| (s, c.as_ref())), layout, storage)?;
            storage.update_extensible_array(at, set.form(layout, storage), &elements)?;
            Ok(Some(at))
        }
        Index::FixedArray => {
            let elements = set.numbered(changes.iter().map(|(s, c)| (s, c.as_ref())), layout, storage)?;
            storage.update_fixed_array(at, set.form(layout, storage), &elements)?;
            Ok(Some(at))
        }
        Index::BTree2 => storage.update_chunk_btree2(at, set, layout, changes).map(Some),
        Index::BTree1 => match storage.update_chunk_btree1(at, layout, changes) {
            Err(error) if error.kind() == Kind::Unsupported => Ok(None),
            done => done.map(Some),
        },
        _ => Ok(None),
    }
}

impl ChunkSet {
    pub(super) fn form(&self, layout: &Chunked, storage: &Storage) -> ElementForm {
        match self.filtered {
            true => ElementForm::filtered(layout.version, self.chunk_bytes, storage.sizes),
            false => ElementForm::plain(storage.sizes),
        }
    }

    pub(super) fn element(&self, chunk: &ChunkAt) -> Element {
        let stored = StoredSize { bytes: chunk.bytes, filter_mask: chunk.filter_mask };
        Element { address: Some(chunk.address), stored: self.filtered.then_some(stored) }
    }

    /// Returns the dimension that grows without bound: an extensible array counts it last.
    pub(super) fn first_unlimited(&self) -> Option<usize> {
        self.max_dims().iter().position(|&d| d == UNLIMITED)
    }

    /// Returns the elements by their number, ascending; absent ones for chunks that are gone.
    fn numbered<'c>(
        &self,
        chunks: impl Iterator<Item = (&'c Vec<u64>, Option<&'c ChunkAt>)>,
        layout: &Chunked,
        storage: &Storage,
    ) -> Result<Vec<(u64, Vec<u8>)>> {
        let form = self.form(layout, storage);
        let extensible = matches!(layout.index, Index::ExtensibleArray);
        let first = self.first_unlimited().filter(|_| extensible);
        let one = |(chunk_coords, chunk): (&Vec<u64>, Option<&ChunkAt>)| {
            let number = number(chunk_coords, first, self.max_dims(), &layout.shape)?;
            let element = chunk.map_or_else(|| form.absent(), |chunk| self.element(chunk));
            Ok((number, form.encode(element)?))
        };
        let mut elements = chunks.map(one).collect::<Result<Vec<_>>>()?;
        elements.sort_unstable_by_key(|e| e.0);
        Ok(elements)
    }
}

/// Returns the key of a chunk in a version 1 B-tree.
fn key(chunk_coords: &[u64], chunk: &ChunkAt, layout: &Chunked) -> Result<ChunkKey> {
    let too_large = |_| Error::limit("store chunk").with("bytes", chunk.bytes);
    let stored_bytes = u32::try_from(chunk.bytes).map_err(too_large)?;
    let offset = chunk::start_of(chunk_coords, &layout.shape);
    Ok(ChunkKey { stored_bytes, filter_mask: chunk.filter_mask, offset, byte_offset: 0 })
}

/// Returns a record of a tree of chunks against chunk coordinates, which it ends with.
fn order_by_chunk(record: &[u8], rank: usize, chunk_coords: &[u64]) -> Result<Ordering> {
    let wrong = || Error::corrupt("read chunk record");
    let at = record.len().checked_sub(8 * rank).ok_or_else(wrong)?;
    let (there, _) = record[at..].as_chunks::<8>();
    Ok(there.iter().map(|n| u64::from_le_bytes(*n)).cmp(chunk_coords.iter().copied()))
}

impl Storage {
    /// Returns the index of these chunks, as the layout has it; where it is.
    fn build_index(
        &mut self,
        set: &ChunkSet,
        chunks: &ChunkMap,
        layout: &mut Chunked,
    ) -> Result<Option<Address>> {
        let Some(only) = chunks.values().next() else { return Ok(None) };
        match &mut layout.index {
            Index::Implicit => Ok(layout.address),
            Index::Single { filtered } => {
                if let Some(stored) = filtered {
                    *stored = (only.bytes, only.filter_mask);
                }
                Ok(Some(only.address))
            }
            Index::BTree1 => self.build_chunk_btree1(chunks, layout),
            Index::BTree2 => self.build_chunk_btree2(set, chunks, layout).map(Some),
            Index::FixedArray => self.build_fixed_array(set, chunks, layout).map(Some),
            Index::ExtensibleArray => self.build_extensible_array(set, chunks, layout).map(Some),
        }
    }

    fn build_chunk_btree1(&mut self, chunks: &ChunkMap, layout: &Chunked) -> Result<Option<Address>> {
        let entry = |(chunk_coords, chunk): (&Vec<u64>, &ChunkAt)| {
            Ok((key(chunk_coords, chunk, layout)?, chunk.address))
        };
        let entries = chunks.iter().map(entry).collect::<Result<Vec<_>>>()?;
        self.build_chunk_tree(&entries, &layout.shape, layout.element_bytes)
    }

    /// Puts changes into a tree of chunks; where its root is then.
    fn update_chunk_btree1(
        &mut self,
        root: Address,
        layout: &Chunked,
        changes: &ChunkChanges,
    ) -> Result<Address> {
        let (shape, element_bytes, k) = (layout.shape.clone(), layout.element_bytes, self.tree_k.chunk);
        let mut tree = ChunkTree::open(root, Geometry { shape, element_bytes, k }, self)?;
        for (chunk_coords, chunk) in changes {
            match chunk {
                Some(chunk) => tree.insert(self, &key(chunk_coords, chunk, layout)?, chunk.address)?,
                None => tree.remove(self, &chunk::start_of(chunk_coords, &layout.shape))?,
            };
        }
        tree.finish(self)?;
        Ok(tree.root())
    }

    fn build_chunk_btree2(&mut self, set: &ChunkSet, chunks: &ChunkMap, layout: &Chunked) -> Result<Address> {
        let form = set.form(layout, self);
        let records =
            chunks.iter().map(|(chunk_coords, chunk)| form.encode_record(chunk_coords, set.element(chunk)));
        let records = records.collect::<Result<Vec<_>>>()?;
        let kind = if set.filtered { record::CHUNK_FILTERED } else { record::CHUNK };
        let record_bytes = form.bytes() + 8 * layout.shape.len();
        let record_bytes = u16::try_from(record_bytes).map_err(|_| Error::limit("build chunk index"))?;
        let stored = layout.parameters.first_chunk().map_or(NODE_BYTES, |b| u32::from_le_bytes(*b));
        self.build_btree2_of(kind, stored, record_bytes, &records)
    }

    /// Puts changes into a tree of chunks; where its header is then.
    fn update_chunk_btree2(
        &mut self,
        at: Address,
        set: &ChunkSet,
        layout: &Chunked,
        changes: &ChunkChanges,
    ) -> Result<Address> {
        let (form, rank) = (set.form(layout, self), layout.shape.len());
        let mut tree = Tree::open(self, at)?;
        for (chunk_coords, chunk) in changes {
            let order = &mut |record: &[u8]| order_by_chunk(record, rank, chunk_coords);
            let Some(chunk) = chunk else {
                tree.remove(self, order)?;
                continue;
            };
            let record = form.encode_record(chunk_coords, set.element(chunk))?;
            if tree.replace(self, order, &record)?.is_none() {
                tree.insert(self, order, &record)?;
            }
        }
        tree.finish(self)
    }
}
