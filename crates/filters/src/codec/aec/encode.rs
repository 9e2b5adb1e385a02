//! From samples to an AEC stream.

use super::{REST_OF_SEGMENT, SEGMENT_BLOCKS, Settings};
use crate::bits::BitWriter;

/// Writes a stream, one reference sample interval at a time.
#[derive(Debug)]
pub(crate) struct Encoder {
    settings: Settings,
    bits: BitWriter,
}

/// The cheapest way to write one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Split(u32),
    Pairs,
    Raw,
}

impl Encoder {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, bits: BitWriter::new(Vec::new()) }
    }

    /// Returns the stream, padded to whole bytes.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bits.finish()
    }

    /// One interval; a last partial block is filled up with its last sample.
    pub(crate) fn rsi(&mut self, samples: &[u32]) {
        let mapped = self.map(samples);
        let blocks: Vec<&[u32]> = mapped.chunks(self.settings.block_samples).collect();
        let mut index = 0;
        while index < blocks.len() {
            let zeros = self.zero_run(&blocks, index);
            if zeros > 0 {
                self.zero_blocks(&blocks, index, zeros);
                index += zeros;
            } else {
                self.block(blocks[index], self.has_reference(index));
                index += 1;
            }
        }
    }

    fn has_reference(&self, block: usize) -> bool {
        self.settings.predict && block == 0
    }

    /// Returns the reference and mapped differences, or the samples, in whole blocks.
    fn map(&self, samples: &[u32]) -> Vec<u32> {
        let max = self.settings.sample_max() as u32;
        let mut mapped: Vec<u32> = samples.iter().map(|sample| sample & max).collect();
        if let Some(&last) = mapped.last() {
            mapped.resize(mapped.len().next_multiple_of(self.settings.block_samples), last);
        }
        if self.settings.predict {
            for i in (1..mapped.len()).rev() {
                mapped[i] = map(mapped[i - 1], mapped[i], max);
            }
        }
        mapped
    }

    /// Returns the number of blocks of zeros from `index` on, within its segment. A reference does not count.
    fn zero_run(&self, blocks: &[&[u32]], index: usize) -> usize {
        let in_segment = SEGMENT_BLOCKS - index % SEGMENT_BLOCKS;
        let is_zero = |i: usize| blocks[i][usize::from(self.has_reference(i))..].iter().all(|v| *v == 0);
        (index..blocks.len()).take(in_segment).take_while(|i| is_zero(*i)).count()
    }

    fn zero_blocks(&mut self, blocks: &[&[u32]], index: usize, count: usize) {
        self.bits.write(0, self.settings.id_bits() + 1);
        self.reference(blocks[index], self.has_reference(index));
        let end = index + count;
        // Only a whole interval ends for the decoder where ours does.
        let ends_segment = end.is_multiple_of(SEGMENT_BLOCKS) || end == self.settings.rsi_blocks;
        let code = match count as u64 {
            few @ 0..=4 => few - 1,
            _ if ends_segment => REST_OF_SEGMENT,
            many => many,
        };
        self.fundamental(code);
    }

    fn reference(&mut self, block: &[u32], has_reference: bool) {
        if has_reference {
            self.bits.write(u64::from(block[0]), self.settings.sample_bits);
        }
    }

    fn fundamental(&mut self, mut zeros: u64) {
        while zeros >= 32 {
            self.bits.write(0, 32);
            zeros -= 32;
        }
        self.bits.write(1, zeros as u32 + 1);
    }

    fn block(&mut self, block: &[u32], has_reference: bool) {
        let coded = &block[usize::from(has_reference)..];
        match self.choose(block, coded, has_reference) {
            Choice::Raw => self.raw(block),
            Choice::Pairs => self.pairs(block, has_reference),
            Choice::Split(k) => self.split(block, coded, has_reference, k),
        }
    }

    fn choose(&self, block: &[u32], coded: &[u32], has_reference: bool) -> Choice {
        let reference_bits = if has_reference { u64::from(self.settings.sample_bits) } else { 0 };
        let raw = (Choice::Raw, block.len() as u64 * u64::from(self.settings.sample_bits));
        let pairs = (Choice::Pairs, 1 + reference_bits + pairs_cost(block, has_reference));
        let k_max = (self.settings.id_raw() as u32 - 2).min(self.settings.sample_bits.saturating_sub(1));
        let (k, split_bits) = best_split(coded, k_max);
        let split = (Choice::Split(k), reference_bits + split_bits);
        [split, pairs, raw]
            .into_iter()
            .min_by_key(|(_, cost)| *cost)
            .map_or(Choice::Raw, |(choice, _)| choice)
    }

    fn raw(&mut self, block: &[u32]) {
        self.bits.write(self.settings.id_raw(), self.settings.id_bits());
        for sample in block {
            self.bits.write(u64::from(*sample), self.settings.sample_bits);
        }
    }

    fn split(&mut self, block: &[u32], coded: &[u32], has_reference: bool, k: u32) {
        self.bits.write(u64::from(k) + 1, self.settings.id_bits());
        self.reference(block, has_reference);
        for value in coded {
            self.fundamental(u64::from(*value) >> k);
        }
        for value in coded {
            self.bits.write(u64::from(*value), k);
        }
    }

    fn pairs(&mut self, block: &[u32], has_reference: bool) {
        self.bits.write(1, self.settings.id_bits() + 1);
        self.reference(block, has_reference);
        for code in pair_codes(block, has_reference) {
            self.fundamental(code);
        }
    }
}

/// Returns the number of low bits that costs least. The cost falls towards it from both sides, so the search starts
/// at the logarithm of the mean and goes down.
fn best_split(coded: &[u32], k_max: u32) -> (u32, u64) {
    let mean = coded.iter().map(|value| u64::from(*value)).sum::<u64>() / coded.len().max(1) as u64;
    let start = mean.checked_ilog2().unwrap_or(0).min(k_max);
    let mut best = (start, split_cost(coded, start));
    while best.0 > 0 && split_cost(coded, best.0 - 1) < best.1 {
        best = (best.0 - 1, split_cost(coded, best.0 - 1));
    }
    while best.0 < k_max && split_cost(coded, best.0 + 1) < best.1 {
        best = (best.0 + 1, split_cost(coded, best.0 + 1));
    }
    best
}

fn split_cost(coded: &[u32], k: u32) -> u64 {
    coded.iter().map(|value| (u64::from(*value) >> k) + 1 + u64::from(k)).sum()
}

/// Returns the cost of coding pairs. Pairs whose sum is above 12 have codes that a decoder need not know.
fn pairs_cost(block: &[u32], has_reference: bool) -> u64 {
    if !block.len().is_multiple_of(2) {
        return u64::MAX / 2;
    }
    pair_codes(block, has_reference).map(|code| if code > 90 { u64::MAX / 1024 } else { code + 1 }).sum()
}

fn pair_codes(block: &[u32], has_reference: bool) -> impl Iterator<Item = u64> + '_ {
    block.chunks_exact(2).enumerate().map(move |(index, pair)| {
        let first = if has_reference && index == 0 { 0 } else { u64::from(pair[0]) };
        let sum = (first + u64::from(pair[1])).min(1 << 20);
        sum * (sum + 1) / 2 + u64::from(pair[1])
    })
}

/// Returns the difference to the sample before, small numbers for small differences of either sign.
fn map(last: u32, sample: u32, max: u32) -> u32 {
    let theta = last.min(max - last);
    let distance = sample.abs_diff(last);
    match (distance <= theta, sample >= last) {
        (true, true) => 2 * distance,
        (true, false) => 2 * distance - 1,
        (false, _) => theta + distance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::aec::decode;
    use crate::error::Origin;

    fn noise(seed: u64, count: usize, bits: u32) -> Vec<u32> {
        let mut state = seed;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        let max = crate::bits::low_bits(bits) as u32;
        (0..count).map(|i| if i / 100 % 2 == 0 { next() & next() & next() & max } else { max / 3 }).collect()
    }

    #[test]
    fn every_width_and_option_round_trips() {
        for sample_bits in 1..=32 {
            for (block_samples, rsi_blocks) in [(8, 1), (8, 16), (16, 128), (32, 3), (10, 200)] {
                for predict in [false, true] {
                    let settings = Settings { sample_bits, block_samples, rsi_blocks, predict };
                    let mut samples = noise(u64::from(sample_bits), 2345, sample_bits);
                    samples.resize(samples.len().next_multiple_of(block_samples * rsi_blocks), 0);
                    let mut encoder = Encoder::new(settings);
                    samples.chunks(block_samples * rsi_blocks).for_each(|rsi| encoder.rsi(rsi));
                    let (bytes, mut back) = (encoder.finish(), Vec::new());
                    let mut sink = |rsi: &[u32]| back.extend_from_slice(rsi);
                    decode(Origin(4), settings, &bytes, samples.len(), &mut sink).unwrap();
                    assert!(back == samples, "{settings:?}");
                }
            }
        }
    }
}
