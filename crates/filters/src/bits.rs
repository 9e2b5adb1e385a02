//! Bit streams, most significant bit first.

/// Widest read or write served by one 64-bit load at any bit position.
const BITS_PER_LOAD: u32 = 57;

/// Reads from the front of a slice; past the end it reads zeros, so callers check [`BitReader::left`] first.
#[derive(Debug, Clone)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Returns the number of bits that were not read yet.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len().saturating_mul(8).saturating_sub(self.position)
    }

    /// Returns the next `bits` (at most 64).
    pub(crate) fn read(&mut self, bits: u32) -> u64 {
        if bits > BITS_PER_LOAD {
            let high = self.read(bits - 32);
            return high << 32 | self.read(32);
        }
        if bits == 0 {
            return 0;
        }
        let value = self.peek() >> (64 - bits);
        self.position += bits as usize;
        value
    }

    /// Returns at least 57 of the next bits, left-aligned.
    pub(crate) fn peek(&self) -> u64 {
        let start = self.position / 8;
        let word = match self.bytes.get(start..start + 8) {
            Some(bytes) => bytes.first_chunk().map_or(0, |b| u64::from_be_bytes(*b)),
            None => self.tail(start),
        };
        word << (self.position % 8)
    }

    pub(crate) fn skip(&mut self, bits: usize) {
        self.position = self.position.saturating_add(bits);
    }

    fn tail(&self, start: usize) -> u64 {
        let mut padded = [0; 8];
        let rest = self.bytes.get(start..).unwrap_or(&[]);
        padded[..rest.len()].copy_from_slice(rest);
        u64::from_be_bytes(padded)
    }
}

/// Appends to a byte vector.
#[derive(Debug)]
pub(crate) struct BitWriter {
    out: Vec<u8>,
    pending: u64,
    pending_bits: u32,
}

impl BitWriter {
    /// Appends after what `out` already holds.
    pub(crate) fn new(out: Vec<u8>) -> Self {
        Self { out, pending: 0, pending_bits: 0 }
    }

    /// Appends the low `bits` (at most 64) of `value`.
    pub(crate) fn write(&mut self, value: u64, bits: u32) {
        if bits > 32 {
            self.write(value >> 32, bits - 32);
            return self.write(value, 32);
        }
        self.pending = self.pending << bits | (value & low_bits(bits));
        self.pending_bits += bits;
        while self.pending_bits >= 8 {
            self.pending_bits -= 8;
            self.out.push((self.pending >> self.pending_bits) as u8);
        }
    }

    /// Pads the last byte with zeros.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if self.pending_bits > 0 {
            self.write(0, 8 - self.pending_bits);
        }
        self.out
    }

    /// Pads as [`BitWriter::finish`], with one spare zero byte when the bits fill whole bytes: what libhdf5
    /// writes for n-bit and scale-offset, whose size is floor(bits / 8) + 1.
    pub(crate) fn finish_with_spare(mut self) -> Vec<u8> {
        self.write(0, 8 - self.pending_bits);
        self.out
    }
}

/// Returns a mask of the low `bits` (at most 64).
pub(crate) fn low_bits(bits: u32) -> u64 {
    1u64.checked_shl(bits).map_or(u64::MAX, |bit| bit - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_of_1_to_64_bits_round_trip() {
        let mut writer = BitWriter::new(Vec::new());
        for bits in 1..=64 {
            writer.write(0xdead_beef_cafe_f00d, bits);
        }
        let bytes = writer.finish();
        let mut reader = BitReader::new(&bytes);
        for bits in 1..=64 {
            assert_eq!(reader.read(bits), 0xdead_beef_cafe_f00d & low_bits(bits), "{bits} bits");
        }
        assert_eq!(reader.left(), 0);
        assert_eq!(reader.read(8), 0);
    }
}
