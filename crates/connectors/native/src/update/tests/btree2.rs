//! Version 2 B-trees.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Memory, Random};
use crate::format::Address;
use crate::format::btree2::BTree2;
use crate::pages::Block;
use crate::update::Blocks;
use crate::update::btree2::Tree;

/// Records are a key of 8 bytes, big-endian, and a value of 3.
fn record(key: u64, value: u8) -> Vec<u8> {
    [&key.to_be_bytes()[..], &[value; 3]].concat()
}

fn key_of(record: &[u8]) -> u64 {
    u64::from_be_bytes(record[..8].try_into().unwrap())
}

fn insert(tree: &mut Tree, blocks: &Memory, key: u64, value: u8) -> bool {
    tree.insert(blocks, &mut |r| Ok(key_of(r).cmp(&key)), &record(key, value)).unwrap()
}

fn remove(tree: &mut Tree, blocks: &Memory, key: u64) -> Option<u8> {
    tree.remove(blocks, &mut |r| Ok(key_of(r).cmp(&key))).unwrap().map(|r| r[8])
}

/// What a walk over a stored tree finds.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) records: Vec<Vec<u8>>,
    pub(super) blocks: Vec<(Address, u64)>,
    leaf_records: Vec<usize>,
}

/// Walks a tree, and checks what libhdf5 relies on.
pub(super) fn walk(blocks: &dyn Blocks, at: Address) -> Walk {
    let sizes = blocks.sizes();
    let bytes = blocks.read(at, BTree2::header_bytes(sizes), "header").unwrap();
    let tree = BTree2::decode(&bytes, sizes).unwrap();
    let mut walk = Walk { blocks: vec![(at, bytes.len() as u64)], ..Walk::default() };
    if let Some(root) = tree.root {
        let total = walk_node(blocks, &tree, root, tree.depth, u64::from(tree.root_records), &mut walk);
        assert_eq!(total, tree.records);
        assert!(tree.root_records > 0);
    }
    assert_eq!(walk.records.len() as u64, tree.records);
    walk
}

fn walk_node(
    blocks: &dyn Blocks,
    tree: &BTree2,
    at: Address,
    depth: u16,
    count: u64,
    walk: &mut Walk,
) -> u64 {
    let bytes = blocks.read(at, u64::from(tree.node_bytes), "node").unwrap();
    let node = tree.node(Block::from(Arc::new(bytes)), depth, count).unwrap();
    let fewest = tree.records_max(depth) * u64::from(tree.merge_percent) / 100;
    if tree.root != Some(at) {
        assert!(count >= fewest && count <= tree.records_max(depth), "{count} records at depth {depth}");
    }
    walk.blocks.push((at, u64::from(tree.node_bytes)));
    if depth == 0 {
        walk.records.extend((0..node.len()).map(|i| node.record(i).to_vec()));
        walk.leaf_records.push(node.len());
        return count;
    }
    let mut total = count;
    for (i, child) in node.children.iter().enumerate() {
        let below = walk_node(blocks, tree, child.address, depth - 1, child.records, walk);
        assert_eq!(below, child.total);
        total += below;
        if i < node.len() {
            walk.records.push(node.record(i).to_vec());
        }
    }
    total
}

/// All blocks of the file are of this structure, and each once.
pub(super) fn check_blocks(memory: &Memory, mut blocks: Vec<(Address, u64)>) {
    blocks.sort_unstable();
    assert_eq!(memory.blocks(), blocks);
}

fn check(memory: &Memory, at: Address, model: &BTreeMap<u64, u8>) {
    let found = walk(memory, at);
    let expected: Vec<Vec<u8>> = model.iter().map(|(&key, &value)| record(key, value)).collect();
    assert!(found.records == expected, "records differ");
    check_blocks(memory, found.blocks);
}

/// Changes a tree at random, with commits in between.
fn churn(seed: u64, node_bytes: u32, steps: u64, keys: u64) {
    let mut random = Random(seed);
    let mut memory = Memory::default();
    let mut tree = Tree::new(5, node_bytes, 11, &memory).unwrap();
    let mut model = BTreeMap::new();
    for step in 0..steps {
        // Grow, then shrink to nothing.
        let grows = random.below(100) < if step < steps / 2 { 70 } else { 25 };
        let key = random.below(keys);
        if grows {
            let value = random.below(256) as u8;
            let is_new = !model.contains_key(&key);
            assert_eq!(insert(&mut tree, &memory, key, value), is_new, "seed {seed}");
            model.entry(key).or_insert(value);
        } else if random.below(4) == 0 {
            let order = &mut |r: &[u8]| Ok(key_of(r).cmp(&key));
            let old = tree.replace(&memory, order, &record(key, 7)).unwrap().map(|r| r[8]);
            assert_eq!(old, model.get(&key).copied());
            model.entry(key).and_modify(|value| *value = 7);
        } else {
            // The nearest key there is, so that most removals find something.
            let key = model.range(key..).next().map_or(key, |(&key, _)| key);
            assert_eq!(remove(&mut tree, &memory, key), model.remove(&key), "seed {seed}");
        }
        assert_eq!(tree.len(), model.len() as u64);
        if random.below(20) == 0 {
            let at = tree.finish(&mut memory).unwrap();
            check(&memory, at, &model);
            if random.below(2) == 0 {
                memory.commit();
            }
            if random.below(2) == 0 {
                tree = Tree::open(&memory, at).unwrap();
            }
        }
    }
    for key in model.keys().copied().collect::<Vec<_>>() {
        assert!(tree.find(&memory, &mut |r| Ok(key_of(r).cmp(&key))).unwrap().is_some());
        assert_eq!(remove(&mut tree, &memory, key), model.remove(&key));
    }
    let at = tree.finish(&mut memory).unwrap();
    check(&memory, at, &model);
    tree.release(&mut memory).unwrap();
    check_blocks(&memory, Vec::new());
}

#[test]
fn random_changes_are_those_of_a_map() {
    for seed in 0..12 {
        churn(seed, 512, 3000, 4000);
    }
}

#[test]
fn nodes_of_few_records_split_and_merge() {
    for seed in 0..12 {
        // Leaves of 6 records and inner nodes of 2, then 9 and 4.
        churn(seed, 80, 600, 1000);
        churn(seed, 120, 1500, 2000);
    }
}

#[test]
fn ascending_records_fill_nodes() {
    let mut memory = Memory::default();
    let mut tree = Tree::new(6, 512, 11, &memory).unwrap();
    for key in 0..20_000 {
        assert!(insert(&mut tree, &memory, key, 0));
        if key % 1000 == 0 {
            tree.finish(&mut memory).unwrap();
            memory.commit();
        }
    }
    let at = tree.finish(&mut memory).unwrap();
    let found = walk(&memory, at);
    let leaves = found.leaf_records.len();
    assert!(found.leaf_records.iter().filter(|&&n| n >= 44).count() > leaves * 9 / 10, "{leaves} leaves");
    check_blocks(&memory, found.blocks);
}

#[test]
fn a_change_writes_one_path_and_the_committed_tree_stays_readable() {
    let mut memory = Memory::default();
    let mut tree = Tree::new(5, 512, 11, &memory).unwrap();
    for key in 0..5000 {
        insert(&mut tree, &memory, key * 7919 % 5003, 1);
    }
    let old = tree.finish(&mut memory).unwrap();
    memory.commit();
    let before = walk(&memory, old).records;
    memory.writes = 0;
    let mut tree = Tree::open(&memory, old).unwrap();
    insert(&mut tree, &memory, 100_000, 2);
    let new = tree.finish(&mut memory).unwrap();
    assert_ne!(old, new);
    // Three levels, a neighbour perhaps, and the header.
    assert!(memory.writes <= 5, "{} writes", memory.writes);
    assert!(memory.in_place.is_empty());
    assert_eq!(walk(&memory.published(0), old).records, before);
    assert_eq!(walk(&memory, new).records.len(), before.len() + 1);
}

#[test]
fn nodes_that_are_wrong_are_errors() {
    let mut memory = Memory::default();
    let mut tree = Tree::new(5, 512, 11, &memory).unwrap();
    for key in 0..3000 {
        insert(&mut tree, &memory, key, 1);
    }
    let at = tree.finish(&mut memory).unwrap();
    let root = BTree2::decode(&memory.read(at, 38, "header").unwrap(), memory.sizes).unwrap();
    // A child of the root leads to the root.
    let bytes = memory.read(root.root.unwrap(), 512, "node").unwrap();
    let node = root.node(Block::from(Arc::new(bytes)), root.depth, u64::from(root.root_records)).unwrap();
    let records: Vec<&[u8]> = (0..node.len()).map(|i| node.record(i)).collect();
    let mut children = node.children.clone();
    children[1].address = children[0].address;
    let forged = root.encode_node(root.depth, &records, &children).unwrap();
    memory.write(root.root.unwrap(), &forged, crate::txn::PublishOrder::First).unwrap();
    let mut tree = Tree::open(&memory, at).unwrap();
    for key in 0..3000 {
        let found = tree.find(&memory, &mut |r| Ok(key_of(r).cmp(&key)));
        if let Err(error) = found {
            assert_eq!(error.kind(), model::Kind::Corrupt);
            return;
        }
    }
    panic!("a node with two parents was not noticed");
}
