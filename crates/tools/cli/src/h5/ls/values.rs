//! Elements of datasets and attributes.

use std::io::{self, Write};

use hyperslab::vol::algorithms::stored::{StoredRuns, run_blocks};
use hyperslab::vol::algorithms::transfer::{Elements, from_file_type};
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::datatype::ReferenceKind;
use hyperslab::vol::model::heap::Heap;
use hyperslab::vol::{AttributeInfo, DatasetInfo, Pin};
use hyperslab::{Dataspace, Datatype, Error, Result, Selection};

use super::attribute::complain_of_limit;
use super::element::Writer;
use super::lines::{Lines, Style};
use super::options::Options;
use super::reference::{Target, Under};
use super::source::ObjectAt;
use super::types;
use crate::h5::holes;

/// Bytes of elements read at a time.
const STRIP_BYTES: u64 = 4 << 20;
/// Columns where no width is wanted.
const COLUMNS_MAX: usize = 65535;

/// Columns before the elements of a dataset.
const DATASET_INDENT: usize = 8;
/// Columns before the elements of an attribute.
const ATTRIBUTE_INDENT: usize = 14;
/// Columns before each level of what h5ls indents.
pub(crate) const LEVEL: usize = 3;

/// Why elements were not printed.
pub(crate) enum Failure {
    /// The output is gone.
    Output(io::Error),
    /// They could not be read.
    Data(Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Data(error)
    }
}

/// Prints the elements of a dataset.
pub(crate) fn dataset(
    out: &mut dyn Write,
    place: &ObjectAt,
    info: &DatasetInfo,
    options: &Options,
) -> io::Result<()> {
    let printed = elements(out, place, info, Printer::new(place, &info.datatype, options, DATASET_INDENT));
    finish(out, printed, options, &prefix(&info.datatype, options, DATASET_INDENT))
}

/// Prints the elements of a dataset, without the end of the last line.
pub(crate) fn elements(
    out: &mut dyn Write,
    place: &ObjectAt,
    info: &DatasetInfo,
    mut printer: Printer<'_>,
) -> Result<(), Failure> {
    let count = info.space.element_count()?;
    let elements_max = (STRIP_BYTES / u64::from(printer.memory.size().max(1))).max(1);
    let mut left = count;
    if count == 0 {
        return Ok(());
    }
    if let Some(stored) = holes::stored(place.container(), place.token, info)? {
        return sparse_elements(out, place, info, printer, &stored);
    }
    for strip in Selection::All.strips(info.space.dims(), elements_max)? {
        let (data, heap) = read(place, info, &strip, &printer.memory)?;
        left = left.saturating_sub(strip.element_count(info.space.dims())?);
        printer.print(out, &data, &heap, left > 0)?;
    }
    printer.end(out)
}

/// Prints what is stored, and a remark for each hole.
fn sparse_elements(
    out: &mut dyn Write,
    place: &ObjectAt,
    info: &DatasetInfo,
    mut printer: Printer<'_>,
    stored: &StoredRuns,
) -> Result<(), Failure> {
    let (dims, total) = (info.space.dims(), info.space.element_count()?);
    let strip = (STRIP_BYTES / u64::from(printer.memory.size().max(1))).max(1);
    let runs = stored.runs().iter().map(|run| (*run, false));
    let mut parts: Vec<_> = runs.chain(stored.holes().map(|hole| (hole, true))).collect();
    parts.sort_unstable();
    for ((start, len), is_hole) in parts {
        let more = start + len < total;
        for block in run_blocks((start, if is_hole { 1 } else { len }), dims, strip) {
            let (data, heap) = read(place, info, &block.selection()?, &printer.memory)?;
            printer.print(out, &data, &heap, more && !is_hole)?;
        }
        if is_hole {
            let comma = if more { "," } else { "" };
            write!(out, "{}{comma}", holes::remark((start, len), dims))?;
        }
    }
    printer.end(out)
}

fn read(
    place: &ObjectAt,
    info: &DatasetInfo,
    strip: &Selection,
    memory: &Datatype,
) -> Result<(Vec<u8>, Heap)> {
    let elements = Elements {
        container: place.container(),
        dataset: place.token,
        file_type: &info.datatype,
        space: &info.space,
        selection: strip,
        conversions: &Conversions::default(),
        transfer: hyperslab::Transfer::Independent,
    };
    let bytes = elements.count()?.checked_mul(memory.size().into());
    let bytes = bytes.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| Error::limit("read elements"))?;
    let (mut data, mut heap) = (vec![0; bytes], Heap::new());
    elements.read(memory, &mut data, &mut heap)?;
    Ok((data, heap))
}

/// Prints the elements of an attribute.
pub(crate) fn attribute(
    out: &mut dyn Write,
    place: &ObjectAt,
    info: &AttributeInfo,
    options: &Options,
) -> io::Result<()> {
    if matches!(info.space, Dataspace::Null) {
        unable(out, &prefix(&info.datatype, options, ATTRIBUTE_INDENT))?;
        return writeln!(out);
    }
    let printed = attribute_elements(out, place, info, options);
    finish(out, printed, options, &prefix(&info.datatype, options, ATTRIBUTE_INDENT))
}

fn attribute_elements(
    out: &mut dyn Write,
    place: &ObjectAt,
    info: &AttributeInfo,
    options: &Options,
) -> Result<(), Failure> {
    let mut printer = Printer::new(place, &info.datatype, options, ATTRIBUTE_INDENT).of_attribute();
    let _pin = Pin::of(place.container(), &info.datatype)?;
    let values = place.container().attribute_read(place.token, &[&info.name])?;
    let raw = values.first().map_or(&[][..], Vec::as_slice);
    let (mut heap, conversions) = (Heap::new(), Conversions::default());
    let data =
        from_file_type(place.container(), &info.datatype, raw, &printer.memory, &conversions, &mut heap)?;
    printer.print(out, &data, &heap, false)?;
    printer.end(out)
}

/// Returns what starts a line of elements.
fn prefix(datatype: &Datatype, options: &Options, indent: usize) -> String {
    style(options, indent + usize::from(!options.simple), is_text(datatype, options)).prefix
}

fn unable(out: &mut dyn Write, prefix: &str) -> io::Result<()> {
    write!(out, "{prefix}        Unable to print data.")
}

fn finish(
    out: &mut dyn Write,
    printed: Result<(), Failure>,
    options: &Options,
    prefix: &str,
) -> io::Result<()> {
    match printed {
        Ok(()) => {}
        Err(Failure::Output(error)) => return Err(error),
        Err(Failure::Data(error)) => {
            complain_of_limit(&error, options);
            unable(out, prefix)?;
        }
    }
    writeln!(out)
}

/// Prints elements of one type, strip by strip.
pub(crate) struct Printer<'a> {
    place: &'a ObjectAt,
    options: &'a Options,
    memory: Datatype,
    /// Bytes of an element in a C program: what a raw dump counts.
    raw_bytes: usize,
    indent: usize,
    lines: Lines,
    /// References printed so far.
    references: u64,
    is_attribute: bool,
}

impl<'a> Printer<'a> {
    /// Elements after `indent` columns, and one more where they are meant for people.
    pub(crate) fn new(place: &'a ObjectAt, datatype: &Datatype, options: &'a Options, indent: usize) -> Self {
        let indent = indent + usize::from(!options.simple);
        let characters = is_text(datatype, options);
        Printer {
            place,
            options,
            memory: datatype.memory_type(),
            raw_bytes: types::in_memory(datatype).size() as usize,
            indent,
            lines: Lines::new(style(options, indent, characters)),
            references: 0,
            is_attribute: false,
        }
    }

    /// Attributes go on one column further right, and count their indentation twice.
    fn of_attribute(mut self) -> Self {
        let characters = is_text(&self.memory, self.options);
        let mut style = style(self.options, self.indent, characters);
        style.continuation.insert(0, ' ');
        style.hidden_columns = LEVEL;
        self.lines = Lines::new(style);
        self.is_attribute = true;
        self
    }

    fn print(&mut self, out: &mut dyn Write, data: &[u8], heap: &Heap, more: bool) -> Result<(), Failure> {
        let size = (self.memory.size() as usize).max(1);
        let mut elements = data.chunks_exact(size).peekable();
        while let Some(element) = elements.next() {
            let text = self.text(element, heap)?;
            if let Datatype::Reference(t) = &self.memory {
                // h5ls 1.10 does not know the newer kinds, and prints nothing.
                if !matches!(t.kind, ReferenceKind::Object1 | ReferenceKind::DatasetRegion1) {
                    return Ok(());
                }
                self.reference(out, &text, element, heap)?;
            } else {
                self.lines.element(out, text, more || elements.peek().is_some())?;
            }
        }
        Ok(())
    }

    fn text(&self, element: &[u8], heap: &Heap) -> Result<Vec<u8>> {
        if self.options.hexdump {
            return Ok(vec![b':'; self.raw_bytes.saturating_sub(1)]);
        }
        let (simple, label) = (self.options.simple, self.options.label);
        let characters = is_text(&self.memory, self.options);
        let mut text = Vec::new();
        Writer { place: self.place, heap, simple, label, characters }.element(
            &mut text,
            &self.memory,
            element,
        )?;
        Ok(text)
    }

    /// References stand on lines of their own, with what they lead to.
    fn reference(
        &mut self,
        out: &mut dyn Write,
        text: &[u8],
        element: &[u8],
        heap: &Heap,
    ) -> Result<(), Failure> {
        if self.references > 0 {
            writeln!(out)?;
        }
        let target = Target { reference: heap.load_reference(element)?, number: self.references };
        self.references += 1;
        write!(out, "{:1$}", "", self.indent)?;
        out.write_all(text)?;
        let Printer { place, options, indent, is_attribute, .. } = *self;
        Under { place, options, indent, is_attribute }.contents(out, &target)
    }

    fn end(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.references > 0 {
            writeln!(out)?;
        }
        Ok(())
    }
}

/// Returns whether integers of one byte are shown as characters.
fn is_text(datatype: &Datatype, options: &Options) -> bool {
    options.string && !options.hexdump && matches!(datatype, Datatype::Integer(t) if t.bits.size == 1)
}

fn style(options: &Options, indent: usize, characters: bool) -> Style {
    let (separator, gap) = match () {
        () if characters => ("", ""),
        () if options.simple => (" ", " "),
        () => (",", " "),
    };
    let quote = if characters { "\"" } else { "" };
    Style {
        prefix: format!("{:indent$}{quote}", ""),
        continuation: format!("{:indent$}{quote}", ""),
        hidden_columns: 0,
        columns: options.width.filter(|_| !options.simple).unwrap_or(COLUMNS_MAX),
        one_per_line: options.simple || options.width.is_none(),
        keep_whole: !options.simple,
        separator,
        gap,
        line_end: quote,
    }
}
