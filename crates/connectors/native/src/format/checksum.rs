//! The metadata checksum: Bob Jenkins' lookup3, byte by byte order-independent (format spec appendix).

use model::{Error, Result};

/// The checksum of `bytes` with an initial value.
pub(crate) fn lookup3(bytes: &[u8], initial: u32) -> u32 {
    let seed = 0xDEAD_BEEFu32.wrapping_add(bytes.len() as u32).wrapping_add(initial);
    let (mut a, mut b, mut c) = (seed, seed, seed);
    // The last 1 to 12 bytes go to the final mix, a full 12 too.
    let whole = bytes.len().saturating_sub(1) / 12 * 12;
    for block in bytes[..whole].as_chunks().0 {
        add(&mut a, &mut b, &mut c, block);
        mix(&mut a, &mut b, &mut c);
    }
    let mut tail = [0; 12];
    tail[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
    if !bytes.is_empty() {
        add(&mut a, &mut b, &mut c, &tail);
        finish(&mut a, &mut b, &mut c);
    }
    c
}

fn word(bytes: &[u8; 12], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn add(a: &mut u32, b: &mut u32, c: &mut u32, block: &[u8; 12]) {
    *a = a.wrapping_add(word(block, 0));
    *b = b.wrapping_add(word(block, 4));
    *c = c.wrapping_add(word(block, 8));
}

fn mix(a: &mut u32, b: &mut u32, c: &mut u32) {
    fn step(x: &mut u32, y: u32, z: &mut u32, k: u32) {
        *x = x.wrapping_sub(*z) ^ z.rotate_left(k);
        *z = z.wrapping_add(y);
    }
    step(a, *b, c, 4);
    step(b, *c, a, 6);
    step(c, *a, b, 8);
    step(a, *b, c, 16);
    step(b, *c, a, 19);
    step(c, *a, b, 4);
}

fn finish(a: &mut u32, b: &mut u32, c: &mut u32) {
    fn step(x: &mut u32, y: u32, k: u32) {
        *x = (*x ^ y).wrapping_sub(y.rotate_left(k));
    }
    step(c, *b, 14);
    step(a, *c, 11);
    step(b, *a, 25);
    step(c, *b, 16);
    step(a, *c, 4);
    step(b, *a, 14);
    step(c, *b, 24);
}

/// Whether a checksum is right. Mutation tests built with `--cfg hyperslab_fuzz` take any, to reach what lies behind.
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
    use super::lookup3;

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
        }
    }
}
