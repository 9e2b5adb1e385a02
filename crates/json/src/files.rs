//! Text in files: read whole within limits, replaced whole or not at all.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};

use dir::{Dir, Info, Open, Sync};
use model::{Error, Result, Within};
use vol::{Durability, FileAccess};

/// Returns an error for what only other connectors can do.
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

/// The state of a file by which a change of another program is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// Returns the stamp that the system's info about a file has.
    pub fn of(info: &Info) -> Stamp {
        Stamp { bytes: info.bytes, modified: info.modified }
    }

    /// Returns the stamp of what is at a path; `None` where nothing is.
    pub fn at(dir: &Dir, path: &Path) -> Option<Stamp> {
        dir.info(path).ok().map(|info| Self::of(&info))
    }

    /// Returns how long ago it was written, where that is known.
    pub fn age(&self) -> Option<Duration> {
        system::clock::now().duration_since(self.modified?).ok()
    }

    /// Returns the number of bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

fn failed(operation: &str, dir: &Dir, path: &Path, source: &std::io::Error) -> Error {
    Error::io(operation, source).with("path", dir.path(path).display())
}

/// Returns the text of a file, and its stamp.
pub fn read_text(dir: &Dir, path: &Path, bytes_max: u64) -> Result<(String, Stamp)> {
    let file = dir.file(path, Open::Read).map_err(|e| failed("open file", dir, path, &e))?;
    let info = Info::of(&file).map_err(|e| failed("look at file", dir, path, &e))?;
    info.bytes.within(bytes_max, "text")?;
    let mut bytes = Vec::new();
    // It may grow while it is read.
    let read = file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|e| failed("read file", dir, path, &e))?;
    (bytes.len() as u64).within(bytes_max, "text")?;
    let not_utf8 = |_| {
        let error = Error::corrupt("read text").with("problem", "not UTF-8");
        error.with("path", dir.path(path).display())
    };
    Ok((String::from_utf8(bytes).map_err(not_utf8)?, Stamp::of(&info)))
}

/// Replaces a file: readers see the old text or the new one. `Durability` says what is synced on the way.
pub fn replace(dir: &Dir, path: &Path, text: &[u8], durability: Durability) -> Result<Stamp> {
    let sync = match durability {
        Durability::None => Sync::None,
        // A rename must not come to the medium before what it names.
        Durability::Ordered => Sync::Data,
        Durability::Full => Sync::All,
    };
    let replaced = dir.replace(path, text, sync).map_err(|e| failed("replace file", dir, path, &e))?;
    Ok(Stamp::of(&replaced))
}

/// Makes the names in a folder durable.
pub fn sync_folder(dir: &Dir, folder: &Path) -> Result<()> {
    dir.sync(folder).map_err(|e| failed("sync folder", dir, folder, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_within_limits_and_replaced() {
        let path = std::env::temp_dir().join(format!("hyperslab-replace-{}", std::process::id()));
        std::fs::create_dir_all(path.join("folder")).unwrap();
        let (dir, name) = (Dir::open(&path).unwrap(), Path::new("text"));
        let stamp = replace(&dir, name, b"new text", Durability::Full).unwrap();
        assert_eq!(read_text(&dir, name, 100).unwrap(), ("new text".to_owned(), stamp));
        assert_eq!(Stamp::at(&dir, name), Some(stamp));
        assert!(read_text(&dir, name, 3).is_err() && read_text(&dir, Path::new("folder"), 100).is_err());
        std::fs::remove_dir_all(&path).unwrap();
    }
}
