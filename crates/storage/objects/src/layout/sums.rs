//! Checksums of what is stored: the lower half of XXH3, which takes a fraction of the time of a copy.

use std::hash::Hasher;

use twox_hash::XxHash3_64;

/// The checksum of some bytes.
pub(crate) type Sum = u32;

/// Bytes of an extent that have a checksum together. Smaller blocks make the index larger (4 bytes for each), larger
/// ones make a read of few records slower.
const BLOCK_BYTES: u64 = 16 << 10;

/// Records of a block: block `n` has the records from `n` times this number on, in whatever extent they are.
pub(crate) fn block_records(record_size: u32) -> u64 {
    (BLOCK_BYTES / u64::from(record_size).max(1)).max(1)
}

/// Returns the checksum of bytes.
pub(crate) fn of(bytes: &[u8]) -> Sum {
    XxHash3_64::oneshot(bytes) as Sum
}

/// Returns the checksum of bytes that belong to a key: under another key they have another one.
pub(crate) fn of_pair(key: &[u8], bytes: &[u8]) -> Sum {
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(key), bytes) as Sum
}

/// Returns the checksum of bytes that lie apart, as if they lay together.
pub(crate) fn of_parts<'a>(mut parts: impl Iterator<Item = &'a [u8]>) -> Sum {
    let first = parts.next().unwrap_or_default();
    let Some(second) = parts.next() else { return of(first) };
    let mut hasher = XxHash3_64::new();
    [first, second].into_iter().chain(parts).for_each(|part| hasher.write(part));
    hasher.finish() as Sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_checksum_of_the_whole() {
        let whole: Vec<u8> = (0..100_000u32).map(|n| (n % 251 * (n % 241)) as u8).collect();
        for cuts in [&[][..], &[0], &[1, 300], &[17, 18, 5_000, 99_999]] {
            let ends = cuts.iter().copied().chain([whole.len()]);
            let mut from = 0;
            let parts: Vec<&[u8]> = ends.map(|to| &whole[std::mem::replace(&mut from, to)..to]).collect();
            assert_eq!(of_parts(parts.into_iter()), of(&whole), "{cuts:?}");
        }
        assert_ne!(of_pair(b"a", &whole), of_pair(b"b", &whole));
    }
}
