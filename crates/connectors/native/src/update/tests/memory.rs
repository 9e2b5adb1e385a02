//! A file in memory that checks what is done to it.

use std::collections::BTreeMap;

use files::DataKind;
use filters::Registry;
use model::{Error, Result};

use crate::format::{Address, Sizes};
use crate::txn::PublishOrder;
use crate::update::Blocks;

/// Bytes of an unused start, so that no block is at address 0.
const START: u64 = 64;

/// A file. It panics where a block is released twice or in part, or where bytes outside of all blocks are written.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) sizes: Sizes,
    pub(crate) bytes: Vec<u8>,
    /// Blocks in use, by start.
    used: BTreeMap<u64, Used>,
    /// Free ranges, by start; they do not touch.
    free: BTreeMap<u64, u64>,
    /// Released since the last commit, which has them still.
    pending: Vec<(u64, u64)>,
    generation: u64,
    /// Bytes as the last commit has them, with all that was written to fresh space since.
    old: Vec<u8>,
    /// What was written in place since the last commit.
    pub(crate) in_place: Vec<(PublishOrder, u64, Vec<u8>)>,
    pub(crate) writes: u64,
    /// Bytes at the start that no test allocated.
    loaded: u64,
    registry: Registry,
}

#[derive(Debug, Clone, Copy)]
struct Used {
    len: u64,
    is_fresh: bool,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(Sizes { offset: 8, length: 8 })
    }
}

impl Memory {
    pub(crate) fn new(sizes: Sizes) -> Self {
        Memory {
            sizes,
            bytes: vec![0; START as usize],
            used: BTreeMap::new(),
            free: BTreeMap::new(),
            pending: Vec::new(),
            generation: 1,
            old: vec![0; START as usize],
            in_place: Vec::new(),
            writes: 0,
            loaded: 0,
            registry: Registry::default(),
        }
    }

    /// Everything since the last commit becomes part of the file.
    pub(crate) fn commit(&mut self) {
        self.generation += 1;
        self.used.values_mut().for_each(|block| block.is_fresh = false);
        for (at, len) in std::mem::take(&mut self.pending) {
            self.give(at, len);
        }
        self.old = self.bytes.clone();
        self.in_place.clear();
    }

    /// The file as it is when so many of the writes in place are published, in their order.
    pub(crate) fn published(&self, count: usize) -> Memory {
        let mut bytes = self.old.clone();
        let mut writes: Vec<&(PublishOrder, u64, Vec<u8>)> = self.in_place.iter().collect();
        writes.sort_by_key(|(turn, ..)| *turn as u8);
        for (_, at, data) in &writes[..count] {
            bytes[*at as usize..*at as usize + data.len()].copy_from_slice(data);
        }
        Memory { bytes, ..Memory::new(self.sizes) }
    }

    /// A file of another program, of whose blocks nothing is known: any can be given up and overwritten.
    pub(crate) fn load(bytes: Vec<u8>) -> Self {
        let mut memory = Memory { old: bytes.clone(), ..Self::default() };
        memory.loaded = bytes.len() as u64;
        memory.bytes = bytes;
        memory
    }

    /// All blocks in use.
    pub(crate) fn blocks(&self) -> Vec<(Address, u64)> {
        self.used.iter().map(|(at, block)| (Address(*at), block.len)).collect()
    }

    fn give(&mut self, at: u64, len: u64) {
        // A caller that still reads it shall notice.
        self.bytes[at as usize..(at + len) as usize].fill(0xA5);
        let (mut start, mut end) = (at, at + len);
        if let Some((&before, &n)) = self.free.range(..at).next_back()
            && before + n == at
        {
            start = before;
        }
        if let Some(n) = self.free.remove(&end) {
            end += n;
        }
        self.free.insert(start, end - start);
    }

    fn take(&mut self, len: u64) -> u64 {
        let found = self.free.iter().find(|(_, n)| **n >= len).map(|(at, n)| (*at, *n));
        let Some((at, n)) = found else {
            let at = self.bytes.len() as u64;
            self.bytes.resize((at + len) as usize, 0);
            self.old.resize((at + len) as usize, 0);
            return at;
        };
        self.free.remove(&at);
        if n > len {
            self.free.insert(at + len, n - len);
        }
        at
    }

    /// Notes a write in place. What was written there before is gone; a byte is published in one turn only.
    fn stage(&mut self, turn: PublishOrder, at: u64, data: &[u8]) {
        let end = at + data.len() as u64;
        let mut is_there = false;
        for (before, start, old) in &mut self.in_place {
            let stop = *start + old.len() as u64;
            let (from, to) = (at.max(*start), end.min(stop));
            if from < to {
                assert_eq!(*before, turn, "bytes at {from} are written in two turns");
                old[(from - *start) as usize..(to - *start) as usize]
                    .copy_from_slice(&data[(from - at) as usize..(to - at) as usize]);
                is_there |= *start <= at && end <= stop;
            }
        }
        if !is_there {
            self.in_place.push((turn, at, data.to_vec()));
        }
    }

    fn block_around(&self, at: u64, len: u64) -> Option<Used> {
        if at + len <= self.loaded {
            return Some(Used { len, is_fresh: false });
        }
        let (start, block) = self.used.range(..=at).next_back()?;
        (at + len <= start + block.len).then_some(*block)
    }
}

impl Blocks for Memory {
    fn sizes(&self) -> Sizes {
        self.sizes
    }

    fn filters(&self) -> &Registry {
        &self.registry
    }

    fn read(&self, at: Address, len: u64, what: &str) -> Result<Vec<u8>> {
        let end = at.0.checked_add(len).filter(|&end| end <= self.bytes.len() as u64);
        let end = end.ok_or_else(|| Error::corrupt(format!("read {what}")).at(at.0))?;
        Ok(self.bytes[at.0 as usize..end as usize].to_vec())
    }

    fn allocate(&mut self, len: u64, _: DataKind) -> Address {
        assert!(len > 0, "a block without bytes");
        let at = self.take(len);
        let before = self.used.insert(at, Used { len, is_fresh: true });
        assert!(before.is_none(), "two blocks at {at}");
        Address(at)
    }

    fn release(&mut self, at: Address, len: u64) {
        if at.0 + len <= self.loaded {
            return;
        }
        let block = self.used.remove(&at.0).unwrap_or_else(|| panic!("no block at {}", at.0));
        assert_eq!(block.len, len, "a block at {} is released in part", at.0);
        match block.is_fresh {
            true => self.give(at.0, len),
            false => self.pending.push((at.0, len)),
        }
    }

    fn release_raw(&mut self, at: Address, len: u64) {
        self.release(at, len);
    }

    fn is_fresh(&self, at: Address, len: u64) -> bool {
        self.block_around(at.0, len).is_some_and(|block| block.is_fresh)
    }

    fn write(&mut self, at: Address, data: &[u8], turn: PublishOrder) -> Result<()> {
        let block = self.block_around(at.0, data.len() as u64);
        let block = block.unwrap_or_else(|| panic!("{} bytes at {} are of no block", data.len(), at.0));
        let range = at.0 as usize..at.0 as usize + data.len();
        self.bytes[range.clone()].copy_from_slice(data);
        match block.is_fresh {
            true => self.old[range].copy_from_slice(data),
            false => self.stage(turn, at.0, data),
        }
        self.writes += 1;
        Ok(())
    }

    fn is_committed(&self, generation: u64) -> bool {
        generation < self.generation
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}
