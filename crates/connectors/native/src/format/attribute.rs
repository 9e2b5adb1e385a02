//! Attribute messages (format spec IV.A.2.m) and attribute info (IV.A.2.v).

use model::bytes::Cursor;
use model::{CharacterSet, Result, text};

use super::{Address, SizedFields, Sizes};

/// An attribute whose type and space may still be shared records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawAttribute {
    pub(crate) name: String,
    pub(crate) charset: CharacterSet,
    pub(crate) datatype: AttributePart,
    pub(crate) dataspace: AttributePart,
    pub(crate) data: Vec<u8>,
}

/// Bytes of a message, or of a record that says where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttributePart {
    pub(crate) shared: bool,
    pub(crate) bytes: Vec<u8>,
}

/// An attribute as its message holds it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) charset: CharacterSet,
    pub(crate) datatype: PartView<'a>,
    pub(crate) dataspace: PartView<'a>,
    pub(crate) data: &'a [u8],
}

/// Like [`AttributePart`], where it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartView<'a> {
    pub(crate) shared: bool,
    pub(crate) bytes: &'a [u8],
}

impl PartView<'_> {
    fn to_part(self) -> AttributePart {
        AttributePart { shared: self.shared, bytes: self.bytes.to_vec() }
    }
}

impl AttributePart {
    pub(crate) fn view(&self) -> PartView<'_> {
        PartView { shared: self.shared, bytes: &self.bytes }
    }
}

pub(crate) fn decode(body: &[u8]) -> Result<RawAttribute> {
    let View { name, charset, datatype, dataspace, data } = view(body)?;
    let (datatype, dataspace) = (datatype.to_part(), dataspace.to_part());
    Ok(RawAttribute { name: text::from_bytes(name), charset, datatype, dataspace, data: data.to_vec() })
}

/// The head of an attribute message, before its type.
struct Start<'a> {
    version: u8,
    flags: u8,
    type_bytes: usize,
    space_bytes: usize,
    charset: CharacterSet,
    padded: bool,
    name: &'a [u8],
}

fn start<'a>(c: &mut Cursor<'a>) -> Result<Start<'a>> {
    let version = c.version(1..=3)?;
    let flags = c.u8()?;
    let [name_bytes, type_bytes, space_bytes] = [c.u16()?, c.u16()?, c.u16()?].map(usize::from);
    let charset = if version == 3 && c.u8()? == 1 { CharacterSet::Utf8 } else { CharacterSet::Ascii };
    let padded = version == 1;
    let name = field(c, name_bytes, padded)?;
    let name = &name[..name.iter().position(|&b| b == 0).unwrap_or(name.len())];
    if name.is_empty() {
        return Err(c.corrupt("name is empty"));
    }
    Ok(Start { version, flags, type_bytes, space_bytes, charset, padded, name })
}

/// Returns the bytes of an attribute's name.
pub(crate) fn name(body: &[u8]) -> Result<&[u8]> {
    start(&mut Cursor::new(body, "attribute")).map(|start| start.name)
}

/// Returns whether a message is that of an attribute of this name, which has no NUL.
pub(crate) fn is_named(body: &[u8], wanted: &[u8]) -> Result<bool> {
    // Of most messages the name alone is looked at, and is another one.
    if let [version @ 1..=3, _, low, high, ..] = body {
        let start = if *version == 3 { 9 } else { 8 };
        let len = usize::from(u16::from_le_bytes([*low, *high]));
        if let Some(name) = body.get(start..start + len).filter(|name| name.first().is_some_and(|&b| b != 0))
        {
            return Ok(name.starts_with(wanted) && name.get(wanted.len()).is_none_or(|&b| b == 0));
        }
    }
    Ok(name(body)? == wanted)
}

pub(crate) fn view(body: &[u8]) -> Result<View<'_>> {
    let mut c = Cursor::new(body, "attribute");
    let Start { version, flags, type_bytes, space_bytes, charset, padded, name } = start(&mut c)?;
    let shared = |bit: u8| version > 1 && flags & bit != 0;
    let datatype = PartView { shared: shared(1), bytes: field(&mut c, type_bytes, padded)? };
    let dataspace = PartView { shared: shared(2), bytes: field(&mut c, space_bytes, padded)? };
    Ok(View { name, charset, datatype, dataspace, data: c.rest() })
}

/// Returns `len` bytes, and the padding of version 1 after them.
fn field<'a>(c: &mut Cursor<'a>, len: usize, padded: bool) -> Result<&'a [u8]> {
    let bytes = c.take(len)?;
    if padded {
        c.skip((len.next_multiple_of(8) - len).min(c.remaining()))?;
    }
    Ok(bytes)
}

/// Where dense attributes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttributeInfo {
    /// The creation order that comes next, where it is tracked.
    pub(crate) order_next: Option<u16>,
    pub(crate) order_indexed: bool,
    pub(crate) heap: Option<Address>,
    pub(crate) name_tree: Option<Address>,
    pub(crate) order_tree: Option<Address>,
}

pub(crate) fn info(body: &[u8], sizes: Sizes) -> Result<AttributeInfo> {
    let mut c = Cursor::new(body, "attribute info");
    c.version(0..=0)?;
    let flags = c.u8()?;
    let order_next = if flags & 1 != 0 { Some(c.u16()?) } else { None };
    let (heap, name_tree) = (c.address(sizes)?, c.address(sizes)?);
    let order_tree = if flags & 2 != 0 { c.address(sizes)? } else { None };
    Ok(AttributeInfo { order_next, order_indexed: flags & 2 != 0, heap, name_tree, order_tree })
}
