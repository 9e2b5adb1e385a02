//! Byte and bit transposes: the kernels of shuffle, bitshuffle and both Bloscs.
//!
//! Elements of 2, 4 or 8 bytes are taken apart in blocks. Splitting a block into its even and its odd bytes, and
//! the halves again, brings the bytes of each place together; zipping halves takes that back. Both passes
//! compile to vector instructions; chained in registers they would not.

/// Bytes of a vector.
const LANES: usize = 16;
/// Elements of a block: each plane gets whole cache lines, since planes are often a power of two apart and share
/// cache sets, and all passes stay in the first-level cache.
const BLOCK: usize = 128;
/// Bytes of the widest block.
const BLOCK_BYTES: usize = BLOCK * 8;
/// Elements per pass of the generic loop: source and destination stay in the first-level cache.
const GENERIC_BLOCK: usize = 512;

/// Gathers byte 0 of every `size`-byte element, then byte 1, and so on. Both slices hold whole elements.
pub(crate) fn shuffle(size: usize, src: &[u8], dst: &mut [u8]) {
    debug_assert_eq!(src.len(), dst.len());
    match size {
        0 | 1 => dst.copy_from_slice(src),
        _ if size.is_multiple_of(8) => shuffle_columns::<8>(size, src, dst),
        _ if size.is_multiple_of(4) => shuffle_columns::<4>(size, src, dst),
        _ if size.is_multiple_of(2) => shuffle_columns::<2>(size, src, dst),
        _ => shuffle_from(size, 0, src, dst),
    }
}

/// Undoes [`shuffle`].
pub(crate) fn unshuffle(size: usize, src: &[u8], dst: &mut [u8]) {
    debug_assert_eq!(src.len(), dst.len());
    match size {
        0 | 1 => dst.copy_from_slice(src),
        _ if size.is_multiple_of(8) => unshuffle_columns::<8>(size, src, dst),
        _ if size.is_multiple_of(4) => unshuffle_columns::<4>(size, src, dst),
        _ if size.is_multiple_of(2) => unshuffle_columns::<2>(size, src, dst),
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

/// Even bytes of `pairs` to one place, odd ones to another; whole lanes. As words, shifts and packs do it.
#[inline(never)]
fn split(pairs: &[u8], even: &mut [u8], odd: &mut [u8]) {
    let (even, odd) = (even.as_chunks_mut::<LANES>().0, odd.as_chunks_mut::<LANES>().0);
    for ((pairs, even), odd) in pairs.as_chunks::<{ 2 * LANES }>().0.iter().zip(even).zip(odd) {
        let words: [u16; LANES] =
            std::array::from_fn(|i| u16::from_le_bytes([pairs[2 * i], pairs[2 * i + 1]]));
        *odd = words.map(|word| (word >> 8) as u8);
        *even = words.map(|word| word as u8);
    }
}

/// Undoes [`split`].
#[inline(never)]
fn zip(even: &[u8], odd: &[u8], pairs: &mut [u8]) {
    for ((pair, even), odd) in pairs.as_chunks_mut::<2>().0.iter_mut().zip(even).zip(odd) {
        *pair = [*even, *odd];
    }
}

fn split_halves(from: &[u8], to: &mut [u8]) {
    let (even, odd) = to.split_at_mut(from.len() / 2);
    split(from, even, odd);
}

fn zip_halves(from: &[u8], to: &mut [u8]) {
    let (even, odd) = from.split_at(from.len() / 2);
    zip(even, odd, to);
}

/// Elements of `size` bytes, by columns of `W`.
fn shuffle_columns<const W: usize>(size: usize, src: &[u8], dst: &mut [u8]) {
    let count = src.len() / size;
    let mut buffers = [[0; BLOCK_BYTES]; 3];
    let [a, b, gathered] = buffers.each_mut().map(|buffer| &mut buffer[..BLOCK * W]);
    for (index, block) in src.chunks_exact(BLOCK * size).enumerate() {
        for column in (0..size).step_by(W) {
            let elements = if size == W { block } else { gather::<W>(block, size, column, gathered) };
            let last = match W {
                2 => elements,
                4 => {
                    split_halves(elements, a);
                    &*a
                }
                _ => {
                    split_halves(elements, a);
                    split_halves(a, b);
                    &*b
                }
            };
            let (low, high) = dst[column * count..].split_at_mut(W / 2 * count);
            for (plane, pairs) in last.chunks_exact(2 * BLOCK).enumerate() {
                let start = plane * count + index * BLOCK;
                split(pairs, &mut low[start..start + BLOCK], &mut high[start..start + BLOCK]);
            }
        }
    }
    shuffle_from(size, count - count % BLOCK, src, dst);
}

fn unshuffle_columns<const W: usize>(size: usize, src: &[u8], dst: &mut [u8]) {
    let count = src.len() / size;
    let mut buffers = [[0; BLOCK_BYTES]; 3];
    let [a, b, gathered] = buffers.each_mut().map(|buffer| &mut buffer[..BLOCK * W]);
    for (index, block) in dst.chunks_exact_mut(BLOCK * size).enumerate() {
        for column in (0..size).step_by(W) {
            let elements = if size == W { &mut *block } else { &mut *gathered };
            let (low, high) = src[column * count..].split_at(W / 2 * count);
            let first = if W == 2 { &mut *elements } else { &mut *a };
            for (plane, pairs) in first.chunks_exact_mut(2 * BLOCK).enumerate() {
                let start = plane * count + index * BLOCK;
                zip(&low[start..start + BLOCK], &high[start..start + BLOCK], pairs);
            }
            match W {
                2 => {}
                4 => zip_halves(a, elements),
                _ => {
                    zip_halves(a, b);
                    zip_halves(b, elements);
                }
            }
            if size != W {
                scatter::<W>(gathered, size, column, block);
            }
        }
    }
    unshuffle_from(size, count - count % BLOCK, src, dst);
}

/// Returns `W` bytes at `column` of every element.
fn gather<'a, const W: usize>(block: &[u8], size: usize, column: usize, to: &'a mut [u8]) -> &'a [u8] {
    for (to, element) in to.as_chunks_mut::<W>().0.iter_mut().zip(block.chunks_exact(size)) {
        if let Some(bytes) = element[column..].first_chunk() {
            *to = *bytes;
        }
    }
    to
}

/// Undoes [`gather`].
fn scatter<const W: usize>(from: &[u8], size: usize, column: usize, block: &mut [u8]) {
    for (from, element) in from.as_chunks::<W>().0.iter().zip(block.chunks_exact_mut(size)) {
        if let Some(bytes) = element[column..].first_chunk_mut() {
            *bytes = *from;
        }
    }
}

/// Shuffles elements of any size, from element `first` on.
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
            for count in [0, 1, 7, 16, 100, 127, 128, 129, 256, 600] {
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
            for count in [8, 16, 24, 128, 136, 1024, 1032] {
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
