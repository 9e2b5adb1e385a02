//! Reference descriptors of both generations (format/2-objects §13.3, §13.4 of the project's notes; spec IV.A.2.d).

use model::bytes::Cursor;
use model::datatype::ReferenceKind;
use model::{Reference, ReferenceTarget, Result, Selection, Token, text};

use crate::format::SizedFields;
use crate::format::global_heap::HeapId;
use crate::reader::Reader;

/// Returns what a descriptor stands for.
pub(crate) fn decode(file: &Reader, kind: ReferenceKind, descriptor: &[u8]) -> Result<Reference> {
    match kind {
        ReferenceKind::Object1 => old_object(file, descriptor),
        ReferenceKind::DatasetRegion1 => old_region(file, descriptor),
        _ => new(file, descriptor),
    }
}

fn old_object(file: &Reader, descriptor: &[u8]) -> Result<Reference> {
    let address = Cursor::new(descriptor, "object reference").address(file.store.sizes())?;
    Ok(address.filter(|a| a.0 != 0).map_or_else(Reference::null, |a| Reference::object(Token::from_u64(a.0))))
}

fn old_region(file: &Reader, descriptor: &[u8]) -> Result<Reference> {
    let sizes = file.store.sizes();
    let Some(id) = HeapId::decode(&mut Cursor::new(descriptor, "region reference"), sizes)? else {
        return Ok(Reference::null());
    };
    let collection = file.collection(id.collection)?;
    let mut c = Cursor::new(collection.object(id)?, "region reference");
    let dataset = c.defined_address(sizes)?;
    let (selection, _) = Selection::decode(c.rest(), None, &file.store.limits)?;
    Ok(Reference::region(Token::from_u64(dataset.0), selection))
}

fn new(file: &Reader, descriptor: &[u8]) -> Result<Reference> {
    let sizes = file.store.sizes();
    let mut c = Cursor::new(descriptor, "reference");
    let (kind, flags) = (c.u8()?, c.u8()?);
    if kind == 0 {
        return Ok(Reference::null());
    }
    if kind == 2 && flags & 1 == 0 {
        return Ok(Reference { target: ReferenceTarget::Object(token(&mut c)?), file: None });
    }
    c.u32()?;
    let Some(id) = HeapId::decode(&mut c, sizes)? else { return Ok(Reference::null()) };
    let collection = file.collection(id.collection)?;
    blob(file, collection.object(id)?, kind, flags)
}

fn token(c: &mut Cursor<'_>) -> Result<Token> {
    let len = usize::from(c.u8()?);
    let bytes = c.take(len)?;
    let mut token = [0; 16];
    match token.get_mut(..len) {
        Some(buffer) => buffer.copy_from_slice(bytes),
        None => return Err(c.corrupt(format!("token of {len} bytes"))),
    }
    Ok(Token(token))
}

/// Inner lengths count: the blob itself may be longer than what is in it.
fn blob(file: &Reader, bytes: &[u8], kind: u8, flags: u8) -> Result<Reference> {
    let mut c = Cursor::new(bytes, "reference");
    let object = token(&mut c)?;
    let mut other = None;
    if flags & 1 != 0 {
        let len = usize::from(c.u16()?);
        other = Some(text::from_bytes(c.take(len)?));
    }
    let target = match kind {
        2 => ReferenceTarget::Object(object),
        3 => {
            c.u32()?;
            let rank = c.u32()? as usize;
            let (selection, _) = Selection::decode(c.rest(), Some(rank), &file.store.limits)?;
            ReferenceTarget::Region { dataset: object, selection }
        }
        4 => {
            let len = usize::from(c.u16()?);
            ReferenceTarget::Attribute { object, name: text::from_bytes(c.take(len)?) }
        }
        n => return Err(c.corrupt(format!("reference type {n}"))),
    };
    Ok(Reference { target, file: other })
}
