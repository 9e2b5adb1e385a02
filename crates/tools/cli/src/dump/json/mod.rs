//! `--json`: a whole file as JSON, after the HDF5/JSON specification of the HDF Group.
//!
//! Objects are listed by kind and identity; links name identities, so that loops and shared objects need no
//! special form. Identities are the container's own tokens.

mod types;
mod value;

use hyperslab::model::properties::Layout as Storage;
use hyperslab::model::text::to_bytes;
use hyperslab::vol::{AttributeInfo, DatasetInfo};
use hyperslab::{Dataspace, Index, Link, LinkTarget, ObjectKind, Order, Result, Selection, Token};

use super::Dumper;
use super::attributes::list_attributes;
use super::source::read_block;
use super::tables::{Sorting, list_links};
use types::{space_json, type_json};
use value::Values;

/// Bytes of elements that are held at a time.
const STRIP_BYTES: u64 = 4 << 20;

const BY_NAME: Sorting = Sorting { by: Index::Name, order: Order::Increasing };

/// A JSON string. Bytes that are no UTF-8 become replacement characters.
pub(super) fn string(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for c in String::from_utf8_lossy(text).chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x20 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The identity of an object.
pub(super) fn id(token: Token) -> String {
    format!("\"{:x}\"", u128::from_le_bytes(token.0))
}

/// The collection that lists objects of a kind.
pub(super) fn collection(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Group => "groups",
        ObjectKind::Dataset => "datasets",
        ObjectKind::Datatype => "datatypes",
        ObjectKind::Map => "maps",
    }
}

fn name(text: &str) -> String {
    string(&to_bytes(text))
}

impl Dumper<'_> {
    /// The whole file.
    pub(crate) fn json_file(&mut self) -> Result<()> {
        let tables = self.file().tables.clone();
        let root = self.container().info()?.root;
        self.json(&format!("{{\n  \"apiVersion\": \"1.1.1\",\n  \"root\": {},\n", id(root)))?;
        self.json_collection("groups", &tables.groups.tokens(), super::Dumper::json_group)?;
        self.json(",\n")?;
        self.json_collection("datasets", &tables.datasets.tokens(), |dumper, token| {
            dumper.json_dataset(token)
        })?;
        self.json(",\n")?;
        self.json_collection("datatypes", &tables.types.tokens(), |dumper, token| {
            dumper.json_datatype(token)
        })?;
        self.json("\n}\n")
    }

    fn json(&mut self, text: &str) -> Result<()> {
        self.put(text.as_bytes())
    }

    fn json_collection(
        &mut self,
        title: &str,
        tokens: &[Token],
        mut body: impl FnMut(&mut Self, Token) -> Result<()>,
    ) -> Result<()> {
        self.json(&format!("  \"{title}\": {{"))?;
        for (i, token) in tokens.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            self.json(&format!("{comma}\n    {}: {{\n", id(*token)))?;
            self.json_aliases(*token)?;
            let result = self.json_attributes(*token).and_then(|()| body(self, *token));
            self.tolerate(title, result)?;
            self.json("\n    }")?;
        }
        self.json(if tokens.is_empty() { "}" } else { "\n  }" })
    }

    fn json_aliases(&mut self, token: Token) -> Result<()> {
        let path = self.file().tables.path(token).map(name).unwrap_or_default();
        self.json(&format!("      \"alias\": [{path}]"))
    }

    fn json_attributes(&mut self, object: Token) -> Result<()> {
        let attributes = list_attributes(&*self.container(), object, BY_NAME)?;
        if attributes.is_empty() || !self.options.attributes {
            return Ok(());
        }
        self.json(",\n      \"attributes\": [")?;
        for (i, info) in attributes.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            let shape = space_json(&info.space);
            let datatype = self.json_type(&info.datatype, info.committed);
            let head = format!(
                "{comma}\n        {{\"name\": {}, \"shape\": {shape}, \"type\": {datatype}",
                name(&info.name)
            );
            self.json(&head)?;
            let result = self.json_attribute_value(object, info);
            self.tolerate(&info.name, result)?;
            self.json("}")?;
        }
        self.json("\n      ]")
    }

    fn json_type(&self, datatype: &hyperslab::Datatype, committed: Option<Token>) -> String {
        match committed {
            Some(token) => format!("\"datatypes/{}\"", id(token).trim_matches('"')),
            None => type_json(datatype),
        }
    }

    fn json_attribute_value(&mut self, object: Token, info: &AttributeInfo) -> Result<()> {
        if !self.options.attribute_data || info.space == Dataspace::Null {
            return Ok(());
        }
        let block = self.read_attribute(object, info, &info.datatype.memory_form())?;
        let mut values = Values::new(info.space.dims());
        let mut text = String::from(", \"value\": ");
        values.extend(&*self.container(), &block, &mut text)?;
        values.finish(&mut text);
        self.json(&text)
    }

    fn json_group(&mut self, token: Token) -> Result<()> {
        let links = list_links(&*self.container(), token, BY_NAME)?;
        self.json(",\n      \"links\": [")?;
        for (i, link) in links.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            let text = self.json_link(link);
            self.json(&format!("{comma}\n        {{{text}}}"))?;
        }
        self.json(if links.is_empty() { "]" } else { "\n      ]" })
    }

    fn json_link(&self, link: &Link) -> String {
        let title = name(&link.name);
        match &link.target {
            LinkTarget::Hard(token) => {
                let kind =
                    self.container().object_info(*token).map_or("unreadable", |info| collection(info.kind));
                let id = id(*token);
                format!(
                    "\"class\": \"H5L_TYPE_HARD\", \"title\": {title}, \"collection\": \"{kind}\", \"id\": {id}"
                )
            }
            LinkTarget::Soft(path) => {
                format!("\"class\": \"H5L_TYPE_SOFT\", \"title\": {title}, \"h5path\": {}", name(path))
            }
            LinkTarget::External { file, path } => {
                let (file, path) = (name(file), name(path));
                format!(
                    "\"class\": \"H5L_TYPE_EXTERNAL\", \"title\": {title}, \"file\": {file}, \"h5path\": {path}"
                )
            }
            LinkTarget::User { class, .. } => {
                format!("\"class\": \"H5L_TYPE_USER_DEFINED\", \"title\": {title}, \"linkClass\": {class}")
            }
        }
    }

    fn json_datatype(&mut self, token: Token) -> Result<()> {
        let datatype = self.container().datatype_get(token)?;
        self.json(&format!(",\n      \"type\": {}", type_json(&datatype)))
    }

    fn json_dataset(&mut self, token: Token) -> Result<()> {
        let info = self.container().dataset_info(token)?;
        let datatype = self.json_type(&info.datatype, info.committed);
        self.json(&format!(",\n      \"shape\": {},\n      \"type\": {datatype}", space_json(&info.space)))?;
        self.json(&format!(",\n      \"creationProperties\": {{\"layout\": {}}}", layout_json(&info)))?;
        if self.options.data && info.space != Dataspace::Null {
            self.json_values(token, &info)?;
        }
        Ok(())
    }

    fn json_values(&mut self, token: Token, info: &DatasetInfo) -> Result<()> {
        let mut values = Values::new(info.space.dims());
        self.json(",\n      \"value\": ")?;
        let result = self.json_elements(token, info, &mut values);
        // Whatever went wrong, the document stays well-formed.
        let mut end = String::new();
        match result.is_err() && values.is_empty() {
            true => end.push_str("null"),
            false => values.finish(&mut end),
        }
        self.json(&end)?;
        result
    }

    fn json_elements(&mut self, token: Token, info: &DatasetInfo, values: &mut Values) -> Result<()> {
        if info.space.element_count()? == 0 {
            return Ok(());
        }
        let container = self.container();
        let memory = info.datatype.memory_form();
        let strip = (STRIP_BYTES / u64::from(memory.size().max(1))).max(1);
        for selection in Selection::All.strips(info.space.dims(), strip)? {
            let block = read_block(&*container, token, info, &selection, &memory, &self.failed)?;
            let mut text = String::new();
            values.extend(&*container, &block, &mut text)?;
            self.json(&text)?;
        }
        Ok(())
    }
}

fn layout_json(info: &DatasetInfo) -> String {
    match &info.create.layout {
        Storage::Compact => "{\"class\": \"H5D_COMPACT\"}".to_owned(),
        Storage::Contiguous | Storage::External(_) => "{\"class\": \"H5D_CONTIGUOUS\"}".to_owned(),
        Storage::Chunked { shape, .. } => format!("{{\"class\": \"H5D_CHUNKED\", \"dims\": {shape:?}}}"),
        Storage::Virtual(_) => "{\"class\": \"H5D_VIRTUAL\"}".to_owned(),
    }
}
