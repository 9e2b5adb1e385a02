//! Link messages (format spec IV.A.2.g).

use model::bytes::Cursor;
use model::{CharacterSet, Link, LinkTarget, Result, Token, text};

use super::{SizedFields, Sizes};

/// The head of a link message, before its target.
struct Start<'a> {
    kind: u8,
    creation_order: Option<i64>,
    charset: CharacterSet,
    name: &'a [u8],
}

fn start<'a>(c: &mut Cursor<'a>) -> Result<Start<'a>> {
    c.version(1..=1)?;
    let flags = c.u8()?;
    if flags & 0xE0 != 0 {
        return Err(c.corrupt(format!("flags {flags:#x}")));
    }
    let kind = if flags & 8 != 0 { c.u8()? } else { 0 };
    let creation_order = if flags & 4 != 0 { Some(c.u64()? as i64) } else { None };
    let charset = if flags & 16 != 0 && c.u8()? == 1 { CharacterSet::Utf8 } else { CharacterSet::Ascii };
    let name_bytes = c.uint(1 << (flags & 3))?;
    let name_bytes = usize::try_from(name_bytes).unwrap_or(usize::MAX);
    let name = c.take(name_bytes)?;
    if name.is_empty() {
        return Err(c.corrupt("name is empty"));
    }
    Ok(Start { kind, creation_order, charset, name })
}

/// Returns the bytes of a link's name.
pub(crate) fn name(body: &[u8]) -> Result<&[u8]> {
    start(&mut Cursor::new(body, "link")).map(|start| start.name)
}

pub(crate) fn decode(body: &[u8], sizes: Sizes) -> Result<Link> {
    let mut c = Cursor::new(body, "link");
    let Start { kind, creation_order, charset, name } = start(&mut c)?;
    let target = target(&mut c, kind, sizes)?;
    Ok(Link { name: text::from_bytes(name), target, charset, creation_order })
}

fn target(c: &mut Cursor<'_>, kind: u8, sizes: Sizes) -> Result<LinkTarget> {
    if kind == 0 {
        return Ok(LinkTarget::Hard(Token::from_u64(c.defined_address(sizes)?.0)));
    }
    let len = usize::from(c.u16()?);
    let value = c.take(len)?;
    match kind {
        1 if len > 0 => Ok(LinkTarget::Soft(text::from_bytes(value))),
        64 => external(value),
        65..=255 => Ok(LinkTarget::User { class: kind, data: value.to_vec() }),
        n => Err(c.corrupt(format!("link type {n} with {len} bytes"))),
    }
}

fn external(value: &[u8]) -> Result<LinkTarget> {
    let mut c = Cursor::new(value, "external link");
    let head = c.u8()?;
    if head != 0 {
        return Err(c.corrupt(format!("version and flags {head:#x}")));
    }
    let file = text::from_bytes(c.until_nul()?);
    Ok(LinkTarget::External { file, path: text::from_bytes(c.until_nul()?) })
}
