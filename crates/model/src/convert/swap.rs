//! Byte order: whole buffers of numbers reversed in loops that vectorise.

/// Copies numbers of `width` bytes, each reversed.
pub(super) fn copy(width: usize, from: &[u8], to: &mut [u8]) {
    match width {
        1 => to.copy_from_slice(from),
        2 => copy_fixed::<2>(from, to),
        4 => copy_fixed::<4>(from, to),
        8 => copy_fixed::<8>(from, to),
        16 => copy_fixed::<16>(from, to),
        _ => {
            to.copy_from_slice(from);
            to.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
    }
}

/// Reverses each number of `width` bytes where it stands.
pub(super) fn in_place(width: usize, bytes: &mut [u8]) {
    match width {
        2 => in_place_fixed::<2>(bytes),
        4 => in_place_fixed::<4>(bytes),
        8 => in_place_fixed::<8>(bytes),
        _ => bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse),
    }
}

fn copy_fixed<const N: usize>(from: &[u8], to: &mut [u8]) {
    let (from, _) = from.as_chunks::<N>();
    let (to, _) = to.as_chunks_mut::<N>();
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
        to.reverse();
    }
}

fn in_place_fixed<const N: usize>(bytes: &mut [u8]) {
    bytes.as_chunks_mut::<N>().0.iter_mut().for_each(|number| number.reverse());
}
