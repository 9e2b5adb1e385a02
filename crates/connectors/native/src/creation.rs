//! Making files: everything is tried out before anything that is there goes.

use std::sync::Arc;

use files::{Handle, Memory};
use model::properties::FileCreate;
use model::{Error, Result};
use vol::{ContainerCreate, FileAccess};

use crate::connector::{Plane, io, open_core};
use crate::container::NativeContainer;
use crate::file::File;
use crate::lock::{self, Held};
use crate::open_files;
use crate::write::{check_create, create_file};

/// Bytes of a user block that are enough to try a file out.
const REHEARSED_USERBLOCK_BYTES: u64 = 4096;

/// Makes the file in memory and opens it there: what is wrong with the properties shows before a file is touched.
pub(crate) fn rehearse(op: &ContainerCreate<'_>) -> Result<()> {
    check_create(op.create)?;
    let file: Handle = Arc::new(Memory::new());
    // A user block is only room, and may be large.
    let userblock_bytes = op.create.userblock_bytes.min(REHEARSED_USERBLOCK_BYTES);
    create_file(&file, &FileCreate { userblock_bytes, ..op.create.clone() }, op.access.version_low)?;
    let access = FileAccess { access: vol::Access::Write, ..op.access.clone() };
    let (plane, registered) = (Plane::of(file), op.registry.registered());
    let core = open_core(plane, Held::Sure, op.path, &access, registered)?;
    NativeContainer::new(File::new(core, op.path, &access)).map(drop)
}

/// An empty file in the place of what a file holds.
pub(crate) fn create_in(file: Handle, op: &ContainerCreate<'_>) -> Result<Arc<NativeContainer>> {
    let access = FileAccess { access: vol::Access::Write, ..op.access.clone() };
    let slot = file.identity().map(open_files::slot);
    let mut open = slot.as_ref().map(open_files::hold);
    if let Some(open) = &mut open {
        check_unused(open, op.path)?;
    }
    // What is there goes only when nobody else has it open.
    let held = lock::take(&file, op.path, access.access, access.locking)?;
    io(file.set_len(0), "create file", op.path)?;
    create_file(&file, op.create, access.version_low)?;
    let core = open_core(Plane::of(file), held, op.path, &access, op.registry.registered())?;
    if let Some(open) = &mut open {
        open.add(&core);
    }
    NativeContainer::new(File::new(core, op.path, &access))
}

pub(crate) fn check_unused(open: &mut open_files::Open, path: &str) -> Result<()> {
    match open.has_writer() || open.has_readers() {
        true => Err(Error::busy("create file").with("path", path).with("problem", "it is open")),
        false => Ok(()),
    }
}
