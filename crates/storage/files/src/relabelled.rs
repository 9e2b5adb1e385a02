//! A file whose driver information is about to change.

use std::io;

use crate::forward::forward;
use crate::{DriverBlock, File, Handle, Sync};

/// Passes everything on, but what the file says of its driver: that is not compared with the driver's own, and not stored.
#[derive(Debug)]
pub struct Relabelled {
    inner: Handle,
}

impl Relabelled {
    /// Returns `inner` under another label.
    pub fn new(inner: Handle) -> Self {
        Relabelled { inner }
    }
}

impl File for Relabelled {
    forward! { inner: len lock identity is_serial members bytes_end set_allocated trim note_allocated note_freed }
    forward! { inner: is_remote prefetch is_private publish request_counts }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.inner.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner.write_at(offset, data)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.inner.sync(sync)
    }

    fn set_driver_block(&self, _: &DriverBlock) -> io::Result<()> {
        Ok(())
    }
}
