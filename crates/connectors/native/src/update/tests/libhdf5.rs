//! Files that libhdf5 wrote are changed here, read and changed by libhdf5, and changed again.
//! They need python3 with h5py.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use files::DataKind;
use model::{CharacterSet, Link, LinkTarget};

use super::{Memory, Random};
use crate::format::btree1::ChunkKey;
use crate::format::group::SymbolTable;
use crate::format::symbol_table::Cached;
use crate::format::{Address, checksum, encode, link};
use crate::txn::PublishOrder;
use crate::update::Blocks;
use crate::update::btree2::Tree;
use crate::update::chunk_tree::{ChunkTree, Geometry};
use crate::update::fractal_heap::Heap;
use crate::update::symbol_table::{SymbolTarget, Table, Widths};

type Model = BTreeMap<String, String>;

/// A file in the folder for temporary ones, and the list of what it should hold.
struct Shared {
    kind: &'static str,
    path: PathBuf,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(self.list());
    }
}

impl Shared {
    fn start(kind: &'static str) -> Option<Self> {
        if !testkit::oracles::has_h5py() {
            return None;
        }
        let name = format!("hyperslab-update-{kind}-{}.h5", std::process::id());
        let shared = Shared { kind, path: std::env::temp_dir().join(name) };
        shared.ask("start", 0);
        Some(shared)
    }

    fn list(&self) -> PathBuf {
        self.path.with_extension("h5.list")
    }

    fn ask(&self, action: &str, seed: u64) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/update/tests/libhdf5.py");
        let mut command = Command::new("python3");
        command.arg(script).args([action, self.kind]).arg(&self.path).arg(seed.to_string());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{action}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn model(&self) -> Model {
        let text = std::fs::read_to_string(self.list()).unwrap();
        let pair =
            |line: &str| line.split_once('\t').map(|(name, value)| (name.to_owned(), value.to_owned()));
        text.lines().filter_map(pair).collect()
    }

    /// Changes the file, and has libhdf5 read it, change it and read it again.
    fn change(&self, seed: u64, change: impl FnOnce(&mut Memory, &mut Model, &mut Random)) {
        let mut memory = Memory::load(std::fs::read(&self.path).unwrap());
        let mut model = self.model();
        change(&mut memory, &mut model, &mut Random(seed));
        // Superblocks of version 0 have the end of the file here.
        let end = memory.bytes.len() as u64;
        memory.bytes[40..48].copy_from_slice(&end.to_le_bytes());
        std::fs::write(&self.path, &memory.bytes).unwrap();
        let line = |(name, value): (&String, &String)| format!("{name}\t{value}\n");
        std::fs::write(self.list(), model.iter().map(line).collect::<String>()).unwrap();
        self.ask("check", seed);
        self.ask("change", seed);
    }
}

fn field(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Where a signature is, and what follows it starts with `next`.
fn places(bytes: &[u8], signature: &[u8; 4], next: &[u8]) -> Vec<usize> {
    let found = |&at: &usize| bytes[at..].starts_with(signature) && bytes[at + 4..].starts_with(next);
    (0..bytes.len() - 16).filter(found).collect()
}

/// Some that are there.
fn some_of(model: &Model, count: u64, random: &mut Random) -> Vec<String> {
    let names: Vec<&String> = model.keys().collect();
    let picked = (0..count).map(|_| names[random.below(names.len() as u64) as usize].clone());
    picked.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

fn new_name(random: &mut Random) -> String {
    let number = random.below(1 << 30);
    format!("hyperslab {number}{}", "z".repeat((number % 50) as usize))
}

#[test]
fn links_of_old_groups() {
    let Some(shared) = Shared::start("links-old") else { return };
    for seed in 1..4 {
        shared.change(seed, |memory, model, random| {
            // The entry of the root group in the superblock.
            let place = SymbolTable {
                tree: Address(field(&memory.bytes, 80)),
                heap: Address(field(&memory.bytes, 88)),
            };
            let widths = Widths { internal_k: 16, leaf_k: 4 };
            let mut table = Table::open(memory, place, widths).unwrap();
            for round in 0..10 {
                for name in some_of(model, 25, random) {
                    table.remove(memory, name.as_bytes()).unwrap().unwrap();
                    model.remove(&name);
                }
                for _ in 0..40 {
                    let (name, target) = (new_name(random), format!("/round/{round}"));
                    assert!(
                        table.insert(memory, name.as_bytes(), SymbolTarget::Soft(target.as_bytes())).unwrap()
                    );
                    model.insert(name, target);
                }
                table.finish(memory).unwrap();
                memory.commit();
            }
            let any = model.keys().next().unwrap();
            let entry = table.find(memory, any.as_bytes()).unwrap().unwrap();
            assert!(matches!(entry.cached, Cached::SoftLink(_)));
        });
    }
}

/// A dense group: where its structures are, and how they change.
struct Dense {
    /// Where the link info message has the next creation order, and after it the heap and both trees.
    info: usize,
    heap: Heap,
    names: Tree,
    orders: Tree,
}

impl Dense {
    fn open(memory: &Memory) -> Self {
        let heap = places(&memory.bytes, b"FRHP", &[0])[0];
        let info = (0..memory.bytes.len() - 24).find(|&at| {
            let here = |at| memory.bytes.get(at as usize..).is_some_and(|rest| rest.starts_with(b"BTHD"));
            field(&memory.bytes, at) == heap as u64 && here(field(&memory.bytes, at + 8))
        });
        let info = info.unwrap() - 8;
        Dense {
            info,
            heap: Heap::open(memory, Address(heap as u64)).unwrap(),
            names: Tree::open(memory, Address(field(&memory.bytes, info + 16))).unwrap(),
            orders: Tree::open(memory, Address(field(&memory.bytes, info + 24))).unwrap(),
        }
    }

    fn insert(&mut self, memory: &mut Memory, name: &str, target: &str) {
        let order = field(&memory.bytes, self.info);
        let link = Link {
            name: name.to_owned(),
            target: LinkTarget::Soft(target.to_owned()),
            charset: CharacterSet::Ascii,
            creation_order: Some(order as i64),
        };
        let body = encode::link::encode(&link, memory.sizes).unwrap();
        let id = self.heap.insert(memory, &body).unwrap();
        let hash = checksum::lookup3(name.as_bytes(), 0);
        let record = [&hash.to_le_bytes()[..], &id].concat();
        let heap = &mut self.heap;
        let by_name = &mut |other: &[u8]| by_name(heap, memory, other, name);
        assert!(self.names.insert(memory, by_name, &record).unwrap());
        let record = [&order.to_le_bytes()[..], &id].concat();
        let by_order = &mut |other: &[u8]| Ok(field(other, 0).cmp(&order));
        assert!(self.orders.insert(memory, by_order, &record).unwrap());
        memory.bytes[self.info..self.info + 8].copy_from_slice(&(order + 1).to_le_bytes());
    }

    fn remove(&mut self, memory: &Memory, name: &str) {
        let heap = &mut self.heap;
        let record =
            self.names.remove(memory, &mut |other| by_name(heap, memory, other, name)).unwrap().unwrap();
        let body = self.heap.get(memory, &record[4..]).unwrap();
        let order = link::decode(&body, memory.sizes).unwrap().creation_order.unwrap() as u64;
        let by_order = &mut |other: &[u8]| Ok(field(other, 0).cmp(&order));
        self.orders.remove(memory, by_order).unwrap().unwrap();
        self.heap.remove(memory, &record[4..]).unwrap();
    }

    fn finish(&mut self, memory: &mut Memory) {
        self.heap.finish(memory).unwrap();
        for (tree, at) in [(&mut self.names, 16), (&mut self.orders, 24)] {
            let place = tree.finish(memory).unwrap();
            memory.bytes[self.info + at..self.info + at + 8].copy_from_slice(&place.0.to_le_bytes());
            super::btree2::walk(memory, place);
        }
        seal_header(&mut memory.bytes, self.info);
        memory.commit();
    }
}

/// Puts the checksum in the object header (of version 2) around a message.
fn seal_header(bytes: &mut [u8], message: usize) {
    let at = places(&bytes[..message + 16], b"OHDR", &[2]).pop().unwrap();
    let flags = bytes[at + 5];
    let start = at + 6 + if flags & 0x20 != 0 { 16 } else { 0 } + if flags & 0x10 != 0 { 4 } else { 0 };
    let width = 1 << (flags & 3);
    let len = bytes[start..start + width].iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
    let end = start + width + len;
    assert!(message < end);
    let sum = checksum::lookup3(&bytes[at..end], 0);
    bytes[end..end + 4].copy_from_slice(&sum.to_le_bytes());
}

fn by_name(heap: &mut Heap, memory: &Memory, record: &[u8], name: &str) -> model::Result<Ordering> {
    let hash = checksum::lookup3(name.as_bytes(), 0);
    let stored = u32::from_le_bytes(record[..4].try_into().unwrap());
    if stored != hash {
        return Ok(stored.cmp(&hash));
    }
    Ok(link::name(&heap.get(memory, &record[4..])?)?.cmp(name.as_bytes()))
}

#[test]
fn links_of_dense_groups() {
    let Some(shared) = Shared::start("links-dense") else { return };
    for seed in 1..4 {
        shared.change(seed, |memory, model, random| {
            let mut group = Dense::open(memory);
            for round in 0..10 {
                for name in some_of(model, 25, random) {
                    group.remove(memory, &name);
                    model.remove(&name);
                }
                for i in 0..60 {
                    // Some are huge objects of the heap.
                    let far = if i == 7 { "/far".repeat(1100) } else { String::new() };
                    let (name, target) = (new_name(random), format!("/round/{round}{far}"));
                    group.insert(memory, &name, &target);
                    model.insert(name, target);
                }
                group.finish(memory);
            }
            group.finish(memory);
        });
    }
}

#[test]
fn chunks() {
    let Some(shared) = Shared::start("chunks") else { return };
    for seed in 1..4 {
        shared.change(seed, |memory, model, random| {
            // The root is the node of the highest level.
            let nodes = places(&memory.bytes, b"TREE", &[1]);
            let root = *nodes.iter().max_by_key(|&&at| memory.bytes[at + 5]).unwrap();
            let geometry = Geometry { shape: vec![10], element_bytes: 4, k: 32 };
            let mut tree = ChunkTree::open(Address(root as u64), geometry, memory).unwrap();
            for _ in 0..10 {
                for number in some_of(model, 40, random) {
                    let offset = [number.parse::<u64>().unwrap() * 10];
                    let (key, at) = tree.remove(memory, &offset).unwrap().unwrap();
                    memory.release_raw(at, u64::from(key.stored_bytes));
                    model.remove(&number);
                }
                for _ in 0..80 {
                    let (number, value) = (random.below(3000), 1 + random.below(1 << 20));
                    let at = memory.allocate(40, DataKind::Raw);
                    let data = (value as i32).to_le_bytes().repeat(10);
                    memory.write(at, &data, PublishOrder::First).unwrap();
                    let offset = vec![number * 10];
                    let key = ChunkKey { stored_bytes: 40, filter_mask: 0, offset, byte_offset: 0 };
                    let old = tree.insert(memory, &key, at).unwrap();
                    assert_eq!(old.is_some(), model.insert(number.to_string(), value.to_string()).is_some());
                    if let Some((key, at)) = old {
                        memory.release_raw(at, u64::from(key.stored_bytes));
                    }
                }
                tree.finish(memory).unwrap();
                memory.commit();
            }
        });
    }
}
