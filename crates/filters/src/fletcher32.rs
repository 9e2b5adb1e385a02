//! Fletcher32 (3): the data followed by a checksum.
//!
//! Values: none. The checksum is a little-endian u32 over big-endian 16-bit words.

use crate::error::{Error, Origin};
use crate::{Codecs, Done, Filter, FilterId, Output, Params};

const AT: Origin = Origin(3);
const CHECKSUM_BYTES: usize = 4;
/// Words that can be summed before the second sum may overflow 32 bits.
const WORDS_PER_FOLD: usize = 360;

/// The fletcher32 filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fletcher32;

impl Filter for Fletcher32 {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn name(&self) -> &'static str {
        "fletcher32"
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

/// The data without its checksum, once that was found right.
fn verified(input: &[u8]) -> Result<&[u8], Error> {
    let (data, stored) =
        input.split_last_chunk::<CHECKSUM_BYTES>().ok_or_else(|| AT.corrupt("shorter than its checksum"))?;
    let stored = u32::from_le_bytes(*stored);
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

/// The Fletcher-32 sum as libhdf5 computes it.
pub(crate) fn checksum(data: &[u8]) -> u32 {
    let (mut sum1, mut sum2) = (0u32, 0u32);
    for group in data.chunks(WORDS_PER_FOLD * 2) {
        let (words, odd) = group.as_chunks::<2>();
        for word in words {
            sum1 += u32::from(u16::from_be_bytes(*word));
            sum2 += sum1;
        }
        for &byte in odd {
            sum1 += u32::from(byte) << 8;
            sum2 += sum1;
        }
        (sum1, sum2) = (fold(sum1), fold(sum2));
    }
    (fold(sum2) << 16) | fold(sum1)
}

fn fold(sum: u32) -> u32 {
    (sum & 0xffff) + (sum >> 16)
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
