//! Old-style groups that change link by link: a B-tree of symbol table nodes, and a local heap of names.
//!
//! Neither the root of the tree nor the header of the heap moves: the group's header, and copies of it, hold where they are.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as MapEntry;

use files::DataKind;
use model::bytes::Cursor;
use model::{Context, Error, Result};

use super::Blocks;
use super::btree1::{Path, Side, Tree};
use super::local_heap::Names;
use crate::format::Address;
use crate::format::btree1::Kind;
use crate::format::encode::btree1::group_key;
use crate::format::encode::symbol_table as encode;
use crate::format::group::SymbolTable;
use crate::format::symbol_table::{self, Cached, SymbolTableEntry};
use crate::txn::PublishOrder;

/// Half of the most children of a tree node, and of the most entries of a symbol table node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Widths {
    pub(crate) internal_k: u16,
    pub(crate) leaf_k: u16,
}

/// Where a link leads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SymbolTarget<'t> {
    /// The header of an object, and what the entry caches of it.
    Hard(Address, Cached),
    /// A path.
    Soft(&'t [u8]),
}

/// A group that is being changed. It can be used on after [`Table::finish`], across commits, as long as no other caller changes it.
#[derive(Debug)]
pub(crate) struct Table {
    tree: Tree,
    names: Names,
    leaf_k: u16,
    /// Symbol table nodes that were read or created.
    nodes: BTreeMap<Address, Entries>,
    /// Names that were the last of their node when they were removed. Until all changes are known, the node and the key after it
    /// stay: a link that is removed and made again is to be in the same node, or a reader could miss it in between.
    shortened: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Entries {
    entries: Vec<SymbolTableEntry>,
    is_changed: bool,
}

impl Entries {
    fn read(blocks: &dyn Blocks, at: Address, leaf_k: u16) -> Result<Self> {
        let sizes = blocks.sizes();
        let bytes = blocks.read(at, symbol_table::node_bytes(leaf_k, sizes), "symbol table node")?;
        let entries = symbol_table::node(&bytes, sizes).during_at("read symbol table node", at.0)?;
        match entries.len() <= 2 * usize::from(leaf_k) {
            true => Ok(Entries { entries, is_changed: false }),
            false => Err(Error::corrupt("read symbol table node").at(at.0).with("entries", entries.len())),
        }
    }
}

/// A name in a group: the way to its node, and where it is in it or would be.
struct NamePosition {
    path: Path,
    node: Address,
    at: std::result::Result<usize, usize>,
}

impl Table {
    /// Returns the group whose symbol table message says this.
    pub(crate) fn open(blocks: &dyn Blocks, table: SymbolTable, widths: Widths) -> Result<Self> {
        let tree = Tree::open(Kind::Group, widths.internal_k, table.tree, blocks.sizes());
        let names = Names::open(blocks, table.heap)?;
        if widths.leaf_k == 0 || widths.internal_k == 0 {
            return Err(Error::unsupported("change symbol table").with("problem", "nodes without entries"));
        }
        Ok(Table { tree, names, leaf_k: widths.leaf_k, nodes: BTreeMap::new(), shortened: Vec::new() })
    }

    /// Returns the entry of a link.
    #[cfg(test)]
    pub(crate) fn find(&mut self, blocks: &dyn Blocks, name: &[u8]) -> Result<Option<SymbolTableEntry>> {
        match self.spot(blocks, name)? {
            Some(NamePosition { node, at: Ok(at), .. }) => {
                Ok(Some(self.entries(blocks, node)?.entries[at].clone()))
            }
            _ => Ok(None),
        }
    }

    /// Adds a link. Returns `false`, and changes nothing, if there is one of that name.
    ///
    /// # Errors
    /// Returns `Error::Unsupported`, and changes nothing, if the group should be built anew.
    pub(crate) fn insert(
        &mut self,
        blocks: &mut dyn Blocks,
        name: &[u8],
        target: SymbolTarget<'_>,
    ) -> Result<bool> {
        if name.is_empty() {
            return Err(Error::invalid("insert link").with("problem", "empty name"));
        }
        let spot = self.spot(blocks, name)?;
        if spot.as_ref().is_some_and(|spot| spot.at.is_ok()) {
            return Ok(false);
        }
        let entry = self.entry(blocks, name, target)?;
        match spot {
            None => self.start(blocks, entry)?,
            Some(NamePosition { mut path, node, at: Ok(at) | Err(at) }) => {
                self.place(blocks, &mut path, node, at, entry)?;
            }
        }
        Ok(true)
    }

    /// Removes a link, and returns its entry.
    pub(crate) fn remove(
        &mut self,
        blocks: &mut dyn Blocks,
        name: &[u8],
    ) -> Result<Option<SymbolTableEntry>> {
        let Some(NamePosition { node, at: Ok(at), .. }) = self.spot(blocks, name)? else { return Ok(None) };
        let held = self.entries(blocks, node)?;
        let entry = held.entries.remove(at);
        held.is_changed = true;
        if at == held.entries.len() {
            self.shortened.push(name.to_vec());
        }
        self.names.remove(blocks, entry.name_offset)?;
        if let Cached::SoftLink(offset) = entry.cached {
            self.names.remove(blocks, u64::from(offset))?;
        }
        Ok(Some(entry))
    }

    fn entries(&mut self, blocks: &dyn Blocks, at: Address) -> Result<&mut Entries> {
        match self.nodes.entry(at) {
            MapEntry::Occupied(entry) => Ok(entry.into_mut()),
            MapEntry::Vacant(entry) => Ok(entry.insert(Entries::read(blocks, at, self.leaf_k)?)),
        }
    }

    /// Returns where a name is or would be; nothing in a group without nodes.
    fn spot(&mut self, blocks: &dyn Blocks, name: &[u8]) -> Result<Option<NamePosition>> {
        let (names, sizes) = (&self.names, blocks.sizes());
        let path = self.tree.path(blocks, &mut |keys| {
            // A child has the names after its left key, up to its right one.
            let order = |key: &Vec<u8>| {
                let offset = Cursor::new(key, "group key").uint(sizes.length)?;
                Ok(names.text(blocks, offset)?.as_slice().cmp(name))
            };
            let before = search(keys, order)?;
            Ok(before.unwrap_or_else(|before| before).saturating_sub(1))
        })?;
        let Some(path) = path else { return Ok(None) };
        let (leaf, child) = self.tree.leaf(blocks, &path)?;
        let node = leaf.children[child];
        self.entries(blocks, node)?;
        let entries = self.nodes.get(&node).map_or(&[][..], |held| &held.entries);
        let names = &self.names;
        let at = search(entries, |entry| Ok(names.text(blocks, entry.name_offset)?.as_slice().cmp(name)))?;
        Ok(Some(NamePosition { path, node, at }))
    }

    /// Returns the entry of a new link, whose texts are put in the heap.
    fn entry(
        &mut self,
        blocks: &mut dyn Blocks,
        name: &[u8],
        target: SymbolTarget<'_>,
    ) -> Result<SymbolTableEntry> {
        match target {
            SymbolTarget::Hard(header, cached) => {
                let offsets = self.names.insert(blocks, &[name])?;
                Ok(SymbolTableEntry::hard(offsets[0], header, cached))
            }
            SymbolTarget::Soft(path) => {
                let offsets = self.names.insert(blocks, &[name, path])?;
                let text = u32::try_from(offsets[1]).map_err(|_| Error::limit("store soft link"))?;
                Ok(SymbolTableEntry::soft(offsets[0], text))
            }
        }
    }

    /// Adds the first link of a group.
    fn start(&mut self, blocks: &mut dyn Blocks, entry: SymbolTableEntry) -> Result<()> {
        let sizes = blocks.sizes();
        let keys = [group_key(0, sizes)?, group_key(entry.name_offset, sizes)?];
        let node = self.add_node(blocks, vec![entry]);
        self.tree.start(blocks, &keys, node)
    }

    fn add_node(&mut self, blocks: &mut dyn Blocks, entries: Vec<SymbolTableEntry>) -> Address {
        let at = blocks.allocate(symbol_table::node_bytes(self.leaf_k, blocks.sizes()), DataKind::Tree);
        self.nodes.insert(at, Entries { entries, is_changed: true });
        at
    }

    /// Puts an entry in its node. A full one is split.
    fn place(
        &mut self,
        blocks: &mut dyn Blocks,
        path: &mut Path,
        node: Address,
        at: usize,
        entry: SymbolTableEntry,
    ) -> Result<()> {
        let (most, sizes) = (2 * usize::from(self.leaf_k), blocks.sizes());
        let name_offset = entry.name_offset;
        let held = self.entries(blocks, node)?;
        let count = held.entries.len();
        let before = held.entries.last().map_or(0, |entry| entry.name_offset);
        let mut node = node;
        if at == count && self.is_beyond(blocks, path, name_offset)? {
            self.tree.set_key(blocks, path, Side::Right, &group_key(name_offset, sizes)?)?;
            if count >= most {
                // Names that come in ascending order leave full nodes behind.
                let next = self.add_node(blocks, vec![entry]);
                return self.tree.insert(blocks, path, Side::Right, group_key(before, sizes)?, next);
            }
            node = self.relocate(blocks, path, node)?;
        }
        let held = self.entries(blocks, node)?;
        held.entries.insert(at, entry);
        held.is_changed = true;
        if count < most { Ok(()) } else { self.split(blocks, path, node) }
    }

    /// Returns whether a name is greater than the key after its node.
    fn is_beyond(&mut self, blocks: &dyn Blocks, path: &Path, name_offset: u64) -> Result<bool> {
        let (leaf, child) = self.tree.leaf(blocks, path)?;
        let key = Cursor::new(&leaf.keys[child + 1], "group key").uint(blocks.sizes().length)?;
        let (key, name) = (self.names.text(blocks, key)?, self.names.text(blocks, name_offset)?);
        Ok(name > key)
    }

    /// Splits a node that has one entry too many. Its halves go to new space, unless nothing committed is where it is.
    fn split(&mut self, blocks: &mut dyn Blocks, path: &Path, node: Address) -> Result<()> {
        let sizes = blocks.sizes();
        let Some(mut held) = self.nodes.remove(&node) else { return Ok(()) };
        let later = held.entries.split_off(held.entries.len().div_ceil(2));
        let middle = held.entries.last().map_or(0, |entry| entry.name_offset);
        let at = blocks.relocate(node, symbol_table::node_bytes(self.leaf_k, sizes), DataKind::Tree);
        self.nodes.insert(at, Entries { is_changed: true, ..held });
        let next = self.add_node(blocks, later);
        self.tree.set_child(blocks, path, at)?;
        self.tree.insert(blocks, path, Side::Right, group_key(middle, sizes)?, next)
    }

    /// Moves a node whose key changes to new space, unless nothing committed is where it is: its entries and the key are
    /// published in one write then, that of the tree's node. In between, libhdf5 would list a link that it does not find.
    fn relocate(&mut self, blocks: &mut dyn Blocks, path: &Path, node: Address) -> Result<Address> {
        let at = blocks.relocate(node, symbol_table::node_bytes(self.leaf_k, blocks.sizes()), DataKind::Tree);
        if at != node {
            self.entries(blocks, node)?;
            if let Some(held) = self.nodes.remove(&node) {
                self.nodes.insert(at, Entries { is_changed: true, ..held });
            }
            self.tree.set_child(blocks, path, at)?;
        }
        Ok(at)
    }

    /// Takes the node that had `name` off the tree if it is empty; else the key after it becomes its last name.
    fn tidy(&mut self, blocks: &mut dyn Blocks, name: &[u8]) -> Result<()> {
        let Some(NamePosition { mut path, node, .. }) = self.spot(blocks, name)? else { return Ok(()) };
        match self.entries(blocks, node)?.entries.last().map(|entry| entry.name_offset) {
            Some(last) => {
                let key = group_key(last, blocks.sizes())?;
                self.relocate(blocks, &path, node)?;
                self.tree.set_key(blocks, &mut path, Side::Right, &key)
            }
            None => {
                self.nodes.remove(&node);
                blocks.release(node, symbol_table::node_bytes(self.leaf_k, blocks.sizes()));
                self.tree.remove(blocks, &mut path)
            }
        }
    }

    /// Writes what changed.
    pub(crate) fn finish(&mut self, blocks: &mut dyn Blocks) -> Result<()> {
        for name in std::mem::take(&mut self.shortened) {
            self.tidy(blocks, &name)?;
        }
        self.names.finish(blocks)?;
        for (at, held) in std::mem::take(&mut self.nodes) {
            if held.is_changed {
                let bytes = encode::node(&held.entries, self.leaf_k, blocks.sizes())?;
                blocks.write(at, &bytes, PublishOrder::Middle)?;
            }
        }
        self.tree.finish(blocks)
    }
}

/// Binary search with an order that can fail: where something is, or before which it would be.
fn search<T>(
    items: &[T],
    mut order: impl FnMut(&T) -> Result<Ordering>,
) -> Result<std::result::Result<usize, usize>> {
    let (mut low, mut high) = (0, items.len());
    while low < high {
        let middle = low.midpoint(high);
        match order(&items[middle])? {
            Ordering::Equal => return Ok(Ok(middle)),
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
        }
    }
    Ok(Err(low))
}
