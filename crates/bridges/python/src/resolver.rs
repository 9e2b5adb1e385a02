//! Files that a file leads to: external links, virtual sources, external raw data.

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab::vol::model::text::{from_path, to_path};
use hyperslab::vol::{Access, Container, FileAccess, RawBytes, Registry, Resolver};
use hyperslab::{Error, Result};

/// Opens other files by name: as it is, next to the file that uses it, or in the current folder.
#[derive(Debug)]
pub(crate) struct Neighbours(pub(crate) Registry);

/// Returns the folder of a file.
fn folder(from: &str) -> PathBuf {
    to_path(from).parent().map(Path::to_owned).unwrap_or_default()
}

/// Returns the location of the file that `from` calls `name`. A name with a scheme is a location itself.
///
/// # Errors
/// Returns `NotFound` if there is no such file.
pub(crate) fn find(name: &str, from: &str) -> Result<String> {
    let (path, folder) = (to_path(name), folder(from));
    let last = path.file_name().map(PathBuf::from).unwrap_or_default();
    let tried = match path.is_absolute() {
        true => vec![path.to_path_buf(), folder.join(&last), last],
        false => vec![folder.join(&path), path.to_path_buf(), folder.join(&last)],
    };
    let found = tried.into_iter().find(|path| path.exists());
    match found {
        Some(found) => Ok(from_path(&found)),
        None if name.contains("://") => Ok(name.to_owned()),
        None => Err(Error::not_found("open other file").with("file", name).with("from", from)),
    }
}

impl Neighbours {
    fn open(&self, name: &str, from: &str, access: Access) -> Result<Arc<dyn Container>> {
        let access = FileAccess { access, ..FileAccess::read() };
        let access = access.with_resolver(Arc::new(Neighbours(self.0.clone())));
        self.0.open(&find(name, from)?, &access)
    }
}

impl Resolver for Neighbours {
    fn container(&self, name: &str, from: &str) -> Result<Arc<dyn Container>> {
        self.open(name, from, Access::Read)
    }

    fn container_for_writing(&self, name: &str, from: &str) -> Result<Arc<dyn Container>> {
        self.open(name, from, Access::Write)
    }

    fn bytes(&self, name: &str, _from: &str) -> Result<Arc<dyn RawBytes>> {
        Ok(Arc::new(ExternalData(to_path(name).into_owned())))
    }
}

/// A file of raw data, relative to the current folder as in libhdf5. It is created when it is first written.
struct ExternalData(PathBuf);

impl ExternalData {
    fn failed(&self, operation: &'static str, error: &std::io::Error) -> Error {
        Error::io(operation, error).with("file", self.0.display())
    }
}

impl RawBytes for ExternalData {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let read = |buf: &mut [u8]| {
            let mut file = fs::File::open(&self.0)?;
            file.seek(SeekFrom::Start(offset))?;
            let (mut done, mut file) = (0, file.take(buf.len() as u64));
            while done < buf.len() {
                match file.read(&mut buf[done..])? {
                    0 => break,
                    count => done += count,
                }
            }
            buf[done..].fill(0);
            Ok(())
        };
        read(buf).map_err(|error| self.failed("read external data", &error))
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        let write = || {
            let mut file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(&self.0)?;
            file.seek(SeekFrom::Start(offset))?;
            file.write_all(data)
        };
        write().map_err(|error| self.failed("write external data", &error))
    }
}
