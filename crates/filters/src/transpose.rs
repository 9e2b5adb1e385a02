//! Byte and bit transposes: the kernels of shuffle, bitshuffle and both Bloscs.
//!
//! A tile of 16 elements of `S` bytes is `S` rows of 16 bytes. Zipping row `m` with row `m + S/2` rotates the
//! address bits of every byte left by one; four such rounds bring equal byte positions together, and
//! log2(`S`) rounds take them apart. The zips compile to vector unpack instructions.

const LANES: usize = 16;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Elements per pass of the generic loop: source and destination stay in the first-level cache.
const GENERIC_BLOCK: usize = 512;

type Row = [u8; LANES];

/// Gathers byte 0 of every `size`-byte element, then byte 1, and so on. Both slices hold whole elements.
pub(crate) fn shuffle(size: usize, src: &[u8], dst: &mut [u8]) {
    debug_assert_eq!(src.len(), dst.len());
    match size {
        0 | 1 => dst.copy_from_slice(src),
        2 => shuffle_tiles::<2>(src, dst),
        4 => shuffle_tiles::<4>(src, dst),
        8 => shuffle_tiles::<8>(src, dst),
        16 => shuffle_tiles::<16>(src, dst),
        _ => shuffle_from(size, 0, src, dst),
    }
}

/// Undoes [`shuffle`].
pub(crate) fn unshuffle(size: usize, src: &[u8], dst: &mut [u8]) {
    debug_assert_eq!(src.len(), dst.len());
    match size {
        0 | 1 => dst.copy_from_slice(src),
        2 => unshuffle_tiles::<2>(src, dst),
        4 => unshuffle_tiles::<4>(src, dst),
        8 => unshuffle_tiles::<8>(src, dst),
        16 => unshuffle_tiles::<16>(src, dst),
        _ => unshuffle_from(size, 0, src, dst),
    }
}

/// Bit transpose of a whole number of groups of 8 elements: for every bit of the element, lowest first, one
/// row with that bit of each element. `scratch` has the same length.
pub(crate) fn bit_shuffle(size: usize, src: &[u8], dst: &mut [u8], scratch: &mut [u8]) {
    let plane_bytes = src.len() / size.max(1);
    shuffle(size, src, scratch);
    transpose_words(scratch);
    if plane_bytes > 0 {
        for (from, to) in scratch.chunks_exact(plane_bytes).zip(dst.chunks_exact_mut(plane_bytes)) {
            shuffle(8, from, to);
        }
    }
}

/// Undoes [`bit_shuffle`].
pub(crate) fn bit_unshuffle(size: usize, src: &[u8], dst: &mut [u8], scratch: &mut [u8]) {
    let plane_bytes = src.len() / size.max(1);
    if plane_bytes > 0 {
        for (from, to) in src.chunks_exact(plane_bytes).zip(scratch.chunks_exact_mut(plane_bytes)) {
            unshuffle(8, from, to);
        }
    }
    transpose_words(scratch);
    unshuffle(size, scratch, dst);
}

/// Transposes every 8 bytes as an 8 × 8 bit matrix.
fn transpose_words(bytes: &mut [u8]) {
    for word in bytes.as_chunks_mut::<8>().0 {
        *word = transpose_bits(u64::from_le_bytes(*word)).to_le_bytes();
    }
}

/// Swaps bit k of byte j with bit j of byte k, by halves of 1, 2 and 4.
fn transpose_bits(mut x: u64) -> u64 {
    for (shift, mask) in [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0xf0f0_f0f0)] {
        let swapped = (x ^ (x >> shift)) & mask;
        x ^= swapped ^ (swapped << shift);
    }
    x
}

fn zip_low(a: &Row, b: &Row) -> Row {
    std::array::from_fn(|i| if i % 2 == 0 { a[i / 2] } else { b[i / 2] })
}

fn zip_high(a: &Row, b: &Row) -> Row {
    std::array::from_fn(|i| if i % 2 == 0 { a[8 + i / 2] } else { b[8 + i / 2] })
}

fn round<const S: usize>(rows: &[Row; S]) -> [Row; S] {
    let mut out = [[0; LANES]; S];
    for m in 0..S / 2 {
        out[2 * m] = zip_low(&rows[m], &rows[m + S / 2]);
        out[2 * m + 1] = zip_high(&rows[m], &rows[m + S / 2]);
    }
    out
}

fn load<const S: usize>(tile: &[u8]) -> [Row; S] {
    let mut rows = [[0; LANES]; S];
    for (row, bytes) in rows.iter_mut().zip(tile.as_chunks::<LANES>().0) {
        *row = *bytes;
    }
    rows
}

fn shuffle_tiles<const S: usize>(src: &[u8], dst: &mut [u8]) {
    let count = src.len() / S;
    for (index, line) in src.chunks_exact(LINE * S).enumerate() {
        // A whole cache line for each plane: planes are often a power of two apart and share cache sets.
        let mut planes = [[0; LINE]; S];
        for (place, tile) in line.chunks_exact(LANES * S).enumerate() {
            let rows = round(&round(&round(&round(&load::<S>(tile)))));
            for (plane, row) in planes.iter_mut().zip(rows) {
                plane[place * LANES..(place + 1) * LANES].copy_from_slice(&row);
            }
        }
        for (plane, bytes) in planes.iter().enumerate() {
            let start = plane * count + index * LINE;
            dst[start..start + LINE].copy_from_slice(bytes);
        }
    }
    shuffle_from(S, count - count % LINE, src, dst);
}

fn unshuffle_tiles<const S: usize>(src: &[u8], dst: &mut [u8]) {
    let count = src.len() / S;
    for (index, tile) in dst.chunks_exact_mut(LANES * S).enumerate() {
        let mut rows: [Row; S] = [[0; LANES]; S];
        for (plane, row) in rows.iter_mut().enumerate() {
            let start = plane * count + index * LANES;
            row.copy_from_slice(&src[start..start + LANES]);
        }
        for _ in 0..S.trailing_zeros() {
            rows = round(&rows);
        }
        tile.copy_from_slice(rows.as_flattened());
    }
    unshuffle_from(S, count - count % LANES, src, dst);
}

/// Any size, from element `first` on.
fn shuffle_from(size: usize, first: usize, src: &[u8], dst: &mut [u8]) {
    let count = src.len() / size;
    for start in (first..count).step_by(GENERIC_BLOCK) {
        let end = (start + GENERIC_BLOCK).min(count);
        let elements = &src[start * size..end * size];
        for byte in 0..size {
            let plane = &mut dst[byte * count + start..byte * count + end];
            for (to, element) in plane.iter_mut().zip(elements.chunks_exact(size)) {
                *to = element[byte];
            }
        }
    }
}

fn unshuffle_from(size: usize, first: usize, src: &[u8], dst: &mut [u8]) {
    let count = src.len() / size;
    for start in (first..count).step_by(GENERIC_BLOCK) {
        let end = (start + GENERIC_BLOCK).min(count);
        let elements = &mut dst[start * size..end * size];
        for byte in 0..size {
            let plane = &src[byte * count + start..byte * count + end];
            for (from, element) in plane.iter().zip(elements.chunks_exact_mut(size)) {
                element[byte] = *from;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(len: usize) -> Vec<u8> {
        (0..len).map(|i| ((i * 2_654_435_761) >> 7) as u8).collect()
    }

    #[test]
    fn every_byte_lands_in_its_plane() {
        for size in 1..=33 {
            for count in [1, 7, 15, 16, 17, 64, 100, 600] {
                let src = sample(size * count);
                let mut dst = vec![0; src.len()];
                shuffle(size, &src, &mut dst);
                for (i, byte) in src.iter().enumerate() {
                    assert_eq!(dst[(i % size) * count + i / size], *byte, "size {size} count {count}");
                }
                let mut back = vec![0; src.len()];
                unshuffle(size, &dst, &mut back);
                assert_eq!(back, src);
            }
        }
    }

    #[test]
    fn every_bit_lands_in_its_row() {
        for size in 1..=17 {
            for count in [8, 16, 24, 128, 136] {
                let src = sample(size * count);
                let (mut dst, mut scratch) = (vec![0; src.len()], vec![0; src.len()]);
                bit_shuffle(size, &src, &mut dst, &mut scratch);
                for bit in 0..size * 8 {
                    for j in 0..count {
                        let from = src[j * size + bit / 8] >> (bit % 8) & 1;
                        let to = dst[bit * count / 8 + j / 8] >> (j % 8) & 1;
                        assert_eq!(from, to, "size {size} count {count} bit {bit} element {j}");
                    }
                }
                let mut back = vec![0; src.len()];
                bit_unshuffle(size, &dst, &mut back, &mut scratch);
                assert_eq!(back, src);
            }
        }
    }
}
