//! Structures change in a file in memory, and are compared with models after every commit.

mod btree1;
mod btree2;
mod chunk_tree;
mod fractal_heap;
mod libhdf5;
mod memory;
mod symbol_table;

pub(super) use memory::Memory;

/// Random numbers that a seed repeats (splitmix64).
#[derive(Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
