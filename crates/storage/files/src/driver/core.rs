//! A file in memory, with or without a backing store.

use std::io;
use std::sync::Arc;

use super::{Created, Driver, DriverInfo, Target};
use crate::{Handle, Memory, MemoryOptions, Mode};

/// A file in memory, as libhdf5's core driver has it.
///
/// With `backing_store=true`, which is the default, the file at the path is read when it is opened, and written when it is
/// synced and when it is closed. Without, nothing is written.
#[derive(Debug, Clone, Copy, Default)]
pub struct CoreDriver;

struct Options {
    memory: MemoryOptions,
    backing_store: bool,
}

impl CoreDriver {
    fn options(&self, target: &Target<'_>) -> io::Result<Options> {
        target.parameters.only(&self.info())?;
        let mut memory = MemoryOptions::default();
        if let Some(bytes) = target.parameters.number("increment")? {
            memory.increment_bytes = bytes;
        }
        if let Some(bytes) = target.parameters.number("bytes_max")? {
            memory.bytes_max = bytes;
        }
        Ok(Options { memory, backing_store: target.parameters.flag("backing_store")?.unwrap_or(true) })
    }
}

impl Driver for CoreDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "core",
            aliases: &["memory"],
            about: "a file in memory, with or without a backing store",
            parameters: &[
                ("backing_store", "whether changes are written to the file at the path (default: true)"),
                ("increment", "bytes by which memory grows (default: 65536)"),
                ("bytes_max", "most bytes of the file (default: 4294967296)"),
            ],
        }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        match self.options(target)?.backing_store {
            true => backing::check_create(target.path),
            false => Ok(()),
        }
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        let Options { memory, backing_store } = self.options(target)?;
        if !backing_store {
            return Ok(Created { file: Arc::new(Memory::with_options(Vec::new(), memory)), is_new: true });
        }
        let (file, is_new) = backing::create(target.path, may_exist)?;
        Ok(Created { file: Arc::new(Memory::load(file, memory)?), is_new })
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        let Options { mut memory, backing_store } = self.options(target)?;
        memory.read_only = !mode.is_writable();
        match backing_store {
            true => Ok(Arc::new(Memory::load(backing::open(target.path, mode)?, memory)?)),
            false => Ok(Arc::new(Memory::copy_of(&backing::open(target.path, Mode::Read)?, memory)?)),
        }
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        match self.options(target)?.backing_store {
            true => super::remove_all([target.path.to_owned()]),
            false => Ok(()),
        }
    }
}

mod backing {
    use std::io;
    use std::path::Path;
    use std::sync::Arc;

    use super::super::{check_can_create, posix};
    use crate::{Handle, Mode, Posix};

    pub(super) fn check_create(path: &Path) -> io::Result<()> {
        check_can_create(path)
    }

    pub(super) fn create(path: &Path, may_exist: bool) -> io::Result<(Handle, bool)> {
        let (file, is_new) = posix::create(path, may_exist)?;
        Ok((Arc::new(file), is_new))
    }

    pub(super) fn open(path: &Path, mode: Mode) -> io::Result<Handle> {
        Ok(Arc::new(Posix::open(path, mode)?))
    }
}
