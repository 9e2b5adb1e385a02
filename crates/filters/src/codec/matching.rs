//! Functions that the encoders of LZF and BloscLZ share.

/// Literals after which the search takes longer steps.
const PATIENCE: usize = 256;
const STRIDE_MAX: usize = 16;

/// Returns how many bytes at the front are the same in both.
pub(crate) fn same_bytes(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    let mut same = 0;
    for (a, b) in words {
        let difference = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if difference != 0 {
            return same + difference.trailing_zeros() as usize / 8;
        }
        same += 8;
    }
    same + a[same..].iter().zip(&b[same..]).take_while(|(a, b)| a == b).count()
}

/// Returns how far to go on where nothing matched; further the longer nothing did, since noise seldom ends soon.
pub(crate) fn stride(literals: usize) -> usize {
    (1 + literals / PATIENCE).min(STRIDE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_bytes_ends_at_the_first_difference_or_the_shorter_end() {
        for len in 0..40 {
            let a = vec![7; len];
            assert_eq!(same_bytes(&a, &[7; 50]), len);
            assert_eq!(same_bytes(&[7; 50], &a), len);
            for at in 0..len {
                let mut b = a.clone();
                b[at] = 8;
                assert_eq!(same_bytes(&a, &b), at);
            }
        }
    }
}
