//! A window on another file, for reading: what lies behind a user block, or before it.

use std::io;
use std::ops::{Bound, RangeBounds};

use crate::{File, Handle, Lock, Sync, read_end, read_only};

/// A read-only window on another file.
///
/// Address 0 is the window's start. Its length follows the file below, up to the window's end.
#[derive(Debug)]
pub struct View {
    file: Handle,
    start: u64,
    end: u64,
}

impl View {
    /// Returns a window on the addresses `range` of `file`, for instance `512..`.
    pub fn new(file: Handle, range: impl RangeBounds<u64>) -> Self {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => u64::MAX,
        };
        View { file, start, end }
    }
}

impl File for View {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.len()?.min(self.end).saturating_sub(self.start))
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let below = self.start.checked_add(offset).ok_or(io::ErrorKind::UnexpectedEof)?;
        if read_end(below, buf.len())? > self.end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.file.read_at(below, buf)
    }

    fn write_at(&self, _offset: u64, _data: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn set_len(&self, _len: u64) -> io::Result<()> {
        Err(read_only())
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.file.sync(sync)
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.file.lock(lock)
    }

    fn is_serial(&self) -> bool {
        self.file.is_serial()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;
    use std::io::ErrorKind;
    use std::sync::Arc;

    fn digits() -> Arc<Memory> {
        Arc::new(Memory::from_image(b"0123456789".to_vec()))
    }

    #[test]
    fn window_moves_addresses_and_ends_with_its_range() {
        let view = View::new(digits(), 2..6);
        let mut buf = [0; 4];
        view.read_at(0, &mut buf).unwrap();
        assert_eq!((view.len().unwrap(), &buf), (4, b"2345"));
        assert_eq!(view.read_at(1, &mut buf).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(view.read_at(u64::MAX, &mut buf).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn open_window_follows_the_file_below() {
        let file = digits();
        let view = View::new(file.clone(), 8..);
        assert_eq!(view.len().unwrap(), 2);
        file.set_len(20).unwrap();
        assert_eq!(view.len().unwrap(), 12);
        file.set_len(3).unwrap();
        assert_eq!(view.len().unwrap(), 0);
        assert_eq!(view.read_at(0, &mut [0]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn window_refuses_to_write() {
        let view = View::new(digits(), ..);
        assert_eq!(view.write_at(0, b"x").unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(view.set_len(0).unwrap_err().kind(), ErrorKind::PermissionDenied);
    }

    #[test]
    #[expect(clippy::reversed_empty_ranges, reason = "a bad range from a caller must not panic")]
    fn backward_window_is_empty() {
        let view = View::new(digits(), 6..2);
        assert_eq!(view.len().unwrap(), 0);
        assert_eq!(view.read_at(0, &mut [0]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}
