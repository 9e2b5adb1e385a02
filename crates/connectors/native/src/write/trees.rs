//! Heaps and trees built whole from what they shall hold: simpler than growing them, and always packed.

use files::DataKind;
use model::properties::FilterSpec;
use model::{Error, Result};

use super::storage::Storage;
use crate::format::Address;
use crate::format::btree1::{ChunkKey, Kind, Node};
use crate::format::btree2::{BTree2, Child};
use crate::format::encode::btree2::Root;
use crate::format::encode::fractal_heap::Client;
use crate::format::fractal_heap::{Child as HeapChild, FractalHeap, ObjectId};
use crate::update::Blocks;
use crate::update::fractal_heap::{filtered, numbered_record};

/// Bytes of a node of a version 2 B-tree for links, attributes and huge objects.
const NODE_BYTES: u32 = 512;

/// A heap that was built: where it is, and the IDs of all objects in the order given, one after the other.
pub(crate) struct BuiltHeap {
    pub(crate) address: Address,
    pub(crate) ids: Vec<u8>,
}

/// A direct block under construction.
struct Direct {
    offset: u64,
    bytes: u64,
    body: Vec<u8>,
    child: HeapChild,
}

impl Storage {
    /// Returns a fractal heap with these objects, whose blocks go through filters if there are some.
    pub(crate) fn build_heap(
        &mut self,
        client: Client,
        filters: &[FilterSpec],
        objects: &[Vec<u8>],
    ) -> Result<BuiltHeap> {
        let mut heap = FractalHeap::empty(client, filters.to_vec(), self.sizes);
        let address = self.allocate(heap.encode()?.len() as u64, DataKind::ObjectHeader);
        let mut ids = Vec::with_capacity(objects.len());
        let mut directs: Vec<Direct> = Vec::new();
        let mut huge = Vec::new();
        for object in objects {
            ids.push(match object.len() {
                n if n > heap.managed_bytes_max as usize => self.store_huge(object, &mut huge, &mut heap)?,
                n if n <= heap.tiny_bytes_max() => {
                    heap.counts.tiny_bytes += n as u64;
                    heap.counts.tiny_objects += 1;
                    ObjectId::Tiny(object.clone())
                }
                _ => place(&heap, &mut directs, object)?,
            });
        }
        heap.counts.managed_objects = managed_count(&heap, objects.len());
        let ids = heap.encode_ids(&ids)?;
        self.store_directs(&mut heap, address, &mut directs)?;
        if !huge.is_empty() {
            heap.huge_id_last = huge.len() as u64;
            let kind = if filters.is_empty() { 1 } else { 2 };
            let record_bytes = huge.first().map_or(0, Vec::len) as u16;
            heap.huge_tree = Some(self.build_btree2(kind, record_bytes, &huge)?);
        }
        self.write(address, &heap.encode()?)?;
        Ok(BuiltHeap { address, ids })
    }

    fn store_huge(
        &mut self,
        object: &[u8],
        records: &mut Vec<Vec<u8>>,
        heap: &mut FractalHeap,
    ) -> Result<ObjectId> {
        let (bytes, stored) = filtered::apply(Blocks::filters(self), heap, object)?;
        let at = self.allocate(bytes.len() as u64, DataKind::Raw);
        self.write(at, &bytes)?;
        heap.counts.huge_bytes += object.len() as u64;
        heap.counts.huge_objects += 1;
        let key = records.len() as u64 + 1;
        records.push(numbered_record(at, stored, object.len() as u64, key, self.sizes));
        Ok(ObjectId::HugeIndirect { key })
    }

    fn store_directs(
        &mut self,
        heap: &mut FractalHeap,
        address: Address,
        directs: &mut [Direct],
    ) -> Result<()> {
        let used: u64 = directs.iter().map(|d| d.body.len() as u64).sum();
        for direct in directs.iter_mut() {
            let mut body = std::mem::take(&mut direct.body);
            body.resize(direct.bytes as usize - heap.direct_prefix_bytes(), 0);
            let block = heap.encode_direct(address, direct.offset, &body)?;
            let (block, stored) = filtered::apply(Blocks::filters(self), heap, &block)?;
            let at = self.allocate(block.len() as u64, DataKind::LocalHeap);
            self.write(at, &block)?;
            direct.child = HeapChild { address: Some(at), stored };
            heap.counts.allocated_bytes += direct.bytes;
        }
        let Some(last) = directs.last() else { return Ok(()) };
        if directs.len() == 1 && last.offset == 0 {
            (heap.root, heap.root_stored) = (last.child.address, last.child.stored);
            heap.counts.managed_bytes = heap.start_bytes;
            heap.counts.free_bytes = heap.start_bytes - heap.direct_prefix_bytes() as u64 - used;
            return Ok(());
        }
        let needed = heap.spot(last.offset)?.row + 1;
        let rows = needed.next_power_of_two().min(heap.rows_max());
        heap.counts.next_offset = last.offset + last.bytes;
        heap.counts.managed_bytes = (heap.width * heap.start_bytes) << (rows - 1);
        heap.counts.free_bytes = object_capacity(heap, rows) - used;
        heap.root_rows = u16::try_from(rows).map_err(|_| Error::limit("build fractal heap"))?;
        heap.root = Some(self.store_indirect(heap, address, directs, 0, rows)?);
        Ok(())
    }

    /// Returns an indirect block that covers heap space from `start` on, and those below it.
    fn store_indirect(
        &mut self,
        heap: &FractalHeap,
        address: Address,
        directs: &[Direct],
        start: u64,
        rows: u64,
    ) -> Result<Address> {
        let mut children = Vec::new();
        let mut offset = start;
        for row in 0..rows {
            let bytes = heap.start_bytes << row.saturating_sub(1);
            for _ in 0..heap.width {
                // They are in the order of their offsets.
                let first = directs[directs.partition_point(|d| d.offset < offset)..].first();
                children.push(match first.filter(|d| d.offset < offset + bytes) {
                    None => HeapChild { address: None, stored: None },
                    Some(direct) if row < heap.direct_rows() => direct.child,
                    Some(_) => {
                        let table =
                            self.store_indirect(heap, address, directs, offset, heap.rows_of(bytes))?;
                        HeapChild { address: Some(table), stored: None }
                    }
                });
                offset += bytes;
            }
        }
        let block = heap.encode_indirect(address, start, rows, &children)?;
        let at = self.allocate(block.len() as u64, DataKind::ObjectHeader);
        self.write(at, &block)?;
        Ok(at)
    }

    /// Returns a version 2 B-tree of sorted records of links, attributes or huge objects.
    pub(crate) fn build_btree2(
        &mut self,
        kind: u8,
        record_bytes: u16,
        records: &[impl AsRef<[u8]>],
    ) -> Result<Address> {
        self.build_btree2_of(kind, NODE_BYTES, record_bytes, records)
    }

    /// Returns a version 2 B-tree of sorted records, with nodes of `node_bytes`.
    pub(crate) fn build_btree2_of(
        &mut self,
        kind: u8,
        node_bytes: u32,
        record_bytes: u16,
        records: &[impl AsRef<[u8]>],
    ) -> Result<Address> {
        let mut tree = BTree2::empty(kind, node_bytes, record_bytes, self.sizes)?;
        let header = self.allocate(BTree2::header_bytes(self.sizes), DataKind::Tree);
        if !records.is_empty() {
            let mut depth = 0;
            while tree.subtree_max(depth) < records.len() as u64 {
                depth += 1;
                tree = deeper(tree, depth)?;
            }
            let root = self.store_node(&tree, depth, records)?;
            let root_records = u16::try_from(root.records).map_err(|_| Error::limit("build B-tree v2"))?;
            let root = Root { depth, address: root.address, root_records, records: records.len() as u64 };
            tree = tree.with_root(Some(root))?;
        }
        self.write(header, &tree.encode()?)?;
        Ok(header)
    }

    /// Returns a node over these records, and those below it; records are spread evenly.
    fn store_node<R: AsRef<[u8]>>(&mut self, tree: &BTree2, depth: u16, records: &[R]) -> Result<Child> {
        let (mut own, mut children): (Vec<&R>, Vec<Child>) = (Vec::new(), Vec::new());
        if depth == 0 {
            own.extend(records);
        } else {
            let below = tree.subtree_max(depth - 1) as usize;
            let parts = (records.len() + 1).div_ceil(below + 1).max(2);
            let inner = records.len() - (parts - 1);
            let mut rest = records;
            for part in 0..parts {
                let len = inner / parts + usize::from(part < inner % parts);
                children.push(self.store_node(tree, depth - 1, &rest[..len])?);
                rest = &rest[len..];
                if let Some((separator, later)) = rest.split_first() {
                    own.push(separator);
                    rest = later;
                }
            }
        }
        let address = self.allocate(u64::from(tree.node_bytes), DataKind::Tree);
        self.write(address, &tree.encode_node(depth, &own, &children)?)?;
        Ok(Child { address, records: own.len() as u64, total: records.len() as u64 })
    }

    /// Returns a version 1 B-tree of sorted chunks; nothing where there are none.
    pub(crate) fn build_chunk_tree(
        &mut self,
        chunks: &[(ChunkKey, Address)],
        shape: &[u64],
        element_bytes: u64,
    ) -> Result<Option<Address>> {
        let Some((last, _)) = chunks.last() else { return Ok(None) };
        let too_far = || Error::limit("build chunk index").with("problem", "offsets beyond 64 bits");
        let end = last.after(shape, element_bytes).ok_or_else(too_far)?.encode()?;
        let mut level = 0;
        let mut entries = chunks.iter().map(|(k, a)| Ok((k.encode()?, *a))).collect::<Result<Vec<_>>>()?;
        loop {
            entries = self.store_level(&entries, &end, level, shape.len())?;
            if let [(_, root)] = entries[..] {
                return Ok(Some(root));
            }
            level += 1;
        }
    }

    /// Returns the nodes of one level, and the entries of the next.
    fn store_level(
        &mut self,
        entries: &[(Vec<u8>, Address)],
        end: &[u8],
        level: u8,
        rank: usize,
    ) -> Result<Vec<(Vec<u8>, Address)>> {
        let kind = Kind::Chunk { rank };
        let k = self.tree_k.chunk;
        let nodes: Vec<_> = entries.chunks(2 * usize::from(k)).collect();
        let bytes = kind.node_bytes(k, self.sizes);
        let places: Vec<Address> = nodes.iter().map(|_| self.allocate(bytes, DataKind::Tree)).collect();
        let mut above = Vec::new();
        for (i, part) in nodes.iter().enumerate() {
            let next = nodes.get(i + 1).map_or(end, |n| n[0].0.as_slice());
            let keys = part.iter().map(|(key, _)| key.as_slice()).chain([next]).collect();
            let children = part.iter().map(|(_, child)| *child).collect();
            let left = i.checked_sub(1).map(|i| places[i]);
            let node = Node { level, left, right: places.get(i + 1).copied(), keys, children };
            self.write(places[i], &node.encode(kind, k, self.sizes)?)?;
            above.push((part[0].0.clone(), places[i]));
        }
        Ok(above)
    }
}

fn deeper(tree: BTree2, depth: u16) -> Result<BTree2> {
    let root = Root { depth, address: Address(0), root_records: 1, records: 1 };
    tree.with_root(Some(root))
}

/// Returns the number of bytes for objects in all direct blocks, there or not, under a table of `rows` rows.
fn object_capacity(heap: &FractalHeap, rows: u64) -> u64 {
    let of_row = |row: u64| {
        let bytes = heap.start_bytes << row.saturating_sub(1);
        match row < heap.direct_rows() {
            true => bytes - heap.direct_prefix_bytes() as u64,
            false => object_capacity(heap, heap.rows_of(bytes)),
        }
    };
    (0..rows).map(|row| heap.width * of_row(row)).sum()
}

/// Managed objects are those that are neither tiny nor huge.
fn managed_count(heap: &FractalHeap, objects: usize) -> u64 {
    objects as u64 - heap.counts.tiny_objects - heap.counts.huge_objects
}

/// Puts an object in the current block, or in the next one that holds it.
fn place(heap: &FractalHeap, directs: &mut Vec<Direct>, object: &[u8]) -> Result<ObjectId> {
    let prefix = heap.direct_prefix_bytes() as u64;
    let fits = |d: &Direct| prefix + (d.body.len() + object.len()) as u64 <= d.bytes;
    if !directs.last().is_some_and(fits) {
        let mut offset = directs.last().map_or(0, |d| d.offset + d.bytes);
        loop {
            let bytes = block_bytes_at(heap, offset)?;
            if prefix + object.len() as u64 <= bytes {
                let child = HeapChild { address: None, stored: None };
                directs.push(Direct { offset, bytes, body: Vec::new(), child });
                break;
            }
            offset += bytes;
        }
    }
    let last = directs.last_mut().ok_or_else(|| Error::invalid("build fractal heap"))?;
    let offset = last.offset + prefix + last.body.len() as u64;
    last.body.extend_from_slice(object);
    Ok(ObjectId::Managed { offset, len: object.len() as u64 })
}

/// Returns the size of the direct block that starts at `offset`, down through tables of tables.
fn block_bytes_at(heap: &FractalHeap, mut offset: u64) -> Result<u64> {
    loop {
        let spot = heap.spot(offset)?;
        if spot.row < heap.direct_rows() {
            return Ok(spot.block_bytes);
        }
        offset -= spot.block_offset;
    }
}
