//! Member files of equal size.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Created, Driver, DriverInfo, Target, check_can_create, remove_all};
use crate::family::{Family, member_paths};
use crate::{Handle, Mode};

/// One address space in member files of equal size: `run%05d.h5`.
#[derive(Debug, Clone, Copy, Default)]
pub struct FamilyDriver;

impl FamilyDriver {
    fn member_bytes(&self, target: &Target<'_>) -> io::Result<Option<u64>> {
        target.parameters.only(&self.info())?;
        // libhdf5's default, H5F_FAMILY_DEFAULT, is 0 and means the same.
        Ok(target.parameters.number("member_bytes")?.filter(|bytes| *bytes > 0))
    }
}

impl Driver for FamilyDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "family",
            aliases: &[],
            about: "member files of equal size; the path has a %d for their number",
            parameters: &[("member_bytes", "bytes of each member (default of new files: 104857600)")],
        }
    }

    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        self.member_bytes(target)?;
        let first = member_paths(target.path)?.next().unwrap_or_default();
        check_can_create(&first)
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        let (family, is_new) = Family::create(target.path, self.member_bytes(target)?, may_exist)?;
        Ok(Created { file: Arc::new(family), is_new })
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        Ok(Arc::new(match self.member_bytes(target)? {
            Some(bytes) => Family::open_sized(target.path, mode, bytes)?,
            None => Family::open(target.path, mode)?,
        }))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        remove_all(member_paths(target.path)?.take_while(|path| path.symlink_metadata().is_ok()))
    }

    fn recognizes(&self, path: &Path) -> bool {
        member_paths(path).is_ok()
    }
}
