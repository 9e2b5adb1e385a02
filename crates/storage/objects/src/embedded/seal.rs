//! Entries of the index with a checksum: redb has some of its own, and looks at them only after a crash.

use crate::layout::sums;
use crate::{Error, Result};

/// The first byte of an entry with a checksum. Entries of older programs begin with a small number and have none.
const SEALED: u8 = 0xc5;
const HEAD_BYTES: usize = 5;

/// Makes the stored form of an entry in `out`; `put` appends the entry.
pub(super) fn seal(key: &[u8], out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    out.clear();
    out.extend([SEALED, 0, 0, 0, 0]);
    put(out);
    let sum = sums::of_pair(key, out.get(HEAD_BYTES..).unwrap_or_default());
    if let Some(buffer) = out.get_mut(1..HEAD_BYTES) {
        buffer.copy_from_slice(&sum.to_le_bytes());
    }
}

/// Returns the entry of a stored form, verified: it is the one that was stored, under this key.
pub(super) fn unseal<'a>(key: &[u8], stored: &'a [u8]) -> Result<&'a [u8]> {
    match stored.split_first_chunk::<HEAD_BYTES>() {
        Some(([SEALED, sum @ ..], entry)) => match u32::from_le_bytes(*sum) == sums::of_pair(key, entry) {
            true => Ok(entry),
            false => Err(Error::Corrupt("the index is damaged: the checksum of an entry is wrong".into())),
        },
        _ => Ok(stored),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_or_another_key_is_an_error() {
        let mut stored = Vec::new();
        seal(b"key", &mut stored, |out| out.extend_from_slice(b"entry"));
        assert_eq!(unseal(b"key", &stored).unwrap(), b"entry");
        assert!(unseal(b"kez", &stored).is_err());
        for bit in 8..8 * stored.len() {
            let mut broken = stored.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert!(unseal(b"key", &broken).is_err(), "bit {bit}");
        }
        assert_eq!(unseal(b"key", &[1, 2, 3]).unwrap(), [1, 2, 3]);
    }
}
