//! Metadata in one file, raw data in another.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Created, Driver, DriverInfo, Target, remove_all};
use crate::member_map::MemberMap;
use crate::{Handle, Mode, Multi};

/// Metadata in `PATH-m.h5`, raw data in `PATH-r.h5`, as libhdf5's split driver has it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SplitDriver;

impl SplitDriver {
    fn map(&self, target: &Target<'_>) -> io::Result<MemberMap> {
        target.parameters.only(&self.info())?;
        let name = |key, default: &str| target.parameters.get(key).unwrap_or(default).to_owned();
        MemberMap::split(&name("metadata", "-m.h5"), &name("raw", "-r.h5"))
    }
}

impl Driver for SplitDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "split",
            aliases: &[],
            about: "metadata in one file, raw data in another",
            parameters: &[
                ("metadata", "what the path of the metadata file ends with (default: -m.h5)"),
                ("raw", "what the path of the raw data file ends with (default: -r.h5)"),
            ],
        }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        Multi::check_create(target.path, &self.map(target)?)
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        Multi::create(target.path, self.map(target)?, may_exist)
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        Ok(Arc::new(Multi::open(target.path, self.map(target)?, mode)?))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        remove_all(self.map(target)?.paths(target.path))
    }

    fn recognizes(&self, path: &Path) -> bool {
        MemberMap::split("-m.h5", "-r.h5").is_ok_and(|map| map.paths(path).all(|path| path.is_file()))
    }
}
