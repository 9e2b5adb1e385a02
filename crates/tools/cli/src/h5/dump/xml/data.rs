//! Attributes and values in XML.

use hyperslab::vol::AttributeInfo;
use hyperslab::vol::model::datatype::{ReferenceKind, VarLenKind};
use hyperslab::vol::model::heap::VarLenDescriptor;
use hyperslab::vol::model::text::to_bytes;
use hyperslab::{Dataspace, Datatype, Result, Token};

use super::super::Dumper;
use super::super::binary::until_nul;
use super::super::source::{Block, Source, strips};
use super::{escape_name, escape_string, quoted};
use crate::h5::render::element::Marks;
use crate::h5::render::line::{Layout, LineState};

/// Punctuation of nested values: none but spaces.
const MARKS: Marks = Marks {
    array: ("", "", ""),
    compound: ("", ""),
    member_end: " ",
    compound_line: "",
    sequence: (" ", " ", ""),
    lines: false,
};

impl Dumper<'_> {
    /// Prints one attribute.
    pub(super) fn xml_attribute(&mut self, object: Token, info: &AttributeInfo) -> Result<()> {
        let level = self.indent;
        let name = quoted(" Name", escape_name(&to_bytes(&info.name)));
        self.xml_tag(level, "Attribute", &[&name[..], b">"].concat())?;
        self.xml_dataspace(&info.space)?;
        self.xml_datatype(&info.datatype, info.committed)?;
        self.indent += 1;
        let source = Source::Attribute { object, info };
        let result = match self.options.attribute_data && info.space != Dataspace::Null {
            true => self.xml_attribute_data(&source),
            false => self.xml_no_data(level + 1, 1, None),
        };
        self.indent -= 1;
        result?;
        self.xml_end(level, "Attribute")
    }

    fn xml_attribute_data(&mut self, source: &Source<'_>) -> Result<()> {
        let level = self.indent;
        match source.datatype() {
            Datatype::Reference(t) => self.xml_references(level, level + 1, source, t.kind),
            Datatype::Time(_) => self.xml_no_data(level + 1, 0, Some("Time data not yet implemented.")),
            datatype => {
                if let Some(note) = note_of(datatype) {
                    self.xml_line(level, note.as_bytes())?;
                }
                self.xml_data(level, source)
            }
        }
    }

    /// `<Data>` without any; `inner` levels further in for what it holds.
    pub(super) fn xml_no_data(&mut self, level: usize, inner: usize, note: Option<&str>) -> Result<()> {
        self.xml_tag(level, "Data", b">")?;
        if let Some(note) = note {
            self.xml_line(level + inner, format!("<!-- {note} -->").as_bytes())?;
        }
        self.xml_tag(level + inner, "NoData", if note.is_some() { b" />" } else { b"/>" })?;
        self.xml_end(level, "Data")
    }

    /// Prints object references as paths.
    pub(super) fn xml_references(
        &mut self,
        level: usize,
        value_level: usize,
        source: &Source<'_>,
        kind: ReferenceKind,
    ) -> Result<()> {
        if kind != ReferenceKind::Object1 {
            return self.xml_no_data(level, 0, Some("Note: Region references not supported"));
        }
        self.xml_tag(level, "Data", b">")?;
        self.xml_tag(level, "DataFromFile", b">")?;
        let memory = source.datatype().memory_type();
        let tables = self.file().tables.clone();
        for part in strips(&*self.container(), source, &memory)? {
            let block = self.read_source(source, &part, &memory)?;
            for element in block.bytes.chunks_exact(memory.size().max(1) as usize) {
                let token = block.heap.load_reference(element)?.token();
                let path = token.and_then(|token| tables.path(token)).unwrap_or_else(|| "NULL".to_owned());
                self.xml_line(value_level, &[b"\"", &escape_string(&to_bytes(&path))[..], b"\""].concat())?;
            }
        }
        self.xml_end(level, "DataFromFile")?;
        self.xml_end(level, "Data")
    }

    /// Prints `<Data>` with values.
    pub(super) fn xml_data(&mut self, level: usize, source: &Source<'_>) -> Result<()> {
        self.xml_tag(level, "Data", b">")?;
        self.xml_tag(level + 1, "DataFromFile", b">")?;
        let result = match source.datatype() {
            datatype if datatype.is_string() => self.xml_strings(level + 1, source),
            _ => self.xml_values(level + 1, source),
        };
        if let Err(error) = result {
            eprintln!("hyperslab dump: unable to print data: {error}");
            self.xml_line(level + 2, b"Unable to print data.")?;
        }
        self.xml_end(level + 1, "DataFromFile")?;
        self.xml_end(level, "Data")
    }

    fn xml_strings(&mut self, level: usize, source: &Source<'_>) -> Result<()> {
        let memory = source.datatype().memory_type();
        for part in strips(&*self.container(), source, &memory)? {
            let block = self.read_source(source, &part, &memory)?;
            for element in block.bytes.chunks_exact(memory.size().max(1) as usize) {
                let text = match string_of(&block, element)? {
                    None => b"NULL".to_vec(),
                    Some(text) => [b"\"", &escape_string(until_nul(text))[..], b"\""].concat(),
                };
                self.xml_line(level, &text)?;
            }
        }
        Ok(())
    }

    fn xml_values(&mut self, level: usize, source: &Source<'_>) -> Result<()> {
        let mut style = self.style(None);
        style.marks = MARKS;
        let layout = Layout { outdent: false, separator: "", break_rows: false, ..self.layout.clone() };
        let mut state = LineState { need_prefix: true, ..LineState::at(level) };
        self.elements(&mut state, source, None, &layout, &style)
    }
}

/// Returns what h5dump says before values whose form the schema leaves open.
pub(super) fn note_of(datatype: &Datatype) -> Option<&'static str> {
    match datatype {
        Datatype::Compound(_) => Some("<!-- Note: format of compound data not specified -->"),
        Datatype::VarLen(t) if matches!(t.kind, VarLenKind::Sequence(_)) => {
            Some("<!-- Note: format of VL data not specified -->")
        }
        _ => None,
    }
}

fn string_of<'a>(block: &'a Block, element: &'a [u8]) -> Result<Option<&'a [u8]>> {
    match &block.datatype {
        Datatype::VarLen(_) => {
            let descriptor = VarLenDescriptor::load(element)?;
            if descriptor == VarLenDescriptor::default() {
                Ok(None)
            } else {
                block.heap.get(descriptor, 1).map(Some)
            }
        }
        _ => Ok(Some(element)),
    }
}
