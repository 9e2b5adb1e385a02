//! Stripes over subfiles.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Created, Driver, DriverInfo, Target, check_can_create};
use crate::subfiling::{Subfiling, SubfilingOptions};
use crate::{Handle, Mode};

/// One address space in stripes over subfiles, as libhdf5's subfiling driver has it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SubfilingDriver;

impl SubfilingDriver {
    fn options(&self, target: &Target<'_>) -> io::Result<SubfilingOptions> {
        target.parameters.only(&self.info())?;
        let (parameters, default) = (target.parameters, SubfilingOptions::default());
        let folder = |key| parameters.get(key).filter(|path| !path.is_empty()).map(PathBuf::from);
        let threads =
            parameters.number("threads")?.map(|count| usize::try_from(count).unwrap_or(1).clamp(1, 256));
        Ok(SubfilingOptions {
            stripe_bytes: parameters.number("stripe_bytes")?.unwrap_or(default.stripe_bytes),
            subfiles: parameters.number("subfiles")?.unwrap_or(default.subfiles),
            threads: threads.unwrap_or(default.threads),
            subfile_folder: folder("subfile_folder"),
            config_folder: folder("config_folder"),
        })
    }
}

impl Driver for SubfilingDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "subfiling",
            aliases: &[],
            about: "stripes over subfiles, read and written by threads",
            parameters: &[
                ("stripe_bytes", "bytes of a stripe of new files (default: 33554432)"),
                ("subfiles", "the number of subfiles of new files (default: 1)"),
                ("threads", "threads of a request, at most (default: 4)"),
                ("subfile_folder", "where subfiles are (default: next to the file)"),
                ("config_folder", "where the configuration file is (default: next to the subfiles)"),
            ],
        }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        let options = self.options(target)?;
        for folder in [&options.subfile_folder, &options.config_folder].into_iter().flatten() {
            check_can_create(&folder.join("subfile"))?;
        }
        check_can_create(target.path)
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        let (file, is_new) = Subfiling::create(target.path, self.options(target)?, may_exist)?;
        Ok(Created { file: Arc::new(file), is_new })
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        Ok(Arc::new(Subfiling::open(target.path, mode, self.options(target)?)?))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        Subfiling::delete(target.path, &self.options(target)?)
    }
}
