//! Long work: a progress bar, a way to stop it, and an output that is there whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab::vol::algorithms::copy::{Progress as Copied, TellLost, create_for};
use hyperslab::vol::model::properties::FileCreate;
use hyperslab::vol::model::text::{from_path, to_path};
use hyperslab::vol::unfinished::{UNFINISHED_WARNING, clear_unfinished, is_unfinished, mark_unfinished};
use hyperslab::vol::{Container, FileAccess, Location};
use hyperslab::{Error, Kind, Result, Token};

use super::replace::{LeftOver, Replacement, refuse_link};
use crate::common::{Cleaning, interrupt, is_stopped};
use crate::open::{OpenContainer, shown};
use crate::progress::Progress;
use crate::settings::{layered, measured, registry};
use crate::total::{Measure, Total, count, is_near};

/// Work that a person may watch and stop.
pub(super) struct Work {
    progress: Progress,
    _cleaning: Cleaning,
}

impl Work {
    pub(super) fn start(name: &'static str) -> Result<Work> {
        // The work ends itself, so that it can clean up.
        ctrlc::set_handler(interrupt)
            .map_err(|e| Error::invalid("watch for interrupts").with("problem", e))?;
        Ok(Work { progress: Progress::start(name), _cleaning: Cleaning::new() })
    }

    /// Names what the target cannot hold.
    pub(super) fn lost(&self, path: &str, what: &str, error: &Error) {
        self.progress.suspend(|| eprintln!("hyperslab copy: {path}: {what} is lost: {error}"));
    }

    /// Says that an object is copied with all that is below it, or all that is below the root group. Chunks that are not
    /// changed go from file to file as they are stored.
    pub(super) fn expect(
        &self,
        source: &OpenContainer,
        object: Option<Token>,
        (target, changes): (&dyn Container, bool),
    ) {
        self.progress.expect(|| {
            let from = &*source.container;
            let keeps_chunks = |container: &dyn Container| {
                !changes && container.info().is_ok_and(|info| info.capability.raw_chunks)
            };
            let measure = match keeps_chunks(from) && keeps_chunks(target) {
                true => Measure::Stored,
                false => Measure::Decoded,
            };
            let start = object.or_else(|| Some(from.info().ok()?.root)).filter(|_| is_near(&source.location));
            let total = count(from, start?, measure)?;
            // The root group of the target is there before the copy.
            Some(Total { objects: total.objects - u64::from(object.is_none()), ..total })
        });
    }

    /// Shows how far it is; an error once it shall stop.
    pub(super) fn tell(&self, copied: Copied) -> Result<()> {
        self.progress.show(Total { objects: copied.objects, bytes: copied.bytes });
        match is_stopped() {
            true => Err(Error::denied("go on").with("problem", "it was stopped")),
            false => Ok(()),
        }
    }
}

/// A new container. One that lies at a path gets its name when it is whole; another is marked until it is, and deleted
/// when the copy fails.
pub(super) struct Output {
    /// It goes before its remains do: no one deletes what is open.
    container: Arc<dyn Container>,
    remains: PartialCopy,
}

/// The remains of a copy until it is finished.
struct PartialCopy {
    /// Where it is written.
    location: String,
    /// The container that it replaces.
    replaced: Option<Replacement>,
    /// Nothing is removed when it is dropped.
    is_kept: bool,
}

fn exists(location: &str) -> Error {
    Error::exists("create container").with("location", location).with("help", "--overwrite replaces it")
}

/// Returns what a container at a location takes the place of, where it lies at a path.
fn replaced_at(location: &str) -> Result<Option<Replacement>> {
    registry().path_of(location)?.map(Replacement::new).transpose()
}

/// Opens what an earlier run left, and nothing that was put in its place since.
fn open_left(left: &LeftOver, location: &str, access: &FileAccess) -> Result<Arc<dyn Container>> {
    registry().open(&at_path(location, &left.path()), access)
}

/// Deletes the container at a path, of the same kind as the one at a location.
fn delete_at(location: &str, path: &Path) -> Result<()> {
    registry().delete(&at_path(location, path), &FileAccess::write())
}

/// Returns the same kind of container at another path.
fn at_path(location: &str, path: &Path) -> String {
    match Location::parse(location) {
        Location { connector: Some(connector), engine: Some(engine), .. } => {
            format!("{connector}+{engine}:{}", from_path(path))
        }
        Location { connector: Some(connector), .. } => format!("{connector}:{}", from_path(path)),
        _ => from_path(path),
    }
}

fn make(
    location: &str,
    create: &FileCreate,
    access: &FileAccess,
    truncate: bool,
    lost: Option<&TellLost<'_>>,
) -> Result<Arc<dyn Container>> {
    create_for(|create: &FileCreate| registry().create(location, create, access, truncate), create, lost)
}

impl Output {
    pub(super) fn create(
        location: &str,
        create: &FileCreate,
        access: &FileAccess,
        overwrite: bool,
        lost: Option<&TellLost<'_>>,
    ) -> Result<Output> {
        let access = layered(access.clone());
        let Some(replaced) = replaced_at(location)? else {
            let container = make(location, create, &access, overwrite, lost)?;
            return Self::marked(container, location, false);
        };
        if !overwrite && replaced.is_there() {
            return Err(exists(location));
        }
        for path in replaced.temporaries() {
            let temporary = at_path(location, &path);
            // Never through something that stands there, a symbolic link among others.
            match make(&temporary, create, &access, false, lost) {
                Err(error) if error.kind() == Kind::Exists => {}
                made => return Self::next_to_target((made?, &path), temporary, replaced, false),
            }
        }
        Err(Error::exists("create container").with("problem", "all names for it are taken"))
    }

    /// Returns a container that an earlier run may have begun; it stays when this one is stopped, too. With it comes the
    /// place for notes of how far it is.
    pub(super) fn resume(
        location: &str,
        create: &FileCreate,
        overwrite: bool,
        lost: Option<&TellLost<'_>>,
    ) -> Result<(Output, PathBuf)> {
        let access = layered(FileAccess::write());
        let path = Location::parse(location).path;
        let notes = to_path(&format!("{}.resume", path.trim_end_matches('/'))).into_owned();
        refuse_link(&notes)?;
        let Some(replaced) = replaced_at(location)? else {
            let output = Self::resume_there(location, create, overwrite, (&notes, lost))?;
            return Ok((output, notes));
        };
        if !overwrite && replaced.is_there() && !notes.exists() {
            return Err(exists(location));
        }
        let path = replaced.resumed();
        refuse_link(&path)?;
        let temporary = at_path(location, &path);
        let container = match notes.exists() {
            true => {
                let missing = || Error::not_found("go on with a copy").with("path", path.display());
                open_left(&replaced.left(&path)?.ok_or_else(missing)?, location, &access)?
            }
            false => {
                // What a copy without notes left begins anew; nothing that stands there is written through.
                replaced.remove_left(&path, |path| delete_at(location, path))?;
                make(&temporary, create, &access, false, lost)?
            }
        };
        Ok((Self::next_to_target((container, &path), temporary, replaced, true)?, notes))
    }

    /// Returns a container that is written where it stays.
    fn resume_there(
        location: &str,
        create: &FileCreate,
        overwrite: bool,
        (notes, lost): (&Path, Option<&TellLost<'_>>),
    ) -> Result<Output> {
        let access = layered(FileAccess::write());
        if notes.exists() {
            return Self::marked(registry().open(location, &access)?, location, true);
        }
        // What a copy without notes left begins anew.
        let is_whole = match registry().open(location, &FileAccess::read()) {
            Ok(there) => !is_unfinished(&*there)?,
            Err(_) => false,
        };
        if is_whole && !overwrite {
            return Err(exists(location));
        }
        Self::marked(make(location, create, &access, true, lost)?, location, true)
    }

    /// Returns a container that says that it is unfinished, whatever stops the copy.
    fn marked(container: Arc<dyn Container>, location: &str, is_kept: bool) -> Result<Output> {
        let remains = PartialCopy { location: location.to_owned(), replaced: None, is_kept };
        let output = Output { container: measured(container), remains };
        mark_unfinished(output.container())?;
        Ok(output)
    }

    /// Returns a container that is written next to its place.
    fn next_to_target(
        (container, path): (Arc<dyn Container>, &Path),
        location: String,
        replaced: Replacement,
        is_kept: bool,
    ) -> Result<Output> {
        replaced.keep_mode(path)?;
        let remains = PartialCopy { location, replaced: Some(replaced), is_kept };
        Ok(Output { container: measured(container), remains })
    }

    pub(super) fn container(&self) -> &dyn Container {
        self.container.as_ref()
    }

    /// Commits, writes what stands before a file's content, and gives the container its name.
    pub(super) fn finish(mut self, user_block: &[u8]) -> Result<()> {
        // A layer may have gone on without something, such as a second copy.
        let info = self.container.info()?;
        let others = info.warnings.iter().filter(|warning| *warning != UNFINISHED_WARNING);
        others.for_each(|warning| eprintln!("hyperslab copy: {warning}"));
        clear_unfinished(self.container())?;
        self.container.close()?;
        self.remains.put(held_user_block(&info.connector, user_block))
    }
}

/// Returns what a container of this connector keeps of a user block: all or nothing. Only HDF5 files have one; anywhere else it
/// would overwrite the container's own bytes.
fn held_user_block<'b>(connector: &str, user_block: &'b [u8]) -> &'b [u8] {
    if matches!(connector, "native" | "log") {
        return user_block;
    }
    if user_block.iter().any(|byte| *byte != 0) {
        eprintln!("hyperslab copy: the bytes of the user block are lost: only HDF5 files have one");
    }
    &[]
}

impl PartialCopy {
    fn put(&mut self, user_block: &[u8]) -> Result<()> {
        if let Some(replaced) = &self.replaced {
            let path = to_path(&Location::parse(&self.location).path).into_owned();
            if !user_block.is_empty() {
                write_user_block(replaced, &path, user_block)
                    .map_err(|e| Error::io("write user block", &e).with("path", path.display()))?;
            }
            if let Some(old) = replaced.put(&path)? {
                // The new one is in place; what is left of the old one only takes space.
                let removed = replaced.remove_old(&old, |path| delete_at(&self.location, path));
                tell_left(&at_path(&self.location, &old), "the container that was replaced", removed);
            }
        }
        self.is_kept = true;
        Ok(())
    }
}

fn write_user_block(replaced: &Replacement, path: &Path, user_block: &[u8]) -> std::io::Result<()> {
    let mut file = replaced.file(path)?;
    file.write_all(user_block)?;
    file.sync_all()
}

/// Says what could not be removed.
fn tell_left(location: &str, what: &str, removed: Result<()>) {
    if let Err(error) = removed {
        eprintln!("hyperslab copy: {}: {what} is left: {error}", shown(location));
    }
}

impl Drop for PartialCopy {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let removed = match &self.replaced {
            Some(replaced) => {
                let path = to_path(&Location::parse(&self.location).path).into_owned();
                replaced.remove_left(&path, |path| delete_at(&self.location, path))
            }
            None => registry().delete(&self.location, &FileAccess::write()),
        };
        tell_left(&self.location, "an unfinished copy", removed);
    }
}
