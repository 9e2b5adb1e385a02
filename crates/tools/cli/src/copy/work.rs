//! Long work: a progress bar, a way to stop it, and an output that is there whole or not at all.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyperslab::model::properties::FileCreate;
use hyperslab::vol::copy::Progress;
use hyperslab::vol::{Container, FileAccess, Location};
use hyperslab::{Error, Result, registry};
use indicatif::{HumanBytes, ProgressBar};

use crate::progress::spinner;

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
    is_finished: bool,
}

impl Output {
    pub(super) fn create(
        location: &str,
        create: &FileCreate,
        access: &FileAccess,
        overwrite: bool,
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
        let container = registry().create(&location, create, access, overwrite || is_file)?;
        Ok(Output { container, location, name, is_finished: false })
    }

    pub(super) fn container(&self) -> &dyn Container {
        self.container.as_ref()
    }

    /// Commits, writes what stands before a file's content, and gives the file its name.
    pub(super) fn finish(mut self, user_block: &[u8]) -> Result<()> {
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
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.is_finished {
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
