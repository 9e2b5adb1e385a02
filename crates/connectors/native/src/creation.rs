//! Making files: everything is tried out before anything that is there goes.

use std::sync::Arc;

use files::{Handle, Memory};
use model::properties::{FileCreate, SpaceStrategy};
use model::{Error, Result};
use vol::{ContainerCreate, FileAccess};

use crate::connector::{ContainerFile, io, open_core};
use crate::container::NativeContainer;
use crate::file::File;
use crate::lock::{self, LockState};
use crate::open_files;
use crate::page_buffering;
use crate::write::{check_create, create_file};

/// Bytes of a user block that are enough to try a file out.
const REHEARSED_USERBLOCK_BYTES: u64 = 4096;

/// Creates the file in memory and opens it there: what is wrong with the properties shows before a file is touched.
pub(crate) fn rehearse(op: &ContainerCreate<'_>) -> Result<()> {
    check_create(op.create)?;
    check_filters(op)?;
    page_buffering::check_create(op.create, op.access)?;
    let file: Handle = Arc::new(Memory::new());
    // A user block is only space, and may be large.
    let userblock_bytes = op.create.userblock_bytes.min(REHEARSED_USERBLOCK_BYTES);
    create_file(&file, &FileCreate { userblock_bytes, ..op.create.clone() }, op.access.version_low)?;
    let access = FileAccess { access: vol::Access::Write, metadata_cache_log: None, ..op.access.clone() };
    let (source, registered) = (ContainerFile::of(file), op.registry.registered());
    let core = open_core(source, LockState::Held, op.path, &access, registered)?;
    NativeContainer::new(File::new(core, op.path, &access)).map(drop)
}

/// Returns an error if a filter of the root group's links is not there, and must be applied.
fn check_filters(op: &ContainerCreate<'_>) -> Result<()> {
    let registry = &op.registry.registered().filters;
    let mut required = op.create.root.filters.iter().filter(|filter| !filter.optional);
    let failed = |e| Error::unsupported("create file").with("problem", e);
    required.try_for_each(|filter| registry.get(filter.id).map(drop).map_err(failed))
}

/// Returns an empty file in the place of what a file holds.
pub(crate) fn create_in(file: Handle, op: &ContainerCreate<'_>) -> Result<Arc<NativeContainer>> {
    check_members(&file, op.create)?;
    let access = FileAccess { access: vol::Access::Write, ..op.access.clone() };
    let entry = file.identity().map(open_files::entry);
    let mut open = entry.as_ref().map(open_files::hold);
    if let Some(open) = &mut open {
        check_unused(open, op.path)?;
    }
    // What is there goes only when no other caller has it open.
    let held = lock::take(&file, op.path, access.access, access.locking)?;
    io(file.set_len(0), "create file", op.path)?;
    create_file(&file, op.create, access.version_low)?;
    let core = open_core(ContainerFile::of(file), held, op.path, &access, op.registry.registered())?;
    if let Some(open) = &mut open {
        open.add(&core);
    }
    NativeContainer::new(File::new(core, op.path, &access))
}

/// Returns an error for properties that a file of several members cannot have.
pub(crate) fn check_members(file: &Handle, create: &FileCreate) -> Result<()> {
    if file.members().is_none() {
        return Ok(());
    }
    let property = match create {
        create if create.userblock_bytes > 0 => "user block",
        create if create.space_strategy == SpaceStrategy::Page => "pages",
        create if create.space_persist => "free space that the file remembers",
        create if create.offset_bytes < 8 => "sizes of addresses",
        _ => return Ok(()),
    };
    Err(Error::unsupported("create a file of several members").with("property", property))
}

pub(crate) fn check_unused(open: &mut open_files::Open, path: &str) -> Result<()> {
    match open.has_writer() || open.has_readers() {
        true => Err(Error::busy("create file").with("path", path).with("problem", "it is open")),
        false => Ok(()),
    }
}
