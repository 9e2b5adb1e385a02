//! Buffers that are used again: fresh memory costs more than the copy into it.

/// Smaller ones are as quick to make as to find.
const KEPT_BYTES_MIN: usize = 64 << 10;

/// Buffers that no one uses.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    free: Vec<Vec<u8>>,
    bytes: usize,
}

impl Buffers {
    /// Returns an empty buffer with space for `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Vec<u8> {
        // One that is much larger would keep memory that no one needs.
        let fits = |buffer: &Vec<u8>| (len..=len.saturating_mul(2)).contains(&buffer.capacity());
        // The last one that was used is the one that caches still hold.
        match self.free.iter().rposition(fits) {
            Some(at) if len >= KEPT_BYTES_MIN => {
                let buffer = self.free.swap_remove(at);
                self.bytes -= buffer.capacity();
                buffer
            }
            _ => Vec::with_capacity(len),
        }
    }

    /// Takes a buffer back.
    pub(crate) fn give(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() >= KEPT_BYTES_MIN {
            buffer.clear();
            self.bytes += buffer.capacity();
            self.free.push(buffer);
        }
    }

    /// Releases buffers until no more than so many bytes are kept.
    pub(crate) fn shrink(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max
            && let Some(buffer) = self.free.pop()
        {
            self.bytes -= buffer.capacity();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_if_it_fits() {
        let mut buffers = Buffers::default();
        let mut first = buffers.take(100_000);
        first.extend_from_slice(&[1; 100_000]);
        let at = first.as_ptr();
        buffers.give(first);
        let larger = buffers.take(200_001);
        assert_ne!(larger.as_ptr(), at);
        let again = buffers.take(90_000);
        assert_eq!((again.as_ptr(), again.len()), (at, 0));
        buffers.give(again);
        buffers.shrink(0);
        assert_eq!((buffers.bytes, buffers.free.len()), (0, 0));
    }
}
