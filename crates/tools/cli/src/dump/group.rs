//! Groups, their links, datasets and committed datatypes as declarations.

use hyperslab::model::properties::CreationOrder;
use hyperslab::model::text::to_bytes;
use hyperslab::{Dataspace, Datatype, Error, Index, Link, LinkTarget, ObjectKind, Result, Token};

use super::Dumper;
use super::source::{Side, Source};
use super::subset::Subset;
use super::tables::{Sorting, list_links};
use crate::render::line::State;

/// Groups inside each other that are followed: enough for any honest file, and few enough for the stack.
const DEPTH_MAX: usize = 20_000;

impl Dumper<'_> {
    /// A group and everything in it.
    pub(crate) fn group(&mut self, token: Token, name: &str) -> Result<()> {
        if self.indent > DEPTH_MAX {
            return Err(Error::limit("print group").with("depth", self.indent));
        }
        let container = self.container();
        let info = container.object_info(token)?;
        let mut state = State::at(self.indent);
        self.head(&mut state, "GROUP", &to_bytes(name))?;
        state.indent += 1;
        self.indent += 1;
        if name == "/" {
            self.unnamed_types()?;
        }
        self.object_id(&mut state, ObjectKind::Group)?;
        self.comment(&mut state, info.comment.as_deref())?;
        match self.shown_before(token, info.references, ObjectKind::Group) {
            Some(path) => self.line(&mut state, &hard_link(&path))?,
            None => {
                self.attributes(token, info.create.attribute_order)?;
                self.links(token)?;
            }
        }
        self.indent -= 1;
        state.indent -= 1;
        self.line(&mut state, b"}")
    }

    fn links(&mut self, group: Token) -> Result<()> {
        let container = self.container();
        let info = container.group_info(group)?;
        // Iterating over links takes a handle in h5dump.
        self.ids[0] += 1;
        let by = if info.create.link_order == CreationOrder::Untracked {
            Index::Name
        } else {
            self.options.sort_by
        };
        let links = list_links(&*container, group, Sorting { by, order: self.options.sort_order })?;
        for link in &links {
            let result = self.link(link);
            self.tolerate(&link.name, result)?;
        }
        Ok(())
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

    /// A block whose lines stand alone.
    fn block(&mut self, word: &str, name: &str, lines: &[Vec<u8>]) -> Result<()> {
        let mut state = State::at(self.indent);
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
            ObjectKind::Group => self.group(token, name),
            ObjectKind::Dataset => match self.shown_before(token, info.references, ObjectKind::Dataset) {
                Some(path) => self.block("DATASET", name, &[hard_link(&path)]),
                None => self.dataset(token, name, None),
            },
            ObjectKind::Datatype => self.named_type(token, name),
            ObjectKind::Map => self.map(token, name),
        }
    }

    /// The path of an object that was printed before; notes that it is printed now.
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
        let path = table.get(token)?.path.clone();
        (!file.shown.insert(token)).then_some(path)
    }

    /// A dataset.
    pub(crate) fn dataset(&mut self, token: Token, name: &str, subset: Option<&Subset>) -> Result<()> {
        let container = self.container();
        let info = container.dataset_info(token)?;
        let object = container.object_info(token)?;
        let mut state = State::at(self.indent);
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
        let mut state = State::at(self.indent);
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
    pub(crate) fn start_line(&mut self, state: &mut State) -> Result<()> {
        match self.streams.get(super::Stream::Ddl) {
            Some(out) => state.start_line(out, &self.layout, 0, 0).map_err(super::streams::failed),
            None => Ok(()),
        }
    }

    /// `COMMENT "…"`, where there is one.
    fn comment(&mut self, state: &mut State, comment: Option<&str>) -> Result<()> {
        match comment {
            Some(comment) if !comment.is_empty() => {
                self.line(state, &[b"COMMENT \"", &to_bytes(comment)[..], b"\""].concat())
            }
            _ => Ok(()),
        }
    }

    /// A committed datatype.
    pub(crate) fn named_type(&mut self, token: Token, name: &str) -> Result<()> {
        let container = self.container();
        let datatype = container.datatype_get(token)?;
        let info = container.object_info(token)?;
        let mut state = State::at(self.indent);
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

    /// Committed datatypes that no link leads to, by their address.
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
        let mut state = State::at(self.indent);
        self.head(&mut state, "EXTERNAL_LINK", &to_bytes(name))?;
        state.indent += 1;
        self.line(&mut state, &[b"TARGETFILE \"", &to_bytes(file)[..], b"\""].concat())?;
        self.line(&mut state, &[b"TARGETPATH \"", &to_bytes(path)[..], b"\""].concat())?;
        self.ids[0] += 1;
        // A target that is not there is no error: the link may be meant for another place.
        if let Ok((place, token, kind)) = self.follow_external(file, path) {
            self.enter_external(place, |dumper| dumper.external_object(token, kind, path))?;
        }
        state.indent -= 1;
        self.line(&mut state, b"}")
    }

    fn external_object(&mut self, token: Token, kind: ObjectKind, path: &str) -> Result<()> {
        let references = self.container().object_info(token)?.references;
        match kind {
            ObjectKind::Group => self.group(token, path),
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

    fn place_of(&mut self, opened: crate::open::Opened) -> Result<usize> {
        let identity = opened.identity();
        if let Some(place) = self.files.iter().position(|f| f.opened.identity() == identity) {
            return Ok(place);
        }
        let file = self.describe(opened)?;
        self.files.push(file);
        Ok(self.files.len() - 1)
    }

    /// Runs `body` in another file, unless that is the one the user named.
    fn enter_external(&mut self, place: usize, body: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if place == 0 {
            return Ok(());
        }
        let before = (self.current, self.through_external);
        (self.current, self.through_external) = (place, true);
        self.indent += 2;
        let result = body(self);
        self.indent -= 2;
        (self.current, self.through_external) = before;
        result
    }
}

fn hard_link(path: &str) -> Vec<u8> {
    [b"HARDLINK \"", &to_bytes(path)[..], b"\""].concat()
}
