//! The file in the root that tells clients that they see the same folder, and the next server that locks may be out.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use system::clock::Instant;

use model::{Error, Result};
use protocol::{Id, MARK_PREFIX};
use system::sync::Mutex;

/// The mark of a running server, made when the first client needs it.
#[derive(Debug)]
pub(crate) struct ServerMark {
    root: PathBuf,
    /// Locks that a server gave which died are good until then.
    locked_until: Option<Instant>,
    mark: Mutex<Option<ServerMarkFile>>,
}

#[derive(Debug)]
struct ServerMarkFile {
    name: String,
    proof: String,
    /// Locked, for as long as we live.
    _file: File,
}

fn hex(id: Id) -> String {
    id.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl ServerMark {
    /// Looks for marks of servers that died: their clients may still write, for as long as a lock is good.
    pub(crate) fn new(root: &Path, lease: Duration) -> Result<Self> {
        let failed = |e: std::io::Error| Error::io("look for marks", &e).with("root", root.display());
        let mut locked_until = None;
        for entry in std::fs::read_dir(root).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !entry.file_name().to_string_lossy().starts_with(MARK_PREFIX) {
                continue;
            }
            // One that cannot be locked is that of a server that lives.
            let is_left_behind = File::open(entry.path())
                .is_ok_and(|file| !matches!(file.try_lock(), Err(TryLockError::WouldBlock)));
            if is_left_behind {
                std::fs::remove_file(entry.path()).map_err(failed)?;
                locked_until = Some(Instant::now() + lease);
            }
        }
        Ok(ServerMark { root: root.to_owned(), locked_until, mark: Mutex::default() })
    }

    /// Waits until no lock of a server that died is good any more.
    pub(crate) fn wait(&self) {
        let left = self.locked_until.map(|until| until.saturating_duration_since(Instant::now()));
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            tracing::info!(seconds = left.as_secs_f32(), "waiting for locks that a server gave which died");
            system::thread::sleep(left);
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Name and content of the mark.
    pub(crate) fn mark(&self) -> Result<(String, String)> {
        let mut mark = self.mark.lock();
        if mark.is_none() {
            let (name, proof) = (format!("{MARK_PREFIX}{}", hex(Id::random())), hex(Id::random()));
            let failed = |e: std::io::Error| Error::io("mark root folder", &e);
            let mut file = File::create_new(self.root.join(&name)).map_err(failed)?;
            file.lock().and_then(|()| file.write_all(proof.as_bytes())).map_err(failed)?;
            *mark = Some(ServerMarkFile { name, proof, _file: file });
        }
        let found = mark.as_ref().map(|mark| (mark.name.clone(), mark.proof.clone()));
        found.ok_or_else(|| Error::not_found("mark root folder"))
    }
}

impl ServerMark {
    /// The mark stays when the server ends.
    pub(crate) fn leave(&self) {
        self.mark.lock().take();
    }
}

impl Drop for ServerMark {
    fn drop(&mut self) {
        if let Some(mark) = self.mark.lock().take() {
            let _ = std::fs::remove_file(self.root.join(mark.name));
        }
    }
}
