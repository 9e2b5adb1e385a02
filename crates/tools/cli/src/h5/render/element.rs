//! One element of any datatype as text.

use std::io::Write;

use hyperslab::vol::model::datatype::{Array, Compound, Enum, FixedString, StringPad, VarLenKind};
use hyperslab::vol::model::heap::VarLenDescriptor;
use hyperslab::vol::model::text::to_bytes;
use hyperslab::vol::model::{Datatype, Heap, Reference};
use hyperslab::{Error, Result};

use super::cformat::FloatFormat;
use super::line::{INDENT, LineState};
use super::number;
use super::text::{Escape, escape_name, push_char};

/// Some bits of an integer, shown instead of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackedBits {
    /// First bit.
    pub(crate) offset: u32,
    /// How many.
    pub(crate) length: u32,
    /// The mask, which is empty where the bits are not in the type.
    pub(crate) mask: u64,
}

/// The punctuation of nested values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    /// Around the elements of an array, and between them.
    pub(crate) array: (&'static str, &'static str, &'static str),
    /// Around the members of a compound.
    pub(crate) compound: (&'static str, &'static str),
    /// After a member, and after the opening.
    pub(crate) member_end: &'static str,
    /// Before the first member and the closing.
    pub(crate) compound_line: &'static str,
    /// Around the elements of a sequence, and between them.
    pub(crate) sequence: (&'static str, &'static str, &'static str),
    /// Members and rows of arrays stand on lines of their own.
    pub(crate) lines: bool,
}

impl Marks {
    /// h5dump's.
    pub(crate) const DDL: Marks = Marks {
        array: ("[ ", ",", " ]"),
        compound: ("{", "}"),
        member_end: ",\n",
        compound_line: "\n",
        sequence: ("(", ", ", ")"),
        lines: true,
    };
}

/// How elements are printed.
#[derive(Debug, Clone)]
pub(crate) struct Style {
    /// Characters of strings.
    pub(crate) escape: Escape,
    /// Floating-point numbers of up to eight bytes.
    pub(crate) float: FloatFormat,
    /// Wider ones.
    pub(crate) wide_float: FloatFormat,
    /// One-byte integers as characters.
    pub(crate) ascii: bool,
    /// Bits of integers.
    pub(crate) packed: Option<PackedBits>,
    /// Punctuation.
    pub(crate) marks: Marks,
}

/// Tells what references point to.
pub(crate) trait ReferenceText {
    /// Appends the text of a reference that is not null.
    fn write(&self, reference: &Reference, out: &mut Vec<u8>) -> Result<()>;
}

/// The heap that elements in the memory datatype point into.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a> {
    /// Variable-length values and references.
    pub(crate) heap: &'a Heap,
    /// Names of what references point to.
    pub(crate) references: &'a dyn ReferenceText,
}

/// Prints elements into a buffer.
pub(crate) struct Printer<'a> {
    /// How.
    pub(crate) style: &'a Style,
    /// Out of what.
    pub(crate) values: Values<'a>,
}

impl Printer<'_> {
    /// Appends one element, whose bytes are `bytes`.
    pub(crate) fn print(
        &self,
        datatype: &Datatype,
        bytes: &[u8],
        state: &mut LineState,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match datatype {
            Datatype::Integer(t) => self.integer(t, bytes, out),
            Datatype::Float(t) => {
                let wide = t.bits.size > 8;
                let format = if wide { &self.style.wide_float } else { &self.style.float };
                self.float(t, format, bytes, out);
            }
            Datatype::String(t) => self.fixed_string(t, bytes, out),
            Datatype::Compound(t) => self.compound(t, bytes, state, out)?,
            Datatype::Enum(t) => enumeration(t, bytes, out),
            Datatype::Reference(_) => self.reference(bytes, out)?,
            Datatype::Array(t) => self.array(t, bytes, state, out)?,
            Datatype::VarLen(t) => match &t.kind {
                VarLenKind::Sequence(base) => self.sequence(base, bytes, state, out)?,
                VarLenKind::String { padding, .. } => self.var_string(*padding, bytes, out)?,
            },
            Datatype::Complex(t) => self.complex(&t.base, bytes, out)?,
            Datatype::Bitfield(bits) => bitfield(bits, bytes, out),
            Datatype::Time(_) | Datatype::Opaque(_) => hex(bytes, out),
        }
        Ok(())
    }

    fn integer(&self, t: &hyperslab::vol::model::datatype::Integer, bytes: &[u8], out: &mut Vec<u8>) {
        if self.style.ascii && t.bits.size == 1 {
            return push_char(out, bytes.first().copied().unwrap_or(0), self.style.escape);
        }
        let Some(mut value) = number::integer(t, bytes) else { return };
        if let Some(packed) = self.style.packed {
            value = packed.of(value, number::native_integer_bytes(t.bits.precision), t.signed);
        }
        // The tools know no integer above eight bytes, and print nothing for it.
        if t.bits.precision <= 64 {
            // Writing to a vector cannot fail.
            let _ = write!(out, "{value}");
        }
    }

    fn float(
        &self,
        t: &hyperslab::vol::model::datatype::Float,
        format: &FloatFormat,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) {
        let mut text = String::new();
        if let Some(value) = number::float(t, bytes) {
            format.write(value, &mut text);
        }
        out.extend_from_slice(text.as_bytes());
    }

    fn complex(&self, base: &Datatype, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let Datatype::Float(t) = base else { return Ok(()) };
        let (re, im) = bytes.split_at(bytes.len() / 2);
        self.float(t, &self.style.float, re, out);
        let mut imaginary = Vec::new();
        self.float(t, &self.style.float, im, &mut imaginary);
        if !imaginary.starts_with(b"-") {
            out.push(b'+');
        }
        out.append(&mut imaginary);
        out.push(b'i');
        Ok(())
    }

    fn fixed_string(&self, t: &FixedString, bytes: &[u8], out: &mut Vec<u8>) {
        let end = match t.padding {
            StringPad::NullTerminated => bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len()),
            _ => bytes.len(),
        };
        self.quoted(&bytes[..end], out);
    }

    fn var_string(&self, _padding: StringPad, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let descriptor = VarLenDescriptor::load(bytes)?;
        if descriptor == VarLenDescriptor::default() {
            out.extend_from_slice(b"NULL");
            return Ok(());
        }
        let text = self.values.heap.get(descriptor, 1)?;
        let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
        self.quoted(&text[..end], out);
        Ok(())
    }

    fn quoted(&self, text: &[u8], out: &mut Vec<u8>) {
        out.push(b'"');
        for &byte in text {
            push_char(out, byte, self.style.escape);
        }
        out.push(b'"');
    }

    fn compound(&self, t: &Compound, bytes: &[u8], state: &mut LineState, out: &mut Vec<u8>) -> Result<()> {
        let marks = self.style.marks;
        out.extend_from_slice(marks.compound.0.as_bytes());
        state.indent += 1;
        for (i, member) in t.members.iter().enumerate() {
            let before = if i > 0 { marks.member_end } else { marks.compound_line };
            out.extend_from_slice(before.as_bytes());
            self.indent(state, out);
            let part = element(bytes, member.offset as usize, member.datatype.size() as usize)?;
            self.print(&member.datatype, part, state, out)?;
        }
        state.indent -= 1;
        if marks.lines {
            out.extend_from_slice(marks.compound_line.as_bytes());
            self.indent(state, out);
        }
        out.extend_from_slice(marks.compound.1.as_bytes());
        Ok(())
    }

    fn indent(&self, state: &LineState, out: &mut Vec<u8>) {
        if self.style.marks.lines {
            out.extend_from_slice(INDENT.repeat(state.indent).as_bytes());
        }
    }

    fn reference(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let reference = self.values.heap.load_reference(bytes)?;
        if reference.is_null() {
            out.extend_from_slice(b"NULL");
            return Ok(());
        }
        self.values.references.write(&reference, out)
    }

    fn array(&self, t: &Array, bytes: &[u8], state: &mut LineState, out: &mut Vec<u8>) -> Result<()> {
        let (open, separator, close) = self.style.marks.array;
        let size = t.base.size() as usize;
        let row = t.dims.last().copied().unwrap_or(1).max(1) as usize;
        out.extend_from_slice(open.as_bytes());
        state.indent += 1;
        for i in 0..bytes.len() / size.max(1) {
            if i > 0 {
                out.extend_from_slice(separator.as_bytes());
                self.between_items(i % row == 0, state, out);
            }
            state.after_array = false;
            self.print(&t.base, element(bytes, i * size, size)?, state, out)?;
        }
        state.indent -= 1;
        out.extend_from_slice(close.as_bytes());
        state.after_array = true;
        Ok(())
    }

    fn between_items(&self, row_ended: bool, state: &mut LineState, out: &mut Vec<u8>) {
        if self.style.marks.lines && row_ended {
            out.push(b'\n');
            self.indent(state, out);
        } else if std::mem::take(&mut state.after_array) {
            out.extend_from_slice(b"\n ");
            out.extend_from_slice(INDENT.repeat(state.indent).as_bytes());
        } else {
            out.push(b' ');
        }
    }

    fn sequence(
        &self,
        base: &Datatype,
        bytes: &[u8],
        state: &mut LineState,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let (open, separator, close) = self.style.marks.sequence;
        let descriptor = VarLenDescriptor::load(bytes)?;
        let size = base.size() as usize;
        let items = self.values.heap.get(descriptor, size as u64)?;
        out.extend_from_slice(open.as_bytes());
        for i in 0..items.len() / size.max(1) {
            if i > 0 {
                out.extend_from_slice(separator.as_bytes());
            }
            state.indent += 1;
            self.print(base, element(items, i * size, size)?, state, out)?;
            state.indent -= 1;
        }
        out.extend_from_slice(close.as_bytes());
        Ok(())
    }
}

impl PackedBits {
    /// These bits of an integer that has `bytes` bytes on this machine.
    fn of(self, value: i128, bytes: usize, signed: bool) -> i128 {
        if self.offset as usize >= bytes * 8 {
            return 0;
        }
        let raw = ((value >> self.offset) as u64) & self.mask;
        let width = 128 - bytes as u32 * 8;
        let shifted = u128::from(raw) << width;
        if signed { shifted as i128 >> width } else { (shifted >> width) as i128 }
    }
}

/// Returns a part of an element.
fn element(bytes: &[u8], at: usize, len: usize) -> Result<&[u8]> {
    let end = at.checked_add(len);
    let part = end.and_then(|end| bytes.get(at..end));
    part.ok_or_else(|| Error::corrupt("print element").with("offset", at).with("bytes", len))
}

fn enumeration(t: &Enum, bytes: &[u8], out: &mut Vec<u8>) {
    if let Some((name, _)) = t.members.iter().find(|(_, value)| value == bytes) {
        return out.extend_from_slice(&escape_name(&to_bytes(name)));
    }
    match &*t.base {
        Datatype::Integer(base) => {
            let value = number::integer(base, bytes).unwrap_or(0);
            hex(&value.to_le_bytes()[..number::native_integer_bytes(base.bits.precision)], out);
        }
        _ => hex(bytes, out),
    }
}

fn bitfield(bits: &hyperslab::vol::model::datatype::Bits, bytes: &[u8], out: &mut Vec<u8>) {
    match number::significant(bits, bytes) {
        Some(value) => hex(&value.to_le_bytes()[..number::native_integer_bytes(bits.precision)], out),
        None => hex(bytes, out),
    }
}

/// Appends bytes as hexadecimal, with colons between them.
fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    if bytes.len() == 1 {
        out.extend_from_slice(b"0x");
    }
    out.reserve(bytes.len().saturating_mul(3));
    for (i, byte) in bytes.iter().enumerate() {
        if i > 0 {
            out.push(b':');
        }
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}
