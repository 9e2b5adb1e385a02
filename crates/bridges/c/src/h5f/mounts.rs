//! Files mounted on groups of other files.

use std::sync::Arc;

use hyperslab::Token;

use super::FileHandle;
use crate::api;
use crate::arguments::Text;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::{handles, paths};

/// A file that is mounted on a group.
#[derive(Debug)]
pub(crate) struct MountPoint {
    /// The group, whose content is hidden meanwhile.
    pub(crate) group: Token,
    /// The file that is seen there.
    pub(crate) child: Arc<FileHandle>,
}

impl FileHandle {
    /// Returns the file that is mounted on a group.
    pub(crate) fn mounted_at(&self, group: Token) -> Option<Arc<FileHandle>> {
        let mounts = self.shared.mounts.lock();
        mounts.iter().find(|mount| mount.group == group).map(|mount| mount.child.clone())
    }

    /// Returns whether any file is mounted on a group of this one.
    pub(crate) fn has_mounts(&self) -> bool {
        !self.shared.mounts.lock().is_empty()
    }
}

/// Unmounts everything from a file that is closed.
pub(super) fn unmount_all(file: &FileHandle) {
    for mount in std::mem::take(&mut *file.shared.mounts.lock()) {
        *mount.child.mounted_on.write() = None;
    }
}

fn cannot_mount(text: &'static str) -> Failure {
    Failure::new(Major::FILE, Minor::MOUNT, text)
}

fn mount(location: hid_t, name: &str, child: hid_t) -> Fallible<()> {
    let base = handles::location(location)?;
    let child = handles::file(child)?;
    let found = paths::find(&base, name, &Default::default())?;
    let mut ancestor = Some(found.file.clone());
    while let Some(file) = ancestor {
        if file.is_same(&child) {
            return Err(cannot_mount("mount would introduce a cycle"));
        }
        ancestor = file.mounted_on.read().as_ref().and_then(|(parent, _)| parent.upgrade());
    }
    if child.mounted_on.read().is_some() {
        return Err(cannot_mount("file is already mounted"));
    }
    if found.file.mounted_at(found.token).is_some() || found.token == found.file.root_token() {
        return Err(cannot_mount("mount point is already in use"));
    }
    let path = found.path.clone().unwrap_or_default();
    *child.mounted_on.write() = Some((Arc::downgrade(&found.file), path));
    found.file.shared.mounts.lock().push(MountPoint { group: found.token, child });
    Ok(())
}

fn unmount(location: hid_t, name: &str) -> Fallible<()> {
    let base = handles::location(location)?;
    let found = paths::find(&base, name, &Default::default())?;
    // The name leads to the root group of the file that is mounted there.
    let parent = match found.token == found.file.root_token() {
        true => found.file.mounted_on.read().as_ref().and_then(|(parent, _)| parent.upgrade()),
        false => None,
    };
    let parent = parent.ok_or_else(|| cannot_mount("not a mount point"))?;
    let mut mounts = parent.shared.mounts.lock();
    let at = mounts.iter().position(|mount| mount.child.is_same(&found.file));
    let removed = mounts.swap_remove(at.ok_or_else(|| cannot_mount("not a mount point"))?);
    *removed.child.mounted_on.write() = None;
    Ok(())
}

api! { FILE:
    /// Mounts a file on a group of another.
    fn H5Fmount(location: hid_t, name: Text, child: hid_t, list: hid_t) -> herr_t {
        let name = name.name("name of the mount point")?;
        crate::h5p::file_mount(list)?;
        mount(location, &name, child)
    }

    /// Unmounts the file that is mounted on a group.
    fn H5Funmount(location: hid_t, name: Text) -> herr_t {
        unmount(location, &name.name("name of the mount point")?)
    }
}
