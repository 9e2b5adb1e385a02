//! Dense storage: a fractal heap of messages, and version 2 B-trees that find them by name and by creation order.

use std::cmp::Ordering;

use model::{Error, Result};

use super::super::storage::Storage;
use crate::format::Address;
use crate::format::checksum;
use crate::update::btree2::Tree;
use crate::update::fractal_heap::Heap;

/// Where dense storage is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dense {
    pub(super) heap: Address,
    pub(super) name_tree: Address,
    pub(super) order_tree: Option<Address>,
}

/// How records of the two trees are made: links and attributes have each their own.
pub(super) trait Records {
    /// Returns a record of the name tree.
    fn by_name(&self, id: &[u8], hash: u32, order: u64) -> Vec<u8>;

    /// Returns a record of the order tree.
    fn by_order(&self, id: &[u8], order: u64) -> Vec<u8>;

    /// Returns the hash, heap ID and creation order, as far as the record has it.
    fn of_name<'r>(&self, record: &'r [u8]) -> Result<(u32, &'r [u8])>;

    fn order_of(&self, record: &[u8]) -> Result<u64>;

    /// Returns the name in a message.
    fn name<'m>(&self, message: &'m [u8]) -> Result<&'m [u8]>;
}

/// Something that is added: its name, its creation order, its message.
pub(super) struct Added {
    pub(super) name: Vec<u8>,
    pub(super) order: u64,
    pub(super) message: Vec<u8>,
}

/// Something that goes: its name and its creation order.
pub(super) struct RemovedEntry {
    pub(super) name: Vec<u8>,
    pub(super) order: u64,
}

/// The changes of one commit.
pub(super) struct Changes {
    pub(super) removed: Vec<RemovedEntry>,
    pub(super) added: Vec<Added>,
}

/// Both trees, open to change.
pub(super) struct Trees {
    name: Tree,
    order: Option<Tree>,
}

impl Trees {
    pub(super) fn open(dense: &Dense, storage: &Storage) -> Result<Trees> {
        let order = dense.order_tree.map(|at| Tree::open(storage, at)).transpose()?;
        Ok(Trees { name: Tree::open(storage, dense.name_tree)?, order })
    }

    /// Puts changes in their places. The heap stays where it is, the headers of the trees move.
    pub(super) fn change(
        mut self,
        heap: &mut Heap,
        records: &dyn Records,
        changes: &Changes,
        storage: &mut Storage,
    ) -> Result<Dense> {
        for removed in &changes.removed {
            self.remove(heap, records, removed, storage)?;
        }
        for added in &changes.added {
            self.add(heap, records, added, storage)?;
        }
        heap.finish(storage)?;
        let name_tree = self.name.finish(storage)?;
        let order_tree = self.order.as_mut().map(|tree| tree.finish(storage)).transpose()?;
        Ok(Dense { heap: heap.address(), name_tree, order_tree })
    }

    fn remove(
        &mut self,
        heap: &mut Heap,
        records: &dyn Records,
        removed: &RemovedEntry,
        storage: &mut Storage,
    ) -> Result<()> {
        let hash = checksum::lookup3(&removed.name, 0);
        let mut order = |record: &[u8]| order_by_name(heap, records, record, (hash, &removed.name), storage);
        let missing = || Error::corrupt("remove from index by name");
        let record = self.name.remove(storage, &mut order)?.ok_or_else(missing)?;
        if let Some(tree) = &mut self.order {
            let mut order = |record: &[u8]| Ok(records.order_of(record)?.cmp(&removed.order));
            tree.remove(storage, &mut order)?.ok_or_else(|| Error::corrupt("remove from index by order"))?;
        }
        heap.remove(storage, records.of_name(&record)?.1)
    }

    fn add(
        &mut self,
        heap: &mut Heap,
        records: &dyn Records,
        added: &Added,
        storage: &mut Storage,
    ) -> Result<()> {
        let hash = checksum::lookup3(&added.name, 0);
        let id = heap.insert(storage, &added.message)?;
        let mut order = |record: &[u8]| order_by_name(heap, records, record, (hash, &added.name), storage);
        let record = records.by_name(&id, hash, added.order);
        let is_new = self.name.insert(storage, &mut order, &record)?;
        if let Some(tree) = &mut self.order {
            let mut order = |record: &[u8]| Ok(records.order_of(record)?.cmp(&added.order));
            tree.insert(storage, &mut order, &records.by_order(&id, added.order))?;
        }
        if is_new {
            Ok(())
        } else {
            Err(Error::corrupt("insert in index by name").with("problem", "it is there"))
        }
    }
}

/// Returns a record of the name tree against a name: by hash, and among equal ones by the names themselves.
fn order_by_name(
    heap: &mut Heap,
    records: &dyn Records,
    record: &[u8],
    (hash, name): (u32, &[u8]),
    storage: &Storage,
) -> Result<Ordering> {
    let (there, id) = records.of_name(record)?;
    match there.cmp(&hash) {
        Ordering::Equal => Ok(records.name(&heap.get(storage, id)?)?.cmp(name)),
        order => Ok(order),
    }
}
