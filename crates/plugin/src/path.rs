//! Plugins along a path of folders.

use std::path::{Path, PathBuf};

use model::{Error, Kind, Result};
use vol::Registry;

use crate::library::{Loaded, Plugin, load};

/// Folders in which plugins are looked for, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchPath {
    folders: Vec<PathBuf>,
}

/// A file that was passed over.
#[derive(Debug, Clone)]
pub struct Skipped {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub why: Error,
}

/// The plugins that were found along a path.
#[derive(Debug, Default)]
pub struct FoundPlugins {
    /// Plugins, in the order of the folders and of their file names.
    pub loaded: Vec<Loaded>,
    /// Files that are not plugins, each with the reason.
    pub skipped: Vec<Skipped>,
}

impl SearchPath {
    /// Returns a search path of these folders.
    pub fn new(folders: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        SearchPath { folders: folders.into_iter().map(Into::into).collect() }
    }

    /// Parses a search path as an environment variable such as `HDF5_PLUGIN_PATH` has it. The caller reads the
    /// variable.
    pub fn parse(text: impl AsRef<std::ffi::OsStr>) -> Self {
        SearchPath::new(std::env::split_paths(text.as_ref()).filter(|folder| !folder.as_os_str().is_empty()))
    }

    /// Returns the folders.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Returns all plugins.
    pub fn load_all(&self) -> FoundPlugins {
        let mut found = FoundPlugins::default();
        self.search(&mut found, |_| false);
        found
    }

    /// Returns the first plugin of this name.
    pub fn by_name(&self, name: &str) -> Result<Loaded> {
        self.first(|loaded| loaded.info.name == name).map_err(|e| e.with("name", name))
    }

    /// Returns the first connector or layer of this number.
    pub fn by_value(&self, value: u32) -> Result<Loaded> {
        let is_it = |loaded: &Loaded| loaded.info.value == value && has_containers(loaded);
        self.first(is_it).map_err(|e| e.with("value", value))
    }

    /// Returns the first filter of this number.
    ///
    /// # Errors
    /// Returns `NotFound` if there is none.
    pub fn filter(&self, number: u16) -> Result<Loaded> {
        let is_it = |loaded: &Loaded| {
            loaded.info.value == u32::from(number) && matches!(loaded.plugin, Plugin::Filter(_))
        };
        self.first(is_it).map_err(|e| e.with("filter", number))
    }

    /// Adds all plugins to what a program knows. One whose name or number is taken is passed over.
    pub fn register_all(&self, registry: &mut Registry) -> FoundPlugins {
        let FoundPlugins { loaded, mut skipped } = self.load_all();
        let registers = |loaded: &Loaded| match loaded.register(registry) {
            Ok(()) => true,
            Err(why) => {
                skipped.push(Skipped { path: loaded.path.clone(), why });
                false
            }
        };
        let loaded = loaded.into_iter().filter(registers).collect();
        FoundPlugins { loaded, skipped }
    }

    /// Makes sure that a program knows a connector or layer of this name: what it does not know is looked for.
    pub fn provide(&self, name: &str, registry: &mut Registry) -> Result<()> {
        match registry.by_name(name).is_ok() || registry.layer(name).is_ok() {
            true => Ok(()),
            false => self.by_name(name)?.register(registry),
        }
    }

    fn first(&self, is_it: impl Fn(&Loaded) -> bool) -> Result<Loaded> {
        let mut found = FoundPlugins::default();
        self.search(&mut found, &is_it);
        if let Some(loaded) = found.loaded.pop().filter(is_it) {
            return Ok(loaded);
        }
        let folders: Vec<_> = self.folders.iter().map(|folder| folder.display().to_string()).collect();
        let error = Error::not_found("find plugin").with("folders", folders.join(", "));
        // A plugin that could not be loaded may be the one that is looked for; other libraries are not.
        let refused = found.skipped.into_iter().filter(|skipped| skipped.why.kind() != Kind::NotFound);
        Err(refused.fold(error, |error, skipped| error.with("passed over", skipped.why)))
    }

    /// Loads plugins until one is the last.
    fn search(&self, found: &mut FoundPlugins, is_last: impl Fn(&Loaded) -> bool) {
        for folder in &self.folders {
            let files = match libraries(folder) {
                Ok(files) => files,
                Err(why) => {
                    found.skipped.push(Skipped { path: folder.clone(), why });
                    continue;
                }
            };
            for path in files {
                match load(&path) {
                    Ok(loaded) => {
                        let ends = is_last(&loaded);
                        found.loaded.push(loaded);
                        if ends {
                            return;
                        }
                    }
                    Err(why) => found.skipped.push(Skipped { path, why }),
                }
            }
        }
    }
}

fn has_containers(loaded: &Loaded) -> bool {
    matches!(loaded.plugin, Plugin::Connector(_) | Plugin::Layer(_))
}

/// Returns the shared libraries in a folder, by name.
fn libraries(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e: std::io::Error| Error::io("list plugins", &e).with("folder", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_library =
            path.extension().is_some_and(|end| ["so", "dylib", "dll"].iter().any(|known| end == *known));
        if is_library && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
