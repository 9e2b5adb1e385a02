//! One file of the operating system, without its cache.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use super::{Created, Driver, DriverInfo, Target, check_can_create, remove_all};
use crate::direct::{Direct, DirectOptions};
use crate::{Handle, Mode};

/// One file of the operating system that bypasses its cache (`O_DIRECT`), as libhdf5's direct driver does.
#[derive(Debug, Clone, Copy, Default)]
pub struct DirectDriver;

impl DirectDriver {
    fn options(&self, target: &Target<'_>) -> io::Result<DirectOptions> {
        target.parameters.only(&self.info())?;
        let default = DirectOptions::default();
        // 0 is the default, as in libhdf5.
        let size = |key, default: usize| -> io::Result<usize> {
            let given = target.parameters.number(key)?.filter(|bytes| *bytes > 0);
            Ok(given.map_or(default, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)))
        };
        let options = DirectOptions {
            alignment: size("alignment", default.alignment)?,
            block_bytes: size("block_bytes", default.block_bytes)?,
            copy_buffer_bytes: size("copy_buffer_bytes", default.copy_buffer_bytes)?,
        };
        options.check().map(|()| options)
    }
}

impl Driver for DirectDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "direct",
            aliases: &[],
            about: "one file, without the cache of the operating system (Linux)",
            parameters: &[
                ("alignment", "bytes to which memory is aligned (default: 4096)"),
                ("block_bytes", "bytes of a block of the file system (default: 4096)"),
                ("copy_buffer_bytes", "most bytes of a copy buffer (default: 16777216)"),
            ],
        }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        self.options(target)?;
        check_can_create(target.path)
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        let (file, is_new) = create(target.path, self.options(target)?, may_exist)?;
        Ok(Created { file: Arc::new(file), is_new })
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        Ok(Arc::new(Direct::open(target.path, mode, self.options(target)?)?))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        remove_all([target.path.to_owned()])
    }
}

/// Creates a file, or opens the one that is there with its content. Returns whether it is new.
fn create(path: &Path, options: DirectOptions, may_exist: bool) -> io::Result<(Direct, bool)> {
    let existed = path.symlink_metadata().is_ok();
    match Direct::open(path, Mode::CreateNew, options) {
        Err(error) if may_exist && error.kind() == ErrorKind::AlreadyExists => {
            Direct::open(path, Mode::ReadWrite, options).map(|file| (file, false))
        }
        // Some systems create the file before they refuse direct I/O.
        Err(error) if !existed && error.kind() == ErrorKind::Unsupported => {
            let _ = std::fs::remove_file(path);
            Err(error)
        }
        created => created.map(|file| (file, true)),
    }
}
