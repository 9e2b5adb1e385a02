//! Golden chunks, settings of every filter, and random data.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use hyperslab_filters::{Params, Registry, Size, Stage};

const GOLDEN: &[u8] = include_bytes!("../golden/chunks.bin.z");
pub const BYTES_MAX: usize = 16 << 20;

#[derive(Debug)]
pub struct Record {
    pub name: String,
    pub mask: u32,
    pub stages: Vec<(u16, Vec<u32>)>,
    pub stored: Vec<u8>,
    pub chunk: Vec<u8>,
}

impl Record {
    pub fn stages(&self) -> Vec<Stage<'_>> {
        self.stages.iter().map(|(id, values)| Stage { id: *id, optional: false, values }).collect()
    }

    pub fn uses(&self, id: u16) -> bool {
        self.stages.iter().any(|stage| stage.0 == id)
    }
}

/// Takes numbers and bytes off the front of the golden file.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let (head, tail) = self.0.split_at(len);
        self.0 = tail;
        head.to_vec()
    }

    fn number(&mut self, width: usize) -> usize {
        self.bytes(width).iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    }

    fn stage(&mut self) -> (u16, Vec<u32>) {
        let (id, count) = (self.number(2) as u16, self.number(2));
        (id, (0..count).map(|_| self.number(4) as u32).collect())
    }

    fn record(&mut self, earlier: &[Record]) -> Record {
        let len = self.number(2);
        let name = String::from_utf8(self.bytes(len)).unwrap();
        let mask = self.number(4) as u32;
        let count = self.number(1);
        let stages = (0..count).map(|_| self.stage()).collect();
        let len = self.number(4);
        let stored = self.bytes(len);
        let len = self.number(4);
        let chunk = match len.checked_sub(1 << 31) {
            Some(index) => earlier[index].chunk.clone(),
            None => self.bytes(len),
        };
        Record { name, mask, stages, stored, chunk }
    }
}

/// The committed records, or those of another file in `FILTER_GOLDEN`.
pub fn golden() -> Vec<Record> {
    let registry = Registry::default();
    let size = Size { hint: 4 << 20, max: 64 << 20 };
    let other = std::env::var("FILTER_GOLDEN").ok().map(|path| std::fs::read(path).unwrap());
    let packed = other.as_deref().unwrap_or(GOLDEN);
    let bytes = registry.get(1).unwrap().decode(&Params::default(), packed, size).unwrap();
    let mut cursor = Cursor(&bytes);
    let mut records = Vec::new();
    while !cursor.0.is_empty() {
        let record = cursor.record(&records);
        records.push(record);
    }
    records
}

/// xorshift64*: enough for tests, and no dependency.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// A fresh seed for every run, printed; `FILTER_SEED` repeats one.
pub fn random() -> Random {
    let fresh = || std::time::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_nanos() as u64);
    let seed = std::env::var("FILTER_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or_else(fresh);
    println!("FILTER_SEED={seed}");
    Random(seed | 1)
}

pub fn general_stages() -> Vec<(u16, Vec<Vec<u32>>)> {
    let blosc = |id: u16| {
        let mut all = Vec::new();
        for size in [1, 2, 3, 4, 8, 16, 300] {
            for shuffle in 0..3 {
                for codec in [0, 1, 2, 4, 5] {
                    all.push(vec![2, if id == 32001 { 2 } else { 0 }, size, 0, 5, shuffle, codec]);
                }
            }
        }
        (id, all)
    };
    let shuffled = (1..=16).map(|size| vec![size]).collect();
    let bitshuffled =
        (1..=16).flat_map(|size| [0, 2, 3].map(|codec| vec![0, 4, size, 0, codec, 3])).collect();
    vec![
        (1, vec![vec![0], vec![6], vec![9]]),
        (2, shuffled),
        (3, vec![vec![]]),
        (307, vec![vec![1], vec![9]]),
        (32000, vec![vec![4, 0x105, 0]]),
        blosc(32001),
        (32004, vec![vec![], vec![100], vec![4096]]),
        (32008, bitshuffled),
        (32015, vec![vec![3]]),
        blosc(32026),
    ]
}

pub fn sample(random: &mut Random, len: usize) -> Vec<u8> {
    match random.below(3) {
        0 => random.bytes(len),
        1 => vec![random.next() as u8; len],
        _ => (0..len).map(|i| (i / 7 % 50) as u8 ^ u8::from(random.below(20) == 0)).collect(),
    }
}

pub fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        // Headers are where the sizes are.
        let at = if random.below(2) == 0 { at % 64.min(bytes.len().max(1)) } else { at };
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), random.next() as u8),
            _ if bytes.is_empty() => {}
            2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            _ => bytes[at] ^= 1 << random.below(8),
        }
    }
}
