//! XML output, after the schema (or DTD) of HDF5 files.

mod data;
mod dataset;
mod datatype;

use hyperslab::vol::model::ObjectPath;
use hyperslab::vol::model::properties::CreationOrder;
use hyperslab::vol::model::text::to_bytes;
use hyperslab::vol::{Lookup, OpLookup, path};
use hyperslab::{Index, Link, LinkTarget, ObjectKind, Result, Token};

use super::Dumper;
use super::attributes::list_attributes;
use super::tables::{Links, Sorting, list_links, shown};
use crate::h5::render::line::{BREAK, LEVELS_MAX};

const SCHEMA_URI: &str = "http://www.hdfgroup.org/HDF5/XML/schema/HDF5-File.xsd";
const DTD_URI: &str = "http://www.hdfgroup.org/HDF5/XML/DTD/HDF5-File.dtd";
const SCHEMA_NAME: &str = "http://hdfgroup.org/HDF5/XML/schema/HDF5-File";
const INSTANCE_URI: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// Where the writer of XML stands.
#[derive(Debug)]
pub(crate) struct XmlState {
    /// The path of the group that is printed; empty for the root group.
    path: ObjectPath,
    /// Groups that are begun and not ended yet, the last one inside of all others.
    open: Vec<OpenGroup>,
    /// The next identity of what has none.
    fake: u64,
    /// The next number of what has been printed before.
    again: u64,
    /// Whether a line was written.
    begun: bool,
}

/// A group that is begun.
#[derive(Debug)]
struct OpenGroup {
    token: Token,
    tag: &'static str,
    level: usize,
    /// Whether what is in it stands one level further in.
    entered: bool,
    links: Links,
    /// The path of the group around it.
    outer: ObjectPath,
}

impl Default for XmlState {
    fn default() -> Self {
        XmlState { path: ObjectPath::start(""), open: Vec::new(), fake: u64::MAX - 1, again: 1, begun: false }
    }
}

/// Returns text of a name inside quotation marks.
pub(super) fn escape_name(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    for &byte in name {
        match entity(byte) {
            Some(entity) => out.extend_from_slice(entity),
            None if byte == b'"' => out.extend_from_slice(b"&quot;"),
            None => out.push(byte),
        }
    }
    out
}

/// Returns text of a string that stands in quotation marks of its own.
pub(super) fn escape_string(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        match entity(byte) {
            Some(entity) => out.extend_from_slice(entity),
            None if byte == b'"' || byte == b'\\' => out.extend([b'\\', byte]),
            None => out.push(byte),
        }
    }
    out
}

fn entity(byte: u8) -> Option<&'static [u8]> {
    match byte {
        b'\'' => Some(b"&apos;"),
        b'<' => Some(b"&lt;"),
        b'>' => Some(b"&gt;"),
        b'&' => Some(b"&amp;"),
        _ => None,
    }
}

/// Returns an attribute of an XML element.
pub(super) fn quoted(name: &str, value: impl AsRef<[u8]>) -> Vec<u8> {
    [name.as_bytes(), b"=\"", value.as_ref(), b"\""].concat()
}

impl Dumper<'_> {
    /// Prints the whole file.
    pub(crate) fn xml_file(&mut self) -> Result<()> {
        self.xml = XmlState::default();
        self.put(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")?;
        let head = self.xml_head();
        self.put(head.as_bytes())?;
        let root = self.container().info()?.root;
        self.xml_group(root, "/")?;
        let end = format!("\n</{}HDF5-File>\n", self.options.xml_namespace);
        self.put(end.as_bytes())
    }

    fn xml_head(&self) -> String {
        let prefix = &self.options.xml_namespace;
        let uri = self.options.xml_uri.as_deref();
        if !self.options.xml_schema {
            let uri = uri.unwrap_or(DTD_URI);
            return format!("<!DOCTYPE HDF5-File PUBLIC \"HDF5-File.dtd\" \"{uri}\">\n<HDF5-File>\n");
        }
        if prefix.is_empty() {
            let uri = uri.unwrap_or(SCHEMA_URI);
            return format!(
                "<HDF5-File xmlns:xsi=\"{INSTANCE_URI}\" xsi:noNamespaceSchemaLocation=\"{uri}\">\n"
            );
        }
        let name = prefix.rsplit_once(':').map_or(prefix.as_str(), |(name, _)| name);
        format!(
            "<{prefix}HDF5-File xmlns:{name}=\"{SCHEMA_NAME}.xsd\" xmlns:xsi=\"{INSTANCE_URI}\" \
             xsi:schemaLocation=\"{SCHEMA_NAME} {SCHEMA_URI}\">\n"
        )
    }

    /// Prints one line at `level`.
    pub(super) fn xml_line(&mut self, level: usize, text: &[u8]) -> Result<()> {
        let newline: &[u8] = if std::mem::replace(&mut self.xml.begun, true) { b"\n" } else { b"" };
        let indent = "   ".repeat(if crate::common::expand() { level } else { level.min(LEVELS_MAX) });
        // h5dump takes this byte for a place to break the line, and does not print it.
        let text: Vec<u8> = text.iter().copied().filter(|&byte| byte != BREAK).collect();
        self.put(&[newline, indent.as_bytes(), &text].concat())
    }

    /// Prints `<hdf5:NAME…`, with the rest as given.
    pub(super) fn xml_tag(&mut self, level: usize, name: &str, rest: &[u8]) -> Result<()> {
        let head = format!("<{}{name}", self.options.xml_namespace);
        self.xml_line(level, &[head.as_bytes(), rest].concat())
    }

    /// Prints `</hdf5:NAME>`.
    pub(super) fn xml_end(&mut self, level: usize, name: &str) -> Result<()> {
        let text = format!("</{}{name}>", self.options.xml_namespace);
        self.xml_line(level, text.as_bytes())
    }

    /// Prints an element with attributes, each given as `name="value"`.
    fn xml_element(&mut self, level: usize, name: &str, attributes: &[Vec<u8>], end: &[u8]) -> Result<()> {
        let mut rest = Vec::new();
        for attribute in attributes {
            rest.push(b' ');
            rest.extend_from_slice(attribute);
        }
        rest.extend_from_slice(end);
        self.xml_tag(level, name, &rest)
    }

    /// Returns the object that a path leads to from the group that is printed.
    fn xml_lookup(&self, path: &str) -> Option<Token> {
        let from = self.xml.open.last()?.token;
        let op = OpLookup { from, path: path.to_owned(), traversals_max: 16 };
        match path::lookup(&*self.container(), &op) {
            Ok(Lookup::Object(token)) => Some(token),
            _ => None,
        }
    }

    /// Returns the identity of an object; what is not there gets one of its own.
    pub(super) fn xml_id(&mut self, object: Option<Token>) -> String {
        let number = object.map(Token::to_u64).unwrap_or_else(|| {
            let fake = self.xml.fake;
            self.xml.fake -= 1;
            fake
        });
        format!("xid_{number}")
    }

    /// Returns the path of something in the group that is printed.
    pub(super) fn xml_path(&self, name: &str) -> ObjectPath {
        self.xml.path.join(name)
    }

    /// Returns `Parents="…"` and `H5ParentPaths="…"` of the group that is printed.
    pub(super) fn xml_parents(&mut self) -> [Vec<u8>; 2] {
        let path = self.xml.path.clone();
        self.xml_parents_of(&path)
    }

    /// Returns the parents of a path of the group that was begun last.
    fn xml_parents_of(&mut self, path: &ObjectPath) -> [Vec<u8>; 2] {
        let text = if path.is_empty() { "/".to_owned() } else { shown(path) };
        let id = self.xml_id(self.xml.open.last().map(|open| open.token));
        [quoted("Parents", id), quoted("H5ParentPaths", escape_name(&to_bytes(&text)))]
    }

    fn xml_group(&mut self, token: Token, name: &str) -> Result<()> {
        let around = self.xml.open.len();
        self.xml_begin_group(token, name, ObjectPath::start(""))?;
        while self.xml.open.len() > around {
            let next = self.xml.open.last_mut().and_then(|open| open.links.next());
            match next {
                Some(link) => {
                    let result = self.xml_link(&link);
                    self.tolerate(&link.name, result)?;
                }
                None => self.xml_end_group()?,
            }
        }
        Ok(())
    }

    /// Ends the group that was begun last.
    fn xml_end_group(&mut self) -> Result<()> {
        let Some(OpenGroup { tag, level, entered, outer, .. }) = self.xml.open.pop() else { return Ok(()) };
        self.xml.path = outer;
        self.indent -= usize::from(entered);
        self.xml_end(level, tag)
    }

    /// Prints a group as far as its links.
    fn xml_begin_group(&mut self, token: Token, name: &str, outer: ObjectPath) -> Result<()> {
        let info = self.container().object_info(token)?;
        let level = self.indent;
        let tag = if name == "/" { "RootGroup" } else { "Group" };
        let before = self.shown_before(token, info.references, ObjectKind::Group);
        if name == "/" {
            let id = self.xml_id(Some(token));
            self.xml_element(level, tag, &[quoted("OBJ-XID", id), quoted("H5Path", "/")], b">")?;
        } else {
            self.xml_group_head((level, token), name, before.as_deref())?;
        }
        let (links, entered) = (Links::none(), before.is_none());
        self.xml.open.push(OpenGroup { token, tag, level, entered, links, outer });
        if entered {
            self.indent += 1;
            // One that cannot be read is not ended, as with h5dump.
            if let Err(error) = self.xml_fill_group(token, name, info.create.attribute_order) {
                self.xml.open.pop();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Prints the content of a group, up to its links.
    fn xml_fill_group(&mut self, token: Token, name: &str, order: CreationOrder) -> Result<()> {
        self.xml_attributes(token, order)?;
        if name == "/" {
            let tables = self.file().tables.clone();
            for token in tables.unnamed_types() {
                self.xml_named_type(token, &format!("#{}", token.to_u64()))?;
            }
        }
        let links = self.xml_links(token)?;
        if let Some(open) = self.xml.open.last_mut() {
            open.links = links;
        }
        Ok(())
    }

    fn xml_group_head(
        &mut self,
        (level, token): (usize, Token),
        name: &str,
        before: Option<&str>,
    ) -> Result<()> {
        let path = self.xml.path.clone();
        let escaped = |text: &str| escape_name(&to_bytes(text));
        let id = self.xml_id(Some(token));
        let parents = self.xml_parents_of(path.parent().unwrap_or(&path));
        let name = quoted("Name", escaped(name));
        let Some(before) = before else {
            let start = [name, quoted("OBJ-XID", id), quoted("H5Path", escaped(&shown(&path)))];
            return self.xml_element(level, "Group", &[&start[..], &parents].concat(), b" >");
        };
        let numbered = format!("{id}-{}", self.xml.again);
        self.xml.again += 1;
        let start = [name, quoted("OBJ-XID", numbered), quoted("H5Path", escaped(before))];
        self.xml_element(level, "Group", &[&start[..], &parents].concat(), b">")?;
        let start = [quoted("OBJ-XID", id), quoted("H5Path", escaped(before))];
        self.xml_element(level + 1, "GroupPtr", &[&start[..], &parents].concat(), b" />")
    }

    fn xml_links(&mut self, group: Token) -> Result<Links> {
        let container = self.container();
        let tracked = container.group_info(group)?.create.link_order;
        let by = if tracked == CreationOrder::Untracked { Index::Name } else { self.options.sort_by };
        list_links(&*container, group, Sorting { by, order: self.options.sort_order })
    }

    fn xml_link(&mut self, link: &Link) -> Result<()> {
        let LinkTarget::Hard(token) = link.target else { return self.xml_other_link(link) };
        let info = self.container().object_info(token)?;
        match info.kind {
            ObjectKind::Group => {
                let path = self.xml_path(&link.name);
                let outer = std::mem::replace(&mut self.xml.path, path);
                let begun = self.xml_begin_group(token, &link.name, outer.clone());
                begun.inspect_err(|_| self.xml.path = outer)
            }
            ObjectKind::Dataset => match self.shown_before(token, info.references, ObjectKind::Dataset) {
                Some(before) => self.xml_dataset_again(token, &link.name, &before),
                None => self.xml_dataset(token, &link.name),
            },
            ObjectKind::Datatype => self.xml_named_type(token, &link.name),
            ObjectKind::Map => Ok(()),
        }
    }

    /// Prints links that are not hard.
    fn xml_other_link(&mut self, link: &Link) -> Result<()> {
        let plain = to_bytes(&shown(&self.xml_path(&link.name)));
        let path = escape_name(&plain);
        // h5dump looks for the path as it is escaped, which leads nowhere.
        let object = if path == plain { self.xml_lookup(&link.name) } else { None };
        let id = self.xml_id(object);
        let mut attributes = vec![
            quoted("LinkName", escape_name(&to_bytes(&link.name))),
            quoted("OBJ-XID", id),
            quoted("H5SourcePath", path),
        ];
        // Where h5dump writes two spaces, an empty attribute stands for the second one.
        let tag = match &link.target {
            LinkTarget::Soft(to) => {
                attributes.push(quoted("TargetPath", escape_name(&to_bytes(to))));
                let target =
                    self.xml_lookup(to).map(|token| quoted("TargetObj", format!("xid_{}", token.to_u64())));
                attributes.push(target.unwrap_or_default());
                "SoftLink"
            }
            LinkTarget::External { file, path } => {
                attributes.extend([quoted("TargetFilename", to_bytes(file)), Vec::new()]);
                attributes.extend([quoted("TargetPath", to_bytes(path)), Vec::new()]);
                "ExternalLink"
            }
            LinkTarget::User { class, .. } => {
                attributes.extend([quoted("LinkClass", class.to_string()), Vec::new()]);
                "UserDefined"
            }
            LinkTarget::Hard(_) => return Ok(()),
        };
        attributes.extend(self.xml_parents());
        self.xml_element(self.indent, tag, &attributes, b" />")
    }

    /// Prints all attributes of an object.
    pub(super) fn xml_attributes(&mut self, object: Token, tracked: CreationOrder) -> Result<()> {
        let by = if tracked == CreationOrder::Untracked { Index::Name } else { self.options.sort_by };
        let sorting = Sorting { by, order: self.options.sort_order };
        for info in list_attributes(&*self.container(), object, sorting)? {
            let result = self.xml_attribute(object, &info);
            self.tolerate(&info.name, result)?;
        }
        Ok(())
    }
}
