//! Text in files: read whole within limits, replaced whole or not at all.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use model::{Error, Result, Within};
use vol::{Durability, FileAccess};

/// An error for what only other connectors can do.
pub fn check_access(engine: Option<&str>, access: &FileAccess) -> Result<()> {
    let lacked = [
        engine.map(|engine| format!("engine {engine}")),
        access.driver.as_ref().map(|driver| format!("driver {driver}")),
        access.swmr.then(|| "one writer and many readers (SWMR)".to_owned()),
    ];
    match lacked.into_iter().flatten().next() {
        Some(what) => Err(Error::unsupported("open as text and plain files").with("asked for", what)),
        None => Ok(()),
    }
}

/// What tells that a file is not the one it was: somebody else wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// Of what the system tells about a file.
    pub fn of(metadata: &Metadata) -> Stamp {
        Stamp { bytes: metadata.len(), modified: metadata.modified().ok() }
    }

    /// Of the file at a path; `None` where there is none.
    pub fn at(path: &Path) -> Option<Stamp> {
        fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }

    /// How long ago it was written, where that is known.
    pub fn age(&self) -> Option<Duration> {
        SystemTime::now().duration_since(self.modified?).ok()
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

fn failed(operation: &str, path: &Path, source: &std::io::Error) -> Error {
    Error::io(operation, source).with("path", path.display())
}

/// The text of a file, and its stamp.
pub fn read_text(path: &Path, bytes_max: u64) -> Result<(String, Stamp)> {
    let file = File::open(path).map_err(|e| failed("open file", path, &e))?;
    let metadata = file.metadata().map_err(|e| failed("look at file", path, &e))?;
    if !metadata.is_file() {
        return Err(Error::invalid("read text").with("problem", "not a file").with("path", path.display()));
    }
    metadata.len().within(bytes_max, "text")?;
    let mut bytes = Vec::new();
    // It may grow while it is read.
    let read = file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|e| failed("read file", path, &e))?;
    (bytes.len() as u64).within(bytes_max, "text")?;
    let text = String::from_utf8(bytes);
    let text = text
        .map_err(|_| Error::corrupt("read text").with("problem", "not UTF-8").with("path", path.display()))?;
    Ok((text, Stamp::of(&metadata)))
}

/// Numbers of temporary files of this process.
static TEMPORARY_NEXT: AtomicU64 = AtomicU64::new(0);

/// Replaces a file: readers see the old text or the new one. `Durability` says what is synced on the way.
pub fn replace(path: &Path, text: &[u8], durability: Durability) -> Result<Stamp> {
    let number = TEMPORARY_NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!(".hyperslab-{}-{number}.tmp", std::process::id());
    let temporary = path.with_file_name(name);
    let written = write_new(&temporary, text, durability).and_then(|stamp| {
        // Who may read it stays as it was.
        if let Ok(old) = fs::metadata(path) {
            let kept = fs::set_permissions(&temporary, old.permissions());
            kept.map_err(|e| failed("keep permissions", path, &e))?;
        }
        fs::rename(&temporary, path).map_err(|e| failed("replace file", path, &e))?;
        Ok(stamp)
    });
    if written.is_err() {
        // It may not even exist.
        let _ = fs::remove_file(&temporary);
    }
    let stamp = written?;
    if durability == Durability::Full {
        sync_folder_of(path)?;
    }
    Ok(stamp)
}

fn write_new(path: &Path, text: &[u8], durability: Durability) -> Result<Stamp> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = file.map_err(|e| failed("make file", path, &e))?;
    file.write_all(text).map_err(|e| failed("write file", path, &e))?;
    // Ordered too: a rename must not come to the medium before what it names.
    if durability != Durability::None {
        file.sync_all().map_err(|e| failed("sync file", path, &e))?;
    }
    let metadata = file.metadata().map_err(|e| failed("look at file", path, &e))?;
    Ok(Stamp::of(&metadata))
}

/// Makes the names in a file's folder survive.
pub fn sync_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sync_folder(folder)
}

/// Makes the names in a folder survive.
pub fn sync_folder(folder: &Path) -> Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|e| failed("sync folder", folder, &e))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_replaced_file_keeps_its_permissions_and_leaves_nothing_behind() {
        let folder = std::env::temp_dir().join(format!("hyperslab-replace-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("text");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let stamp = replace(&path, b"new text", Durability::Full).unwrap();
        assert_eq!(read_text(&path, 100).unwrap(), ("new text".to_owned(), stamp));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(read_text(&path, 3).is_err() && read_text(&folder, 100).is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
