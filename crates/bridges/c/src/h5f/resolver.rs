//! Files that a file leads to, by libhdf5's rules: virtual sources and external raw data.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hyperslab::vol::model::text::{from_path, to_path};
use hyperslab::vol::{Container, RawBytes, Resolver};
use hyperslab::{Error, Result};
use system::sync::Mutex;

use super::{flags, locations, opening};

/// Opens what files lead to, with prefixes from the environment and from property lists.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// Before names of virtual sources.
    virtual_prefix: Option<String>,
    /// Before names of external raw data.
    external_prefix: Option<String>,
    /// Prefixes that access properties of datasets ask for, by the name of the file that the dataset leads to.
    of_files: Mutex<HashMap<String, String>>,
    /// Whether a view was set for a virtual dataset.
    pub(crate) has_views: AtomicBool,
}

impl Rules {
    /// Returns the rules of the environment.
    pub(super) fn of_environment() -> Self {
        let text = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        Rules {
            virtual_prefix: text("HDF5_VDS_PREFIX"),
            external_prefix: text("HDF5_EXTFILE_PREFIX"),
            of_files: Mutex::default(),
            has_views: AtomicBool::new(false),
        }
    }

    /// Remembers the prefix that a dataset asks for. The environment comes first.
    pub(crate) fn set_prefix(&self, file: &str, prefix: &str) {
        self.of_files.lock().insert(file.to_owned(), prefix.to_owned());
    }

    /// Returns the prefix of a file: the one of the environment, or that of the dataset which leads there.
    fn prefix<'a>(&'a self, of_environment: &'a Option<String>, file: &str) -> Option<String> {
        let of_dataset = || {
            let of_files = self.of_files.lock();
            let numbered = || of_files.iter().find(|(name, _)| is_numbered(name, file));
            of_files.get(file).or_else(|| numbered().map(|(_, prefix)| prefix)).cloned()
        };
        of_environment.clone().or_else(of_dataset)
    }
}

/// Returns whether a file is one of a series: its name is `series` with a number in the place of each `%b`.
fn is_numbered(series: &str, file: &str) -> bool {
    let Some((start, rest)) = series.split_once("%b") else { return false };
    let Some(numbered) = file.strip_prefix(start) else { return false };
    let digits = numbered.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && rest.replace("%b", &numbered[..digits]) == numbered[digits..]
}

/// Returns the folder of a file.
fn folder_of(from: &str) -> PathBuf {
    to_path(from).parent().map(Path::to_owned).unwrap_or_default()
}

/// Returns a prefix with `${ORIGIN}` replaced by the folder of the file, from the root on.
pub(crate) fn with_origin(prefix: &str, from: &str) -> PathBuf {
    match prefix.strip_prefix("${ORIGIN}") {
        Some(rest) => {
            let folder = folder_of(from);
            let here = |folder: PathBuf| std::env::current_dir().unwrap_or_default().join(folder);
            let folder = if folder.is_absolute() { folder } else { here(folder) };
            folder.join(rest.trim_start_matches('/'))
        }
        None => to_path(prefix).into_owned(),
    }
}

/// Returns the places where a virtual source or the target of an external link may be, in the order they are tried.
pub(super) fn candidates(name: &str, from: &str, prefixes: &[Option<&str>]) -> Vec<PathBuf> {
    let path = to_path(name).into_owned();
    let last = path.file_name().map(PathBuf::from).unwrap_or_else(|| path.clone());
    let mut tried = Vec::new();
    if path.is_absolute() {
        tried.push(path.clone());
    }
    let relative = if path.is_absolute() { &last } else { &path };
    // Several prefixes stand in one variable, separated by colons.
    for prefix in
        prefixes.iter().flatten().flat_map(|prefix| prefix.split(':')).filter(|text| !text.is_empty())
    {
        tried.push(with_origin(prefix, from).join(relative));
    }
    tried.push(folder_of(from).join(relative));
    tried.push(relative.clone());
    let real = to_path(from).canonicalize().ok();
    tried.extend(real.and_then(|from| from.parent().map(|folder| folder.join(relative))));
    tried
}

fn refused(name: &str, failure: &crate::failure::Failure) -> Error {
    Error::denied("open other file").with("file", name).with("problem", &failure.text)
}

impl Rules {
    fn source(&self, name: &str, from: &str) -> Result<PathBuf> {
        let prefix = self.prefix(&self.virtual_prefix, name);
        let tried = candidates(name, from, &[prefix.as_deref()]);
        let found = tried.into_iter().find(|path| opening::is_container(path, &Default::default()));
        let found =
            found.ok_or_else(|| Error::not_found("open other file").with("file", name).with("from", from))?;
        locations::check_root(&found).map_err(|failure| refused(name, &failure))?;
        Ok(found)
    }

    fn container_with(&self, name: &str, from: &str, intent: u32) -> Result<Arc<dyn Container>> {
        let path = from_path(&self.source(name, from)?);
        let shared = opening::open_shared(&path, intent, &Default::default(), true);
        let shared = shared.map_err(|failure| match failure.cause {
            Some(cause) => *cause,
            None => refused(name, &failure),
        })?;
        Ok(shared.container().clone())
    }
}

impl Resolver for Rules {
    fn container(&self, name: &str, from: &str) -> Result<Arc<dyn Container>> {
        self.container_with(name, from, flags::RDONLY)
    }

    fn container_for_writing(&self, name: &str, from: &str) -> Result<Arc<dyn Container>> {
        self.container_with(name, from, flags::RDWR)
    }

    fn bytes(&self, name: &str, from: &str) -> Result<Arc<dyn RawBytes>> {
        let path = to_path(name).into_owned();
        let path = match self.prefix(&self.external_prefix, name) {
            Some(prefix) if !path.is_absolute() => with_origin(&prefix, from).join(path),
            _ => path,
        };
        locations::check_root(&path).map_err(|failure| refused(name, &failure))?;
        Ok(Arc::new(ExternalData(path)))
    }
}

/// A file of raw data. It is opened when it is used, and created when it is first written, as libhdf5 does.
struct ExternalData(PathBuf);

impl RawBytes for ExternalData {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let failed = |e: std::io::Error| Error::io("read external data", &e).with("file", self.0.display());
        let file = std::fs::File::open(&self.0).map_err(failed)?;
        let have = file.metadata().map_err(failed)?.len().saturating_sub(offset);
        let len = usize::try_from(have).unwrap_or(usize::MAX).min(buf.len());
        let (there, missing) = buf.split_at_mut(len);
        missing.fill(0);
        system::file::read_exact_at(&file, there, offset).map_err(failed)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        let failed = |e: std::io::Error| Error::io("write external data", &e).with("file", self.0.display());
        let options = std::fs::File::options().create(true).truncate(false).write(true).open(&self.0);
        system::file::write_all_at(&options.map_err(failed)?, data, offset).map_err(failed)
    }
}
