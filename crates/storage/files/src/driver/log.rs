//! A log of what is read and written where.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use system::clock::Instant;

use super::{Created, Driver, DriverInfo, NamedDriver, Target, check_can_create};
use crate::log::{Log, LogFlags};
use crate::{Handle, Mode};

/// Passes everything on to another driver, and logs what is read and written where, as libhdf5's log driver does.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogDriver;

struct Options {
    inner: NamedDriver,
    flags: LogFlags,
    tracked_end: u64,
}

impl LogDriver {
    fn options(&self, target: &Target<'_>) -> io::Result<Options> {
        target.parameters.only(&self.info())?;
        let flags = target.parameters.get("flags").map_or(Ok(LogFlags::ALL), LogFlags::parse)?;
        let tracked_end = target.parameters.number("tracked_bytes")?.filter(|bytes| *bytes > 0);
        if target.parameters.get("to").is_some_and(|to| Path::new(to) == target.path) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a file cannot be its own log"));
        }
        let inner = NamedDriver::of_parameter(target, "inner")?;
        Ok(Options { inner, flags, tracked_end: tracked_end.unwrap_or(u64::MAX) })
    }

    /// Returns where the log goes: a file that is created or emptied, or the standard error.
    fn out(target: &Target<'_>) -> io::Result<Box<dyn Write + Send>> {
        Ok(match target.parameters.get("to") {
            Some(path) => Box::new(std::fs::File::create(path)?),
            None => Box::new(io::stderr()),
        })
    }

    fn logged(target: &Target<'_>, options: &Options, file: Handle, begun: Instant) -> io::Result<Handle> {
        let log = Log::new(file, Self::out(target)?, options.flags, options.tracked_end);
        log.opened(begun);
        Ok(Arc::new(log))
    }
}

impl Driver for LogDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "log",
            aliases: &[],
            about: "another driver, with a log of what is read and written where",
            parameters: &[
                ("inner", "the driver that stores the bytes (default: posix)"),
                ("to", "the path of the log (default: the standard error)"),
                ("flags", "what is logged: names with + between them, or libhdf5's number (default: all)"),
                ("tracked_bytes", "addresses below which bytes are counted one by one (default: all)"),
            ],
        }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        let options = self.options(target)?;
        if let Some(to) = target.parameters.get("to") {
            check_can_create(Path::new(to))?;
        }
        options.inner.check_create(target.path, target.drivers)
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        let (options, begun) = (self.options(target)?, Instant::now());
        let Created { file, is_new } = options.inner.create(target.path, target.drivers, may_exist)?;
        let logged = Self::logged(target, &options, file, begun).inspect_err(|_| {
            if is_new {
                // Without its log the file is not wanted. The error that led here says more than one about this.
                let _ = options.inner.delete(target.path, target.drivers);
            }
        });
        Ok(Created { file: logged?, is_new })
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        let (options, begun) = (self.options(target)?, Instant::now());
        let file = options.inner.open(target.path, target.drivers, mode)?;
        Self::logged(target, &options, file, begun)
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        self.options(target)?.inner.delete(target.path, target.drivers)
    }
}
