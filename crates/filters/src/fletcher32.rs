//! Fletcher32 (3): the data followed by a checksum.
//!
//! Values: none. The checksum is a little-endian u32 over big-endian 16-bit words.

use crate::error::{Error, Origin};
use crate::names::id;
use crate::{Codecs, Done, Filter, FilterId, Output, Params};

const AT: Origin = Origin(id::FLETCHER32);
const CHECKSUM_BYTES: usize = 4;
/// Words that are summed side by side.
const LANES: usize = 16;
/// Words that a lane can sum before its second sum may overflow 32 bits.
const ROWS_PER_FOLD: usize = 360;

/// The fletcher32 filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fletcher32;

impl Filter for Fletcher32 {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn decode_into(
        &self,
        _params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let data = verified(input)?;
        AT.within(data.len() as u64, out.size().max)?;
        Ok(Done::Prefix(data.len()))
    }

    fn decode_unverified_into(
        &self,
        _params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let (data, _) = split(input)?;
        AT.within(data.len() as u64, out.size().max)?;
        Ok(Done::Prefix(data.len()))
    }

    fn encode_into(
        &self,
        _params: &Params<'_>,
        input: &[u8],
        _out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        Ok(Done::Appended(checksum(input).to_le_bytes()))
    }
}

/// Returns the data and its checksum.
fn split(input: &[u8]) -> Result<(&[u8], u32), Error> {
    let parts = input.split_last_chunk::<CHECKSUM_BYTES>();
    let (data, stored) = parts.ok_or_else(|| AT.corrupt("shorter than its checksum"))?;
    Ok((data, u32::from_le_bytes(*stored)))
}

/// Returns the data without its checksum, once that was found right.
fn verified(input: &[u8]) -> Result<&[u8], Error> {
    let (data, stored) = split(input)?;
    let computed = checksum(data);
    // Little-endian writers before 1.6.3 swapped the bytes of each half.
    if stored == computed || stored == swap_halves(computed) {
        return Ok(data);
    }
    Err(AT.corrupt(format!("checksum is {computed:#010x}, stored {stored:#010x}")))
}

fn swap_halves(sum: u32) -> u32 {
    sum.swap_bytes().rotate_left(16)
}

/// Returns the Fletcher-32 sum as libhdf5 computes it.
pub(crate) fn checksum(data: &[u8]) -> u32 {
    let mut sums = Sums::default();
    let (rows, rest) = data.as_chunks::<{ 2 * LANES }>();
    for rows in rows.chunks(ROWS_PER_FOLD) {
        sums.add_rows(rows);
    }
    let (words, odd) = rest.as_chunks::<2>();
    words.iter().for_each(|word| sums.add(u16::from_le_bytes(*word)));
    odd.iter().for_each(|byte| sums.add(u16::from(*byte)));
    // The words are big-endian, but swapping bytes is a product with 256 modulo 65535: once at the end is enough.
    fold(sums.second * 256) << 16 | fold(sums.first * 256)
}

/// The sum of the words, and the sum of all its values on the way; as good as modulo 65535.
#[derive(Default)]
struct Sums {
    first: u64,
    second: u64,
}

impl Sums {
    fn add(&mut self, word: u16) {
        self.first += u64::from(word);
        self.second += self.first;
    }

    /// A word counts once for each row from its own to the last, times the lanes, less the lanes before it.
    fn add_rows(&mut self, rows: &[[u8; 2 * LANES]]) {
        self.second += self.first * (rows.len() * LANES) as u64;
        let (first, second) = lane_sums(rows);
        for (lane, (first, second)) in first.into_iter().zip(second).enumerate() {
            self.first += u64::from(first);
            self.second += u64::from(second) * LANES as u64 - u64::from(first) * lane as u64;
        }
        // Keeps the next product within 64 bits.
        (self.first, self.second) = (u64::from(fold(self.first)), u64::from(fold(self.second)));
    }
}

/// Each lane sums its own words, so that lanes do not wait for each other. A call of its own keeps it vectorised.
#[inline(never)]
fn lane_sums(rows: &[[u8; 2 * LANES]]) -> ([u32; LANES], [u32; LANES]) {
    let (mut first, mut second) = ([0u32; LANES], [0u32; LANES]);
    for row in rows {
        let words: [u16; LANES] = std::array::from_fn(|i| u16::from_le_bytes([row[2 * i], row[2 * i + 1]]));
        first = std::array::from_fn(|i| first[i] + u32::from(words[i]));
        second = std::array::from_fn(|i| second[i] + first[i]);
    }
    (first, second)
}

/// Modulo 65535, where only a sum of zeros gives 0.
fn fold(mut sum: u64) -> u32 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Size;

    const SIZE: Size = Size { hint: 0, max: 1 << 20 };

    #[test]
    fn sums_match_the_reference_vectors() {
        assert_eq!(checksum(&[1, 2, 3, 0xfa, 0xfb]), 0x05fb_fffc);
        assert_eq!(checksum(b"abcde"), 0x4ff0_29c7);
        assert_eq!(checksum(&[0xff; 1000]), 0xffff_ffff);
        assert_eq!(checksum(&[]), 0);
    }

    /// Returns the definition, word by word.
    fn plain(data: &[u8]) -> u32 {
        let (mut first, mut second) = (0u64, 0u64);
        for word in data.chunks(2) {
            first += u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0));
            second += first;
        }
        let modulo = |sum: u64| if sum == 0 { 0 } else { (sum - 1) % 0xffff + 1 };
        (modulo(second) << 16 | modulo(first)) as u32
    }

    #[test]
    fn lanes_sum_as_one_would() {
        for len in [0, 1, 2, 31, 32, 33, 63, 64, 65, 1000, 11_519, 11_520, 11_521, 11_553, 50_001] {
            let mixed: Vec<u8> = (0..len).map(|i: usize| (i * i / 7) as u8 ^ (i >> 3) as u8).collect();
            assert_eq!(checksum(&mixed), plain(&mixed), "{len} bytes");
            assert_eq!(checksum(&vec![0xff; len]), plain(&vec![0xff; len]), "{len} bytes of ones");
            assert_eq!(checksum(&vec![0; len]), 0);
        }
    }

    #[test]
    fn swapped_checksum_of_old_writers_is_accepted() {
        let mut bytes = b"abcde".to_vec();
        bytes.extend_from_slice(&[0x29, 0xc7, 0x4f, 0xf0]);
        assert_eq!(Fletcher32.decode(&Params::default(), &bytes, SIZE).unwrap(), b"abcde");
    }

    #[test]
    fn changed_byte_is_found() {
        let mut bytes = Fletcher32.encode(&Params::default(), b"hello").unwrap();
        bytes[1] ^= 1;
        let error = Fletcher32.decode(&Params::default(), &bytes, SIZE).unwrap_err();
        assert!(error.to_string().starts_with("filter 3 (fletcher32): corrupt data"), "{error}");
    }
}
