//! Opening what the user named on the command line.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab::vol::model::secrets::without_tokens;
use hyperslab::vol::model::text::to_path;
use hyperslab::vol::{Container, FileAccess, Location, Resolver, VirtualView};
use hyperslab::work::CHUNK_CACHE_BYTES;
use hyperslab::{Error, FolderResolver, Kind, Result};

use crate::common;
use crate::settings::{layered, measured, registry, work};

/// Returns a location as it may be printed: tokens are no other caller's to see.
pub(crate) fn shown(location: &str) -> Cow<'_, str> {
    without_tokens(location)
}

/// Why a container does not open, and what to do about it.
pub(crate) fn advice(error: &Error) -> String {
    let cause = error.root_cause();
    match error.kind() {
        // A connector or an engine that no one knows is missing too.
        Kind::NotFound if cause.operation() == "open file" => "there is no such file".to_owned(),
        Kind::NotFound => format!("{cause}; `hyperslab vol list` shows what can be opened"),
        Kind::Denied => "you may not read it; ask its owner, or check its permissions".to_owned(),
        Kind::Busy => format!("another program has it open for writing, or died while it had: {cause}"),
        Kind::Corrupt => {
            format!("it does not open: {cause}; if a crash may be the reason, try `hyperslab recover`")
        }
        _ => format!("it does not open: {cause}"),
    }
}

/// An open container, and the way from it to the files it refers to.
#[derive(Clone)]
pub(crate) struct OpenContainer {
    /// The container.
    pub(crate) container: Arc<dyn Container>,
    /// Opens files that it refers to, where there is a folder for them.
    pub(crate) resolver: Option<Arc<FolderResolver>>,
    /// As the user named it.
    pub(crate) location: String,
}

/// Opens a location to read it. Files that it refers to are opened from its own folder only.
pub(crate) fn open(location: &str, driver: Option<&str>) -> Result<OpenContainer> {
    open_with(location, driver, VirtualView::default())
}

/// Like [`open`], and virtual datasets reach as far as the view says.
pub(crate) fn open_with(location: &str, driver: Option<&str>, view: VirtualView) -> Result<OpenContainer> {
    let access = FileAccess { driver: driver.map(str::to_owned), virtual_view: view, ..FileAccess::read() };
    let mut opened = open_as(location, layered(access))?;
    opened.container = measured(opened.container);
    Ok(opened)
}

/// Like [`open`], without the layers that the user asked for: they are for what is written.
pub(crate) fn open_inner(location: &str) -> Result<OpenContainer> {
    open_as(location, FileAccess::read())
}

fn open_as(location: &str, mut access: FileAccess) -> Result<OpenContainer> {
    let registry = registry();
    let folder = folder_of(location);
    let resolver = FolderResolver::metered(&folder, registry.clone(), Some(work().clone())).ok();
    if let Some(resolver) = &resolver {
        access = access.with_resolver(resolver.clone());
    }
    access.chunk_cache_bytes = Some(CHUNK_CACHE_BYTES);
    let (container, _) = open_live(location, access)?;
    let container = metered(location, container);
    Ok(OpenContainer { container, resolver, location: location.to_owned() })
}

/// Opens a container, to read it next to its writer if the user asked for that (`--swmr`). What never has readers next to a
/// writer, such as a file of an old format, is read as without that. Returns also how it is opened in the same way again.
pub(crate) fn open_live(location: &str, access: FileAccess) -> Result<(Arc<dyn Container>, FileAccess)> {
    let access = FileAccess { swmr: access.swmr || common::swmr(), ..access };
    match registry().open(location, &access) {
        Err(error) if access.swmr && is_never_live(&error) => {
            let access = FileAccess { swmr: false, ..access };
            Ok((registry().open(location, &access)?, access))
        }
        opened => Ok((opened?, access)),
    }
}

fn is_never_live(error: &Error) -> bool {
    // Other connectors refuse it; HDF5 files do so where their format has no place for it.
    error.kind() == Kind::Unsupported || error.root_cause().operation() == "open file with SWMR"
}

/// Returns the folder that names of files in a container start from.
pub(crate) fn folder_of(location: &str) -> PathBuf {
    let place = Location::parse(location);
    let path = to_path(place.path.trim_end_matches('/'));
    path.parent().unwrap_or(Path::new("")).to_path_buf()
}

/// Returns a container whose reads are paid for by what is stored at its path. Of servers, and of files in several parts, no one knows.
fn metered(location: &str, container: Arc<dyn Container>) -> Arc<dyn Container> {
    match registry().path_of(location) {
        Ok(Some(path)) if work().add_file(&path) => work().metered(container),
        _ => container,
    }
}

impl OpenContainer {
    /// Opens a file that this one refers to.
    pub(crate) fn follow(&self, file: &str) -> Result<OpenContainer> {
        let refused = || hyperslab::Error::unsupported("open other file").with("file", file);
        let resolver = self.resolver.clone().ok_or_else(refused)?;
        let container = resolver.container(file, &self.location)?;
        let next_to = self.folder().join(file);
        let location = if next_to.is_file() {
            next_to
        } else {
            self.folder().join(Path::new(file).file_name().unwrap_or_default())
        };
        Ok(OpenContainer {
            container,
            resolver: Some(resolver),
            location: location.to_string_lossy().into_owned(),
        })
    }

    fn folder(&self) -> PathBuf {
        folder_of(&self.location)
    }

    /// Returns what tells this file from others, whatever it is called.
    pub(crate) fn identity(&self) -> PathBuf {
        Path::new(&self.location).canonicalize().unwrap_or_else(|_| PathBuf::from(&self.location))
    }
}
