//! From an AEC stream to samples.

use super::{REST_OF_SEGMENT, SEGMENT_BLOCKS, Settings};
use crate::bits::BitReader;
use crate::error::{Error, Origin};

/// Largest pair code of the second extension: 13 + 13 makes the sum code 90.
const PAIR_CODE_MAX: u64 = 90;

/// Decodes `count` samples and hands them to `sink`, one reference sample interval at a time.
pub(crate) fn decode(
    at: Origin,
    settings: Settings,
    input: &[u8],
    count: usize,
    sink: &mut dyn FnMut(&[u32]),
) -> Result<(), Error> {
    let rsi_samples = settings.rsi_blocks.saturating_mul(settings.block_samples);
    let mut decoder = Decoder { at, settings, bits: BitReader::new(input), out: Vec::new() };
    let mut left = count;
    while left > 0 {
        let samples = rsi_samples.min(left);
        decoder.rsi(samples)?;
        sink(&decoder.out[..samples]);
        left -= samples;
    }
    Ok(())
}

struct Decoder<'a> {
    at: Origin,
    settings: Settings,
    bits: BitReader<'a>,
    /// The interval so far.
    out: Vec<u32>,
}

impl Decoder<'_> {
    /// Decodes one interval, or as many of its blocks as `samples` need.
    fn rsi(&mut self, samples: usize) -> Result<(), Error> {
        self.out.clear();
        while self.out.len() < samples {
            self.block()?;
        }
        if self.settings.predict {
            undo_prediction(&mut self.out, self.settings.sample_max() as u32);
        }
        Ok(())
    }

    fn block(&mut self) -> Result<(), Error> {
        let id_bits = self.settings.id_bits();
        let id = self.take(id_bits)?;
        let is_reference = self.settings.predict && self.out.is_empty();
        if id == 0 {
            self.low_entropy(is_reference)
        } else if id == self.settings.id_raw() {
            self.raw()
        } else {
            self.split(is_reference, id as u32 - 1)
        }
    }

    fn take(&mut self, bits: u32) -> Result<u64, Error> {
        if self.bits.left() < bits as usize {
            return Err(self.at.corrupt("stream ends too early"));
        }
        Ok(self.bits.read(bits))
    }

    /// Fundamental sequence: the number of zeros before a one.
    fn fundamental(&mut self) -> Result<u64, Error> {
        let mut zeros = 0;
        loop {
            let run = self.bits.peek().leading_zeros().min(56);
            if run < 56 {
                self.bits.skip(run as usize + 1);
                return Ok(zeros + u64::from(run));
            }
            if self.bits.left() <= 56 {
                return Err(self.at.corrupt("stream ends inside a code"));
            }
            self.bits.skip(56);
            zeros += 56;
        }
    }

    fn reference(&mut self, is_reference: bool) -> Result<usize, Error> {
        if is_reference {
            let sample = self.take(self.settings.sample_bits)?;
            self.out.push(sample as u32);
        }
        Ok(self.settings.block_samples - usize::from(is_reference))
    }

    fn raw(&mut self) -> Result<(), Error> {
        for _ in 0..self.settings.block_samples {
            let sample = self.take(self.settings.sample_bits)?;
            self.out.push(sample as u32);
        }
        Ok(())
    }

    /// High parts as fundamental sequences, then the low `k` bits of all.
    fn split(&mut self, is_reference: bool, k: u32) -> Result<(), Error> {
        let samples = self.reference(is_reference)?;
        let start = self.out.len();
        for _ in 0..samples {
            let high = self.fundamental()?;
            self.out.push((high << k) as u32);
        }
        if self.bits.left() < samples * k as usize {
            return Err(self.at.corrupt("stream ends too early"));
        }
        if k > 0 {
            for sample in &mut self.out[start..] {
                *sample |= self.bits.read(k) as u32;
            }
        }
        Ok(())
    }

    fn low_entropy(&mut self, is_reference: bool) -> Result<(), Error> {
        let second_extension = self.take(1)? == 1;
        let samples = self.reference(is_reference)?;
        if second_extension { self.pairs(is_reference) } else { self.zeros(samples) }
    }

    fn zeros(&mut self, first_block: usize) -> Result<(), Error> {
        let used = self.out.len() / self.settings.block_samples;
        let left = self.settings.rsi_blocks.saturating_sub(used);
        let blocks = match self.fundamental()? {
            REST_OF_SEGMENT => left.min(SEGMENT_BLOCKS - used % SEGMENT_BLOCKS),
            few @ 0..REST_OF_SEGMENT => few as usize + 1,
            many => many as usize,
        };
        if blocks > left || blocks == 0 {
            return Err(self.at.corrupt("zero blocks past the end of an interval"));
        }
        let samples = first_block + (blocks - 1) * self.settings.block_samples;
        self.out.resize(self.out.len() + samples, 0);
        Ok(())
    }

    /// Second extension: one code for the sum of two samples and the second of them.
    fn pairs(&mut self, is_reference: bool) -> Result<(), Error> {
        for pair in 0..self.settings.block_samples.div_ceil(2) {
            let code = self.fundamental()?;
            if code > PAIR_CODE_MAX {
                return Err(self.at.corrupt("pair code out of range"));
            }
            let (first, second) = split_pair(code as u32);
            // The reference sample takes the place of the first.
            if pair > 0 || !is_reference {
                self.out.push(first);
            }
            self.out.push(second);
        }
        Ok(())
    }
}

/// Inverse of code = (a + b)(a + b + 1) / 2 + b.
fn split_pair(code: u32) -> (u32, u32) {
    let sum = (0..).take_while(|s| s * (s + 1) / 2 <= code).last().unwrap_or(0);
    let second = code - sum * (sum + 1) / 2;
    (sum - second, second)
}

/// Mapped differences back to samples; the first is the reference.
fn undo_prediction(samples: &mut [u32], max: u32) {
    let Some((&mut first, rest)) = samples.split_first_mut() else { return };
    let mut last = first.min(max);
    for sample in rest {
        last = unmap(last, *sample, max);
        *sample = last;
    }
}

/// Differences that fit on both sides of `last` alternate in sign; larger ones go the only way there is.
fn unmap(last: u32, mapped: u32, max: u32) -> u32 {
    let theta = last.min(max - last);
    let half = mapped / 2 + mapped % 2;
    if half <= theta {
        return if mapped.is_multiple_of(2) { last + mapped / 2 } else { last - half };
    }
    let value = if last <= max / 2 { mapped } else { max.wrapping_sub(mapped) };
    value & max
}
