//! Files of drivers that programs registered.

use std::ffi::{CString, c_uint};
use std::io;
use std::path::Path;
use std::sync::Arc;

use hyperslab::extend::{
    Created, Driver, DriverFile, DriverHandle as Handle, DriverInfo, Lock, Mode, Sync as Barrier, Target,
};
use hyperslab::vol::model::text;
use system::sync::Mutex;

use super::class::{ForeignClass, H5FD_t};
use super::id_of;
use crate::ffi::hid_t;
use crate::h5p::class::Kind;
use crate::h5p::register_file_access;
use crate::h5p::values::FileAccessValues;
use crate::ids;

/// The name of a program's driver in the registry of its file.
pub(super) const NAME: &str = "hdf5-class";

const READ_WRITE: c_uint = 0x01;
const EXCLUSIVE: c_uint = 0x04;
const CREATE: c_uint = 0x10;

/// A program's driver, with the access list that its files are opened with.
pub(super) struct ForeignDriver {
    class: Arc<ForeignClass>,
    access: FileAccessValues,
}

impl ForeignDriver {
    pub(super) fn new(class: Arc<ForeignClass>, access: FileAccessValues) -> Self {
        ForeignDriver { class, access }
    }

    /// Runs `work` with an identifier of the access list, whose driver properties the program's function looks at.
    fn with_list<T>(&self, work: impl FnOnce(hid_t) -> T) -> T {
        let fapl = register_file_access(self.access.clone());
        let done = work(fapl);
        // Nothing is left to be done for a list that cannot be closed.
        let _ = ids::remove_reference(fapl);
        done
    }

    fn open_with(&self, path: &Path, flags: c_uint) -> io::Result<ForeignFile> {
        let name = c_path(path)?;
        let driver_id = self.access.driver.as_ref().map_or(-1, |choice| id_of(&choice.driver));
        let file = self.with_list(|fapl| self.class.open(driver_id, &name, flags, fapl));
        let file =
            file.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "driver cannot open the file"))?;
        let pointer = Mutex::new(FilePointer { file });
        Ok(ForeignFile { class: self.class.clone(), pointer, is_writable: flags & READ_WRITE != 0 })
    }
}

fn c_path(path: &Path) -> io::Result<CString> {
    let bytes = text::to_bytes(&text::from_path(path));
    CString::new(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "name has a NUL"))
}

impl Driver for ForeignDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo { name: NAME, aliases: &[], about: "a driver of the program", parameters: &[] }
    }

    fn check_create(&self, _: &Target<'_>) -> io::Result<()> {
        Ok(())
    }

    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created> {
        let flags = READ_WRITE | CREATE | if may_exist { 0 } else { EXCLUSIVE };
        let file = self.open_with(target.path, flags)?;
        let is_new = file.len()? == 0;
        Ok(Created { file: Arc::new(file), is_new })
    }

    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle> {
        let flags = if mode.is_writable() { READ_WRITE } else { 0 };
        Ok(Arc::new(self.open_with(target.path, flags)?))
    }

    fn delete(&self, target: &Target<'_>) -> io::Result<()> {
        let name = c_path(target.path)?;
        match self.with_list(|fapl| self.class.delete(&name, fapl)) {
            Some(true) => Ok(()),
            Some(false) => Err(failed("delete")),
            None => Err(io::Error::new(io::ErrorKind::Unsupported, "driver cannot delete files")),
        }
    }
}

fn failed(what: &str) -> io::Error {
    io::Error::other(format!("driver of the program failed to {what}"))
}

fn done(is_done: bool, what: &str) -> io::Result<()> {
    if is_done { Ok(()) } else { Err(failed(what)) }
}

#[derive(Debug)]
struct FilePointer {
    file: *mut H5FD_t,
}

// SAFETY: the file is used by one thread at a time, behind a lock, and only by threads that call the library.
unsafe impl Send for FilePointer {}

/// An open file of a program's driver. Its functions know one caller at a time.
#[derive(Debug)]
struct ForeignFile {
    class: Arc<ForeignClass>,
    pointer: Mutex<FilePointer>,
    is_writable: bool,
}

const TRANSFER: hid_t = Kind::Transfer.list_id();

impl ForeignFile {
    /// Drivers refuse what lies past the end of the addresses in use.
    fn reach(&self, file: *mut H5FD_t, end: u64) -> io::Result<()> {
        match self.class.eoa(file) {
            Some(eoa) if eoa >= end => Ok(()),
            _ => done(self.class.set_eoa(file, end), "set the end of addresses"),
        }
    }

    fn check_writable(&self) -> io::Result<()> {
        match self.is_writable {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "file is open for reading only")),
        }
    }
}

impl DriverFile for ForeignFile {
    fn len(&self) -> io::Result<u64> {
        let pointer = self.pointer.lock();
        self.class.eof(pointer.file).ok_or_else(|| failed("return the size of the file"))
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let pointer = self.pointer.lock();
        let end = offset.checked_add(buf.len() as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
        let eof = self.class.eof(pointer.file).ok_or_else(|| failed("return the size of the file"))?;
        if end > eof {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.reach(pointer.file, end)?;
        done(self.class.read_at(pointer.file, TRANSFER, offset, buf), "read")
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        self.check_writable()?;
        let pointer = self.pointer.lock();
        let end = offset.checked_add(data.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        self.reach(pointer.file, end)?;
        done(self.class.write_at(pointer.file, TRANSFER, offset, data), "write")
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        let pointer = self.pointer.lock();
        done(self.class.set_eoa(pointer.file, len), "set the end of addresses")?;
        done(self.class.truncate(pointer.file, TRANSFER), "truncate")?;
        // Not every driver makes a file longer: one zero at its end does.
        if len > 0 && self.class.eof(pointer.file).is_some_and(|eof| eof < len) {
            done(self.class.write_at(pointer.file, TRANSFER, len - 1, &[0]), "write")?;
        }
        Ok(())
    }

    fn sync(&self, _: Barrier) -> io::Result<()> {
        if !self.is_writable {
            return Ok(());
        }
        let pointer = self.pointer.lock();
        done(self.class.flush(pointer.file, TRANSFER), "flush")
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        let pointer = self.pointer.lock();
        let is_done = match lock {
            Lock::Shared => self.class.lock(pointer.file, false),
            Lock::Exclusive => self.class.lock(pointer.file, true),
            Lock::Unlock => self.class.unlock(pointer.file),
        };
        if is_done { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    fn is_serial(&self) -> bool {
        true
    }
}

impl Drop for ForeignFile {
    fn drop(&mut self) {
        let pointer = self.pointer.lock();
        // The library has no one to tell that the driver could not close its file.
        self.class.close(pointer.file);
    }
}
