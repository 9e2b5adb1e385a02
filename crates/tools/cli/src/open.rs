//! Opening what the user named on the command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab::vol::{Container, FileAccess, Resolver, VirtualView};
use hyperslab::{FolderResolver, Result};

use crate::settings::{layered, measured, registry};

/// An open container, and the way from it to the files it refers to.
#[derive(Clone)]
pub(crate) struct Opened {
    /// The container.
    pub(crate) container: Arc<dyn Container>,
    /// Opens files that it refers to, where there is a folder for them.
    pub(crate) resolver: Option<Arc<FolderResolver>>,
    /// As the user named it.
    pub(crate) location: String,
}

/// Opens a location to read it. Files that it refers to are opened from its own folder only.
pub(crate) fn open(location: &str, driver: Option<&str>) -> Result<Opened> {
    open_with(location, driver, VirtualView::default())
}

/// As [`open`], and virtual datasets reach as far as the view says.
pub(crate) fn open_with(location: &str, driver: Option<&str>, view: VirtualView) -> Result<Opened> {
    let access = FileAccess { driver: driver.map(str::to_owned), virtual_view: view, ..FileAccess::read() };
    let mut opened = open_as(location, layered(access))?;
    opened.container = measured(opened.container);
    Ok(opened)
}

/// As [`open`], without the layers that the user asked for: they are for what is written.
pub(crate) fn open_beneath(location: &str) -> Result<Opened> {
    open_as(location, FileAccess::read())
}

fn open_as(location: &str, mut access: FileAccess) -> Result<Opened> {
    let registry = registry();
    let folder = Path::new(location).parent().unwrap_or(Path::new(""));
    let resolver = FolderResolver::new(folder, registry.clone()).ok();
    if let Some(resolver) = &resolver {
        access = access.with_resolver(resolver.clone());
    }
    let container = registry.open(location, &access)?;
    Ok(Opened { container, resolver, location: location.to_owned() })
}

impl Opened {
    /// Opens a file that this one refers to.
    pub(crate) fn follow(&self, file: &str) -> Result<Opened> {
        let refused = || hyperslab::Error::unsupported("open other file").with("file", file);
        let resolver = self.resolver.clone().ok_or_else(refused)?;
        let container = resolver.container(file, &self.location)?;
        let beside = self.folder().join(file);
        let location = if beside.is_file() {
            beside
        } else {
            self.folder().join(Path::new(file).file_name().unwrap_or_default())
        };
        Ok(Opened { container, resolver: Some(resolver), location: location.to_string_lossy().into_owned() })
    }

    fn folder(&self) -> &Path {
        Path::new(&self.location).parent().unwrap_or(Path::new(""))
    }

    /// What tells this file from others, whatever it is called.
    pub(crate) fn identity(&self) -> PathBuf {
        Path::new(&self.location).canonicalize().unwrap_or_else(|_| PathBuf::from(&self.location))
    }
}
