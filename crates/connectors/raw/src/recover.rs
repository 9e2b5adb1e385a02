//! Moves that a program did not finish: noted before they begin, done by the next one that writes. Elements that wait
//! come after their metadata, so that nothing shows that was not committed.

use std::path::{Component, Path, PathBuf};

use dir::Dir;
use json_text::dataspace_from_json;
use json_text::files::{self, replace};
use json_text::ids::{digest, uuid};
use json_text::text::{Fields, Value, list, read, write};
use model::{Error, Limits, Result};
use vol::Durability;

use crate::homes::{OWN_FOLDER, with_ending};
use crate::scan::read_metadata;

/// The name of an object while it moves, and where it goes in the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) name: String,
    pub(crate) to: PathBuf,
    /// Only its elements, for metadata that says this extent: they follow the metadata.
    pub(crate) dims: Option<Vec<u64>>,
}

/// Returns where elements wait that are at home nowhere yet.
pub(crate) fn waiting_folder() -> PathBuf {
    Path::new(OWN_FOLDER).join("new")
}

/// Returns where objects are while they move.
pub(crate) fn moving_folder() -> PathBuf {
    Path::new(OWN_FOLDER).join("moving")
}

pub(crate) fn note_path() -> PathBuf {
    Path::new(OWN_FOLDER).join("moves.json")
}

/// Notes what is about to move.
pub(crate) fn note(dir: &Dir, moves: &[Move], durability: Durability) -> Result<()> {
    dir.make_dirs(OWN_FOLDER)
        .map_err(|e| Error::io("create folder", &e).with("path", dir.path(OWN_FOLDER).display()))?;
    let entry = |m: &Move| {
        let fields = Fields::new().with("name", m.name.clone()).with("to", m.to.display().to_string());
        fields.some("dims", m.dims.as_ref().map(|dims| list(dims.iter().copied())))
    };
    let text = write(&Fields::new().with("moves", list(moves.iter().map(entry))).into())?;
    replace(dir, &note_path(), text.as_bytes(), durability).map(|_| ())
}

/// Nothing moves any more.
pub(crate) fn forget(dir: &Dir) -> Result<()> {
    crate::moves::remove_file(dir, &note_path())?;
    // It is empty, or was never there.
    let _ = dir.remove_dir(moving_folder());
    Ok(())
}

/// Returns whether a program ended while objects moved.
pub(crate) fn is_unfinished(dir: &Dir) -> bool {
    exists(dir, &note_path())
}

/// Removes elements of objects that a program never linked: a caller that made them is gone. What is not ours stays.
pub(crate) fn clear_waiting(dir: &Dir) {
    let _ = dir.remove_known(waiting_folder(), crate::removal::is_of_waiting);
}

/// Brings objects to where they were going. Nothing that is there already is replaced.
pub(crate) fn finish(dir: &Dir, limits: &Limits) -> Result<()> {
    let (text, _) = files::read_text(dir, &note_path(), limits.metadata_bytes_max)?;
    for entry in read(&text)?.need("moves")?.array()? {
        let entry = checked(entry)?;
        match entry.dims {
            Some(_) => bring_elements(dir, &entry, limits)?,
            None => bring(dir, &entry)?,
        }
    }
    forget(dir)
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
fn bring_elements(dir: &Dir, Move { name, to, dims }: &Move, limits: &Limits) -> Result<()> {
    let from = waiting_folder().join(format!("{name}.bin"));
    if !exists(dir, &from) {
        return Ok(());
    }
    let Ok((value, _)) = read_metadata(dir, &with_ending(to, ".json"), limits) else { return Ok(()) };
    let id = value.get("id").and_then(|id| id.text().ok()).unwrap_or_default();
    let said = value.get("shape").and_then(|shape| dataspace_from_json(shape).ok());
    let is_meant = uuid(&digest(id.as_bytes())) == *name;
    if !is_meant || said.map(|space| space.dims().to_vec()) != *dims {
        return Ok(());
    }
    move_to(dir, &from, &with_ending(to, ".bin"))
}

fn bring(dir: &Dir, Move { name, to, .. }: &Move) -> Result<()> {
    let from = moving_folder().join(name);
    let endings: Vec<&str> =
        ["", ".bin", ".json"].into_iter().filter(|e| exists(dir, &with_ending(&from, e))).collect();
    let Some(folder) = to.parent().filter(|_| !endings.is_empty()) else { return Ok(()) };
    dir.make_dirs(folder)
        .map_err(|e| Error::io("create folder", &e).with("path", dir.path(folder).display()))?;
    let mut path = to.clone();
    while ["", ".bin", ".json"].iter().any(|ending| exists(dir, &with_ending(&path, ending))) {
        path = with_ending(&path, " recovered");
    }
    endings
        .into_iter()
        .try_for_each(|ending| move_to(dir, &with_ending(&from, ending), &with_ending(&path, ending)))
}

fn move_to(dir: &Dir, from: &Path, to: &Path) -> Result<()> {
    dir.rename(from, to).map_err(|e| Error::io("finish move", &e).with("path", dir.path(to).display()))
}

fn exists(dir: &Dir, path: &Path) -> bool {
    dir.info(path).is_ok()
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
