//! One file of the operating system.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use super::{Created, Driver, DriverInfo, Target, check_can_create, remove_all};
use crate::{Handle, Mode, Posix};

/// One file of the operating system: the driver of paths for which no driver is named.
#[derive(Debug, Clone, Copy, Default)]
pub struct PosixDriver;

impl Driver for PosixDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "posix",
            aliases: &["sec2", "stdio"],
            about: "one file of the operating system",
            parameters: &[],
        }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        target.parameters.only(&self.info())?;
        check_can_create(target.path)
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        target.parameters.only(&self.info())?;
        let (file, is_new) = create(target.path, may_exist)?;
        Ok(Created { file: Arc::new(file), is_new })
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        target.parameters.only(&self.info())?;
        Ok(Arc::new(Posix::open(target.path, mode)?))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        remove_all([target.path.to_owned()])
    }
}

/// Creates a file, or opens the one that is there with its content. Returns whether it is new.
pub(super) fn create(path: &std::path::Path, may_exist: bool) -> io::Result<(Posix, bool)> {
    // Another process may create or delete it between two attempts.
    for _ in 0..8 {
        match Posix::open(path, Mode::CreateNew) {
            Err(e) if may_exist && e.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (file, true)),
        }
        match Posix::open(path, Mode::ReadWrite) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            opened => return opened.map(|file| (file, false)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}
