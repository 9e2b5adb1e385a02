//! Moves that a program did not finish: noted before they begin, done by the next one that writes. Elements that wait
//! come after their metadata, so that nothing shows that was not committed.

use std::fs;
use std::path::{Component, Path, PathBuf};

use json_text::dataspace_from_json;
use json_text::files::{self, replace};
use json_text::ids::{digest, uuid};
use json_text::text::{Fields, Value, list, read, write};
use model::{Error, Limits, Result};
use vol::Durability;

use crate::homes::{OWN_FOLDER, with_ending};
use crate::scan::read_metadata;

/// What an object is called while it moves, and where it goes in the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) name: String,
    pub(crate) to: PathBuf,
    /// Only its elements, for metadata that says this extent: they follow the metadata.
    pub(crate) dims: Option<Vec<u64>>,
}

/// Where elements wait that are at home nowhere yet.
pub(crate) fn waiting_folder(base: &Path) -> PathBuf {
    base.join(OWN_FOLDER).join("new")
}

/// Where objects are while they move.
pub(crate) fn moving_folder(base: &Path) -> PathBuf {
    base.join(OWN_FOLDER).join("moving")
}

fn note_path(base: &Path) -> PathBuf {
    base.join(OWN_FOLDER).join("moves.json")
}

/// Notes what is about to move.
pub(crate) fn note(base: &Path, moves: &[Move], durability: Durability) -> Result<()> {
    let folder = base.join(OWN_FOLDER);
    fs::create_dir_all(&folder).map_err(|e| Error::io("make folder", &e).with("path", folder.display()))?;
    let entry = |m: &Move| {
        let fields = Fields::new().with("name", m.name.clone()).with("to", m.to.display().to_string());
        fields.some("dims", m.dims.as_ref().map(|dims| list(dims.iter().copied())))
    };
    let text = write(&Fields::new().with("moves", list(moves.iter().map(entry))).into())?;
    replace(&note_path(base), text.as_bytes(), durability).map(|_| ())
}

/// Nothing moves any more.
pub(crate) fn forget(base: &Path) -> Result<()> {
    crate::moves::remove_file(&note_path(base))?;
    // It is empty, or was never there.
    let _ = fs::remove_dir(moving_folder(base));
    Ok(())
}

/// Whether a program ended while objects moved.
pub(crate) fn is_unfinished(base: &Path) -> bool {
    note_path(base).exists()
}

/// Brings objects to where they were going. Nothing that is there already is replaced.
pub(crate) fn finish(base: &Path, limits: &Limits) -> Result<()> {
    let (text, _) = files::read_text(&note_path(base), limits.metadata_bytes_max)?;
    for entry in read(&text)?.need("moves")?.array()? {
        let entry = checked(entry)?;
        match entry.dims {
            Some(_) => bring_elements(base, &entry, limits)?,
            None => bring(base, &entry)?,
        }
    }
    forget(base)
}

/// A note may have been changed by anybody: no path leads out.
fn checked(entry: &Value<'_>) -> Result<Move> {
    let wrong = |what: &str| Error::corrupt("read unfinished moves").with("wrong", what);
    let (name, to) = (entry.need("name")?.text_owned()?, PathBuf::from(entry.need("to")?.text()?));
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
        return Err(wrong("name"));
    }
    let is_inside = to.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_inside || to.as_os_str().is_empty() {
        return Err(wrong("path"));
    }
    let dims = entry.maybe("dims", |dims| dims.array()?.iter().map(Value::uint).collect())?;
    Ok(Move { name, to, dims })
}

/// Elements follow their metadata, if that was written: else the change was not committed.
fn bring_elements(base: &Path, Move { name, to, dims }: &Move, limits: &Limits) -> Result<()> {
    let from = waiting_folder(base).join(format!("{name}.bin"));
    let Some(folder) = to.parent().filter(|_| exists(&from)) else { return Ok(()) };
    let path = make_folders(base, folder)?.join(to.file_name().unwrap_or_default());
    let Ok((value, _)) = read_metadata(&with_ending(&path, ".json"), limits) else { return Ok(()) };
    let id = value.get("id").and_then(|id| id.text().ok()).unwrap_or_default();
    let said = value.get("shape").and_then(|shape| dataspace_from_json(shape).ok());
    let is_meant = uuid(&digest(id.as_bytes())) == *name;
    if !is_meant || said.map(|space| space.dims().to_vec()) != *dims {
        return Ok(());
    }
    let to = with_ending(&path, ".bin");
    fs::rename(&from, &to).map_err(|e| Error::io("finish move", &e).with("path", to.display()))
}

fn bring(base: &Path, Move { name, to, .. }: &Move) -> Result<()> {
    let from = moving_folder(base).join(name);
    let endings: Vec<&str> =
        ["", ".bin", ".json"].into_iter().filter(|e| exists(&with_ending(&from, e))).collect();
    let Some(folder) = to.parent().filter(|_| !endings.is_empty()) else { return Ok(()) };
    let folder = make_folders(base, folder)?;
    let mut path = folder.join(to.file_name().unwrap_or_default());
    while ["", ".bin", ".json"].iter().any(|ending| exists(&with_ending(&path, ending))) {
        path = with_ending(&path, " recovered");
    }
    for ending in endings {
        let (from, to) = (with_ending(&from, ending), with_ending(&path, ending));
        fs::rename(&from, &to).map_err(|e| Error::io("finish move", &e).with("path", to.display()))?;
    }
    Ok(())
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Folders on the way, none of which is a link to somewhere else.
fn make_folders(base: &Path, relative: &Path) -> Result<PathBuf> {
    let mut path = base.to_owned();
    for part in relative.components() {
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                return Err(Error::denied("finish move")
                    .with("problem", "not a folder")
                    .with("path", path.display()));
            }
            Err(_) => fs::create_dir(&path)
                .map_err(|e| Error::io("make folder", &e).with("path", path.display()))?,
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_that_lead_out_are_refused() {
        for (name, to) in [
            ("..", "a"),
            ("ab", "../a"),
            ("ab", "/a"),
            ("ab", ""),
            ("a/b", "c"),
            ("", "c"),
            ("ab", "a/../../b"),
        ] {
            let entry = Fields::new().with("name", name.to_owned()).with("to", to.to_owned()).into();
            assert!(checked(&entry).is_err(), "{name} {to}");
        }
    }
}
