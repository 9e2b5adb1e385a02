//! A file for each kind of bytes.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Created, Driver, DriverInfo, Target, remove_all};
use crate::member_map::MemberMap;
use crate::{Handle, Mode, Multi};

/// A file for each kind of bytes, as libhdf5's multi driver has it: `PATH-s.h5` with the superblock, `PATH-r.h5` with raw
/// data, and `-b`, `-g`, `-l`, `-o`.
#[derive(Debug, Clone, Copy, Default)]
pub struct MultiDriver;

impl Driver for MultiDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo { name: "multi", aliases: &[], about: "a file for each kind of bytes", parameters: &[] }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        target.parameters.only(&self.info())?;
        Multi::check_create(target.path, &MemberMap::multi())
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        target.parameters.only(&self.info())?;
        Multi::create(target.path, MemberMap::multi(), may_exist)
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        target.parameters.only(&self.info())?;
        Ok(Arc::new(Multi::open(target.path, MemberMap::multi(), mode)?))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        remove_all(MemberMap::multi().paths(target.path))
    }

    fn recognizes(&self, path: &Path) -> bool {
        MemberMap::multi().paths(path).next().is_some_and(|path| path.is_file())
    }
}
