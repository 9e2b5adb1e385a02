//! Groups, their links, datasets and committed datatypes as declarations.

use hyperslab::vol::model::properties::CreationOrder;
use hyperslab::vol::model::text::to_bytes;
use hyperslab::{Dataspace, Datatype, Error, Index, Link, LinkTarget, ObjectKind, Result, Token};

use super::Dumper;
use super::source::{Side, Source};
use super::tables::{Links, Sorting, list_links, shown};
use crate::h5::render::line::LineState;
use crate::h5::subset::Subset;

/// An element that is begun and not ended yet. It waits in a list, so that no nesting is too deep.
pub(crate) enum Open {
    /// A group with the links that are left.
    Group { links: Links, state: LineState },
    /// An external link, with the file that it was met in.
    External { state: LineState, before: (usize, bool) },
}

impl Dumper<'_> {
    /// Prints a group and everything in it.
    pub(crate) fn group(&mut self, token: Token, name: &str) -> Result<()> {
        let outer = self.open.len();
        self.begin_group(token, name)?;
        while self.open.len() > outer {
            self.advance()?;
        }
        Ok(())
    }

    /// Prints the next link of what was begun last, or its end.
    fn advance(&mut self) -> Result<()> {
        let next = match self.open.last_mut() {
            Some(Open::Group { links, .. }) => links.next(),
            _ => None,
        };
        match next {
            Some(link) => {
                let result = self.link(&link);
                self.tolerate(&link.name, result)
            }
            None => self.end(),
        }
    }

    /// Ends what was begun last.
    fn end(&mut self) -> Result<()> {
        let mut state = match self.open.pop() {
            Some(Open::Group { state, .. }) => {
                self.indent -= 1;
                state
            }
            Some(Open::External { state, before }) => {
                self.leave_external(before);
                state
            }
            None => return Ok(()),
        };
        state.indent -= 1;
        self.line(&mut state, b"}")
    }

    /// Prints a group as far as its links.
    fn begin_group(&mut self, token: Token, name: &str) -> Result<()> {
        let container = self.container();
        let info = container.object_info(token)?;
        let mut state = LineState::at(self.indent);
        self.head(&mut state, "GROUP", &to_bytes(name))?;
        state.indent += 1;
        self.indent += 1;
        if name == "/" {
            self.unnamed_types()?;
        }
        self.object_id(&mut state, ObjectKind::Group)?;
        self.comment(&mut state, info.comment.as_deref())?;
        match self.shown_before(token, info.references, ObjectKind::Group) {
            Some(path) => {
                self.line(&mut state, &hard_link(&path))?;
                self.open.push(Open::Group { links: Links::none(), state });
            }
            None => {
                self.attributes(token, info.create.attribute_order)?;
                let links = self.links(token)?;
                self.open.push(Open::Group { links, state });
            }
        }
        Ok(())
    }

    fn links(&mut self, group: Token) -> Result<Links> {
        let container = self.container();
        let info = container.group_info(group)?;
        // Iterating over links takes a handle in h5dump.
        self.ids[0] += 1;
        let by = if info.create.link_order == CreationOrder::Untracked {
            Index::Name
        } else {
            self.options.sort_by
        };
        list_links(&*container, group, Sorting { by, order: self.options.sort_order })
    }

    fn link(&mut self, link: &Link) -> Result<()> {
        match &link.target {
            LinkTarget::Hard(token) => self.object(*token, &link.name),
            LinkTarget::Soft(path) => {
                let target = [b"LINKTARGET \"", &to_bytes(path)[..], b"\""].concat();
                self.block("SOFTLINK", &link.name, &[target])
            }
            LinkTarget::User { class, .. } => {
                self.block("USERDEFINED_LINK", &link.name, &[format!("LINKCLASS {class}").into_bytes()])
            }
            LinkTarget::External { file, path } => self.external_link(&link.name, file, path),
        }
    }

    /// Prints a block whose lines stand alone.
    fn block(&mut self, word: &str, name: &str, lines: &[Vec<u8>]) -> Result<()> {
        let mut state = LineState::at(self.indent);
        self.head(&mut state, word, &to_bytes(name))?;
        state.indent += 1;
        for line in lines {
            self.line(&mut state, line)?;
        }
        state.indent -= 1;
        self.line(&mut state, b"}")
    }

    fn object(&mut self, token: Token, name: &str) -> Result<()> {
        let info = self.container().object_info(token)?;
        match info.kind {
            ObjectKind::Group => self.begin_group(token, name),
            ObjectKind::Dataset => match self.shown_before(token, info.references, ObjectKind::Dataset) {
                Some(path) => self.block("DATASET", name, &[hard_link(&path)]),
                None => self.dataset(token, name, None),
            },
            ObjectKind::Datatype => self.named_type(token, name),
            ObjectKind::Map => self.map(token, name),
        }
    }

    /// Returns the path of an object that was printed before; notes that it is printed now.
    pub(crate) fn shown_before(&mut self, token: Token, references: u32, kind: ObjectKind) -> Option<String> {
        if references <= 1 && !self.through_external {
            return None;
        }
        let file = &mut self.files[self.current];
        let table = match kind {
            ObjectKind::Group => &file.tables.groups,
            ObjectKind::Dataset => &file.tables.datasets,
            _ => &file.tables.types,
        };
        let entry = table.get(token)?;
        (!file.shown.insert(token)).then(|| shown(&entry.path))
    }

    /// Prints a dataset.
    pub(crate) fn dataset(&mut self, token: Token, name: &str, subset: Option<&Subset>) -> Result<()> {
        let container = self.container();
        let info = container.dataset_info(token)?;
        let object = container.object_info(token)?;
        let mut state = LineState::at(self.indent);
        // h5dump starts the line twice, which shows where the head is too long for it.
        state.need_prefix = true;
        self.start_line(&mut state)?;
        self.piece(&mut state, &[b"DATASET \"", &to_bytes(name)[..], b"\" {"].concat())?;
        self.comment(&mut state, object.comment.as_deref())?;
        state.indent += 1;
        self.indent += 1;
        self.type_and_space(&mut state, &info.datatype, info.committed, &info.space)?;
        self.object_id(&mut state, ObjectKind::Dataset)?;
        if self.options.properties {
            self.properties(&mut state, token, &info)?;
        }
        if self.options.data {
            self.dataset_values(&mut state, token, &info, subset)?;
        }
        if self.options.binary.is_none() {
            self.attributes(token, object.create.attribute_order)?;
        }
        self.indent -= 1;
        state.indent -= 1;
        self.line(&mut state, b"}")
    }

    /// A map: its keys and its values as two arrays in the same order. h5dump has no word for maps.
    fn map(&mut self, token: Token, name: &str) -> Result<()> {
        let container = self.container();
        let (info, object) = (container.map_info(token)?, container.object_info(token)?);
        let space = Dataspace::simple(&[info.count])?;
        let mut state = LineState::at(self.indent);
        self.head(&mut state, "MAP", &to_bytes(name))?;
        self.comment(&mut state, object.comment.as_deref())?;
        state.indent += 1;
        self.indent += 1;
        for (word, side, datatype) in [("KEYS", Side::Keys, &info.key), ("VALUES", Side::Values, &info.value)]
        {
            self.line(&mut state, format!("{word} {{").as_bytes())?;
            state.indent += 1;
            self.type_and_space(&mut state, datatype, None, &space)?;
            if self.options.data {
                let source = Source::Pairs { map: token, side, datatype, space: &space };
                self.values(&mut state, &source, None, None)?;
            }
            state.indent -= 1;
            self.line(&mut state, b"}")?;
        }
        self.attributes(token, object.create.attribute_order)?;
        self.indent -= 1;
        state.indent -= 1;
        self.line(&mut state, b"}")
    }

    /// Starts a line before its text, as h5dump does it in places.
    pub(crate) fn start_line(&mut self, state: &mut LineState) -> Result<()> {
        match self.streams.get(super::Stream::Ddl) {
            Some(out) => state.start_line(out, &self.layout, 0, 0).map_err(super::streams::failed),
            None => Ok(()),
        }
    }

    /// Prints `COMMENT "…"`, if there is one.
    fn comment(&mut self, state: &mut LineState, comment: Option<&str>) -> Result<()> {
        match comment {
            Some(comment) if !comment.is_empty() => {
                self.line(state, &[b"COMMENT \"", &to_bytes(comment)[..], b"\""].concat())
            }
            _ => Ok(()),
        }
    }

    /// Prints a committed datatype.
    pub(crate) fn named_type(&mut self, token: Token, name: &str) -> Result<()> {
        let container = self.container();
        let datatype = container.datatype_get(token)?;
        let info = container.object_info(token)?;
        let mut state = LineState::at(self.indent);
        self.line(&mut state, &[b"DATATYPE \"", &to_bytes(name)[..], b"\" "].concat())?;
        if let Some(path) = self.shown_before(token, info.references, ObjectKind::Datatype) {
            return self.piece(&mut state, &hard_link(&path));
        }
        let mut buffer = Vec::new();
        self.print_type(&mut state, &mut buffer, &datatype, None)?;
        if !matches!(datatype, Datatype::Compound(_)) {
            buffer.push(b';');
        }
        self.flush(&mut state, &mut buffer)?;
        self.nested(|dumper| dumper.attributes(token, info.create.attribute_order))
    }

    /// Prints committed datatypes that no link leads to, by their address.
    fn unnamed_types(&mut self) -> Result<()> {
        let tables = self.file().tables.clone();
        for entry in tables.unnamed_types() {
            // h5dump opens a dataset of this type.
            self.ids[1] += 1;
            self.named_type(entry, &format!("#{}", entry.to_u64()))?;
        }
        Ok(())
    }

    fn external_link(&mut self, name: &str, file: &str, path: &str) -> Result<()> {
        let mut state = LineState::at(self.indent);
        self.head(&mut state, "EXTERNAL_LINK", &to_bytes(name))?;
        state.indent += 1;
        self.line(&mut state, &[b"TARGETFILE \"", &to_bytes(file)[..], b"\""].concat())?;
        self.line(&mut state, &[b"TARGETPATH \"", &to_bytes(path)[..], b"\""].concat())?;
        self.ids[0] += 1;
        // A target that is not there is no error: the link may be meant for another place.
        let found = self.follow_external(file, path).ok();
        let before = (self.current, self.through_external);
        self.open.push(Open::External { state, before });
        // What is in the file that the user named is printed there.
        let Some((place, token, kind)) = found.filter(|(place, ..)| *place != 0) else {
            self.indent += 2;
            return self.end();
        };
        (self.current, self.through_external) = (place, true);
        self.indent += 2;
        let outer = self.open.len();
        let begun = self.external_object(token, kind, path);
        match begun {
            // It ends when the group does.
            Ok(()) if self.open.len() > outer => Ok(()),
            Ok(()) => self.end(),
            Err(error) => {
                self.open.pop();
                self.leave_external(before);
                Err(error)
            }
        }
    }

    fn leave_external(&mut self, before: (usize, bool)) {
        self.indent -= 2;
        (self.current, self.through_external) = before;
    }

    fn external_object(&mut self, token: Token, kind: ObjectKind, path: &str) -> Result<()> {
        let references = self.container().object_info(token)?.references;
        match kind {
            ObjectKind::Group => self.begin_group(token, path),
            ObjectKind::Datatype => self.named_type(token, path),
            ObjectKind::Map => self.map(token, path),
            ObjectKind::Dataset => {
                let before = self.shown_before(token, references, kind);
                match before {
                    Some(found) => self.wanted_hard_link(path, &found),
                    None => self.dataset(token, path, None),
                }
            }
        }
    }

    /// Opens the target of an external link; the place of its file among `files`.
    pub(crate) fn follow_external(&mut self, file: &str, path: &str) -> Result<(usize, Token, ObjectKind)> {
        let mut opened = self.file().opened.follow(file)?;
        let mut path = path.to_owned();
        // Links may lead on to further files, but not for ever.
        for _ in 0..16 {
            let root = opened.container.info()?.root;
            let op = hyperslab::vol::OpLookup { from: root, path: path.clone(), traversals_max: 16 };
            match hyperslab::vol::path::lookup(&*opened.container, &op)? {
                hyperslab::vol::Lookup::Object(token) => {
                    let kind = opened.container.object_info(token)?.kind;
                    return Ok((self.place_of(opened)?, token, kind));
                }
                hyperslab::vol::Lookup::External { file, path: rest } => {
                    opened = opened.follow(&file)?;
                    path = rest;
                }
                hyperslab::vol::Lookup::User { .. } => break,
            }
        }
        Err(Error::limit("follow external links").with("file", file))
    }

    fn place_of(&mut self, opened: crate::open::OpenContainer) -> Result<usize> {
        let identity = opened.identity();
        if let Some(place) = self.files.iter().position(|f| f.opened.identity() == identity) {
            return Ok(place);
        }
        let file = self.describe(opened)?;
        self.files.push(file);
        Ok(self.files.len() - 1)
    }
}

fn hard_link(path: &str) -> Vec<u8> {
    [b"HARDLINK \"", &to_bytes(path)[..], b"\""].concat()
}
