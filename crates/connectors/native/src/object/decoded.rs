//! Trees and heaps in decoded form, cached while the file does not change: a look-up in a large group meets the same ones each time.

use std::sync::Arc;

use quick_cache::Weighter;

use crate::format::Address;
use crate::format::btree2::{BTree2, Node};
use crate::format::fractal_heap::{Child, FractalHeap};
use crate::lazy_cache::LazyCache;
use crate::reader::Reader;

/// Where something was decoded, and all that its meaning hangs on besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DecodedKey {
    Tree(Address),
    Node { at: Address, kind: u8, node_bytes: u32, record_bytes: u16, depth: u16, records: u64 },
    Heap(Address),
    Table { at: Address, heap: Address, start: u64, rows: u64 },
}

/// A decoded structure.
#[derive(Debug, Clone)]
pub(crate) enum Decoded {
    Tree(Arc<BTree2>),
    Node(Arc<Node>),
    Heap(Arc<FractalHeap>),
    Table(Arc<Vec<Child>>),
}

#[derive(Debug, Clone)]
pub(crate) struct ByDecoded;

impl Weighter<DecodedKey, Decoded> for ByDecoded {
    fn weight(&self, _: &DecodedKey, decoded: &Decoded) -> u64 {
        let bytes = match decoded {
            Decoded::Tree(_) | Decoded::Heap(_) => 256,
            Decoded::Node(node) => node.weight(),
            Decoded::Table(children) => size_of_val(children.as_slice()),
        };
        bytes as u64 + 128
    }
}

pub(crate) type DecodedCache = LazyCache<DecodedKey, Decoded, ByDecoded>;

impl Reader {
    /// Returns what was decoded at a place before, if the file held still since.
    pub(crate) fn decoded(&self, place: &DecodedKey) -> Option<Decoded> {
        if self.store.may_change() { None } else { self.decoded.get(place) }
    }

    pub(crate) fn keep_decoded(&self, place: DecodedKey, decoded: Decoded) {
        if !self.store.may_change() {
            self.decoded.insert(place, decoded);
        }
    }
}
