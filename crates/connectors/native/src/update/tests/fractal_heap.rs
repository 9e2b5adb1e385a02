//! Fractal heaps.

use std::collections::BTreeMap;

use filters::pipeline::stages;
use model::properties::FilterSpec;

use super::btree2::{check_blocks, walk};
use super::{Memory, Random};
use crate::format::encode::fractal_heap::Client;
use crate::format::fractal_heap::{Child, FractalHeap, ObjectId};
use crate::format::free_space::Manager;
use crate::format::{Address, Sizes};
use crate::update::Blocks;
use crate::update::fractal_heap::Heap;

/// The blocks of a heap, and the bytes of its direct blocks.
#[derive(Debug, Default)]
struct Found {
    blocks: Vec<(Address, u64)>,
    direct_bytes: u64,
}

fn header_of(blocks: &dyn Blocks, at: Address) -> FractalHeap {
    let sizes = blocks.sizes();
    let bytes = blocks.read(at, FractalHeap::header_bytes(sizes), "header").unwrap();
    let bytes = blocks.read(at, FractalHeap::header_bytes_of(&bytes, sizes).unwrap(), "header").unwrap();
    FractalHeap::decode(&bytes, sizes).unwrap()
}

/// Walks a heap, and checks all of its blocks.
fn survey(blocks: &dyn Blocks, at: Address) -> Found {
    let (h, sizes) = (header_of(blocks, at), blocks.sizes());
    let header_bytes = h.encode().unwrap().len() as u64;
    let mut found = Found { blocks: vec![(at, header_bytes)], ..Found::default() };
    let root = Child { address: h.root, stored: h.root_stored };
    match h.root {
        Some(_) if h.root_rows == 0 => direct(blocks, (&h, at), root, (0, h.start_bytes), &mut found),
        Some(root) => table(blocks, (&h, at), root, (0, u64::from(h.root_rows)), &mut found),
        None => {}
    }
    if let Some(tree) = h.huge_tree {
        let tree = walk(blocks, tree);
        found.blocks.extend(tree.blocks);
        for record in &tree.records {
            let field = |at: usize, n: usize| {
                record[at..at + n].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
            };
            found.blocks.push((Address(field(0, sizes.offset)), field(sizes.offset, sizes.length)));
        }
    }
    if let Some(manager) = h.free_space {
        let bytes = blocks.read(manager, Manager::header_bytes(sizes), "manager").unwrap();
        let decoded = Manager::decode(&bytes, sizes).unwrap();
        // libhdf5 removes an empty one when it closes the heap, and fails where it may not write.
        assert!(decoded.sections > 0, "the manager at {manager:?} is empty");
        found.blocks.push((manager, bytes.len() as u64));
        found.blocks.extend(decoded.list.map(|list| (list, decoded.list_bytes)));
    }
    found
}

fn direct(
    blocks: &dyn Blocks,
    (h, heap): (&FractalHeap, Address),
    child: Child,
    place: (u64, u64),
    found: &mut Found,
) {
    let (at, file_bytes) = (child.address.unwrap(), child.stored.map_or(place.1, |stored| stored.bytes));
    let mut bytes = blocks.read(at, file_bytes, "direct block").unwrap();
    if let Some(stored) = child.stored {
        let len = place.1 as usize;
        let decoded = blocks.filters().decode(&stages(&h.filters), stored.filter_mask, bytes, len, len);
        bytes = decoded.unwrap();
    }
    h.check_direct(&bytes, heap, place.0).unwrap();
    found.blocks.push((at, file_bytes));
    found.direct_bytes += place.1;
}

fn table(
    blocks: &dyn Blocks,
    (h, heap): (&FractalHeap, Address),
    at: Address,
    (start, rows): (u64, u64),
    found: &mut Found,
) {
    let bytes = blocks.read(at, h.indirect_bytes(rows), "indirect block").unwrap();
    let children = h.indirect(&bytes, heap, start, rows).unwrap();
    found.blocks.push((at, bytes.len() as u64));
    let mut offset = start;
    for (i, child) in children.iter().enumerate() {
        let row = i as u64 / h.width;
        let bytes = h.row_bytes(row).unwrap();
        match child.address {
            Some(_) if row < h.direct_rows() => direct(blocks, (h, heap), *child, (offset, bytes), found),
            Some(at) => table(blocks, (h, heap), at, (offset, h.rows_of(bytes)), found),
            None => {}
        }
        offset += bytes;
    }
}

/// Bytes for objects under a root of so many rows, counted block by block.
fn capacity(h: &FractalHeap, rows: u64) -> u64 {
    let of_row = |row: u64| match row < h.direct_rows() {
        true => h.row_bytes(row).unwrap() - h.direct_prefix_bytes() as u64,
        false => capacity(h, h.rows_of(h.row_bytes(row).unwrap())),
    };
    (0..rows).map(|row| h.width * of_row(row)).sum()
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn check(memory: &Memory, at: Address, model: &Model, pending_huge: usize) {
    check_with(memory, at, model, (pending_huge, Vec::new()));
}

/// Checks a heap with huge objects and blocks that wait for a commit to be removed.
fn check_with(memory: &Memory, at: Address, model: &Model, pending: (usize, Vec<(Address, u64)>)) {
    let (h, found) = (header_of(memory, at), survey(memory, at));
    let (pending_huge, outdated) = pending;
    check_blocks(memory, [found.blocks, outdated].concat());
    let mut used = 0;
    let (mut managed, mut huge, mut tiny) = (0, 0, 0);
    for (id, object) in model {
        match h.object_id(id).unwrap() {
            ObjectId::Managed { len, .. } => {
                managed += 1;
                used += len;
            }
            ObjectId::Tiny(_) => tiny += 1,
            _ => huge += 1,
        }
        assert!(!object.is_empty());
    }
    assert_eq!(h.counts.managed_objects, managed);
    assert_eq!(h.counts.tiny_objects, tiny);
    assert_eq!(h.counts.huge_objects, huge + pending_huge as u64);
    assert_eq!(h.counts.allocated_bytes, found.direct_bytes);
    if h.root.is_some() {
        let rows = u64::from(h.root_rows);
        let all = if rows == 0 { h.start_bytes - h.direct_prefix_bytes() as u64 } else { capacity(&h, rows) };
        assert_eq!(h.counts.free_bytes, all - used);
        assert_eq!(
            h.counts.managed_bytes,
            if rows == 0 { h.start_bytes } else { (h.width * h.start_bytes) << (rows - 1) }
        );
    }
    check_objects(memory, at, model);
}

fn check_objects(blocks: &dyn Blocks, at: Address, model: &Model) {
    let mut heap = Heap::open(blocks, at).unwrap();
    for (id, object) in model {
        assert!(heap.get(blocks, id).unwrap() == *object, "object {id:?}");
    }
}

fn object(random: &mut Random, largest: u64) -> Vec<u8> {
    let len = match random.below(50) {
        0 => 1 + random.below(7),
        1 => 4097 + random.below(6000),
        2..5 => 1 + random.below(4096),
        _ => 8 + random.below(60),
    };
    let byte = random.below(255) as u8;
    vec![byte + 1; len.min(largest) as usize]
}

fn churn(seed: u64, client: Client, sizes: Sizes, steps: u64) {
    churn_filtered(seed, client, Vec::new(), sizes, steps);
}

fn churn_filtered(seed: u64, client: Client, filters: Vec<FilterSpec>, sizes: Sizes, steps: u64) {
    let mut random = Random(seed);
    let mut memory = Memory::new(sizes);
    let mut heap = Heap::new(client, filters, &mut memory).unwrap();
    let at = heap.address();
    let (mut model, mut committed) = (Model::new(), Model::new());
    let mut pending_huge = 0;
    for step in 0..steps {
        if random.below(100) < if step % 1000 < 700 { 70 } else { 30 } {
            let object = object(&mut random, 20_000);
            let id = heap.insert(&mut memory, &object).unwrap();
            // A tiny object is its ID.
            let before = model.insert(id.clone(), object.clone());
            if before.is_some() {
                assert!(object.len() < 8);
                heap.remove(&memory, &id).unwrap();
            }
        } else if !model.is_empty() {
            let id = model.keys().nth(random.below(model.len() as u64) as usize).unwrap().clone();
            assert_eq!(heap.get(&memory, &id).unwrap(), model[&id]);
            heap.remove(&memory, &id).unwrap();
            pending_huge += usize::from(model[&id].len() > 4096);
            model.remove(&id);
        }
        if random.below(25) == 0 {
            heap.finish(&mut memory).unwrap();
            check_with(&memory, at, &model, (pending_huge, heap.outdated().collect()));
            // Whatever is published of this commit, the last one's objects are there.
            if !committed.is_empty() && random.below(3) == 0 {
                for count in 0..=memory.in_place.len() {
                    check_objects(&memory.published(count), at, &committed);
                }
            }
            if random.below(2) == 0 {
                memory.commit();
                committed = model.clone();
                heap.finish(&mut memory).unwrap();
                pending_huge = 0;
                check_with(&memory, at, &model, (0, heap.outdated().collect()));
                memory.commit();
                if heap.outdated().next().is_none() && random.below(2) == 0 {
                    heap = Heap::open(&memory, at).unwrap();
                }
            }
        }
    }
}

const WIDE: Sizes = Sizes { offset: 8, length: 8 };

#[test]
fn random_changes_are_those_of_a_map() {
    for seed in 0..6 {
        churn(seed, Client::Links, WIDE, 1500);
        churn(seed, Client::Attributes, WIDE, 1500);
    }
}

#[test]
fn random_changes_of_filtered_heaps_are_those_of_a_map() {
    let filter = |id, values| FilterSpec { id, name: None, optional: true, values };
    for seed in 0..3 {
        churn_filtered(seed, Client::Links, vec![filter(1, vec![6])], WIDE, 1500);
        // Checksums make blocks larger.
        let both = vec![filter(1, vec![1]), filter(3, vec![])];
        churn_filtered(seed, Client::Attributes, both, Sizes { offset: 4, length: 4 }, 1500);
    }
}

#[test]
fn narrow_addresses_and_lengths() {
    churn(1, Client::Links, Sizes { offset: 4, length: 4 }, 1500);
    // IDs of 8 bytes say where a huge object is.
    churn(2, Client::Attributes, Sizes { offset: 4, length: 3 }, 1500);
}

#[test]
fn a_heap_grows_to_tables_of_tables() {
    let mut memory = Memory::default();
    let mut heap = Heap::new(Client::Links, Vec::new(), &mut memory).unwrap();
    let at = heap.address();
    let mut model = Model::new();
    for i in 0..3000u32 {
        let object = [&i.to_le_bytes()[..], &vec![7; 400 + (i as usize * 37) % 1500]].concat();
        let id = heap.insert(&mut memory, &object).unwrap();
        model.insert(id, object);
        if i % 300 == 299 {
            heap.finish(&mut memory).unwrap();
            check(&memory, at, &model, 0);
            memory.commit();
            heap = Heap::open(&memory, at).unwrap();
        }
    }
    assert!(u64::from(header_of(&memory, at).root_rows) > header_of(&memory, at).direct_rows());
}

#[test]
fn one_object_more_costs_one_block() {
    let mut memory = Memory::default();
    let mut heap = Heap::new(Client::Links, Vec::new(), &mut memory).unwrap();
    let at = heap.address();
    for _ in 0..20_000 {
        heap.insert(&mut memory, &[1; 30]).unwrap();
    }
    heap.finish(&mut memory).unwrap();
    memory.commit();
    for _ in 0..100 {
        let mut heap = Heap::open(&memory, at).unwrap();
        memory.writes = 0;
        heap.insert(&mut memory, &[1; 30]).unwrap();
        heap.finish(&mut memory).unwrap();
        // The block, its table, the header; the manager and its list.
        assert!(memory.writes <= 5, "{} writes", memory.writes);
        memory.commit();
    }
    let found = survey(&memory, at);
    // Twenty thousand objects of 30 bytes need ten blocks of 64 KiB; a hundred more do not add to them.
    assert!(found.direct_bytes < 30 * 20_100 * 5 / 4 + (1 << 17), "{} bytes", found.direct_bytes);
}

#[test]
fn removed_space_is_used_again_after_a_commit() {
    let mut memory = Memory::default();
    let mut heap = Heap::new(Client::Attributes, Vec::new(), &mut memory).unwrap();
    let at = heap.address();
    let mut ids: Vec<Vec<u8>> = (0..500).map(|_| heap.insert(&mut memory, &[2; 90]).unwrap()).collect();
    heap.finish(&mut memory).unwrap();
    memory.commit();
    let before = survey(&memory, at).direct_bytes;
    for _ in 0..200 {
        heap = Heap::open(&memory, at).unwrap();
        for id in ids.drain(..20).collect::<Vec<_>>() {
            heap.remove(&memory, &id).unwrap();
        }
        heap.finish(&mut memory).unwrap();
        memory.commit();
        heap = Heap::open(&memory, at).unwrap();
        for _ in 0..20 {
            ids.push(heap.insert(&mut memory, &[3; 90]).unwrap());
        }
        heap.finish(&mut memory).unwrap();
        memory.commit();
    }
    assert!(survey(&memory, at).direct_bytes <= 2 * before);
}

#[test]
fn a_heap_without_free_bytes_has_no_manager() {
    let mut memory = Memory::default();
    let mut heap = Heap::new(Client::Links, Vec::new(), &mut memory).unwrap();
    let at = heap.address();
    heap.insert(&mut memory, &[1; 100]).unwrap();
    heap.finish(&mut memory).unwrap();
    memory.commit();
    let header = header_of(&memory, at);
    assert!(header.free_space.is_some());
    let left = header.start_bytes as usize - header.direct_prefix_bytes() - 100;
    heap.insert(&mut memory, &vec![2; left]).unwrap();
    heap.finish(&mut memory).unwrap();
    assert_eq!(header_of(&memory, at).free_space, None);
    check_blocks(&memory, survey(&memory, at).blocks);
}

#[test]
fn wrong_ids_are_errors() {
    let mut memory = Memory::default();
    let mut heap = Heap::new(Client::Links, Vec::new(), &mut memory).unwrap();
    let id = heap.insert(&mut memory, &[1; 30]).unwrap();
    for wrong in [
        [0, 0, 0, 0, 0, 30, 0],
        [0, 255, 255, 255, 255, 30, 0],
        [0, 0, 2, 0, 0, 30, 0],
        [0x10, 1, 0, 0, 0, 0, 0],
        [0x30; 7],
    ] {
        assert!(heap.get(&memory, &wrong).is_err());
        assert!(heap.remove(&memory, &wrong).is_err() || wrong == [0, 0, 2, 0, 0, 30, 0]);
    }
    heap.remove(&memory, &id).unwrap();
    assert!(heap.remove(&memory, &id).is_err());
}
