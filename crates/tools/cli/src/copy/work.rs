//! Long work: a progress bar, a way to stop it, and an output that is there whole or not at all.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyperslab::model::properties::FileCreate;
use hyperslab::vol::copy::{Progress, TellLost, create_for};
use hyperslab::vol::{Container, FileAccess, Location};
use hyperslab::{Error, Result};
use indicatif::{HumanBytes, ProgressBar};

use crate::progress::spinner;
use crate::settings::{layered, measured, registry};

/// Work that a person may watch and stop.
pub(super) struct Work {
    bar: ProgressBar,
    stopped: Arc<AtomicBool>,
}

impl Work {
    pub(super) fn start(name: &'static str) -> Result<Work> {
        let stopped = Arc::new(AtomicBool::new(false));
        let flag = stopped.clone();
        // The work ends itself, so that it can clean up.
        ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
            .map_err(|e| Error::invalid("watch for interrupts").with("problem", e))?;
        Ok(Work { bar: spinner(name), stopped })
    }

    /// Names what the target cannot hold.
    pub(super) fn lost(&self, path: &str, what: &str, error: &Error) {
        self.bar.suspend(|| eprintln!("hyperslab copy: {path}: {what} is lost: {error}"));
    }

    /// Shows how far it is; an error once it shall stop.
    pub(super) fn tell(&self, progress: Progress) -> Result<()> {
        self.bar.set_message(format!("{} objects, {}", progress.objects, HumanBytes(progress.bytes)));
        match self.stopped.load(Ordering::Relaxed) {
            true => Err(Error::denied("go on").with("problem", "it was stopped")),
            false => Ok(()),
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A new container. A file gets its name when it is whole; other containers are deleted when they are not.
pub(super) struct Output {
    container: Arc<dyn Container>,
    /// Where it is written.
    location: String,
    /// What it will be called.
    name: Option<PathBuf>,
    /// Nothing is to be taken away when it is dropped.
    is_kept: bool,
}

impl Output {
    pub(super) fn create(
        location: &str,
        create: &FileCreate,
        access: &FileAccess,
        overwrite: bool,
        lost: Option<&TellLost<'_>>,
    ) -> Result<Output> {
        let place = Location::parse(location);
        let is_file = place.connector.as_deref().is_none_or(|c| c == "native");
        let name = is_file.then(|| PathBuf::from(&place.path));
        if !overwrite && name.as_ref().is_some_and(|name| name.exists()) {
            return Err(Error::exists("create container").with("location", location));
        }
        let location = match &name {
            Some(name) => format!("{}.{}.partial", name.display(), std::process::id()),
            None => location.to_owned(),
        };
        let access = layered(access.clone());
        let make = |create: &FileCreate| registry().create(&location, create, &access, overwrite || is_file);
        let container = create_for(make, create, lost)?;
        Ok(Output { container: measured(container), location, name, is_kept: false })
    }

    /// A container that an earlier run may have begun; it stays when this one is stopped, too. With it comes the
    /// place for notes of how far it is.
    pub(super) fn resume(
        location: &str,
        create: &FileCreate,
        overwrite: bool,
        lost: Option<&TellLost<'_>>,
    ) -> Result<(Output, PathBuf)> {
        let place = Location::parse(location);
        let is_file = place.connector.as_deref().is_none_or(|c| c == "native");
        let path = place.path.trim_end_matches('/');
        let notes = PathBuf::from(format!("{path}.resume"));
        let name = is_file.then(|| PathBuf::from(path));
        let location = if is_file { format!("{path}.partial") } else { location.to_owned() };
        let access = layered(FileAccess::write());
        let is_there = !is_file && registry().open(&location, &FileAccess::read()).is_ok();
        let container = match notes.exists() {
            true => registry().open(&location, &access)?,
            false if !overwrite && (is_there || name.as_ref().is_some_and(|name| name.exists())) => {
                return Err(Error::exists("create container").with("location", location));
            }
            false => {
                let make =
                    |create: &FileCreate| registry().create(&location, create, &access, overwrite || is_file);
                create_for(make, create, lost)?
            }
        };
        Ok((Output { container: measured(container), location, name, is_kept: true }, notes))
    }

    pub(super) fn container(&self) -> &dyn Container {
        self.container.as_ref()
    }

    /// Commits, writes what stands before a file's content, and gives the file its name.
    pub(super) fn finish(mut self, user_block: &[u8]) -> Result<()> {
        // A layer may have gone on without something, such as a copy elsewhere.
        self.container.info()?.warnings.iter().for_each(|warning| eprintln!("hyperslab copy: {warning}"));
        self.container.close()?;
        if let Some(name) = &self.name {
            let io = |e: std::io::Error| Error::io("finish file", &e).with("path", name.display());
            if !user_block.is_empty() {
                let mut file = OpenOptions::new().write(true).open(&self.location).map_err(io)?;
                file.write_all(user_block).map_err(io)?;
                file.sync_all().map_err(io)?;
            }
            std::fs::rename(&self.location, name).map_err(io)?;
        }
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        // The first error is what the caller hears of.
        let _ = match self.name {
            Some(_) => {
                std::fs::remove_file(&self.location).map_err(|e| Error::io("remove unfinished file", &e))
            }
            None => registry().delete(&self.location, &FileAccess::write()),
        };
    }
}
