//! A second, write-only copy of a file.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Created, Driver, DriverInfo, NamedDriver, Target, check_can_create};
use crate::splitter::{Failures, Splitter};
use crate::{Handle, Mode};

/// Every change goes to a second file too, as libhdf5's splitter driver does.
#[derive(Debug, Clone, Copy, Default)]
pub struct SplitterDriver;

struct Options {
    inner: NamedDriver,
    copy: NamedDriver,
    copy_path: PathBuf,
    log: Option<PathBuf>,
    are_ignored: bool,
}

impl SplitterDriver {
    fn options(&self, target: &Target<'_>) -> io::Result<Options> {
        target.parameters.only(&self.info())?;
        let path = |key| target.parameters.get(key).filter(|path| !path.is_empty()).map(PathBuf::from);
        let copy_path = path("wo_path").unwrap_or_else(|| default_copy(target.path));
        if copy_path == target.path {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a file cannot be its own copy"));
        }
        // A file in members is copied to one in members.
        let copy = if target.parameters.get("wo").is_some() { "wo" } else { "inner" };
        Ok(Options {
            inner: NamedDriver::of_parameter(target, "inner")?,
            copy: NamedDriver::of_parameter(target, copy)?,
            copy_path,
            log: path("log"),
            are_ignored: target.parameters.flag("ignore_wo_errors")?.unwrap_or(false),
        })
    }
}

impl Options {
    fn failures(&self) -> io::Result<Failures> {
        let log = self.log.as_ref().map(fs::File::create).transpose()?;
        Ok(Failures { log, are_ignored: self.are_ignored })
    }

    fn create(&self, target: &Target<'_>, file: Handle, may_exist: bool) -> io::Result<Handle> {
        let failures = self.failures()?;
        let copy = self.copy.create(&self.copy_path, target.drivers, may_exist).map(|created| created.file);
        Ok(Arc::new(Splitter::new(file, copy, failures)?))
    }
}

impl Driver for SplitterDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "splitter",
            aliases: &[],
            about: "another driver, and a second copy that is written only",
            parameters: &[
                ("inner", "the driver of the file (default: posix)"),
                ("wo", "the driver of the copy (default: that of the file)"),
                ("wo_path", "the path of the copy (default: _wo before the extension)"),
                ("log", "a file for failures of the copy (default: none)"),
                ("ignore_wo_errors", "whether the file goes on when its copy fails (default: false)"),
            ],
        }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        let options = self.options(target)?;
        options.log.as_deref().map_or(Ok(()), check_can_create)?;
        options.inner.check_create(target.path, target.drivers)?;
        match options.copy.check_create(&options.copy_path, target.drivers) {
            Err(_) if options.are_ignored => Ok(()),
            checked => checked,
        }
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        let options = self.options(target)?;
        let Created { file, is_new } = options.inner.create(target.path, target.drivers, may_exist)?;
        let file = options.create(target, file, may_exist).inspect_err(|_| {
            if is_new {
                // Without its copy the file is not wanted. The error that led here says more than one about this.
                let _ = options.inner.delete(target.path, target.drivers);
            }
        })?;
        Ok(Created { file, is_new })
    }

    /// A file that is only read has no use for its copy.
    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        let options = self.options(target)?;
        let file = options.inner.open(target.path, target.drivers, mode)?;
        if !mode.is_writable() {
            return Ok(file);
        }
        let copy = options.copy.open(&options.copy_path, target.drivers, mode);
        Ok(Arc::new(Splitter::new(file, copy, options.failures()?)?))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        let options = self.options(target)?;
        options.inner.delete(target.path, target.drivers)?;
        match options.copy.delete(&options.copy_path, target.drivers) {
            Err(error) if error.kind() == ErrorKind::NotFound || options.are_ignored => Ok(()),
            deleted => deleted,
        }
    }
}

/// Returns the path of a copy that none was named for: `_wo` before `.h5` or another extension, as libhdf5 has it.
fn default_copy(path: &Path) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push("_wo");
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}
