//! The start of a file, read once when it is opened: small files have all their metadata there.

use std::io;

use files::Handle;
use model::{Context, Error, Result};

use crate::format::superblock::{self, Superblock};
use crate::pages::PAGE_BYTES;
use crate::reader::READ_ATTEMPTS;

/// The first bytes of a file, and how long it was then.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) len: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Head {
    pub(crate) fn read(file: &Handle) -> Result<Head> {
        let failed = |e: io::Error| Error::io("read start of file", &e);
        let len = file.len().map_err(failed)?;
        let bytes = file.read_vec(0, len.min(PAGE_BYTES) as usize).map_err(failed)?;
        Ok(Head { len, bytes })
    }

    /// Returns bytes from `at` on: fewer at the end of the file.
    pub(crate) fn read_at(&self, file: &Handle, at: u64, len: usize) -> io::Result<Vec<u8>> {
        let len = len.min(usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX));
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        if let Some(bytes) = self.bytes.get(start..start.saturating_add(len)) {
            return Ok(bytes.to_vec());
        }
        file.read_vec(at, len)
    }

    /// Looks for the signature at 0, 512, 1024, 2048, … and decodes what follows it.
    pub(crate) fn superblock(&self, file: &Handle) -> Result<Option<(u64, Superblock)>> {
        let mut at = 0u64;
        while at < self.len {
            let len = (superblock::BYTES_MAX as u64).min(self.len - at) as usize;
            let bytes = self.read_at(file, at, len).map_err(|e| Error::io("read superblock", &e))?;
            if bytes.starts_with(&superblock::SIGNATURE) {
                return Superblock::decode(&bytes).during_at("open HDF5 file", at).map(|s| Some((at, s)));
            }
            at = if at == 0 { 512 } else { at.saturating_mul(2) };
        }
        Ok(None)
    }

    /// Returns the superblock, read again where it was being written.
    pub(crate) fn superblock_of(&mut self, file: &Handle, live: bool) -> Result<Option<(u64, Superblock)>> {
        let mut found = self.superblock(file);
        for _ in 1..READ_ATTEMPTS {
            if !live || found.is_ok() {
                break;
            }
            *self = Head::read(file)?;
            found = self.superblock(file);
        }
        found
    }
}
