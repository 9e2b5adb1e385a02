//! Files that a file leads to: external links, virtual sources, external raw data.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyperslab::plist::Layout;
use hyperslab::vol::model::text::{from_path, to_path};
use hyperslab::vol::{Access, Container, FileAccess, RawBytes, Registry, Resolver};
use hyperslab::{Error, Result, Token};

/// Opens other files by name: behind a prefix where there is one, as it is, next to the file that uses it, or in the current
/// folder.
#[derive(Debug)]
pub(crate) struct Neighbours {
    registry: Registry,
    /// Before names of virtual sources, as the environment says.
    virtual_prefix: Option<String>,
    /// Before names of external raw data, as the environment says.
    external_prefix: Option<String>,
    /// Prefixes that datasets were opened with, by the name of the file that they lead to.
    of_files: Mutex<HashMap<String, String>>,
    /// What each of these datasets was opened with.
    of_datasets: Mutex<HashMap<Token, Prefixes>>,
}

/// The prefixes that a dataset was opened with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prefixes {
    /// Before names of external raw data.
    pub(crate) external: Option<String>,
    /// Before names of virtual sources.
    pub(crate) r#virtual: Option<String>,
}

fn lock<T>(map: &Mutex<T>) -> MutexGuard<'_, T> {
    // A map is whole whatever its last user did.
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the folder of a file.
fn folder(from: &str) -> PathBuf {
    to_path(from).parent().map(Path::to_owned).unwrap_or_default()
}

/// Returns whether a file is one of a series: its name is `series` with a number in the place of each `%b`.
fn is_numbered(series: &str, file: &str) -> bool {
    let Some((start, rest)) = series.split_once("%b") else { return false };
    let Some(numbered) = file.strip_prefix(start) else { return false };
    let digits = numbered.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && rest.replace("%b", &numbered[..digits]) == numbered[digits..]
}

/// Returns a prefix with `${ORIGIN}` replaced by the folder of the file, from the root on.
pub(crate) fn with_origin(prefix: &str, from: &str) -> PathBuf {
    match prefix.strip_prefix("${ORIGIN}") {
        Some(rest) => {
            let here = std::env::current_dir().unwrap_or_default();
            here.join(folder(from)).join(rest.trim_start_matches('/'))
        }
        None => to_path(prefix).into_owned(),
    }
}

/// Returns the location of the file that `from` calls `name`; several prefixes are separated by colons. A name with a scheme is
/// a location itself.
///
/// # Errors
/// Returns `NotFound` if there is no such file.
pub(crate) fn find(name: &str, from: &str, prefix: Option<&str>) -> Result<String> {
    let (path, folder) = (to_path(name), folder(from));
    let last = path.file_name().map(PathBuf::from).unwrap_or_default();
    let relative: &Path = if path.is_absolute() { &last } else { &path };
    let prefixes = prefix.into_iter().flat_map(|prefix| prefix.split(':')).filter(|text| !text.is_empty());
    let prefixed = prefixes.map(|prefix| with_origin(prefix, from).join(relative));
    let mut tried = Vec::from_iter(path.is_absolute().then(|| path.to_path_buf()));
    tried.extend(prefixed);
    tried.extend([folder.join(relative), relative.to_path_buf(), folder.join(&last)]);
    let found = tried.into_iter().find(|path| path.exists());
    match found {
        Some(found) => Ok(from_path(&found)),
        None if name.contains("://") => Ok(name.to_owned()),
        None => Err(Error::not_found("open other file").with("file", name).with("from", from)),
    }
}

impl Neighbours {
    /// Returns a resolver that opens files with the connectors of a registry.
    pub(crate) fn new(registry: Registry) -> Arc<Self> {
        let text = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        let (virtual_prefix, external_prefix) = (text("HDF5_VDS_PREFIX"), text("HDF5_EXTFILE_PREFIX"));
        let (of_files, of_datasets) = Default::default();
        Arc::new(Neighbours { registry, virtual_prefix, external_prefix, of_files, of_datasets })
    }

    /// Remembers the prefixes that a dataset was opened with. Those of the environment come first.
    pub(crate) fn set_prefixes(&self, dataset: Token, layout: &Layout, prefixes: Prefixes) {
        let (files, prefix): (Vec<&String>, _) = match layout {
            Layout::External(files) => (files.iter().map(|file| &file.name).collect(), &prefixes.external),
            Layout::Virtual(mappings) => (mappings.iter().map(|m| &m.file).collect(), &prefixes.r#virtual),
            _ => (Vec::new(), &None),
        };
        if let Some(prefix) = prefix {
            lock(&self.of_files).extend(files.into_iter().map(|file| (file.clone(), prefix.clone())));
        }
        lock(&self.of_datasets).insert(dataset, prefixes);
    }

    /// Returns the prefixes that a dataset was opened with.
    pub(crate) fn prefixes(&self, dataset: Token) -> Prefixes {
        lock(&self.of_datasets).get(&dataset).cloned().unwrap_or_default()
    }

    /// Returns the prefix of a file: the one of the environment, or that of the dataset which leads there.
    fn prefix(&self, of_environment: &Option<String>, file: &str) -> Option<String> {
        let of_dataset = || {
            let of_files = lock(&self.of_files);
            let numbered = || of_files.iter().find(|(name, _)| is_numbered(name, file));
            of_files.get(file).or_else(|| numbered().map(|(_, prefix)| prefix)).cloned()
        };
        of_environment.clone().or_else(of_dataset)
    }

    fn open(&self, name: &str, from: &str, access: Access) -> Result<Arc<dyn Container>> {
        let access = FileAccess { access, ..FileAccess::read() };
        let access = access.with_resolver(Neighbours::new(self.registry.clone()));
        let prefix = self.prefix(&self.virtual_prefix, name);
        self.registry.open(&find(name, from, prefix.as_deref())?, &access)
    }
}

impl Resolver for Neighbours {
    fn container(&self, name: &str, from: &str) -> Result<Arc<dyn Container>> {
        self.open(name, from, Access::Read)
    }

    fn container_for_writing(&self, name: &str, from: &str) -> Result<Arc<dyn Container>> {
        self.open(name, from, Access::Write)
    }

    fn bytes(&self, name: &str, from: &str) -> Result<Arc<dyn RawBytes>> {
        let path = to_path(name).into_owned();
        Ok(Arc::new(ExternalData(match self.prefix(&self.external_prefix, name) {
            Some(prefix) if !path.is_absolute() => with_origin(&prefix, from).join(path),
            _ => path,
        })))
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
