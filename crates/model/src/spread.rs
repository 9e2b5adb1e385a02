//! Maps by numbers such as addresses and tokens: a multiplication spreads them well enough, from a start that no file can know.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Makes hashers that start at a random number.
#[derive(Debug, Clone)]
pub struct Spread(u64);

impl Default for Spread {
    fn default() -> Self {
        Spread(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Spread {
    type Hasher = Spreading;

    fn build_hasher(&self) -> Spreading {
        Spreading(self.0)
    }
}

/// The hash so far.
#[derive(Debug)]
pub struct Spreading(u64);

impl Hasher for Spreading {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|&word| self.write_u64(u64::from_le_bytes(word)));
        rest.iter().for_each(|&b| self.write_u64(u64::from(b)));
    }

    fn write_u64(&mut self, value: u64) {
        let wide = u128::from(self.0 ^ value) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (wide as u64) ^ (wide >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
