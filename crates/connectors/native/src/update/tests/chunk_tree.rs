//! Version 1 B-trees of chunks.

use std::collections::BTreeMap;

use super::btree1::walk;
use super::btree2::check_blocks;
use super::{Memory, Random};
use crate::format::Address;
use crate::format::btree1::{ChunkKey, Kind};
use crate::update::chunk_tree::{ChunkTree, Geometry};

type Model = BTreeMap<Vec<u64>, (u32, u64)>;

fn key(offset: &[u64], bytes: u32) -> ChunkKey {
    ChunkKey { stored_bytes: bytes, filter_mask: 0, offset: offset.to_vec(), byte_offset: 0 }
}

fn found(memory: &Memory, root: Address, k: u16) -> Model {
    let entries = walk(memory, root, Kind::Chunk { rank: 2 }, k).entries;
    let chunk = |(left, child, _): (Vec<u8>, Address, Vec<u8>)| {
        let key = ChunkKey::decode(&left, 2).unwrap();
        (key.offset, (key.stored_bytes, child.0))
    };
    entries.into_iter().map(chunk).collect()
}

fn check(memory: &Memory, root: Address, k: u16, model: &Model) {
    let walk = walk(memory, root, Kind::Chunk { rank: 2 }, k);
    walk.check_siblings(true);
    check_blocks(memory, walk.blocks);
    assert!(walk.entries.windows(2).all(|pair| pair[0].2[8..] == pair[1].0[8..]));
    if let Some((left, _, right)) = walk.entries.last() {
        let (left, right) = (ChunkKey::decode(left, 2).unwrap(), ChunkKey::decode(right, 2).unwrap());
        assert!(right.offset > left.offset && right.byte_offset == 4);
    }
    assert_eq!(found(memory, root, k), *model);
}

fn churn(seed: u64, k: u16, steps: u64, ascending: bool) -> usize {
    let mut random = Random(seed);
    let mut memory = Memory::default();
    let geometry = Geometry { shape: vec![10, 5], element_bytes: 4, k };
    let mut tree = ChunkTree::new(geometry.clone(), &mut memory).unwrap();
    let root = tree.root();
    let (mut model, mut committed) = (Model::new(), Model::new());
    let (mut next, mut is_first) = (1 << 40, true);
    for step in 0..steps {
        let offset = match ascending {
            true => vec![step * 10, 0],
            false => vec![random.below(40) * 10, random.below(40) * 5],
        };
        if ascending || random.below(100) < if step < steps / 2 { 70 } else { 30 } {
            next += 1;
            let old = tree.insert(&mut memory, &key(&offset, step as u32), Address(next)).unwrap();
            let before = model.insert(offset, (step as u32, next));
            assert_eq!(old.map(|(key, at)| (key.stored_bytes, at.0)), before);
        } else {
            let offset = model.range(offset.clone()..).next().map_or(offset, |(offset, _)| offset.clone());
            let old = tree.remove(&memory, &offset).unwrap();
            assert_eq!(old.map(|(key, at)| (key.stored_bytes, at.0)), model.remove(&offset));
        }
        if random.below(15) == 0 {
            tree.finish(&mut memory).unwrap();
            check(&memory, root, k, &model);
            for count in 0..=if is_first { memory.in_place.len() } else { 0 } {
                let seen = found(&memory.published(count), root, k);
                for (offset, chunk) in &committed {
                    let now = model.get(offset);
                    let is_one = seen.get(offset).map_or(now.is_none(), |c| c == chunk || Some(c) == now);
                    assert!(is_one, "seed {seed}: chunk {offset:?} after {count} writes");
                }
            }
            is_first = random.below(2) == 0;
            if is_first {
                memory.commit();
                committed = model.clone();
                tree = ChunkTree::open(root, geometry.clone(), &memory).unwrap();
            }
        }
    }
    tree.finish(&mut memory).unwrap();
    let walk = walk(&memory, root, Kind::Chunk { rank: 2 }, k);
    let depth = walk.depth();
    if ascending {
        // All nodes of level 0 but the last are full.
        assert!(walk.blocks.len() as u64 <= steps.div_ceil(2 * u64::from(k)) * 3 / 2 + 4);
    }
    for (offset, (_, at)) in std::mem::take(&mut model) {
        assert_eq!(tree.find(&memory, &offset).unwrap().unwrap().1.0, at);
        tree.remove(&memory, &offset).unwrap().unwrap();
    }
    tree.finish(&mut memory).unwrap();
    check(&memory, root, k, &model);
    depth
}

#[test]
fn random_changes_are_those_of_a_map() {
    for seed in 0..6 {
        assert!(churn(seed, 2, 800, false) > 2);
        churn(seed, 32, 1500, false);
    }
}

#[test]
fn ascending_chunks_fill_nodes() {
    churn(1, 4, 700, true);
    churn(2, 32, 1500, true);
}

#[test]
fn chunks_that_come_backwards() {
    let mut memory = Memory::default();
    let mut tree =
        ChunkTree::new(Geometry { shape: vec![10, 5], element_bytes: 4, k: 2 }, &mut memory).unwrap();
    let mut model = Model::new();
    for i in (0..300u64).rev() {
        tree.insert(&mut memory, &key(&[i * 10, 0], 7), Address(1000 + i)).unwrap();
        model.insert(vec![i * 10, 0], (7, 1000 + i));
        if i % 7 == 0 {
            tree.finish(&mut memory).unwrap();
            check(&memory, tree.root(), 2, &model);
            memory.commit();
        }
    }
    assert!(tree.find(&memory, &[10, 5]).unwrap().is_none());
    assert!(tree.find(&memory, &[1]).is_err());
}
