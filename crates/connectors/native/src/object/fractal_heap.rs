//! Reading objects out of a fractal heap.

use std::cell::RefCell;
use std::sync::Arc;

use model::{Context, Error, Result, Within};

use crate::format::Address;
use crate::format::btree2::BTree2;
use crate::format::fractal_heap::{Child, FractalHeap, ObjectId, StoredSize};
use crate::format::free_space::Manager;
use crate::object::btree2;
use crate::object::decoded::{Decoded, DecodedKey};
use crate::reader::Reader;

/// An open heap.
#[derive(Debug)]
pub(crate) struct Heap<'f> {
    file: &'f Reader,
    address: Address,
    header: Arc<FractalHeap>,
    /// Direct blocks that were used, sorted by where they start in heap space: a caller that walks a tree comes back to them.
    used: RefCell<Vec<(u64, Arc<Vec<u8>>)>>,
}

/// Direct blocks that one user of a heap holds on to.
const USED_MAX: usize = 64;

/// A direct block: where, how large, and where in heap space.
#[derive(Debug, Clone, Copy)]
struct Direct {
    child: Child,
    bytes: u64,
    offset: u64,
}

pub(crate) fn open(file: &Reader, address: Address) -> Result<Heap<'_>> {
    let place = DecodedKey::Heap(address);
    if let Some(Decoded::Heap(header)) = file.decoded(&place) {
        return Ok(Heap { file, address, header, used: RefCell::default() });
    }
    let sizes = file.store.sizes();
    let start = file.store.block(address, FractalHeap::header_bytes(sizes), "fractal heap header")?;
    let whole = FractalHeap::header_bytes_of(&start, sizes)?;
    let bytes = file.store.block(address, whole, "fractal heap header")?;
    let header = FractalHeap::decode(&bytes, sizes).during_at("open fractal heap", address.0)?;
    let header = Arc::new(header);
    file.keep_decoded(place, Decoded::Heap(header.clone()));
    Ok(Heap { file, address, header, used: RefCell::default() })
}

impl Heap<'_> {
    /// Returns the object called `id`.
    pub(crate) fn get(&self, id: &[u8]) -> Result<Vec<u8>> {
        self.with(id, |object| Ok(object.to_vec()))
    }

    /// Returns what `look` sees in the object called `id`.
    pub(crate) fn with<T>(&self, id: &[u8], look: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        match self.header.object_id(id)? {
            ObjectId::Tiny(data) => look(&data),
            ObjectId::Managed { offset, len } => self.managed(offset, len, look),
            ObjectId::HugeDirect { address, stored, len } => look(&self.huge(address, stored, len)?),
            ObjectId::HugeIndirect { key } => look(&self.huge_by_key(key)?),
        }
    }

    fn managed<T>(&self, offset: u64, len: u64, look: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        let mut used = self.used.borrow_mut();
        let at = self.place_of(&mut used, offset)?;
        let (start, block) = &used[at];
        let start = offset - start;
        let end = start.checked_add(len).filter(|&end| end <= block.len() as u64);
        match end {
            Some(end) if start >= self.header.direct_prefix_bytes() as u64 => {
                look(&block[start as usize..end as usize])
            }
            _ => Err(Error::corrupt("read fractal heap object")
                .at(self.address.0)
                .with("offset", offset)
                .with("bytes", len)),
        }
    }

    /// Which of the blocks in use covers an offset of heap space; it may be new among them.
    fn place_of(&self, used: &mut Vec<(u64, Arc<Vec<u8>>)>, offset: u64) -> Result<usize> {
        let after = used.partition_point(|(start, _)| *start <= offset);
        if let Some((start, block)) = after.checked_sub(1).and_then(|at| used.get(at))
            && offset - start < block.len() as u64
        {
            return Ok(after - 1);
        }
        let direct = self.find(offset)?;
        let block = self.direct_block(direct)?;
        if used.len() >= USED_MAX {
            used.clear();
        }
        let at = used.partition_point(|(start, _)| *start < direct.offset);
        used.insert(at, (direct.offset, block));
        Ok(at)
    }

    /// Returns the direct block that covers an offset of heap space.
    fn find(&self, offset: u64) -> Result<Direct> {
        let h = &self.header;
        let missing = || Error::corrupt("find fractal heap object").at(self.address.0).with("offset", offset);
        let root = h.root.ok_or_else(missing)?;
        if h.root_rows == 0 {
            let child = Child { address: Some(root), stored: h.root_stored };
            return if offset < h.start_bytes {
                Ok(Direct { child, bytes: h.start_bytes, offset: 0 })
            } else {
                Err(missing())
            };
        }
        let (mut table, mut rows, mut start) = (root, u64::from(h.root_rows), 0);
        for _ in 0..self.file.store.limits.depth_max {
            let children = self.table(table, start, rows)?;
            let spot = h.spot(offset - start)?;
            let child =
                *usize::try_from(spot.entry).ok().and_then(|i| children.get(i)).ok_or_else(missing)?;
            start += spot.block_offset;
            if spot.row < h.direct_rows() {
                return Ok(Direct { child, bytes: spot.block_bytes, offset: start });
            }
            table = child.address.ok_or_else(missing)?;
            rows = h.rows_of(spot.block_bytes);
        }
        Err(missing())
    }

    /// Returns the entries of an indirect block that covers heap space from `start` on.
    fn table(&self, at: Address, start: u64, rows: u64) -> Result<Arc<Vec<Child>>> {
        let place = DecodedKey::Table { at, heap: self.address, start, rows };
        if let Some(Decoded::Table(children)) = self.file.decoded(&place) {
            return Ok(children);
        }
        let h = &self.header;
        let block = self.file.store.block(at, h.indirect_bytes(rows), "fractal heap indirect block")?;
        let children =
            h.indirect(&block, self.address, start, rows).during_at("read indirect block", at.0)?;
        let children = Arc::new(children);
        self.file.keep_decoded(place, Decoded::Table(children.clone()));
        Ok(children)
    }

    fn direct_block(&self, direct: Direct) -> Result<Arc<Vec<u8>>> {
        let missing = || Error::corrupt("find fractal heap block").at(self.address.0);
        let address = direct.child.address.ok_or_else(missing)?;
        self.file.store.verified(address, || {
            let block = match direct.child.stored {
                Some(stored) => self.unfilter(address, stored, direct.bytes)?,
                None => self.file.store.bytes(address, direct.bytes, "fractal heap direct block")?,
            };
            self.header
                .check_direct(&block, self.address, direct.offset)
                .during_at("read direct block", address.0)?;
            Ok(block)
        })
    }

    fn unfilter(&self, address: Address, stored: StoredSize, bytes: u64) -> Result<Vec<u8>> {
        let raw = self.file.store.block(address, stored.bytes, "filtered fractal heap block")?.to_vec();
        let bytes = bytes.within(self.file.store.limits.metadata_bytes_max, "fractal heap block")?;
        let block = self.file.unfilter(&self.header.filters, stored.filter_mask, raw, bytes)?;
        if block.len() == bytes {
            Ok(block)
        } else {
            Err(Error::corrupt("unfilter fractal heap block").at(address.0))
        }
    }

    fn huge(&self, address: Address, stored: StoredSize, len: u64) -> Result<Vec<u8>> {
        if self.header.filters.is_empty() {
            return Ok(self.file.store.block(address, len, "huge fractal heap object")?.to_vec());
        }
        self.unfilter(address, stored, len)
    }

    fn huge_by_key(&self, key: u64) -> Result<Vec<u8>> {
        let missing = || Error::corrupt("find huge fractal heap object").at(self.address.0).with("id", key);
        let tree = btree2::open(self.file, self.header.huge_tree.ok_or_else(missing)?)?;
        let id_at = |record: &[u8]| self.huge_record(&tree, record).map(|r| r.3);
        let record = btree2::find(self.file, &tree, &mut |record| Ok(id_at(record)?.cmp(&key)))?
            .ok_or_else(missing)?;
        let (address, stored, len, _) = self.huge_record(&tree, &record)?;
        self.huge(address, stored, len)
    }

    /// Returns every block of the heap: header, direct and indirect blocks, huge objects and their tree, free space.
    pub(crate) fn blocks(&self) -> Result<Vec<(Address, u64)>> {
        let (h, sizes) = (&self.header, self.file.store.sizes());
        let start = self.file.store.block(self.address, FractalHeap::header_bytes(sizes), "heap header")?;
        let mut found = vec![(self.address, FractalHeap::header_bytes_of(&start, sizes)?)];
        match h.root {
            None => {}
            Some(root) if h.root_rows == 0 => {
                found.push((root, h.root_stored.map_or(h.start_bytes, |s| s.bytes)));
            }
            Some(root) => self.table_blocks(root, (0, u64::from(h.root_rows)), 0, &mut found)?,
        }
        if let Some(tree) = h.huge_tree {
            let mut huge = Vec::new();
            found.extend(btree2::blocks(self.file, tree, &mut |tree, record| {
                let (address, stored) = self.huge_place(tree, record)?;
                huge.push((address, stored.bytes));
                Ok(())
            })?);
            found.append(&mut huge);
        }
        if let Some(manager) = h.free_space {
            found.extend(free_space_blocks(self.file, manager)?);
        }
        Ok(found)
    }

    /// The blocks below an indirect block that covers heap space from `start` on, and itself.
    fn table_blocks(
        &self,
        table: Address,
        (start, rows): (u64, u64),
        depth: u32,
        found: &mut Vec<(Address, u64)>,
    ) -> Result<()> {
        let h = &self.header;
        if u64::from(depth) > u64::from(self.file.store.limits.depth_max) {
            return Err(Error::limit("walk fractal heap").at(table.0));
        }
        let bytes = h.indirect_bytes(rows);
        let children = self.table(table, start, rows)?;
        found.push((table, bytes));
        let mut offset = start;
        for (child, row) in
            children.iter().zip((0..rows).flat_map(|r| std::iter::repeat_n(r, h.width as usize)))
        {
            let bytes = h.spot(offset - start)?.block_bytes;
            match child.address {
                None => {}
                Some(at) if row < h.direct_rows() => {
                    found.push((at, child.stored.map_or(bytes, |s| s.bytes)));
                }
                Some(at) => self.table_blocks(at, (offset, h.rows_of(bytes)), depth + 1, found)?,
            }
            offset =
                offset.checked_add(bytes).ok_or_else(|| Error::corrupt("walk fractal heap").at(table.0))?;
        }
        Ok(())
    }

    /// Returns where a huge object is: the start that records of all four types share.
    fn huge_place(&self, tree: &BTree2, record: &[u8]) -> Result<(Address, StoredSize)> {
        use crate::format::SizedFields;
        let sizes = self.file.store.sizes();
        let mut c = model::bytes::Cursor::new(record, "huge object record");
        let (address, bytes) = (c.defined_address(sizes)?, c.length(sizes)?);
        match tree.kind {
            1..=4 => Ok((address, StoredSize { bytes, filter_mask: 0 })),
            n => Err(c.corrupt(format!("huge objects in a tree of type {n}"))),
        }
    }

    /// Records of types 1 and 2: address, stored size and mask, size, ID.
    fn huge_record(&self, tree: &BTree2, record: &[u8]) -> Result<(Address, StoredSize, u64, u64)> {
        use crate::format::SizedFields;
        let sizes = self.file.store.sizes();
        let mut c = model::bytes::Cursor::new(record, "huge object record");
        let address = c.defined_address(sizes)?;
        let bytes = c.length(sizes)?;
        match tree.kind {
            1 => Ok((address, StoredSize { bytes, filter_mask: 0 }, bytes, c.length(sizes)?)),
            2 => {
                Ok((address, StoredSize { bytes, filter_mask: c.u32()? }, c.length(sizes)?, c.length(sizes)?))
            }
            n => Err(c.corrupt(format!("huge objects in a tree of type {n}"))),
        }
    }
}

/// Returns the header of a free-space manager and its list of sections.
pub(crate) fn free_space_blocks(file: &Reader, at: Address) -> Result<Vec<(Address, u64)>> {
    let sizes = file.store.sizes();
    let bytes = Manager::header_bytes(sizes);
    let manager = Manager::decode(&file.store.block(at, bytes, "free-space manager")?, sizes)
        .during_at("read free-space manager", at.0)?;
    let list = manager.list.map(|list| (list, manager.list_bytes));
    Ok([(at, bytes)].into_iter().chain(list).collect())
}
