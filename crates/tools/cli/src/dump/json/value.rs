//! Elements as JSON.

use hyperslab::model::datatype::{StringPad, VarLenKind};
use hyperslab::model::heap::VarSlot;
use hyperslab::model::{Heap, ReferenceTarget};
use hyperslab::vol::Container;
use hyperslab::{Datatype, Error, Result, Selection};

use super::super::source::Block;
use super::{collection, id, string};
use crate::render::number;
use crate::render::real::Real;

/// Elements of an extent as nested arrays, a run at a time.
#[derive(Debug)]
pub(super) struct Values {
    dims: Vec<u64>,
    written: u64,
}

impl Values {
    pub(super) fn new(dims: &[u64]) -> Self {
        Values { dims: dims.to_vec(), written: 0 }
    }

    /// Whether no element was written yet.
    pub(super) fn is_empty(&self) -> bool {
        self.written == 0
    }

    /// Dimensions that start (or, before an element, have ended) at the next element.
    fn boundaries(&self) -> usize {
        let mut step = 1u64;
        let mut count = 0;
        for &dim in self.dims.iter().rev() {
            step = step.saturating_mul(dim.max(1));
            if !self.written.is_multiple_of(step) {
                break;
            }
            count += 1;
        }
        count
    }

    /// Appends the elements of a block.
    pub(super) fn extend(
        &mut self,
        container: &dyn Container,
        block: &Block,
        out: &mut String,
    ) -> Result<()> {
        let printer = Printer { container, heap: &block.heap };
        for element in block.bytes.chunks_exact(block.datatype.size().max(1) as usize) {
            let ends = self.boundaries();
            if self.written > 0 {
                out.push_str(&"]".repeat(ends));
                out.push_str(", ");
            }
            out.push_str(&"[".repeat(ends));
            printer.print(&block.datatype, element, out)?;
            self.written += 1;
        }
        Ok(())
    }

    /// Closes all arrays.
    pub(super) fn finish(&self, out: &mut String) {
        match self.written {
            0 if !self.dims.is_empty() => out.push_str("[]"),
            _ => out.push_str(&"]".repeat(self.dims.len())),
        }
    }
}

struct Printer<'a> {
    container: &'a dyn Container,
    heap: &'a Heap,
}

impl Printer<'_> {
    fn print(&self, datatype: &Datatype, bytes: &[u8], out: &mut String) -> Result<()> {
        match datatype {
            Datatype::Integer(t) => out.push_str(&number::integer(t, bytes).unwrap_or(0).to_string()),
            Datatype::Float(t) => out.push_str(&float(number::float(t, bytes), t.bits.size)),
            Datatype::Bitfield(t) => out.push_str(&number::significant(t, bytes).unwrap_or(0).to_string()),
            Datatype::Enum(t) => self.print(&t.base, bytes, out)?,
            Datatype::String(t) => out.push_str(&string(trimmed(bytes, t.padding))),
            Datatype::Opaque(_) | Datatype::Time(_) => {
                let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
                out.push_str(&string(hex.as_bytes()));
            }
            Datatype::Compound(t) => {
                let parts = t.members.iter().map(|m| (&m.datatype, m.offset as usize));
                self.list(parts, bytes, out)?;
            }
            Datatype::Array(t) => self.array(&t.dims, &t.base, bytes, out)?,
            Datatype::Complex(t) => self.array(&[2], &t.base, bytes, out)?,
            Datatype::VarLen(t) => {
                let slot = VarSlot::load(bytes)?;
                match &t.kind {
                    VarLenKind::String { padding, .. } => {
                        out.push_str(&string(trimmed(self.heap.get(slot, 1)?, *padding)));
                    }
                    VarLenKind::Sequence(base) => {
                        let size = base.size() as usize;
                        let items = self.heap.get(slot, size as u64)?;
                        self.list((0..items.len() / size.max(1)).map(|i| (&**base, i * size)), items, out)?;
                    }
                }
            }
            Datatype::Reference(_) => self.reference(bytes, out)?,
        }
        Ok(())
    }

    fn list<'t>(
        &self,
        parts: impl Iterator<Item = (&'t Datatype, usize)>,
        bytes: &[u8],
        out: &mut String,
    ) -> Result<()> {
        out.push('[');
        for (i, (datatype, offset)) in parts.enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            let part = bytes.get(offset..offset + datatype.size() as usize);
            self.print(
                datatype,
                part.ok_or_else(|| Error::corrupt("print element").with("offset", offset))?,
                out,
            )?;
        }
        out.push(']');
        Ok(())
    }

    fn array(&self, dims: &[u32], base: &Datatype, bytes: &[u8], out: &mut String) -> Result<()> {
        let Some((&first, rest)) = dims.split_first() else { return self.print(base, bytes, out) };
        let part = bytes.len() / (first as usize).max(1);
        out.push('[');
        for (i, bytes) in bytes.chunks_exact(part.max(1)).enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            self.array(rest, base, bytes, out)?;
        }
        out.push(']');
        Ok(())
    }

    fn reference(&self, bytes: &[u8], out: &mut String) -> Result<()> {
        let reference = self.heap.load_reference(bytes)?;
        match &reference.target {
            ReferenceTarget::Null => out.push_str("null"),
            ReferenceTarget::Object(token) => {
                let kind =
                    self.container.object_info(*token).map_or("unreadable", |info| collection(info.kind));
                out.push_str(&format!("\"{kind}/{}\"", id(*token).trim_matches('"')));
            }
            ReferenceTarget::Region { dataset, selection } => {
                let dims = self.container.dataset_info(*dataset)?.space.dims().to_vec();
                out.push_str(&format!("{{\"id\": {}, {}}}", id(*dataset), selection_json(selection, &dims)?));
            }
            ReferenceTarget::Attribute { object, name } => {
                out.push_str(&format!(
                    "{{\"id\": {}, \"attribute\": {}}}",
                    id(*object),
                    string(name.as_bytes())
                ));
            }
        }
        Ok(())
    }
}

fn selection_json(selection: &Selection, dims: &[u64]) -> Result<String> {
    Ok(match selection {
        Selection::All => "\"select_type\": \"H5S_SEL_ALL\"".to_owned(),
        Selection::None => "\"select_type\": \"H5S_SEL_NONE\"".to_owned(),
        Selection::Points(points) => {
            let points: Vec<&[u64]> = points.iter().collect();
            format!("\"select_type\": \"H5S_SEL_POINTS\", \"selection\": {points:?}")
        }
        other => {
            let blocks: Vec<_> = other.blocks(dims)?.map(|(first, last)| [first, last]).collect();
            format!("\"select_type\": \"H5S_SEL_HYPERSLABS\", \"selection\": {blocks:?}")
        }
    })
}

/// The shortest number that reads back the same; JSON has no word for what is no number.
fn float(value: Option<Real>, size: u32) -> String {
    match value {
        None => "null".to_owned(),
        Some(Real::Double(x)) if !x.is_finite() => {
            format!("\"{}{}\"", if x < 0.0 { "-" } else { "" }, word(x))
        }
        Some(Real::Double(x)) if size == 4 => format!("{:?}", x as f32),
        Some(Real::Double(x)) => format!("{x:?}"),
        Some(wide) => {
            let (digits, exponent) = wide.scientific(20);
            let sign = if wide.is_negative() { "-" } else { "" };
            format!("{sign}{}.{}e{exponent}", &digits[..1], &digits[1..])
        }
    }
}

fn word(x: f64) -> &'static str {
    if x.is_nan() { "NaN" } else { "Infinity" }
}

fn trimmed(text: &[u8], padding: StringPad) -> &[u8] {
    let len = match padding {
        StringPad::NullTerminated => text.iter().position(|&b| b == 0).unwrap_or(text.len()),
        StringPad::NullPadded => text.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1),
        StringPad::SpacePadded => text.iter().rposition(|&b| b != b' ').map_or(0, |at| at + 1),
    };
    &text[..len]
}
