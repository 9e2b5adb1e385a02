//! Datasets and attributes that hold references: each is printed with what it points to.

use std::sync::Arc;

use hyperslab::vol::Container;
use hyperslab::vol::model::datatype::ReferenceKind;
use hyperslab::vol::model::text::to_bytes;
use hyperslab::vol::model::{Reference, ReferenceTarget};
use hyperslab::{Kind, ObjectKind, Result, Token};

use super::Dumper;
use super::source::{Block, Source, strips};
use super::streams::{Stream, failed};
use super::tables::Tables;
use crate::h5::render::element::{Printer, ReferenceText, Values};
use crate::h5::render::line::{Layout, LineState};

/// References to references that are followed.
const DEPTH_MAX: usize = 8;

/// Columns of lines about references, whatever the user's width is.
const COLUMNS: usize = 80;

/// The names of what references point to.
pub(crate) struct Names {
    container: Arc<dyn Container>,
    tables: Arc<Tables>,
    by_name: Arc<Tables>,
}

impl ReferenceText for Names {
    fn write(&self, reference: &Reference, out: &mut Vec<u8>) -> Result<()> {
        let object = |token: &Token| to_bytes(&self.tables.path(*token).unwrap_or_default());
        let (word, path) = match &reference.target {
            ReferenceTarget::Null => return Ok(()),
            ReferenceTarget::Object(token) => match self.container.object_info(*token) {
                Ok(info) => (format!("{} {}", kind_word(info.kind), token.to_u64()), object(token)),
                Err(_) => return Ok(()),
            },
            ReferenceTarget::Region { dataset, .. } => {
                ("DATASET".to_owned(), to_bytes(&self.by_name.path(*dataset).unwrap_or_default()))
            }
            ReferenceTarget::Attribute { object: token, .. } => ("ATTRIBUTE".to_owned(), object(token)),
        };
        out.extend_from_slice(word.as_bytes());
        // h5dump leaves out the name of an object that it cannot name, but not that of a region's dataset.
        if !path.is_empty() || matches!(reference.target, ReferenceTarget::Region { .. }) {
            out.extend_from_slice(&[b" \"", &path[..], b"\""].concat());
        }
        Ok(())
    }
}

fn kind_word(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Group => "GROUP",
        ObjectKind::Dataset => "DATASET",
        ObjectKind::Datatype => "DATATYPE",
        ObjectKind::Map => "MAP",
    }
}

impl Dumper<'_> {
    /// Returns what tells the names of objects.
    pub(crate) fn names(&self) -> Names {
        let file = self.file();
        Names { container: self.container(), tables: file.tables.clone(), by_name: file.by_name.clone() }
    }

    /// Returns the layout of what is printed about references.
    pub(crate) fn reference_layout(&self) -> Layout {
        Layout { columns: COLUMNS, ..self.layout.clone() }
    }

    /// Prints all references of a dataset or attribute.
    pub(crate) fn reference_values(
        &mut self,
        state: &mut LineState,
        source: &Source<'_>,
        kind: ReferenceKind,
    ) -> Result<()> {
        state.indent += 1;
        // h5dump 1.10 does not know the newer kinds, and leaves the indentation where it is.
        if !matches!(kind, ReferenceKind::Object1 | ReferenceKind::DatasetRegion1) {
            return Ok(());
        }
        let mut inner = LineState { need_prefix: true, ..state.clone() };
        let result = self.follow_strips(&mut inner, source);
        if let Err(error) = &result
            && error.kind() == Kind::Limit
        {
            // More references than anybody could print: h5dump, too, goes on without them.
            eprintln!("hyperslab dump: {error}");
            return Ok(());
        }
        // After a failure, too, h5dump leaves the indentation where it is.
        state.indent -= usize::from(result.is_ok());
        self.tolerate("unable to print references", result)
    }

    fn follow_strips(&mut self, state: &mut LineState, source: &Source<'_>) -> Result<()> {
        let memory = source.datatype().memory_type();
        let size = memory.size().max(1) as usize;
        let mut number = 0;
        for part in strips(&*self.container(), source, &memory)? {
            let block = self.read_source(source, &part, &memory)?;
            for element in block.bytes.chunks_exact(size) {
                self.follow_reference(state, &block, element, number)?;
                state.on_line += 1;
                number += 1;
            }
        }
        Ok(())
    }

    fn follow_reference(
        &mut self,
        state: &mut LineState,
        block: &Block,
        element: &[u8],
        number: u64,
    ) -> Result<()> {
        let reference = block.heap.load_reference(element)?;
        let text = self.reference_text(block, element)?;
        state.need_prefix = true;
        self.reference_piece(state, &text, number)?;
        match &reference.target {
            ReferenceTarget::Object(token) => self.follow_object(state, *token),
            ReferenceTarget::Region { dataset, selection } => self.region(state, *dataset, selection, number),
            _ => Ok(()),
        }
    }

    fn reference_text(&self, block: &Block, element: &[u8]) -> Result<Vec<u8>> {
        let names = self.names();
        let style = self.style(None);
        let printer = Printer { style: &style, values: Values { heap: &block.heap, references: &names } };
        let mut text = Vec::new();
        printer.print(&block.datatype, element, &mut LineState::default(), &mut text)?;
        Ok(text)
    }

    /// Prints a piece about reference number `number`.
    pub(crate) fn reference_piece(&mut self, state: &mut LineState, text: &[u8], number: u64) -> Result<()> {
        let layout = self.reference_layout();
        match self.streams.get(Stream::Ddl) {
            Some(out) => state.piece(out, &layout, text, number, u64::MAX).map(drop).map_err(failed),
            None => Ok(()),
        }
    }

    /// The data of the object, which is empty for what is no dataset.
    fn follow_object(&mut self, state: &mut LineState, token: Token) -> Result<()> {
        let container = self.container();
        if container.object_info(token).is_err() {
            return Ok(());
        }
        state.indent += 1;
        // Where references go round in a circle, h5dump does not come back.
        let endless = self.following.contains(&token) || self.following.len() >= DEPTH_MAX;
        let result = match container.dataset_info(token) {
            Ok(info) if !endless => {
                self.following.push(token);
                let result = self.values(state, &Source::Dataset { token, info: &info }, None, None);
                self.following.pop();
                result
            }
            _ => self.line(state, b"DATA {").and_then(|()| self.line(state, b"}")),
        };
        state.indent -= 1;
        result
    }
}
