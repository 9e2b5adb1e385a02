//! Groups as they were before HDF5 1.8: a B-tree of symbol table nodes, and a local heap of names.

use files::DataKind;
use model::{Error, Link, LinkTarget, Result, text};

use super::storage::Storage;
use crate::format::Address;
use crate::format::btree1::{Kind, Node};
use crate::format::encode::btree1::group_key;
use crate::format::encode::local_heap::Segment;
use crate::format::encode::symbol_table;
use crate::format::group::SymbolTable;
use crate::format::local_heap::LocalHeap;
use crate::format::symbol_table::{Cached, SymbolTableEntry, node_bytes};

/// A node of some level, and the heap offset of the last name in it.
type Child = (Address, u64);

impl Storage {
    /// Returns a symbol table with these links, which are hard or soft and sorted by name.
    pub(crate) fn build_symbol_table(&mut self, links: &[&Link]) -> Result<SymbolTable> {
        let mut names = Segment::for_group(self.sizes)?;
        let entries = links.iter().map(|link| entry(&mut names, link)).collect::<Result<Vec<_>>>()?;
        let heap = self.store_local_heap(&names)?;
        let tree = self.store_group_tree(&entries)?;
        Ok(SymbolTable { tree, heap })
    }

    /// Returns a local heap with this segment.
    pub(crate) fn store_local_heap(&mut self, names: &Segment) -> Result<Address> {
        let header = self.allocate(LocalHeap::header_bytes(self.sizes), DataKind::LocalHeap);
        let data = self.allocate(names.len(), DataKind::LocalHeap);
        let heap = LocalHeap { data_bytes: names.len(), free: names.first_free(), data };
        // In the order of the file: what follows the last write is kept together with it.
        self.write(header, &heap.encode(self.sizes)?)?;
        self.write(data, &names.encode()?)?;
        Ok(header)
    }

    fn store_group_tree(&mut self, entries: &[SymbolTableEntry]) -> Result<Address> {
        let leaf_k = self.tree_k.group_leaf;
        let mut children: Vec<Child> = Vec::new();
        for part in entries.chunks(2 * usize::from(leaf_k)) {
            let at = self.allocate(node_bytes(leaf_k, self.sizes), DataKind::Tree);
            self.write(at, &symbol_table::node(part, leaf_k, self.sizes)?)?;
            children.push((at, part.last().map_or(0, |e| e.name_offset)));
        }
        let mut level = 0;
        loop {
            children = self.store_group_level(&children, level)?;
            match children[..] {
                [(root, _)] => return Ok(root),
                _ => level += 1,
            }
        }
    }

    /// Returns the nodes of one level. A tree without entries has one empty node.
    fn store_group_level(&mut self, children: &[Child], level: u8) -> Result<Vec<Child>> {
        let (k, sizes) = (self.tree_k.group_internal, self.sizes);
        let parts: Vec<&[Child]> = match children {
            [] => vec![&[]],
            _ => children.chunks(2 * usize::from(k)).collect(),
        };
        let bytes = Kind::Group.node_bytes(k, sizes);
        let places: Vec<Address> = parts.iter().map(|_| self.allocate(bytes, DataKind::Tree)).collect();
        let mut above = Vec::new();
        let mut before = 0;
        for (i, part) in parts.iter().enumerate() {
            let offsets = std::iter::once(before).chain(part.iter().map(|c| c.1));
            let keys = offsets.map(|at| group_key(at, sizes)).collect::<Result<Vec<_>>>()?;
            before = part.last().map_or(0, |c| c.1);
            let node = Node {
                level,
                left: i.checked_sub(1).map(|i| places[i]),
                right: places.get(i + 1).copied(),
                keys: keys.iter().map(Vec::as_slice).collect(),
                children: part.iter().map(|c| c.0).collect(),
            };
            self.write(places[i], &node.encode(Kind::Group, k, sizes)?)?;
            above.push((places[i], before));
        }
        Ok(above)
    }
}

fn entry(names: &mut Segment, link: &Link) -> Result<SymbolTableEntry> {
    let name_offset = names.insert(&text::as_bytes(&link.name))?;
    match &link.target {
        LinkTarget::Hard(token) => {
            Ok(SymbolTableEntry::hard(name_offset, Address(token.to_u64()), Cached::Nothing))
        }
        LinkTarget::Soft(path) => {
            let offset = names.insert(&text::as_bytes(path))?;
            let offset = u32::try_from(offset).map_err(|_| Error::limit("store soft link"))?;
            Ok(SymbolTableEntry::soft(name_offset, offset))
        }
        _ => Err(Error::invalid("store link in symbol table").with("name", &link.name)),
    }
}
