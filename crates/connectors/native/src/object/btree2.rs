//! Searching and walking version 2 B-trees.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use model::{Context, Error, Result};

use crate::format::Address;
use crate::format::btree2::{BTree2, Node};
use crate::object::decoded::{Decoded, DecodedKey};
use crate::reader::Reader;

pub(crate) fn open(file: &Reader, address: Address) -> Result<BTree2> {
    let place = DecodedKey::Tree(address);
    if let Some(Decoded::Tree(tree)) = file.decoded(&place) {
        return Ok(BTree2::clone(&tree));
    }
    let sizes = file.store.sizes();
    let bytes = file.store.block(address, BTree2::header_bytes(sizes), "B-tree v2 header")?;
    let tree = BTree2::decode(&bytes, sizes).during_at("open B-tree v2", address.0)?;
    file.keep_decoded(place, Decoded::Tree(Arc::new(tree.clone())));
    Ok(tree)
}

fn node(file: &Reader, tree: &BTree2, at: Address, depth: u16, records: u64) -> Result<Arc<Node>> {
    let BTree2 { kind, node_bytes, record_bytes, .. } = *tree;
    let place = DecodedKey::Node { at, kind, node_bytes, record_bytes, depth, records };
    if let Some(Decoded::Node(node)) = file.decoded(&place) {
        return Ok(node);
    }
    let block = file.store.block(at, u64::from(node_bytes), "B-tree v2 node")?;
    let node = tree.node(block, depth, records).during_at("read B-tree v2", at.0)?;
    let node = Arc::new(node);
    file.keep_decoded(place, Decoded::Node(node.clone()));
    Ok(node)
}

/// Returns the record for which `order` (of the record against what is sought) is equal.
pub(crate) fn find(
    file: &Reader,
    tree: &BTree2,
    order: &mut dyn FnMut(&[u8]) -> Result<Ordering>,
) -> Result<Option<Vec<u8>>> {
    let Some(mut address) = tree.root else { return Ok(None) };
    let mut count = u64::from(tree.root_records);
    for depth in (0..=tree.depth).rev() {
        let node = node(file, tree, address, depth, count)?;
        match search(&node, order)? {
            Ok(at) => return Ok(Some(node.record(at).to_vec())),
            Err(at) if depth > 0 => {
                (address, count) = (node.children[at].address, node.children[at].records);
            }
            Err(_) => {}
        }
    }
    Ok(None)
}

/// Binary search with a comparison that can fail: where it is, or before which record it would be.
fn search(
    node: &Node,
    order: &mut dyn FnMut(&[u8]) -> Result<Ordering>,
) -> Result<std::result::Result<usize, usize>> {
    let (mut low, mut high) = (0, node.len());
    while low < high {
        let middle = low.midpoint(high);
        match order(node.record(middle))? {
            Ordering::Equal => return Ok(Ok(middle)),
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
        }
    }
    Ok(Err(low))
}

/// Calls `visit` with every record, in the tree's order.
pub(crate) fn walk(file: &Reader, tree: &BTree2, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    match tree.root {
        Some(root) => {
            let mut seen = HashSet::new();
            walk_node(file, tree, root, tree.depth, u64::from(tree.root_records), &mut seen, visit)
        }
        None => Ok(()),
    }
}

/// Returns the header and the nodes of the tree at `address`, each with its bytes, and calls `visit` with every record.
pub(crate) fn blocks(
    file: &Reader,
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
    file: &Reader,
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
    let node = node(file, tree, address, depth, count)?;
    for i in 0..node.len() {
        if let Some(child) = node.children.get(i) {
            walk_node(file, tree, child.address, depth - 1, child.records, seen, visit)?;
        }
        visit(node.record(i))?;
    }
    match node.children.last() {
        Some(child) => walk_node(file, tree, child.address, depth - 1, child.records, seen, visit),
        None => Ok(()),
    }
}
