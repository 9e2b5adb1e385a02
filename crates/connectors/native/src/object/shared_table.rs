//! The table of indexes of shared messages, as an open file has it.

use model::{Error, Result};
use system::sync::RwLock;

use crate::format::Address;
use crate::format::header::kind;
use crate::format::shared::{self, SharedIndex};
use crate::object::fractal_heap;
use crate::object::header::Header;
use crate::reader::Reader;
use crate::store::Store;

/// Where the table is, and its indexes, which change while messages are shared.
#[derive(Debug, Default)]
pub(crate) struct SharedTable {
    at: Option<Address>,
    indexes: RwLock<Vec<SharedIndex>>,
}

impl SharedTable {
    /// Returns the table that a superblock extension leads to.
    pub(crate) fn load(store: &Store, extension: &Header) -> Result<Self> {
        let Some(message) = extension.message(kind::SHARED_TABLE) else { return Ok(Self::default()) };
        let (at, count) = shared::table_message(message.body, store.sizes())?;
        let bytes = store.block(at, shared::table_bytes(count, store.sizes()), "shared message table")?;
        let indexes = shared::table(&bytes, count, store.sizes())?;
        Ok(SharedTable { at: Some(at), indexes: RwLock::new(indexes) })
    }

    /// Returns where the table is, if the file has one.
    pub(crate) fn address(&self) -> Option<Address> {
        self.at
    }

    /// Returns all indexes.
    pub(crate) fn indexes(&self) -> Vec<SharedIndex> {
        self.indexes.read().clone()
    }

    /// Returns the number of the index that messages of a kind belong to, and the index.
    pub(crate) fn index_of(&self, kind: u16) -> Option<(usize, SharedIndex)> {
        let indexes = self.indexes.read();
        indexes.iter().copied().enumerate().find(|(_, index)| index.holds(kind))
    }

    /// Replaces the indexes: the table of the file has these now.
    pub(crate) fn set(&self, indexes: Vec<SharedIndex>) {
        *self.indexes.write() = indexes;
    }
}

/// Returns a message of the heap that messages of its kind are in.
pub(crate) fn heap_body(file: &Reader, kind: u16, id: &[u8]) -> Result<Vec<u8>> {
    let heap = file.shared.index_of(kind).and_then(|(_, index)| index.heap);
    let heap = heap.ok_or_else(|| Error::corrupt("find shared message").with("message type", kind))?;
    fractal_heap::open(file, heap)?.get(id)
}
