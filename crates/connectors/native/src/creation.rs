//! Making files: everything is tried out before anything that is there goes.

use std::sync::Arc;

use files::{Handle, Memory, Mode, Posix};
use model::properties::FileCreate;
use model::text::to_path;
use model::{Error, Result};
use vol::{ContainerCreate, FileAccess, Stack};

use crate::connector::open_core;
use crate::container::NativeContainer;
use crate::drivers::{Plane, io, is_memory, is_posix};
use crate::file::File;
use crate::lock::{self, Held};
use crate::open_files;
use crate::write::{check_create, create_file};

/// Bytes of a user block that are enough to try a file out.
const REHEARSED_USERBLOCK_BYTES: u64 = 4096;

/// Makes the file in memory and opens it there: what is wrong with the properties shows before a file is touched.
pub(crate) fn rehearse(op: &ContainerCreate<'_>) -> Result<()> {
    check_create(op.create)?;
    let driver = op.access.driver.as_deref().map(Stack::parse).transpose()?;
    if let Some(driver) = driver.as_ref().and_then(|stack| stack.0.first())
        && !(is_posix(&driver.name) || is_memory(&driver.name))
    {
        return Err(Error::unsupported("create file").with("driver", &driver.name));
    }
    let file: Handle = Arc::new(Memory::new());
    // A user block is only room, and may be large.
    let userblock_bytes = op.create.userblock_bytes.min(REHEARSED_USERBLOCK_BYTES);
    create_file(&file, &FileCreate { userblock_bytes, ..op.create.clone() }, op.access.version_low)?;
    let access = FileAccess { access: vol::Access::Write, ..op.access.clone() };
    let core = open_core(Plane { file, is_plain: true, identity: None }, Held::Sure, op.path, &access)?;
    NativeContainer::new(File::new(core, op.path, &access)).map(drop)
}

/// An empty file in the place of what a file holds.
pub(crate) fn create_in(file: Posix, op: &ContainerCreate<'_>) -> Result<Arc<NativeContainer>> {
    let access = FileAccess { access: vol::Access::Write, ..op.access.clone() };
    let identity = file.identity();
    let slot = open_files::slot(identity);
    let mut open = open_files::hold(&slot);
    check_unused(&mut open, op.path)?;
    let file: Handle = Arc::new(file);
    // What is there goes only when nobody else has it open.
    let held = lock::take(&file, op.path, access.access, access.locking)?;
    io(file.set_len(0), "create file", op.path)?;
    create_file(&file, op.create, access.version_low)?;
    let plane = Plane { file, is_plain: true, identity: Some(identity) };
    let core = open_core(plane, held, op.path, &access)?;
    open.add(&core);
    NativeContainer::new(File::new(core, op.path, &access))
}

pub(crate) fn check_unused(open: &mut open_files::Open, path: &str) -> Result<()> {
    match open.has_writer() || open.has_readers() {
        true => Err(Error::busy("create file").with("path", path).with("problem", "it is open")),
        false => Ok(()),
    }
}

/// A new file, or the one that is there as it is; whether it is new.
pub(crate) fn make(path: &str, may_exist: bool) -> std::io::Result<(Posix, bool)> {
    let path = &to_path(path);
    use std::io::ErrorKind::{AlreadyExists, NotFound};
    // Somebody may make or delete it between two attempts.
    for _ in 0..8 {
        match Posix::open(path, Mode::CreateNew) {
            Err(e) if may_exist && e.kind() == AlreadyExists => {}
            made => return made.map(|file| (file, true)),
        }
        match Posix::open(path, Mode::ReadWrite) {
            Err(e) if e.kind() == NotFound => {}
            opened => return opened.map(|file| (file, false)),
        }
    }
    Err(AlreadyExists.into())
}
