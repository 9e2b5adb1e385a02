//! From object to object: links, groups in groups, and what was seen before.

use std::collections::HashSet;
use std::io::{self, Write};
use std::rc::Rc;

use hyperslab::vol::OpList;
use hyperslab::vol::model::ObjectPath;
use hyperslab::vol::model::path::SHOWN_BYTES_MAX;
use hyperslab::vol::model::text::to_bytes;
use hyperslab::{Error, Kind, Link, LinkTarget, ObjectKind, Result};

use super::attribute::{complain, complain_of_limit};
use super::escape::escape;
use super::options::Options;
use super::seen::Seen;
use super::source::{ObjectAt, Source};
use crate::near::hint;
use crate::settings::registry;

/// Links listed at a time: many, because a container may have to sort all of them for each page.
const PAGE_LINKS: u64 = 1 << 16;
/// The longest name with its file that h5ls shows.
const NAME_BYTES_MAX: usize = 2047;

/// How listing one argument ended.
pub(crate) enum Outcome {
    Fine,
    /// A link leads to nothing, and the user wants to know.
    Dangling,
    /// There is no such object; nothing more is listed.
    NotFound,
}

/// A group whose links are being listed.
pub(crate) struct Frame {
    pub(crate) group: ObjectAt,
    pub(crate) path: ObjectPath,
    pub(crate) seen: Seen,
    page: std::vec::IntoIter<Link>,
    skip: u64,
    more: bool,
}

/// Lists objects to a writer. Groups wait on a stack of frames, so that no nesting is too deep.
pub(crate) struct Lister<'a> {
    pub(super) options: &'a Options,
    pub(super) out: &'a mut dyn Write,
    frames: Vec<Frame>,
    /// Paths of links that were followed, and whether these were external. h5ls does not look at the file.
    followed: HashSet<(bool, String)>,
    file: String,
    /// Characters of paths that are not shown.
    name_start: usize,
    base_len: usize,
    show_root: bool,
    dangling: bool,
}

impl<'a> Lister<'a> {
    pub(crate) fn new(options: &'a Options, out: &'a mut dyn Write) -> Self {
        Lister {
            options,
            out,
            frames: Vec::new(),
            followed: HashSet::new(),
            file: String::new(),
            name_start: 0,
            base_len: 0,
            show_root: false,
            dangling: false,
        }
    }

    /// Lists one argument: a file, or an object in it.
    pub(crate) fn file(
        &mut self,
        source: &Rc<Source>,
        file: &str,
        object: Option<&str>,
    ) -> io::Result<Outcome> {
        self.begin_file(file)?;
        self.followed.clear();
        (self.dangling, self.frames) = (false, Vec::new());
        let path = object.unwrap_or("/");
        (self.base_len, self.name_start) = match object {
            Some(path) => (path.len() - usize::from(path.ends_with('/')), 1),
            None => (0, 0),
        };
        self.show_root |= object.is_none() && self.options.recursive;
        if !self.argument(source, &ObjectPath::start(path))? {
            return Ok(Outcome::NotFound);
        }
        self.run()?;
        Ok(if self.dangling { Outcome::Dangling } else { Outcome::Fine })
    }

    /// Returns a file whose root group cannot be read.
    pub(crate) fn rootless(&mut self, file: &str) -> io::Result<Outcome> {
        self.begin_file(file)?;
        self.name_start = 0;
        self.not_found(&ObjectPath::root())?;
        Ok(Outcome::NotFound)
    }

    fn begin_file(&mut self, file: &str) -> io::Result<()> {
        self.file = file.to_owned();
        if self.options.verbose {
            let driver = driver(file, self.options);
            writeln!(self.out, "Opened \"{}\" with {driver} driver.", crate::open::shown(file))?;
        }
        Ok(())
    }

    /// Returns the object, or the link where the last part of the path is one. `false` where there is neither.
    fn argument(&mut self, source: &Rc<Source>, path: &ObjectPath) -> io::Result<bool> {
        let root = ObjectAt::root(source);
        let trimmed = path.name().trim_end_matches('/');
        let (parent, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        if path.name() == "/" {
            return self.visit(&root, "/", path, false);
        }
        let found = root.find(&format!("/{parent}")).and_then(|group| {
            let link = group.container().link_get(group.token, name)?;
            Ok(link.map(|link| (group, link)))
        });
        match found {
            Ok(Some((group, link))) if matches!(link.target, LinkTarget::Hard(_)) => {
                self.visit(&group, name, path, false)
            }
            Ok(Some((group, link))) => {
                self.link(&group, &link, path)?;
                Ok(true)
            }
            Ok(None) => self.nothing_at(source, path),
            Err(error) => {
                complain(&error, self.options);
                self.nothing_at(source, path)
            }
        }
    }

    /// Says that nothing is at a path that the user named, and what may have been meant.
    fn nothing_at(&mut self, source: &Rc<Source>, path: &ObjectPath) -> io::Result<bool> {
        let found = self.not_found(path)?;
        self.out.flush()?;
        hint(ObjectAt::root(source).container(), path.name());
        Ok(found)
    }

    fn not_found(&mut self, path: &ObjectPath) -> io::Result<bool> {
        let line = self.name(path, "**NOT FOUND**");
        self.out.write_all(line.as_bytes())?;
        Ok(false)
    }

    fn run(&mut self) -> io::Result<()> {
        while let Some(frame) = self.frames.last_mut() {
            match frame.next() {
                Ok(Some(link)) => {
                    let (group, path, seen) =
                        (frame.group.clone(), frame.path.join(&link.name), frame.seen.clone());
                    self.entry(&group, &link, path, &seen)?;
                }
                Ok(None) => drop(self.frames.pop()),
                Err(error) => self.abandon(&error),
            }
        }
        Ok(())
    }

    /// A traversal that meets something unreadable ends there, as far as its start.
    fn abandon(&mut self, error: &Error) {
        complain_of_limit(error, self.options);
        let Some(seen) = self.frames.last().map(|frame| frame.seen.clone()) else { return };
        self.frames.retain(|frame| !frame.seen.is_of(&seen));
    }

    /// Prints one link of a group.
    fn entry(&mut self, group: &ObjectAt, link: &Link, path: ObjectPath, seen: &Seen) -> io::Result<()> {
        let LinkTarget::Hard(token) = link.target else {
            return self.link(group, link, &path);
        };
        let place = ObjectAt { token, ..group.clone() };
        let info = match place.container().object_info(token) {
            Ok(info) => info,
            Err(error) => {
                self.abandon(&error);
                return Ok(());
            }
        };
        let first = seen.path(token);
        self.object(&place, &info, &path, first.as_ref(), false)?;
        if first.is_some() {
            return Ok(());
        }
        let is_group = info.kind == ObjectKind::Group;
        if (is_group || info.references > 1)
            && let Err(error) = seen.insert(token, &path)
        {
            self.abandon(&error);
            return Ok(());
        }
        if is_group && self.options.recursive {
            self.frames.push(Frame::new(place, path, seen.clone()));
        }
        Ok(())
    }

    /// Returns an object that is the start of a traversal: an argument, or where a link leads.
    fn visit(
        &mut self,
        from: &ObjectAt,
        name: &str,
        path: &ObjectPath,
        through_link: bool,
    ) -> io::Result<bool> {
        let found = from.find(name).and_then(|place| {
            let info = place.container().object_info(place.token)?;
            Ok((place, info))
        });
        let (place, info) = match found {
            Ok(found) => found,
            Err(error) => {
                complain(&error, self.options);
                if !through_link {
                    return self.not_found(path);
                }
                self.out.write_all(b"{**NOT FOUND**}\n")?;
                return Ok(false);
            }
        };
        let literal = self.options.group || (through_link && !self.options.recursive);
        if info.kind != ObjectKind::Group || literal {
            self.object(&place, &info, path, None, through_link)?;
            return Ok(true);
        }
        self.name_start = self.base_len;
        if self.show_root || through_link {
            self.object(&place, &info, path, None, through_link)?;
        }
        let seen = Seen::from(&place, path);
        self.frames.push(Frame::new(place, path.clone(), seen));
        Ok(true)
    }

    /// Prints a link that is not a hard one.
    fn link(&mut self, group: &ObjectAt, link: &Link, path: &ObjectPath) -> io::Result<()> {
        let (text, follow, key) = match &link.target {
            LinkTarget::Soft(target) => {
                (format!("Soft Link {{{target}}}"), self.options.follow, (false, target.clone()))
            }
            LinkTarget::External { file, path } => {
                let slash = if path.starts_with('/') { "" } else { "/" };
                let text = format!("External Link {{{file}/{slash}{path}}}");
                (text, self.options.follow || self.options.external, (true, path.clone()))
            }
            LinkTarget::Hard(_) | LinkTarget::User { .. } => {
                let name = self.name(path, "");
                return writeln!(self.out, "{name}UD Link {{cannot follow UD links}}");
            }
        };
        let found = if follow { group.find(&link.name).map(drop) } else { Ok(()) };
        // A chain of soft links that never ends, or ends at a user-defined link, is left out altogether.
        let hopeless =
            found.as_ref().is_err_and(|error| matches!(error.kind(), Kind::Limit | Kind::Unsupported));
        if hopeless && matches!(link.target, LinkTarget::Soft(_)) {
            return Ok(());
        }
        self.dangling |= self.options.no_dangling && found.is_err();
        let name = self.name(path, "");
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(&to_bytes(&text))?;
        if !follow {
            return self.out.write_all(b"\n");
        }
        if !self.followed.insert(key) {
            return self.out.write_all(b" {Already Visited}\n");
        }
        self.out.write_all(b" ")?;
        self.visit(group, &link.name, path, true).map(drop)
    }

    /// Returns a name in its column, and a remark at the column's right.
    pub(super) fn name(&self, path: &ObjectPath, remark: &str) -> String {
        let shown = self.text(path);
        let shown = shown.get(self.name_start..).unwrap_or("");
        let mut name = shown.to_owned();
        if self.options.files.len() > 1 {
            name = format!("{}/{shown}", self.file);
            name.truncate(
                (0..=NAME_BYTES_MAX.min(name.len())).rfind(|&n| name.is_char_boundary(n)).unwrap_or(0),
            );
        }
        if !self.options.full {
            name = name.rsplit_once('/').map_or(name.clone(), |(_, last)| last.to_owned());
        }
        let name = escape(&name, true);
        let gap = 24usize.saturating_sub(name.len());
        format!("{name}{remark:>gap$} ")
    }
}

impl Lister<'_> {
    /// Returns a path as text, no longer than it is needed.
    pub(super) fn text(&self, path: &ObjectPath) -> String {
        match path.len() <= SHOWN_BYTES_MAX || crate::common::expand() {
            true => path.to_string(),
            false if self.options.full => path.shown(),
            // Only the last name is printed.
            false => format!("{}/{}", " ".repeat(self.name_start), path.name()),
        }
    }
}

impl Frame {
    pub(crate) fn new(group: ObjectAt, path: ObjectPath, seen: Seen) -> Self {
        Frame { group, path, seen, page: Vec::new().into_iter(), skip: 0, more: true }
    }

    /// Returns the next link, by name.
    pub(crate) fn next(&mut self) -> Result<Option<Link>> {
        if let Some(link) = self.page.next() {
            return Ok(Some(link));
        }
        if !self.more {
            return Ok(None);
        }
        let op = OpList { skip: self.skip, count_max: PAGE_LINKS, ..OpList::default() };
        let page = self.group.container().link_list(self.group.token, &op)?;
        self.skip += page.entries.len() as u64;
        self.more = page.more && !page.entries.is_empty();
        self.page = page.entries.into_iter();
        Ok(self.page.next())
    }
}

/// Returns the name that h5ls gives to the driver it opened a file with.
fn driver<'a>(file: &str, options: &'a Options) -> &'a str {
    let by_address = || registry().drivers().of_address(file).map(|driver| driver.info().name);
    match options.driver.as_deref().or_else(by_address) {
        Some(driver) => driver,
        None if std::path::Path::new(file).exists() => "sec2",
        None if file.contains('%') => "family",
        None => "multi",
    }
}
