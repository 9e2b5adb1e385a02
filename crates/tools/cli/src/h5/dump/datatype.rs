//! Datatypes in h5dump's language.

use hyperslab::vol::model::ByteOrder;
use hyperslab::vol::model::datatype::{
    Bits, CharacterSet, Enum, Float, Integer, ReferenceKind, StringPad, VarLenKind,
};
use hyperslab::vol::model::text::to_bytes;
use hyperslab::{Datatype, Result, Token};

use super::Dumper;
use super::tables::shown;
use crate::h5::render::line::LineState;
use crate::h5::render::number;

impl Dumper<'_> {
    /// Appends a datatype to `buffer`; what needs lines of its own is printed.
    pub(crate) fn print_type(
        &mut self,
        state: &mut LineState,
        buffer: &mut Vec<u8>,
        datatype: &Datatype,
        committed: Option<Token>,
    ) -> Result<()> {
        if let Some(token) = committed {
            self.print_type_name(buffer, token);
            return Ok(());
        }
        match datatype {
            Datatype::Integer(t) => buffer.extend_from_slice(integer_name(t).as_bytes()),
            Datatype::Float(t) => buffer.extend_from_slice(float_name(t).as_bytes()),
            Datatype::Time(_) => buffer.extend_from_slice(b"H5T_TIME: not yet implemented"),
            Datatype::Bitfield(t) => buffer.extend_from_slice(bitfield_name(t).as_bytes()),
            Datatype::String(t) => {
                self.print_string(state, buffer, &t.size.to_string(), t.padding, t.charset)?;
            }
            Datatype::Reference(t) => {
                buffer
                    .extend_from_slice(format!("H5T_REFERENCE {{ {} }}", reference_name(t.kind)).as_bytes());
            }
            Datatype::Opaque(t) => {
                let tag = [b"OPAQUE_TAG \"", &to_bytes(&t.tag)[..], b"\";"].concat();
                self.print_block(state, buffer, b"H5T_OPAQUE {", &[tag])?;
            }
            Datatype::Compound(t) => {
                self.open_block(state, buffer, b"H5T_COMPOUND {")?;
                for member in &t.members {
                    state.need_prefix = true;
                    self.print_type(state, buffer, &member.datatype, None)?;
                    buffer.extend_from_slice(&[b" \"", &to_bytes(&member.name)[..], b"\";"].concat());
                    self.flush(state, buffer)?;
                }
                close_block(state, buffer);
            }
            Datatype::Enum(t) => self.print_enum(state, buffer, t)?,
            Datatype::VarLen(t) => match &t.kind {
                VarLenKind::String { padding, charset } => {
                    self.print_string(state, buffer, "H5T_VARIABLE", *padding, *charset)?;
                }
                VarLenKind::Sequence(base) => {
                    buffer.extend_from_slice(b"H5T_VLEN { ");
                    self.print_type(state, buffer, base, None)?;
                    buffer.push(b'}');
                }
            },
            Datatype::Array(t) => {
                let dims: String = t.dims.iter().map(|d| format!("[{d}]")).collect();
                buffer.extend_from_slice(format!("H5T_ARRAY {{ {dims} ").as_bytes());
                self.print_type(state, buffer, &t.base, None)?;
                buffer.extend_from_slice(b" }");
            }
            Datatype::Complex(t) => {
                self.open_block(state, buffer, b"H5T_COMPLEX {")?;
                state.need_prefix = true;
                self.print_type(state, buffer, &t.base, None)?;
                self.flush(state, buffer)?;
                close_block(state, buffer);
            }
        }
        Ok(())
    }

    fn print_type_name(&mut self, buffer: &mut Vec<u8>, token: Token) {
        match self.file().tables.types.get(token) {
            Some(entry) if entry.is_named() => {
                buffer.extend_from_slice(&[b"\"", &to_bytes(&shown(&entry.path))[..], b"\""].concat());
            }
            Some(_) => buffer.extend_from_slice(format!("\"/#{}\"", token.to_u64()).as_bytes()),
            None => self.fail("unknown committed datatype"),
        }
    }

    /// Prints what is in the buffer, and empties it.
    pub(crate) fn flush(&mut self, state: &mut LineState, buffer: &mut Vec<u8>) -> Result<()> {
        let text = std::mem::take(buffer);
        self.piece(state, &text)
    }

    fn open_block(&mut self, state: &mut LineState, buffer: &mut Vec<u8>, head: &[u8]) -> Result<()> {
        buffer.extend_from_slice(head);
        self.flush(state, buffer)?;
        state.indent += 1;
        Ok(())
    }

    fn print_block(
        &mut self,
        state: &mut LineState,
        buffer: &mut Vec<u8>,
        head: &[u8],
        lines: &[Vec<u8>],
    ) -> Result<()> {
        self.open_block(state, buffer, head)?;
        for line in lines {
            self.line(state, line)?;
        }
        close_block(state, buffer);
        Ok(())
    }

    fn print_string(
        &mut self,
        state: &mut LineState,
        buffer: &mut Vec<u8>,
        size: &str,
        padding: StringPad,
        charset: CharacterSet,
    ) -> Result<()> {
        let lines = [
            format!("STRSIZE {size};"),
            format!("STRPAD {};", padding_name(padding)),
            format!("CSET {};", charset_name(charset)),
            "CTYPE H5T_C_S1;".to_owned(),
        ];
        self.print_block(state, buffer, b"H5T_STRING {", &lines.map(String::into_bytes))
    }

    fn print_enum(&mut self, state: &mut LineState, buffer: &mut Vec<u8>, t: &Enum) -> Result<()> {
        self.open_block(state, buffer, b"H5T_ENUM {")?;
        state.need_prefix = true;
        self.print_type(state, buffer, &t.base, None)?;
        buffer.push(b';');
        self.flush(state, buffer)?;
        for (name, value) in &t.members {
            let name = to_bytes(name);
            let gap = " ".repeat(16usize.saturating_sub(name.len()) + 1);
            let text =
                [b"\"", &name[..], b"\"", gap.as_bytes(), enum_value(t, value).as_bytes(), b";"].concat();
            // h5dump starts these lines twice, which shows where they are too long.
            state.need_prefix = true;
            self.start_line(state)?;
            self.piece(state, &text)?;
        }
        close_block(state, buffer);
        if t.members.is_empty() {
            buffer.extend_from_slice(b"\n<empty>");
        }
        Ok(())
    }
}

fn close_block(state: &mut LineState, buffer: &mut Vec<u8>) {
    state.indent -= 1;
    state.need_prefix = true;
    buffer.push(b'}');
}

/// Returns the value of an enum's member as a number.
pub(crate) fn enum_value(t: &Enum, value: &[u8]) -> String {
    match &*t.base {
        Datatype::Integer(base) => number::integer(base, value).unwrap_or(0).to_string(),
        _ => format!("0x{}", value.iter().map(|b| format!("{b:02x}")).collect::<String>()),
    }
}

/// `H5T_STR_…`
pub(crate) fn padding_name(padding: StringPad) -> &'static str {
    match padding {
        StringPad::NullTerminated => "H5T_STR_NULLTERM",
        StringPad::NullPadded => "H5T_STR_NULLPAD",
        StringPad::SpacePadded => "H5T_STR_SPACEPAD",
    }
}

/// `H5T_CSET_…`
pub(crate) fn charset_name(charset: CharacterSet) -> &'static str {
    match charset {
        CharacterSet::Ascii => "H5T_CSET_ASCII",
        CharacterSet::Utf8 => "H5T_CSET_UTF8",
    }
}

/// h5dump 1.10 knows the old references only.
fn reference_name(kind: ReferenceKind) -> &'static str {
    match kind {
        ReferenceKind::Object1 => "H5T_STD_REF_OBJECT",
        ReferenceKind::DatasetRegion1 => "H5T_STD_REF_DSETREG",
        _ => "UNDEFINED",
    }
}

fn short_order(order: ByteOrder) -> &'static str {
    if order == ByteOrder::Big { "BE" } else { "LE" }
}

fn long_order(size: u32, order: ByteOrder) -> &'static str {
    match order {
        _ if size == 1 => "",
        ByteOrder::Little => " little-endian",
        ByteOrder::Big => " big-endian",
        ByteOrder::Vax => " mixed-endian",
    }
}

fn is_standard(bits: &Bits) -> bool {
    let zero = hyperslab::vol::model::datatype::BitPad::Zero;
    bits.is_full() && bits.low_pad == zero && bits.high_pad == zero && matches!(bits.size, 1 | 2 | 4 | 8)
}

/// Returns the name of an integer type.
pub(crate) fn integer_name(t: &Integer) -> String {
    let bits = &t.bits;
    if is_standard(bits) {
        let sign = if t.signed { 'I' } else { 'U' };
        return format!("H5T_STD_{sign}{}{}", bits.size * 8, short_order(bits.order));
    }
    let sign = if t.signed { "" } else { " unsigned" };
    let order = long_order(bits.size, bits.order);
    format!("{}-bit{order}{sign} integer {}-bit precision", u64::from(bits.size) * 8, bits.precision)
}

/// Returns the name of a bit field type.
pub(crate) fn bitfield_name(bits: &Bits) -> String {
    if is_standard(bits) {
        return format!("H5T_STD_B{}{}", bits.size * 8, short_order(bits.order));
    }
    "undefined bitfield".to_owned()
}

/// Returns the name of a floating-point type.
pub(crate) fn float_name(t: &Float) -> String {
    let bits = &t.bits;
    if t.is_ieee() && bits.size > 2 {
        return format!("H5T_IEEE_F{}{}", bits.size * 8, short_order(bits.order));
    }
    if bits.order == ByteOrder::Vax && bits.is_full() && matches!(bits.size, 4 | 8) {
        return format!("H5T_VAX_F{}", bits.size * 8);
    }
    let order = long_order(bits.size, bits.order);
    format!("{}-bit{order} floating-point {}-bit precision", u64::from(bits.size) * 8, bits.precision)
}
