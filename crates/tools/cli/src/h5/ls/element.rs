//! One element as text.

use std::sync::LazyLock;

use hyperslab::Result;
use hyperslab::vol::model::datatype::{
    Array, Bits, ByteOrder, Compound, Datatype, Enum, FixedString, Float, Integer, ReferenceKind, StringPad,
    VarLen, VarLenKind,
};
use hyperslab::vol::model::heap::{Heap, VarLenDescriptor};
use hyperslab::vol::model::text::to_bytes;

use super::lines::BREAK;
use super::reference;
use super::source::ObjectAt;
use crate::h5::render::cformat::FloatFormat;
use crate::h5::render::number;
use crate::h5::render::text::escape_name;

/// A run of one character longer than this is counted instead of written out.
const REPEAT_MAX: usize = 8;

/// How elements are written.
pub(crate) struct Writer<'a> {
    /// The object they belong to: where references lead from.
    pub(crate) place: &'a ObjectAt,
    pub(crate) heap: &'a Heap,
    /// For other programs: no punctuation, no line breaks.
    pub(crate) simple: bool,
    pub(crate) label: bool,
    /// Integers of one byte are characters.
    pub(crate) characters: bool,
}

impl Writer<'_> {
    /// Appends an element in the memory datatype.
    pub(crate) fn element(&self, out: &mut Vec<u8>, datatype: &Datatype, bytes: &[u8]) -> Result<()> {
        match datatype {
            Datatype::Integer(t) if self.characters && t.bits.size == 1 => {
                let value = number::integer(t, bytes).unwrap_or(0);
                push_char(out, value as u8, self.simple);
            }
            Datatype::Integer(t) => integer(out, t, bytes),
            Datatype::Float(t) => float(out, t, bytes),
            Datatype::Time(_) => out.extend_from_slice(b"H5T_TIME: not yet implemented"),
            Datatype::String(t) => self.fixed_string(out, t, bytes),
            Datatype::Bitfield(t) => hex(out, &native_bits(t, bytes)),
            Datatype::Opaque(_) => hex(out, bytes),
            Datatype::Compound(t) => self.compound(out, t, bytes)?,
            Datatype::Reference(t) => {
                let target = self.heap.load_reference(bytes)?;
                out.extend_from_slice(&match t.kind {
                    ReferenceKind::DatasetRegion1 => reference::region_name(self.place, &target),
                    _ => reference::object_name(self.place, &target),
                });
            }
            Datatype::Enum(t) => enumeration(out, t, bytes),
            Datatype::VarLen(t) => self.varlen(out, t, bytes)?,
            Datatype::Array(t) => self.array(out, t, bytes)?,
            Datatype::Complex(t) => complex(out, &t.base, bytes),
        }
        Ok(())
    }

    fn compound(&self, out: &mut Vec<u8>, t: &Compound, bytes: &[u8]) -> Result<()> {
        let braces = !self.simple || self.label;
        if braces {
            out.push(b'{');
        }
        for (i, member) in t.members.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(if self.simple { b" " } else { &[b',', b' ', BREAK] });
            }
            if self.label {
                out.extend_from_slice(&to_bytes(&member.name));
                out.push(b'=');
            }
            let start = member.offset as usize;
            let part = bytes.get(start..).and_then(|rest| rest.get(..member.datatype.size() as usize));
            self.element(out, &member.datatype, part.unwrap_or(&[]))?;
        }
        if braces {
            out.push(b'}');
        }
        Ok(())
    }

    fn array(&self, out: &mut Vec<u8>, t: &Array, bytes: &[u8]) -> Result<()> {
        let size = (t.base.size() as usize).max(1);
        if !self.simple {
            out.push(b'[');
        }
        let separator: &[u8] = match self.simple {
            false => &[b',', BREAK],
            // h5ls starts a line for each element that has arrays in it.
            true if t.base.any(&|part| matches!(part, Datatype::Array(_))) => b" \n       ",
            true => b"  ",
        };
        for (i, element) in bytes.chunks_exact(size).enumerate() {
            if i > 0 {
                out.extend_from_slice(separator);
            }
            self.element(out, &t.base, element)?;
        }
        if !self.simple {
            out.push(b']');
        }
        Ok(())
    }

    fn varlen(&self, out: &mut Vec<u8>, t: &VarLen, bytes: &[u8]) -> Result<()> {
        let descriptor = VarLenDescriptor::load(bytes)?;
        let VarLenKind::Sequence(base) = &t.kind else {
            return self.var_string(out, descriptor);
        };
        let values = self.heap.get(descriptor, base.size().into())?;
        out.push(b'(');
        for (i, element) in values.chunks_exact((base.size() as usize).max(1)).enumerate() {
            if i > 0 {
                out.extend_from_slice(if self.simple { b"," } else { &[b',', BREAK] });
            }
            self.element(out, base, element)?;
        }
        out.push(b')');
        Ok(())
    }

    fn var_string(&self, out: &mut Vec<u8>, descriptor: VarLenDescriptor) -> Result<()> {
        if descriptor == VarLenDescriptor::default() {
            out.extend_from_slice(b"NULL");
            return Ok(());
        }
        let text = self.heap.get(descriptor, 1)?;
        quoted(out, until_null(text), self.simple);
        Ok(())
    }

    fn fixed_string(&self, out: &mut Vec<u8>, t: &FixedString, bytes: &[u8]) {
        let text = if t.padding == StringPad::NullTerminated { until_null(bytes) } else { bytes };
        quoted(out, text, self.simple);
    }
}

/// Characters in quotes; long runs of one character are counted.
fn quoted(out: &mut Vec<u8>, text: &[u8], simple: bool) {
    let start = out.len();
    let mut is_open = false;
    for run in text.chunk_by(|a, b| a == b) {
        if !simple && run.len() > REPEAT_MAX {
            out.extend_from_slice(if is_open { b"\" '" } else { gap(out.len() > start, b'\'') });
            push_char(out, run[0], false);
            out.extend_from_slice(format!("' repeats {} times", run.len() - 1).as_bytes());
            is_open = false;
            continue;
        }
        if !is_open {
            out.extend_from_slice(gap(out.len() > start, b'"'));
        }
        is_open = true;
        run.iter().for_each(|&byte| push_char(out, byte, simple));
    }
    match (is_open, text.is_empty()) {
        (true, _) => out.push(b'"'),
        (_, true) => out.extend_from_slice(b"\"\""),
        _ => {}
    }
}

/// Returns an opening quote, after a space where something stands before it.
fn gap(after: bool, quote: u8) -> &'static [u8] {
    match (after, quote) {
        (true, b'"') => b" \"",
        (true, _) => b" '",
        (false, b'"') => b"\"",
        (false, _) => b"'",
    }
}

fn until_null(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or(&[])
}

/// Appends one character: with C's escapes or, for other programs, with percent signs.
fn push_char(out: &mut Vec<u8>, byte: u8, simple: bool) {
    // C prints a signed char, so a byte above 127 comes out as a 32-bit negative number.
    let signed = i32::from(byte as i8) as u32;
    if simple {
        match byte {
            b'!'..=b'~' => out.push(byte),
            _ => out.extend_from_slice(format!("%{signed:02x}").as_bytes()),
        }
        return;
    }
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        8 => out.extend_from_slice(b"\\b"),
        12 => out.extend_from_slice(b"\\f"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        b' '..=b'~' => out.push(byte),
        _ => out.extend_from_slice(format!("\\{signed:03o}").as_bytes()),
    }
}

fn integer(out: &mut Vec<u8>, t: &Integer, bytes: &[u8]) {
    let significant = match t.bits.order {
        ByteOrder::Big => bytes.last_chunk::<16>(),
        _ => bytes.first_chunk::<16>(),
    };
    let value = number::integer(t, significant.map_or(bytes, |part| part));
    // h5ls knows no integer of more than 64 bits, and prints nothing for it.
    if let Some(value) = value.filter(|_| t.bits.precision <= 64) {
        out.extend_from_slice(value.to_string().as_bytes());
    }
}

/// The format of C for `float`, and for what is wider than `double`.
static SHORT: LazyLock<FloatFormat> = LazyLock::new(|| FloatFormat::parse("%.6g"));
/// The format of C for `double`.
static LONG: LazyLock<FloatFormat> = LazyLock::new(|| FloatFormat::parse("%.15g"));

fn float(out: &mut Vec<u8>, t: &Float, bytes: &[u8]) {
    let Some(value) = number::float(t, bytes) else { return hex(out, bytes) };
    let format = if (5..=8).contains(&t.bits.size) { &LONG } else { &SHORT };
    let mut text = String::new();
    format.write(value, &mut text);
    out.extend_from_slice(text.as_bytes());
}

fn complex(out: &mut Vec<u8>, base: &Datatype, bytes: &[u8]) {
    let Datatype::Float(t) = base else { return hex(out, bytes) };
    let (real, imaginary) = bytes.split_at(bytes.len() / 2);
    float(out, t, real);
    let start = out.len();
    float(out, t, imaginary);
    if out.get(start) != Some(&b'-') {
        out.insert(start, b'+');
    }
    out.push(b'i');
}

/// Returns the significant bits, in the bytes of this machine's order.
fn native_bits(t: &Bits, bytes: &[u8]) -> Vec<u8> {
    match number::significant(t, bytes) {
        Some(value) if bytes.len() <= 8 => {
            let size = bytes.len().next_power_of_two();
            value.to_le_bytes()[..size].to_vec()
        }
        _ => bytes.to_vec(),
    }
}

fn enumeration(out: &mut Vec<u8>, t: &Enum, bytes: &[u8]) {
    if let Some((name, _)) = t.members.iter().find(|(_, value)| value == bytes) {
        return out.extend_from_slice(&escape_name(&to_bytes(name)));
    }
    match &*t.base {
        Datatype::Integer(base) if base.bits == Bits::full(base.bits.size.min(8), ByteOrder::Little) => {
            hex(out, bytes);
        }
        // Conversion to the machine's integers goes by names, and gives all ones to what has none.
        _ => hex(out, &vec![0xff; bytes.len().next_power_of_two()]),
    }
}

/// Appends bytes in hexadecimal.
fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    if let [byte] = bytes {
        return out.extend_from_slice(format!("0x{byte:02x}").as_bytes());
    }
    for (i, byte) in bytes.iter().enumerate() {
        if i > 0 {
            out.push(b':');
        }
        out.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], simple: bool) -> String {
        let mut out = Vec::new();
        quoted(&mut out, bytes, simple);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn long_runs_of_a_character_are_counted() {
        assert_eq!(text(b"aaaaaaaa", false), "\"aaaaaaaa\"");
        assert_eq!(text(b"xaaaaaaaaaay", false), "\"x\" 'a' repeats 9 times \"y\"");
        assert_eq!(text(b"aaaaaaaaabbbbbbbbb", false), "'a' repeats 8 times 'b' repeats 8 times");
        assert_eq!(text(b"aaaaaaaaaa", true), "\"aaaaaaaaaa\"");
        assert_eq!(text(b"", false), "\"\"");
    }

    #[test]
    fn odd_bytes_come_out_as_c_prints_signed_characters() {
        assert_eq!(text(b"a \t\xc3", false), "\"a \\t\\37777777703\"");
        assert_eq!(text(b"a \t\xc3", true), "\"a%20%09%ffffffc3\"");
    }

    #[test]
    fn one_byte_of_hexadecimal_has_a_prefix() {
        let (mut one, mut two) = (Vec::new(), Vec::new());
        hex(&mut one, &[5]);
        hex(&mut two, &[5, 255]);
        assert_eq!((&one[..], &two[..]), (&b"0x05"[..], &b"05:ff"[..]));
    }
}
