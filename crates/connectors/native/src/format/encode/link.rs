//! Link messages, which are the objects of dense groups too (format spec IV.A.2.g).

use model::{CharacterSet, Link, LinkTarget, Result, text};

use super::super::{Address, Sizes};
use super::Encoder;

/// Returns the body of a link message.
pub(crate) fn encode(link: &Link, sizes: Sizes) -> Result<Vec<u8>> {
    let mut e = Encoder::new("link", sizes);
    let name = text::as_bytes(&link.name);
    e.require(!name.is_empty(), "name is empty");
    let width_code = match name.len() {
        0..=0xFF => 0u8,
        0x100..=0xFFFF => 1,
        _ => 2,
    };
    let kind = kind(&mut e, &link.target);
    let utf8 = link.charset == CharacterSet::Utf8;
    let order = u8::from(link.creation_order.is_some());
    e.u8(1).u8(width_code | order << 2 | u8::from(kind != 0) << 3 | u8::from(utf8) << 4);
    if kind != 0 {
        e.u8(kind);
    }
    if let Some(order) = link.creation_order {
        e.raw(&order.to_le_bytes());
    }
    if utf8 {
        e.u8(1);
    }
    e.count(name.len(), 1 << width_code).raw(&name);
    target(&mut e, &link.target);
    e.finish()
}

fn kind(e: &mut Encoder, target: &LinkTarget) -> u8 {
    match target {
        LinkTarget::Hard(_) => 0,
        LinkTarget::Soft(_) => 1,
        LinkTarget::External { .. } => 64,
        LinkTarget::User { class, .. } => {
            e.require(*class >= 65, "user-defined link class is below 65");
            *class
        }
    }
}

fn target(e: &mut Encoder, target: &LinkTarget) {
    match target {
        LinkTarget::Hard(token) => {
            e.defined(Address(token.to_u64()));
        }
        LinkTarget::Soft(path) => {
            let path = text::to_bytes(path);
            e.require(!path.is_empty(), "soft link without a path").count(path.len(), 2).raw(&path);
        }
        LinkTarget::External { file, path } => external(e, file, path),
        LinkTarget::User { data, .. } => {
            e.count(data.len(), 2).raw(data);
        }
    }
}

fn external(e: &mut Encoder, file: &str, path: &str) {
    let bytes = 1 + text::to_bytes(file).len() + 1 + text::to_bytes(path).len() + 1;
    e.count(bytes, 2).u8(0).nul_text(file).nul_text(path);
}
