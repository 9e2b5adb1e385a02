//! Headers of numpy's files.

/// The header's length is a multiple of this.
const ALIGNMENT: usize = 64;
/// What stands before the header: a magic number, the version, and the header's length.
const PREFIX_BYTES: usize = 10;

/// Returns what stands before the elements in a file of version 1.0.
pub(crate) fn header(dtype: &str, shape: &[u64]) -> Vec<u8> {
    let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
    let tuple = match dims.as_slice() {
        [dim] => format!("({dim},)"),
        dims => format!("({})", dims.join(", ")),
    };
    let mut text = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {tuple}, }}");
    let bytes = (PREFIX_BYTES + text.len() + 1).next_multiple_of(ALIGNMENT);
    text.extend(std::iter::repeat_n(' ', bytes - PREFIX_BYTES - text.len() - 1));
    text.push('\n');
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX).to_le_bytes();
    [b"\x93NUMPY\x01\x00", length.as_slice(), text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::header;

    #[test]
    fn elements_are_aligned() {
        for shape in [&[][..], &[3], &[2, 3], &[u64::MAX; 32]] {
            let header = header("<f8", shape);
            assert_eq!(header.len() % 64, 0);
            assert_eq!(usize::from(header[8]) + 256 * usize::from(header[9]) + 10, header.len());
        }
    }
}
