//! Memory that bytes wait in: large pages, where the system has some.
//!
//! A page that was never touched takes the system longer to give than a page of elements takes to copy. A large page is
//! given at once for five hundred.

/// Buffers of this size are made of large pages.
const LARGE_BYTES_MIN: usize = 2 << 20;

enum Memory {
    Heap(Vec<u8>),
    #[cfg(target_os = "linux")]
    Pages(memmap2::MmapMut),
}

/// Bytes that are filled from the start, and never move.
pub(crate) struct Buffer {
    memory: Memory,
    len: usize,
}

impl Memory {
    #[cfg(target_os = "linux")]
    fn pages(bytes: usize) -> Option<Self> {
        let map = memmap2::MmapMut::map_anon(bytes).ok()?;
        // It is no more than a wish: a system without large pages gives small ones.
        let _ = map.advise(memmap2::Advice::HugePage);
        Some(Memory::Pages(map))
    }

    #[cfg(not(target_os = "linux"))]
    fn pages(_: usize) -> Option<Self> {
        None
    }
}

impl Buffer {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let pages = if bytes >= LARGE_BYTES_MIN { Memory::pages(bytes) } else { None };
        Buffer { memory: pages.unwrap_or_else(|| Memory::Heap(Vec::with_capacity(bytes))), len: 0 }
    }

    pub(crate) fn capacity(&self) -> usize {
        match &self.memory {
            Memory::Heap(bytes) => bytes.capacity(),
            #[cfg(target_os = "linux")]
            Memory::Pages(map) => map.len(),
        }
    }

    /// Returns what was added.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Heap(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Memory::Pages(map) => &map[..self.len],
        }
    }

    /// Copies bytes behind the others. Returns where they begin, or `None` where they do not fit.
    #[inline]
    pub(crate) fn add(&mut self, added: &[u8]) -> Option<u64> {
        let (at, end) = (self.len, self.len + added.len());
        match &mut self.memory {
            Memory::Heap(bytes) if end <= bytes.capacity() => bytes.extend_from_slice(added),
            Memory::Heap(_) => return None,
            #[cfg(target_os = "linux")]
            Memory::Pages(map) => map.get_mut(at..end)?.copy_from_slice(added),
        }
        self.len = end;
        Some(at as u64)
    }

    /// Forgets the bytes, and not the memory.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        if let Memory::Heap(bytes) = &mut self.memory {
            bytes.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_buffers_take_what_fits() {
        for capacity in [100, LARGE_BYTES_MIN] {
            let mut buffer = Buffer::with_capacity(capacity);
            assert!(buffer.capacity() >= capacity);
            assert_eq!((buffer.add(b"abc"), buffer.add(b"de")), (Some(0), Some(3)));
            assert_eq!(buffer.add(&vec![1; buffer.capacity() - 4]), None);
            assert_eq!(buffer.bytes(), b"abcde");
            buffer.clear();
            assert_eq!((buffer.add(&vec![1; buffer.capacity()]), buffer.add(b"f")), (Some(0), None));
        }
    }
}
