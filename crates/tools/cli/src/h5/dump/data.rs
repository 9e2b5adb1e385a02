//! Values of datasets and attributes.

use std::sync::Arc;

use hyperslab::vol::algorithms::stored::{StoredRuns, run_blocks};
use hyperslab::vol::algorithms::transfer::from_file_type;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::{Heap, Selection};
use hyperslab::vol::{AttributeInfo, DatasetInfo, Pin};
use hyperslab::{Datatype, Error, Kind, Result, Token};

use super::Dumper;
use super::binary::{self, target_type};
use super::lenient;
use super::source::{Block, STRIP_BYTES, Source, read_block, read_pairs, strips};
use super::streams::{Stream, failed};
use crate::h5::holes;
use crate::h5::render::cformat::FloatFormat;
use crate::h5::render::element::{Marks, PackedBits, Printer, Style, Values};
use crate::h5::render::line::{Layout, LineState, Prefix};
use crate::h5::render::text::Escape;
use crate::h5::subset::{Hyperslab, Subset};

/// How one run of elements is printed.
pub(crate) struct Run<'a> {
    pub(crate) stream: Stream,
    pub(crate) layout: &'a Layout,
    pub(crate) style: &'a Style,
    /// No element follows the last one.
    pub(crate) last: bool,
}

impl Dumper<'_> {
    /// Prints all values of a dataset, or those of a subset, once for every set of packed bits.
    pub(crate) fn dataset_values(
        &mut self,
        state: &mut LineState,
        token: Token,
        info: &Arc<DatasetInfo>,
        subset: Option<&Subset>,
    ) -> Result<()> {
        if matches!(info.datatype, Datatype::Time(_)) {
            state.indent += 1;
            state.need_prefix = true;
            self.start_line(state)?;
            self.piece(state, b"DATA{ not yet implemented.}")?;
            state.indent -= 1;
            return Ok(());
        }
        let source = Source::Dataset { token, info };
        let slab = subset.map(|subset| subset.resolve(info.space.rank())).transpose()?;
        if self.options.packed_bits.is_empty() {
            return self.values(state, &source, slab.as_ref(), None);
        }
        for mut packed in self.options.packed_bits.clone() {
            self.line(
                state,
                format!("PACKED_BITS OFFSET={} LENGTH={}", packed.offset, packed.length).as_bytes(),
            )?;
            if let Datatype::Integer(t) = &info.datatype {
                let bits = crate::h5::render::number::native_integer_bytes(t.bits.precision) as u32 * 8;
                if packed.offset + packed.length > bits {
                    packed.mask = 0;
                }
            }
            self.values(state, &source, slab.as_ref(), Some(packed))?;
        }
        Ok(())
    }

    /// Prints the values of an attribute.
    pub(crate) fn attribute_values(
        &mut self,
        state: &mut LineState,
        object: Token,
        info: &AttributeInfo,
    ) -> Result<()> {
        self.values(state, &Source::Attribute { object, info }, None, None)
    }

    /// Prints `DATA {…}`.
    pub(crate) fn values(
        &mut self,
        state: &mut LineState,
        source: &Source<'_>,
        slab: Option<&Hyperslab>,
        packed: Option<PackedBits>,
    ) -> Result<()> {
        if let Some(slab) = slab {
            self.subset_head(state, slab)?;
            state.indent += 1;
        }
        self.line(state, b"DATA {")?;
        if let Datatype::Reference(t) = source.datatype() {
            self.reference_values(state, source, t.kind)?;
        } else {
            match self.plain_values(state, source, slab, packed) {
                // A subset outside of the dataset is no failure to h5dump.
                Err(error) if slab.is_some() => eprintln!("hyperslab dump: unable to print data: {error}"),
                result => self.tolerate("unable to print data", result)?,
            }
        }
        self.line(state, b"}")?;
        if slab.is_some() {
            state.indent -= 1;
            self.line(state, b"}")?;
        }
        Ok(())
    }

    fn subset_head(&mut self, state: &mut LineState, slab: &Hyperslab) -> Result<()> {
        self.line(state, b"SUBSET {")?;
        state.indent += 1;
        let lists = [
            ("START", &slab.start),
            ("STRIDE", &slab.stride),
            ("COUNT", &slab.count),
            ("BLOCK", &slab.block),
        ];
        for (word, list) in lists {
            let list: Vec<String> = list.iter().map(u64::to_string).collect();
            self.line(state, format!("{word} ( {} );", list.join(", ")).as_bytes())?;
        }
        state.indent -= 1;
        Ok(())
    }

    pub(crate) fn style(&self, packed: Option<PackedBits>) -> Style {
        let float =
            self.options.float_format.as_deref().map_or_else(FloatFormat::general, FloatFormat::parse);
        Style {
            escape: if self.options.escape { Escape::C } else { Escape::None },
            float,
            wide_float: FloatFormat::general(),
            ascii: false,
            packed,
            marks: Marks::DDL,
        }
    }

    fn plain_values(
        &mut self,
        state: &LineState,
        source: &Source<'_>,
        slab: Option<&Hyperslab>,
        packed: Option<PackedBits>,
    ) -> Result<()> {
        let mut style = self.style(packed);
        let indices = self.options.indices;
        let prefix = if indices { Prefix::Index } else { Prefix::None };
        let mut layout = Layout { outdent: indices, prefix, ..self.layout.clone() };
        let mut state = LineState { need_prefix: true, ..state.clone() };
        let characters =
            self.options.characters && matches!(source.datatype(), Datatype::Integer(t) if t.bits.size == 1);
        if characters {
            style.ascii = true;
            self.start_characters(&mut state, &mut layout)?;
        }
        let result = self.elements(&mut state, source, slab, &layout, &style);
        if characters {
            self.piece_of(
                Stream::Ddl,
                &mut state,
                &Layout { prefix: Prefix::None, ..layout_end(&layout) },
                b"\"",
            )?;
        }
        result
    }

    /// Text of one-byte integers starts with a quotation mark on every line.
    fn start_characters(&mut self, state: &mut LineState, layout: &mut Layout) -> Result<()> {
        layout.prefix = Prefix::Quote { every_line: self.options.indices };
        state.indent += 1;
        if let Some(out) = self.streams.get(Stream::Ddl) {
            state.start_line(out, layout, 0, 0).map_err(failed)?;
        }
        (layout.separator, layout.space, layout.line_end) = ("", "", "\"");
        Ok(())
    }

    fn piece_of(
        &mut self,
        stream: Stream,
        state: &mut LineState,
        layout: &Layout,
        text: &[u8],
    ) -> Result<()> {
        match self.streams.get(stream) {
            Some(out) => state.piece(out, layout, text, 0, 0).map(drop).map_err(failed),
            None => Ok(()),
        }
    }

    pub(crate) fn elements(
        &mut self,
        state: &mut LineState,
        source: &Source<'_>,
        slab: Option<&Hyperslab>,
        layout: &Layout,
        style: &Style,
    ) -> Result<()> {
        if source.space().element_count()? == 0 {
            return Ok(());
        }
        state.set_extent(source.space().dims());
        let memory = self.memory_type(source.datatype());
        let run = Run { stream: source.stream(), layout, style, last: true };
        match source {
            Source::Attribute { object, info } => {
                let block = self.read_attribute(*object, info, &memory)?;
                self.print_run(state, &run, &block, &mut 0)
            }
            Source::Pairs { .. } => {
                let block = self.read_source(source, &Selection::All, &memory)?;
                self.print_run(state, &run, &block, &mut 0)
            }
            Source::Dataset { token, info } => match slab {
                Some(slab) => self.subset_elements(state, *token, info, slab, &memory, &run),
                None => self.all_elements(state, *token, info, &memory, &run),
            },
        }
    }

    /// Returns the type that elements are read as.
    fn memory_type(&self, datatype: &Datatype) -> Datatype {
        match self.options.binary {
            Some(form) => target_type(datatype, form).memory_type(),
            None => datatype.memory_type(),
        }
    }

    /// Reads one part of the elements.
    pub(crate) fn read_source(
        &self,
        source: &Source<'_>,
        part: &Selection,
        memory: &Datatype,
    ) -> Result<Block> {
        match source {
            Source::Dataset { token, info } => {
                read_block(&*self.container(), *token, info, part, memory, &self.failed)
            }
            Source::Attribute { object, info } => self.read_attribute(*object, info, memory),
            Source::Pairs { map, side, datatype, .. } => {
                read_pairs(&*self.container(), *map, (*side, datatype), memory)
            }
        }
    }

    pub(crate) fn read_attribute(
        &self,
        object: Token,
        info: &AttributeInfo,
        memory: &Datatype,
    ) -> Result<Block> {
        let container = self.container();
        let _pin = Pin::of(&*container, &info.datatype)?;
        let raw = container.attribute_read(object, &[&info.name])?.pop().unwrap_or_default();
        let mut heap = Heap::new();
        let conversions = Conversions::default();
        let bytes = match from_file_type(&*container, &info.datatype, &raw, memory, &conversions, &mut heap) {
            Err(error) if error.kind() == Kind::Corrupt && lenient::can_be_missing(memory) => {
                lenient::convert(&*container, &info.datatype, &raw, memory, &mut heap, &self.failed)?
            }
            result => result?,
        };
        Ok(Block { datatype: memory.clone(), bytes, heap })
    }

    fn all_elements(
        &mut self,
        state: &mut LineState,
        token: Token,
        info: &DatasetInfo,
        memory: &Datatype,
        run: &Run<'_>,
    ) -> Result<()> {
        let container = self.container();
        if let Some(stored) = holes::stored(&*container, token, info)? {
            return self.sparse_elements(state, (token, info), memory, run, &stored);
        }
        let total = info.space.element_count()?;
        let mut in_row = 0;
        for selection in strips(&*container, &Source::Dataset { token, info }, memory)? {
            let block = read_block(&*container, token, info, &selection, memory, &self.failed)?;
            let count = block.bytes.len() as u64 / u64::from(memory.size()).max(1);
            let last = state.base + count >= total;
            self.print_run(state, &Run { last, ..*run }, &block, &mut in_row)?;
            state.base += count;
            state.continued = true;
        }
        Ok(())
    }

    /// Prints stored elements, and a line for each hole.
    fn sparse_elements(
        &mut self,
        state: &mut LineState,
        (token, info): (Token, &DatasetInfo),
        memory: &Datatype,
        run: &Run<'_>,
        stored: &StoredRuns,
    ) -> Result<()> {
        if self.options.binary.is_some() {
            let error = Error::limit("write elements that are not stored");
            return Err(error.with("help", "--expand writes them all"));
        }
        let (container, dims, total) = (self.container(), info.space.dims(), info.space.element_count()?);
        let strip = (STRIP_BYTES / u64::from(memory.size()).max(1)).max(1);
        let runs = stored.runs().iter().map(|run| (*run, false));
        let mut parts: Vec<_> = runs.chain(stored.holes().map(|hole| (hole, true))).collect();
        parts.sort_unstable();
        for (part, is_hole) in parts {
            let part_read = if is_hole { (part.0, 1) } else { part };
            state.need_prefix = true;
            for block in run_blocks(part_read, dims, strip) {
                let elements =
                    read_block(&*container, token, info, &block.selection()?, memory, &self.failed)?;
                let last = part.0 + part.1 >= total;
                state.base = block.first;
                let mut in_row = block.first % state.row.max(1);
                self.print_run(state, &Run { last: last || is_hole, ..*run }, &elements, &mut in_row)?;
                state.continued = true;
                let comma = if last { "" } else { run.layout.separator };
                if is_hole {
                    self.streams
                        .put(run.stream, format!("{}{comma}", holes::remark(part, dims)).as_bytes())?;
                }
            }
        }
        Ok(())
    }

    fn subset_elements(
        &mut self,
        state: &mut LineState,
        token: Token,
        info: &DatasetInfo,
        slab: &Hyperslab,
        memory: &Datatype,
        run: &Run<'_>,
    ) -> Result<()> {
        let container = self.container();
        slab.rows(info.space.dims(), &mut |row| {
            let block = read_block(&*container, token, info, &row.selection, memory, &self.failed)?;
            state.base = row.first;
            state.need_prefix = true;
            self.print_run(state, &Run { last: row.ends_plane, ..*run }, &block, &mut 0)?;
            state.continued = true;
            Ok(())
        })
    }

    /// Prints elements one after the other.
    pub(crate) fn print_run(
        &mut self,
        state: &mut LineState,
        run: &Run<'_>,
        block: &Block,
        in_row: &mut u64,
    ) -> Result<()> {
        if self.options.binary.is_some() {
            return match self.streams.get(Stream::Data) {
                Some(out) => binary::write(out, &block.datatype, &block.bytes, &block.heap),
                None => Ok(()),
            };
        }
        let names = self.names();
        let values = Values { heap: &block.heap, references: &names };
        let printer = Printer { style: run.style, values };
        let Some(out) = self.streams.get(run.stream) else { return Ok(()) };
        let size = (block.datatype.size() as usize).max(1);
        let count = block.bytes.len() / size;
        let mut text = Vec::new();
        for (i, element) in block.bytes.chunks_exact(size).enumerate() {
            text.clear();
            printer.print(&block.datatype, element, state, &mut text)?;
            if i + 1 < count || !run.last {
                text.extend_from_slice(run.layout.separator.as_bytes());
            }
            let row_ended = state.piece(out, run.layout, &text, i as u64, *in_row).map_err(failed)?;
            *in_row = if row_ended { 1 } else { *in_row + 1 };
            state.on_line += 1;
        }
        Ok(())
    }
}

/// Returns the layout of the quotation mark that ends text: it goes where the text ended.
fn layout_end(layout: &Layout) -> Layout {
    Layout { break_rows: false, whole_elements: false, line_end: "", ..layout.clone() }
}
