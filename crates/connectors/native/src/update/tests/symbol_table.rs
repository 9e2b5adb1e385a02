//! Old-style groups.

use files::DataKind;
use std::collections::BTreeMap;

use super::btree1::walk;
use super::btree2::check_blocks;
use super::{Memory, Random};
use crate::format::Address;
use crate::format::btree1::{Kind, Node};
use crate::format::encode::btree1::group_key;
use crate::format::encode::local_heap::Segment;
use crate::format::group::SymbolTable;
use crate::format::local_heap::{self, LocalHeap};
use crate::format::symbol_table::{Cached, node, node_bytes};
use crate::txn::PublishOrder;
use crate::update::Blocks;
use crate::update::symbol_table::{SymbolTarget, Table, Widths};

/// Names, and the address of an object or the path of a soft link.
type Model = BTreeMap<Vec<u8>, Result<u64, Vec<u8>>>;

fn empty_group(memory: &mut Memory, k: u16) -> SymbolTable {
    let sizes = memory.sizes;
    let segment = Segment::for_group(sizes).unwrap();
    let heap = memory.allocate(LocalHeap::header_bytes(sizes), DataKind::LocalHeap);
    let data = memory.allocate(segment.len(), DataKind::LocalHeap);
    let header = LocalHeap { data_bytes: segment.len(), free: segment.first_free(), data };
    memory.write(heap, &header.encode(sizes).unwrap(), PublishOrder::First).unwrap();
    memory.write(data, &segment.encode().unwrap(), PublishOrder::First).unwrap();
    let tree = memory.allocate(Kind::Group.node_bytes(k, sizes), DataKind::Tree);
    let key = group_key(0, sizes).unwrap();
    let root = Node { level: 0, left: None, right: None, keys: vec![&key], children: Vec::new() };
    memory.write(tree, &root.encode(Kind::Group, k, sizes).unwrap(), PublishOrder::First).unwrap();
    SymbolTable { tree, heap }
}

/// What a walk over a group finds.
struct Group {
    links: Model,
    walk: super::btree1::Walk,
    heap: LocalHeap,
    data: Vec<u8>,
    /// Names of each node of the table, in order.
    names: Vec<Vec<Vec<u8>>>,
}

fn read(memory: &Memory, table: SymbolTable, widths: Widths) -> Group {
    let sizes = memory.sizes;
    let heap = memory.read(table.heap, LocalHeap::header_bytes(sizes), "heap").unwrap();
    let heap = LocalHeap::decode(&heap, sizes).unwrap();
    let data = memory.read(heap.data, heap.data_bytes, "names").unwrap();
    let walk = walk(memory, table.tree, Kind::Group, widths.internal_k);
    let (mut links, mut names) = (Model::new(), Vec::new());
    for (_, at, _) in &walk.entries {
        let bytes = memory.read(*at, node_bytes(widths.leaf_k, sizes), "symbol table node").unwrap();
        let mut of_node = Vec::new();
        for entry in node(&bytes, sizes).unwrap() {
            let name = local_heap::text(&data, entry.name_offset).unwrap().to_vec();
            let target = match entry.cached {
                Cached::SoftLink(at) => Err(local_heap::text(&data, u64::from(at)).unwrap().to_vec()),
                _ => Ok(entry.header.unwrap().0),
            };
            of_node.push(name.clone());
            assert!(links.insert(name, target).is_none());
        }
        names.push(of_node);
    }
    Group { links, walk, heap, data, names }
}

fn check(memory: &Memory, table: SymbolTable, widths: Widths, model: &Model) {
    let sizes = memory.sizes;
    let group = read(memory, table, widths);
    assert!(group.links == *model, "links differ");
    group.walk.check_siblings(false);
    let mut blocks = group.walk.blocks.clone();
    blocks.extend(group.walk.entries.iter().map(|(_, at, _)| (*at, node_bytes(widths.leaf_k, sizes))));
    blocks.push((table.heap, LocalHeap::header_bytes(sizes)));
    blocks.push((group.heap.data, group.heap.data_bytes));
    check_blocks(memory, blocks);
    // The list of free blocks is whole, and none of them has a name in it: what it would overwrite is not read.
    let segment = Segment::decode(&group.data, &group.heap, sizes).unwrap();
    assert_eq!(segment.len(), group.heap.data_bytes);
    let text = |key: &[u8]| {
        let offset = u64::from_le_bytes(key.try_into().unwrap());
        local_heap::text(&group.data, offset).unwrap().to_vec()
    };
    for ((left, _, right), names) in group.walk.entries.iter().zip(&group.names) {
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(!names.is_empty() && names.len() <= 2 * usize::from(widths.leaf_k));
        assert!(text(left) < names[0] && *names.last().unwrap() == text(right));
    }
}

/// Free bytes are where no name is: overwriting them all changes nothing.
fn check_free_bytes(memory: &Memory, table: SymbolTable, widths: Widths) {
    let group = read(memory, table, widths);
    let mut next = group.heap.free;
    let mut scribbled = Memory::new(memory.sizes);
    scribbled.bytes = memory.bytes.clone();
    while let Some(at) = next {
        let field = |i: usize| {
            u64::from_le_bytes(group.data[at as usize + i..at as usize + i + 8].try_into().unwrap())
        };
        let start = (group.heap.data.0 + at) as usize;
        scribbled.bytes[start..start + field(8) as usize].fill(0xEE);
        next = Some(field(0)).filter(|&n| n != 1);
    }
    assert!(read(&scribbled, table, widths).links == group.links, "a name is in free space");
}

fn churn(seed: u64, widths: Widths, steps: u64) -> usize {
    let mut random = Random(seed);
    let mut memory = Memory::default();
    let place = empty_group(&mut memory, widths.internal_k);
    let mut table = Table::open(&memory, place, widths).unwrap();
    let (mut model, mut committed) = (Model::new(), Model::new());
    let (mut deepest, mut is_first) = (0, true);
    for step in 0..steps {
        let number = random.below(3000);
        let name = format!("{number}{}", "x".repeat((number % 23) as usize)).into_bytes();
        if random.below(100) < if step < steps / 2 { 70 } else { 30 } {
            let target =
                if random.below(5) == 0 { Err(format!("/soft/{step}").into_bytes()) } else { Ok(step) };
            let given = match &target {
                Ok(at) => SymbolTarget::Hard(Address(*at), Cached::Nothing),
                Err(path) => SymbolTarget::Soft(path),
            };
            match table.insert(&mut memory, &name, given) {
                Ok(inserted) => assert_eq!(inserted, !model.contains_key(&name)),
                // The heap is full of holes: what came before can be stored.
                Err(error) => {
                    assert_eq!(error.kind(), model::Kind::Unsupported);
                    table.finish(&mut memory).unwrap();
                    check(&memory, place, widths, &model);
                    return deepest;
                }
            }
            model.entry(name).or_insert(target);
        } else {
            let name = model.range(name.clone()..).next().map_or(name, |(name, _)| name.clone());
            assert_eq!(table.remove(&mut memory, &name).unwrap().is_some(), model.remove(&name).is_some());
        }
        if random.below(15) == 0 {
            table.finish(&mut memory).unwrap();
            check(&memory, place, widths, &model);
            deepest = deepest.max(read(&memory, place, widths).walk.depth());
            if is_first {
                check_published(&memory, place, widths, (&committed, &model));
            }
            is_first = random.below(3) > 0;
            if is_first {
                memory.commit();
                committed = model.clone();
                check_free_bytes(&memory, place, widths);
                if random.below(4) == 0 {
                    table = Table::open(&memory, place, widths).unwrap();
                }
            }
        }
    }
    for name in model.keys().cloned().collect::<Vec<_>>() {
        assert!(table.find(&memory, &name).unwrap().is_some());
        table.remove(&mut memory, &name).unwrap().unwrap();
    }
    table.finish(&mut memory).unwrap();
    check(&memory, place, widths, &Model::new());
    deepest
}

/// Whatever is published of a commit, a link is as it was or as it shall be.
fn check_published(memory: &Memory, place: SymbolTable, widths: Widths, (old, new): (&Model, &Model)) {
    for count in 0..=memory.in_place.len() {
        let image = memory.published(count);
        let group = read(&image, place, widths);
        Segment::decode(&group.data, &group.heap, image.sizes).unwrap();
        let mut table = Table::open(&image, place, widths).unwrap();
        for (name, target) in old {
            let now = new.get(name);
            let seen = group.links.get(name);
            assert!(seen.map_or(now.is_none(), |seen| seen == target || Some(seen) == now));
            if now.is_some() {
                assert!(table.find(&image, name).unwrap().is_some(), "a link is not found");
            }
        }
        let known = |name: &Vec<u8>| old.contains_key(name) || new.contains_key(name);
        let strange = group.links.keys().find(|name| !known(name));
        assert!(strange.is_none(), "{strange:?} after {count} of {:?}", memory.in_place.len());
    }
}

#[test]
fn random_changes_are_those_of_a_map() {
    for seed in 0..5 {
        assert!(churn(seed, Widths { internal_k: 2, leaf_k: 2 }, 500) > 2);
        churn(seed, Widths { internal_k: 16, leaf_k: 4 }, 800);
    }
}

#[test]
fn ascending_names_fill_nodes() {
    let widths = Widths { internal_k: 16, leaf_k: 4 };
    let mut memory = Memory::default();
    let place = empty_group(&mut memory, 16);
    let mut model = Model::new();
    for i in 0..3000u64 {
        let mut table = Table::open(&memory, place, widths).unwrap();
        let name = format!("name {i:06}").into_bytes();
        memory.writes = 0;
        assert!(table.insert(&mut memory, &name, SymbolTarget::Hard(Address(i), Cached::Nothing)).unwrap());
        table.finish(&mut memory).unwrap();
        // The name and its free block, a node of the table, and the keys of three levels.
        assert!(memory.writes <= 9, "{} writes", memory.writes);
        memory.commit();
        model.insert(name, Ok(i));
    }
    check(&memory, place, widths, &model);
    let group = read(&memory, place, widths);
    assert_eq!(group.names.len(), 3000usize.div_ceil(8));
    assert!(group.data.len() < 3000 * 16 * 3);
}

#[test]
fn space_of_names_is_used_again() {
    let widths = Widths { internal_k: 16, leaf_k: 4 };
    let mut memory = Memory::default();
    let place = empty_group(&mut memory, 16);
    let mut table = Table::open(&memory, place, widths).unwrap();
    for round in 0..200u64 {
        for i in 0..50 {
            let name = format!("a rather long name {}", i + 50 * (round % 2)).into_bytes();
            assert!(
                table.insert(&mut memory, &name, SymbolTarget::Hard(Address(i), Cached::Nothing)).unwrap()
            );
        }
        table.finish(&mut memory).unwrap();
        memory.commit();
        for i in 0..50 {
            let name = format!("a rather long name {}", i + 50 * (round % 2)).into_bytes();
            assert!(table.remove(&mut memory, &name).unwrap().is_some());
        }
        table.finish(&mut memory).unwrap();
        memory.commit();
        table.finish(&mut memory).unwrap();
        memory.commit();
    }
    assert!(read(&memory, place, widths).data.len() < 16 << 10);
}
