//! Virtual file drivers by name: what creates, opens and deletes a [`File`] at a path.
//!
//! A program adds its own with [`Drivers::register`]; those of this build are in [`Drivers::default`].

mod core;
mod direct;
mod family;
mod log;
mod mirror;
mod multi;
mod named;
mod onion;
mod parameters;
mod posix;
mod split;
mod splitter;
mod subfiling;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::{Handle, Mode};

pub use self::core::CoreDriver;
pub use self::direct::DirectDriver;
pub use self::family::FamilyDriver;
pub use self::log::LogDriver;
pub use self::mirror::MirrorDriver;
pub use self::multi::MultiDriver;
pub use self::named::NamedDriver;
pub use self::onion::{OnionDriver, onion_parameters};
pub use self::parameters::DriverParameters;
pub use self::posix::PosixDriver;
pub use self::split::SplitDriver;
pub use self::splitter::SplitterDriver;
pub use self::subfiling::SubfilingDriver;

/// The name and description of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriverInfo {
    /// Unique name, as it stands in `FileAccess::driver`.
    pub name: &'static str,
    /// Other names of the same driver.
    pub aliases: &'static [&'static str],
    /// One line for people.
    pub about: &'static str,
    /// Names of the parameters that it takes, each with one line for people.
    pub parameters: &'static [(&'static str, &'static str)],
}

/// The path and the parameters that a driver is called with.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The path, which a driver may extend to several names.
    pub path: &'a Path,
    /// The parameters in the braces after the driver's name.
    pub parameters: &'a DriverParameters,
    /// The drivers among which a driver finds those that it passes its requests on to.
    pub drivers: &'a Drivers,
}

/// A file from [`Driver::create`].
#[derive(Debug)]
pub struct Created {
    /// The file, open for reading and writing.
    pub file: Handle,
    /// Whether there was nothing before. Otherwise the old content is still there.
    pub is_new: bool,
}

/// A virtual file driver: creates, opens and deletes files of one kind.
///
/// ```
/// use std::io;
/// use std::sync::Arc;
/// use hyperslab_files::{Created, Driver, DriverInfo, Drivers, Handle, Memory, Mode, Target};
///
/// /// Every file is empty, and what is written to it is gone when it is closed.
/// struct Scratch;
///
/// impl Driver for Scratch {
///     fn info(&self) -> DriverInfo {
///         DriverInfo { name: "scratch", aliases: &[], about: "nothing is stored", parameters: &[] }
///     }
///     fn create(&self, _: &Target<'_>, _may_exist: bool) -> io::Result<Created> {
///         Ok(Created { file: Arc::new(Memory::new()), is_new: true })
///     }
///     fn open(&self, _: &Target<'_>, _mode: Mode) -> io::Result<Handle> {
///         Err(io::ErrorKind::NotFound.into())
///     }
///     fn delete(&self, _: &Target<'_>) -> io::Result<()> {
///         Ok(())
///     }
/// }
///
/// let mut drivers = Drivers::default();
/// drivers.register(Arc::new(Scratch))?;
/// assert_eq!(drivers.get("scratch").unwrap().info().about, "nothing is stored");
/// # Ok::<(), io::Error>(())
/// ```
pub trait Driver: Send + Sync {
    /// Returns the driver's name and description.
    fn info(&self) -> DriverInfo;

    /// Returns the error that [`Driver::create`] would return, as far as it can be known without changing anything. A file that
    /// is there already is no error.
    fn check_create(&self, target: &Target<'_>) -> io::Result<()> {
        target.parameters.only(&self.info())
    }

    /// Creates a file, open for reading and writing. A file that is there is opened with its content if `may_exist`, so that
    /// the caller can lock it before it calls `set_len(0)`.
    ///
    /// # Errors
    /// Returns `AlreadyExists` if a file is there and `may_exist` is `false`, and `InvalidInput` for wrong parameters.
    fn create(&self, target: &Target<'_>, may_exist: bool) -> io::Result<Created>;

    /// Opens an existing file. `mode` is [`Mode::Read`] or [`Mode::ReadWrite`].
    ///
    /// # Errors
    /// Returns `NotFound` if there is no file, and `InvalidInput` for wrong parameters.
    fn open(&self, target: &Target<'_>, mode: Mode) -> io::Result<Handle>;

    /// Deletes a file with all its members.
    fn delete(&self, target: &Target<'_>) -> io::Result<()>;

    /// Returns whether a path at which no file is names files of this driver, so that it can be opened without naming the driver.
    fn recognizes(&self, path: &Path) -> bool {
        let _ = path;
        false
    }

    /// Returns the schemes of addresses that are this driver's: `https` of `https://host/run.h5`.
    fn schemes(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Drivers by name.
#[derive(Clone)]
pub struct Drivers {
    /// Shared until one is added.
    drivers: Arc<BTreeMap<&'static str, Arc<dyn Driver>>>,
}

static COMPILED_IN: LazyLock<Drivers> = LazyLock::new(|| {
    let all: Vec<Arc<dyn Driver>> = vec![
        Arc::new(PosixDriver),
        Arc::new(CoreDriver),
        Arc::new(DirectDriver),
        Arc::new(FamilyDriver),
        Arc::new(LogDriver),
        Arc::new(MirrorDriver),
        Arc::new(SplitDriver),
        Arc::new(SplitterDriver),
        Arc::new(MultiDriver),
        Arc::new(OnionDriver),
        Arc::new(SubfilingDriver),
    ];
    Drivers { drivers: Arc::new(all.into_iter().map(|driver| (driver.info().name, driver)).collect()) }
});

impl Default for Drivers {
    /// Returns all drivers of this build.
    fn default() -> Self {
        COMPILED_IN.clone()
    }
}

impl std::fmt::Debug for Drivers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.drivers.keys()).finish()
    }
}

impl Drivers {
    /// Returns a set without drivers.
    pub fn empty() -> Self {
        Drivers { drivers: Arc::default() }
    }

    /// Adds a driver.
    ///
    /// # Errors
    /// Returns `AlreadyExists` if its name or an alias is taken.
    pub fn register(&mut self, driver: Arc<dyn Driver>) -> io::Result<()> {
        let info = driver.info();
        let taken = std::iter::once(info.name).chain(info.aliases.iter().copied());
        if let Some(name) = taken.into_iter().find(|name| self.get(name).is_some()) {
            let problem = format!("there is a driver called {name} already");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
        }
        Arc::make_mut(&mut self.drivers).insert(info.name, driver);
        Ok(())
    }

    /// Returns the driver with this name or alias.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Driver>> {
        let by_alias = || self.drivers.values().find(|driver| driver.info().aliases.contains(&name));
        self.drivers.get(name).or_else(by_alias)
    }

    /// Returns all drivers, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Driver>> {
        self.drivers.values()
    }

    /// Returns all names and aliases, sorted by name.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.iter().flat_map(|driver| {
            let info = driver.info();
            std::iter::once(info.name).chain(info.aliases.iter().copied())
        })
    }

    /// Returns the driver of the scheme that an address begins with.
    pub fn of_address(&self, text: &str) -> Option<&Arc<dyn Driver>> {
        let (scheme, _) = text.split_once("://")?;
        self.iter().find(|driver| driver.schemes().contains(&scheme))
    }

    /// Returns the driver whose files `path` names, where no file is at `path` itself.
    pub fn recognize(&self, path: &Path) -> Option<&Arc<dyn Driver>> {
        self.iter().find(|driver| driver.recognizes(path))
    }
}

/// Deletes all `paths`. The first error is returned when all were tried; `NotFound` only if none was there.
fn remove_all(paths: impl IntoIterator<Item = std::path::PathBuf>) -> io::Result<()> {
    let (mut removed, mut failed) = (false, None);
    for path in paths {
        match std::fs::remove_file(path) {
            Ok(()) => removed = true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) => Err(error),
        None if !removed => Err(io::ErrorKind::NotFound.into()),
        None => Ok(()),
    }
}

/// Returns an error if nothing can be created at `path`: its folder does not exist or cannot be written. What already is at
/// `path` is left alone.
fn check_can_create(path: &Path) -> io::Result<()> {
    crate::probe::check_can_create(path)
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
