//! The progress of a copy, in a file next to its target. What it says is done was committed in the target before.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use system::clock::Instant;

use dir::{Dir, Open};
use hyperslab::vol::Container;
use hyperslab::vol::algorithms::copy::Resume;
use hyperslab::vol::model::{Charge, ObjectPath, text};
use hyperslab::{Durability, Error, Result};

/// Work between two commits that a crash may undo.
const INTERVAL: Duration = Duration::from_secs(5);
/// Bytes of a journal that are read: a line for each object.
const JOURNAL_BYTES_MAX: u64 = 1 << 30;
/// The longest path that is noted.
const PATH_BYTES_MAX: usize = 64 << 10;
/// Memory of an entry, besides its path.
const ENTRY_BYTES: u64 = 64;
const TITLE: &str = "hyperslab copy 1";

pub(super) struct Journal<'c> {
    target: &'c dyn Container,
    /// The folder of the journal, and its name there.
    dir: Dir,
    name: PathBuf,
    state: RefCell<JournalState>,
}

struct JournalState {
    file: File,
    /// Pieces of each object that an earlier run created.
    known: BTreeMap<String, u64>,
    /// Pieces that no commit has yet.
    fresh: BTreeMap<String, u64>,
    committed: Instant,
    /// For both.
    charge: Charge,
}

impl JournalState {
    /// Notes the pieces of an object. Paths are text here, so that the next run finds them: all of them are charged.
    fn note(&mut self, path: &ObjectPath, pieces: u64) -> Result<()> {
        if path.len() > PATH_BYTES_MAX {
            let error = Error::limit("note how far a copy is").with("path", path.shown());
            return Err(error.with("limit", PATH_BYTES_MAX).with("help", "copy without --resume"));
        }
        let text = path.to_string();
        if !self.fresh.contains_key(&text) && !self.known.contains_key(&text) {
            let bytes = self.charge.bytes() + ENTRY_BYTES + text.len() as u64;
            self.charge.resize(bytes, "journal of copy")?;
        }
        self.fresh.insert(text, pieces);
        Ok(())
    }
}

impl<'c> Journal<'c> {
    /// Returns the journal at `path`, which goes on where it ends if it is about the same source.
    pub(super) fn open(path: &Path, source: &str, target: &'c dyn Container) -> Result<Journal<'c>> {
        let io = |e: std::io::Error| Error::io("open journal of copy", &e).with("path", path.display());
        let title = format!("{TITLE} {}", identity(source));
        let (dir, name) = Dir::of_file(path).map_err(io)?;
        let (mut file, mut text) = (dir.file(&name, Open::CreateOrOpen).map_err(io)?, String::new());
        (&file).take(JOURNAL_BYTES_MAX).read_to_string(&mut text).map_err(io)?;
        file.seek(SeekFrom::End(0)).map_err(io)?;
        let known = entries(&text, &title).map_err(|e| e.with("path", path.display()))?;
        if text.is_empty() {
            writeln!(file, "{title}").map_err(io)?;
        } else if !text.ends_with('\n') {
            // What a crash cut short counts for nothing, and must not become part of the next line.
            writeln!(file).map_err(io)?;
        }
        let mut charge = target.budget().empty_charge();
        let bytes = known.keys().map(|path| ENTRY_BYTES + path.len() as u64).sum();
        charge.resize(bytes, "journal of copy")?;
        let state = JournalState { file, known, fresh: BTreeMap::new(), committed: Instant::now(), charge };
        Ok(Journal { target, dir, name, state: RefCell::new(state) })
    }

    /// Commits what is in the target, then notes it.
    pub(super) fn checkpoint(&self) -> Result<()> {
        self.target.commit(Durability::Full)?;
        let mut state = self.state.borrow_mut();
        let mut lines = String::new();
        for (path, pieces) in std::mem::take(&mut state.fresh) {
            lines.push_str(&format!("{pieces} {}\n", path.escape_default()));
            state.known.insert(path, pieces);
        }
        let io = |e: std::io::Error| {
            Error::io("write journal of copy", &e).with("path", self.dir.path(&self.name).display())
        };
        state.file.write_all(lines.as_bytes()).map_err(io)?;
        state.file.sync_all().map_err(io)?;
        state.committed = Instant::now();
        Ok(())
    }

    /// Removes the journal of a copy that is complete.
    pub(super) fn remove(&self) -> Result<()> {
        self.dir.remove_file(&self.name).map_err(|e| Error::io("remove journal of copy", &e))
    }
}

impl Resume for Journal<'_> {
    fn pieces(&self, path: &ObjectPath) -> Option<u64> {
        let state = self.state.borrow();
        // No longer path was ever noted.
        if path.len() > PATH_BYTES_MAX { None } else { state.known.get(&path.to_string()).copied() }
    }

    fn reached(&self, path: &ObjectPath, pieces: u64) -> Result<()> {
        self.state.borrow_mut().note(path, pieces)?;
        let is_time = self.state.borrow().committed.elapsed() >= INTERVAL;
        if is_time { self.checkpoint() } else { Ok(()) }
    }
}

/// Returns what tells a source from what it was before: its size and the time of its last change.
fn identity(source: &str) -> String {
    let place = hyperslab::vol::Location::parse(source).path;
    let metadata = std::fs::metadata(&place).ok();
    let changed =
        metadata.as_ref().and_then(|m| m.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok());
    let (bytes, time) = (metadata.map_or(0, |m| m.len()), changed.map_or(0, |t| t.as_nanos()));
    format!("{} {bytes} {time}", text::to_bytes(source).escape_ascii())
}

/// Returns the last that was noted of each object; a line without an end was cut short.
fn entries(text: &str, title: &str) -> Result<BTreeMap<String, u64>> {
    let mut found = BTreeMap::new();
    for (number, line) in text.split_inclusive('\n').filter(|line| line.ends_with('\n')).enumerate() {
        let line = line.trim_end_matches('\n');
        if number == 0 {
            if line != title {
                let error = Error::invalid("go on with a copy")
                    .with("problem", "it is of another source, or the source changed since");
                return Err(error.with("help", "remove this file to begin anew"));
            }
            continue;
        }
        let entry =
            line.split_once(' ').and_then(|(pieces, path)| Some((pieces.parse().ok()?, unescaped(path)?)));
        if let Some((pieces, path)) = entry {
            found.insert(path, pieces);
        }
    }
    Ok(found)
}

/// Undoes `escape_default`.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c, c == '\\') {
            (_, false) => out.push(c),
            _ => match rest.next()? {
                't' => out.push('\t'),
                'r' => out.push('\r'),
                'n' => out.push('\n'),
                'u' => {
                    let code: String = rest.by_ref().take_while(|&c| c != '}').collect();
                    out.push(char::from_u32(u32::from_str_radix(code.strip_prefix('{')?, 16).ok()?)?);
                }
                other => out.push(other),
            },
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back_from_their_lines() {
        for path in ["/", "/a b", "/é数\n\t\"x'\\", "/\u{F780}"] {
            assert_eq!(unescaped(&path.escape_default().to_string()).as_deref(), Some(path));
        }
    }

    #[test]
    fn the_last_word_on_an_object_counts_and_a_cut_line_does_not() {
        let text = "title\n0 /a\n7 /a\n3 /b\n99 /c";
        let found = entries(text, "title").unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [("/a".to_owned(), 7), ("/b".to_owned(), 3)]);
        assert!(entries(text, "other").is_err());
        assert!(entries("", "other").unwrap().is_empty());
    }
}
