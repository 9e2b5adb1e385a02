//! The encoding of references in blobs, similar to libhdf5's.

use model::bytes::{Cursor, Put};
use model::selection::SelectionVersion;
use model::{Error, Limits, Reference, ReferenceTarget, Result, Selection, Token, Within, text};

const OBJECT: u8 = 2;
const REGION: u8 = 3;
const ATTRIBUTE: u8 = 4;

/// The flag of a reference into another container.
const EXTERNAL: u8 = 1;

fn put_text(out: &mut Vec<u8>, value: &str) -> Result<()> {
    let bytes = text::to_bytes(value);
    let len = u16::try_from(bytes.len())
        .map_err(|_| Error::limit("store reference").with("name bytes", bytes.len()))?;
    out.put_uint(len.into(), 2);
    out.extend(bytes);
    Ok(())
}

fn take_text(cursor: &mut Cursor<'_>) -> Result<String> {
    let len = cursor.u16()?;
    Ok(text::from_bytes(cursor.take(len.into())?))
}

/// Encodes a reference that is not null.
pub(crate) fn encode(reference: &Reference) -> Result<Vec<u8>> {
    let (kind, token) = match &reference.target {
        ReferenceTarget::Null => return Err(Error::invalid("store reference to nothing")),
        ReferenceTarget::Object(token) => (OBJECT, token),
        ReferenceTarget::Region { dataset, .. } => (REGION, dataset),
        ReferenceTarget::Attribute { object, .. } => (ATTRIBUTE, object),
    };
    let mut out = vec![kind, if reference.file.is_some() { EXTERNAL } else { 0 }];
    if let Some(file) = &reference.file {
        put_text(&mut out, file)?;
    }
    out.push(token.0.len() as u8);
    out.extend(token.0);
    match &reference.target {
        ReferenceTarget::Region { selection, .. } => {
            let bytes = selection.encode(SelectionVersion::V112)?;
            out.put_uint(bytes.len() as u64, 4);
            out.extend(bytes);
        }
        ReferenceTarget::Attribute { name, .. } => put_text(&mut out, name)?,
        _ => {}
    }
    Ok(out)
}

/// Decodes what [`encode`] encodes.
pub(crate) fn decode(bytes: &[u8], limits: &Limits) -> Result<Reference> {
    let mut cursor = Cursor::new(bytes, "reference");
    let [kind, flags] = cursor.array()?;
    let file = if flags & EXTERNAL != 0 { Some(take_text(&mut cursor)?) } else { None };
    if cursor.u8()? != 16 {
        return Err(cursor.corrupt("size of a token"));
    }
    let token = Token(cursor.array()?);
    let target = match kind {
        OBJECT => ReferenceTarget::Object(token),
        REGION => {
            let len = u64::from(cursor.u32()?).within(limits.metadata_bytes_max, "region")?;
            let (selection, _) = Selection::decode(cursor.take(len)?, None, limits)?;
            ReferenceTarget::Region { dataset: token, selection }
        }
        ATTRIBUTE => ReferenceTarget::Attribute { object: token, name: take_text(&mut cursor)? },
        kind => return Err(cursor.corrupt(format!("kind {kind}"))),
    };
    Ok(Reference { target, file })
}
