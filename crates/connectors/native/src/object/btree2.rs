//! Searching and walking version 2 B-trees.

use std::cmp::Ordering;
use std::collections::HashSet;

use model::{Context, Error, Result};

use crate::file::File;
use crate::format::Address;
use crate::format::btree2::BTree2;

pub(crate) fn open(file: &File, address: Address) -> Result<BTree2> {
    let sizes = file.store.sizes();
    let bytes = file.store.block(address, BTree2::header_bytes(sizes), "B-tree v2 header")?;
    BTree2::decode(&bytes, sizes).during_at("open B-tree v2", address.0)
}

/// The record for which `order` (of the record against what is sought) is equal.
pub(crate) fn find(
    file: &File,
    tree: &BTree2,
    order: &mut dyn FnMut(&[u8]) -> Result<Ordering>,
) -> Result<Option<Vec<u8>>> {
    let Some(mut address) = tree.root else { return Ok(None) };
    let mut count = u64::from(tree.root_records);
    for depth in (0..=tree.depth).rev() {
        let block = file.store.block(address, u64::from(tree.node_bytes), "B-tree v2 node")?;
        let (records, children) = tree.node(&block, depth, count).during_at("search B-tree v2", address.0)?;
        match search(&records, order)? {
            Ok(at) => return Ok(Some(records[at].to_vec())),
            Err(at) if depth > 0 => (address, count) = (children[at].address, children[at].records),
            Err(_) => {}
        }
    }
    Ok(None)
}

/// Binary search with a comparison that can fail: where it is, or before which record it would be.
fn search(
    records: &[&[u8]],
    order: &mut dyn FnMut(&[u8]) -> Result<Ordering>,
) -> Result<std::result::Result<usize, usize>> {
    let (mut low, mut high) = (0, records.len());
    while low < high {
        let middle = low.midpoint(high);
        match order(records[middle])? {
            Ordering::Equal => return Ok(Ok(middle)),
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
        }
    }
    Ok(Err(low))
}

/// Calls `visit` with every record, in the tree's order.
pub(crate) fn walk(file: &File, tree: &BTree2, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    match tree.root {
        Some(root) => {
            let mut seen = HashSet::new();
            walk_node(file, tree, root, tree.depth, u64::from(tree.root_records), &mut seen, visit)
        }
        None => Ok(()),
    }
}

/// The header and the nodes of the tree at `address`, each with its bytes, and calls `visit` with every record.
pub(crate) fn blocks(
    file: &File,
    address: Address,
    visit: &mut dyn FnMut(&BTree2, &[u8]) -> Result<()>,
) -> Result<Vec<(Address, u64)>> {
    let tree = open(file, address)?;
    let mut seen = HashSet::new();
    if let Some(root) = tree.root {
        let visit = &mut |record: &[u8]| visit(&tree, record);
        walk_node(file, &tree, root, tree.depth, u64::from(tree.root_records), &mut seen, visit)?;
    }
    let header = (address, BTree2::header_bytes(file.store.sizes()));
    Ok(seen.into_iter().map(|at| (at, u64::from(tree.node_bytes))).chain([header]).collect())
}

fn walk_node(
    file: &File,
    tree: &BTree2,
    address: Address,
    depth: u16,
    count: u64,
    seen: &mut HashSet<Address>,
    visit: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    if !seen.insert(address) {
        return Err(Error::corrupt("walk B-tree v2").at(address.0).with("problem", "node repeats"));
    }
    let block = file.store.block(address, u64::from(tree.node_bytes), "B-tree v2 node")?;
    let (records, children) = tree.node(&block, depth, count).during_at("walk B-tree v2", address.0)?;
    for (i, record) in records.iter().enumerate() {
        if let Some(child) = children.get(i) {
            walk_node(file, tree, child.address, depth - 1, child.records, seen, visit)?;
        }
        visit(record)?;
    }
    match children.last() {
        Some(child) => walk_node(file, tree, child.address, depth - 1, child.records, seen, visit),
        None => Ok(()),
    }
}
