//! The metadata checksum: Bob Jenkins' lookup3, byte by byte order-independent (format spec appendix).

use model::{Error, Result};

/// Returns the checksum of `bytes` with an initial value.
pub(crate) fn lookup3(bytes: &[u8], initial: u32) -> u32 {
    let [sum] = lookup3_each(bytes, [initial]);
    sum
}

/// Returns the checksums of `bytes` with each of some initial values. Two take little longer than one: what takes time is that
/// every step of a checksum waits for the one before.
pub(crate) fn lookup3_each<const N: usize>(bytes: &[u8], initial: [u32; N]) -> [u32; N] {
    let mut sums = initial.map(|initial| {
        let seed = 0xDEAD_BEEFu32.wrapping_add(bytes.len() as u32).wrapping_add(initial);
        Sum { a: seed, b: seed, c: seed }
    });
    // The last 1 to 12 bytes go to the final mix, a full 12 too.
    let whole = bytes.len().saturating_sub(1) / 12 * 12;
    for block in bytes[..whole].as_chunks().0 {
        sums = sums.map(|sum| sum.add(block).mix());
    }
    let mut tail = [0; 12];
    tail[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
    if !bytes.is_empty() {
        sums = sums.map(|sum| sum.add(&tail).finish());
    }
    sums.map(|sum| sum.c)
}

/// A checksum on its way.
#[derive(Clone, Copy)]
struct Sum {
    a: u32,
    b: u32,
    c: u32,
}

impl Sum {
    #[inline]
    fn add(self, block: &[u8; 12]) -> Self {
        let word = |at: usize| u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
        Sum {
            a: self.a.wrapping_add(word(0)),
            b: self.b.wrapping_add(word(4)),
            c: self.c.wrapping_add(word(8)),
        }
    }

    #[inline]
    fn mix(self) -> Self {
        fn step(x: &mut u32, y: u32, z: &mut u32, k: u32) {
            *x = x.wrapping_sub(*z) ^ z.rotate_left(k);
            *z = z.wrapping_add(y);
        }
        let Sum { mut a, mut b, mut c } = self;
        step(&mut a, b, &mut c, 4);
        step(&mut b, c, &mut a, 6);
        step(&mut c, a, &mut b, 8);
        step(&mut a, b, &mut c, 16);
        step(&mut b, c, &mut a, 19);
        step(&mut c, a, &mut b, 4);
        Sum { a, b, c }
    }

    #[inline]
    fn finish(self) -> Self {
        fn step(x: &mut u32, y: u32, k: u32) {
            *x = (*x ^ y).wrapping_sub(y.rotate_left(k));
        }
        let Sum { mut a, mut b, mut c } = self;
        step(&mut c, b, 14);
        step(&mut a, c, 11);
        step(&mut b, a, 25);
        step(&mut c, b, 16);
        step(&mut a, c, 4);
        step(&mut b, a, 14);
        step(&mut c, b, 24);
        Sum { a, b, c }
    }
}

/// Returns whether a checksum is right. Mutation tests built with `--cfg hyperslab_fuzz` take any, to reach what lies behind.
pub(crate) fn matches(stored: u32, computed: u32) -> bool {
    cfg!(hyperslab_fuzz) || stored == computed
}

/// Checks that the last four of `bytes` are the checksum of those before them.
pub(crate) fn verify(bytes: &[u8], what: &str) -> Result<()> {
    let Some((body, stored)) = bytes.split_last_chunk::<4>() else {
        return Err(Error::corrupt(format!("verify {what}")).with("bytes", bytes.len()));
    };
    let (stored, computed) = (u32::from_le_bytes(*stored), lookup3(body, 0));
    if matches(stored, computed) {
        return Ok(());
    }
    let error = Error::corrupt(format!("verify {what}")).with("problem", "checksum does not match");
    Err(error.with("stored", format!("{stored:#010x}")).with("computed", format!("{computed:#010x}")))
}

#[cfg(test)]
mod tests {
    use super::{lookup3, lookup3_each};

    #[test]
    fn matches_the_published_vectors() {
        let bytes: Vec<u8> = (0..24).collect();
        let vectors: [(&[u8], u32, u32); 6] = [
            (b"a", 0, 0x58D6_8708),
            (b"name", 0, 0xD31A_B684),
            (b"abcdefghijkl", 0, 0x4012_F87B),
            (b"abcdefghijklm", 0, 0x9281_28F9),
            (&bytes, 0, 0x9C0A_DD53),
            (b"name", 3, 0x0151_5C49),
        ];
        for (input, initial, expected) in vectors {
            assert_eq!(lookup3(input, initial), expected, "{input:?}");
            assert_eq!(lookup3_each(input, [7, initial]), [lookup3(input, 7), expected], "{input:?}");
        }
    }
}
