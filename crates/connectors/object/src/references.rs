//! References: blobs too, in bytes that look like libhdf5's.

use model::bytes::{Cursor, Put};
use model::datatype::ReferenceKind;
use model::selection::SelectionVersion;
use model::{Error, Limits, Reference, ReferenceTarget, Result, Selection, Token, Within, text};

use crate::identity;
use crate::opening::Opening;
use crate::slots::{COUNT_BYTES, ID_BYTES, SLOTS, id_of};

const OBJECT: u8 = 2;
const REGION: u8 = 3;
const ATTRIBUTE: u8 = 4;

/// The flag of a reference into another container.
const ELSEWHERE: u8 = 1;

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

/// The blob of a reference that is not null.
pub(crate) fn encode(reference: &Reference) -> Result<Vec<u8>> {
    let (kind, token) = match &reference.target {
        ReferenceTarget::Null => return Err(Error::invalid("store reference to nothing")),
        ReferenceTarget::Object(token) => (OBJECT, token),
        ReferenceTarget::Region { dataset, .. } => (REGION, dataset),
        ReferenceTarget::Attribute { object, .. } => (ATTRIBUTE, object),
    };
    let mut out = vec![kind, if reference.file.is_some() { ELSEWHERE } else { 0 }];
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

/// The inverse of [`encode`].
pub(crate) fn decode(bytes: &[u8], limits: &Limits) -> Result<Reference> {
    let mut cursor = Cursor::new(bytes, "reference");
    let [kind, flags] = cursor.array()?;
    let file = if flags & ELSEWHERE != 0 { Some(take_text(&mut cursor)?) } else { None };
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

/// The old kinds say one thing about this container. The target may be gone: then the reference dangles.
fn check(kind: ReferenceKind, reference: &Reference) -> Result<()> {
    vol::demands::reference(kind, reference)?;
    match reference.token() {
        Some(token) if reference.file.is_none() => identity::object(token).map(drop),
        _ => Ok(()),
    }
}

impl Opening {
    /// Slots for references; null ones are zeros and have no blob.
    pub(crate) fn put_references(
        &self,
        kind: ReferenceKind,
        references: &[Reference],
    ) -> Result<Vec<Vec<u8>>> {
        references.iter().try_for_each(|reference| check(kind, reference))?;
        let values = references
            .iter()
            .filter(|reference| !reference.is_null())
            .map(encode)
            .collect::<Result<Vec<_>>>()?;
        let ids = self.put_blobs(&values.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let mut stored = values.iter().zip(ids.chunks_exact(ID_BYTES));
        let slot = |reference: &Reference| match reference.is_null() {
            true => Some(vec![0; SLOTS.reference as usize]),
            false => stored.next().map(|(value, id)| [&(value.len() as u32).to_le_bytes()[..], id].concat()),
        };
        let slots: Option<Vec<_>> = references.iter().map(slot).collect();
        slots.ok_or_else(|| Error::invalid("store references"))
    }

    /// What slots stand for.
    pub(crate) fn get_references(&self, slots: &[&[u8]]) -> Result<Vec<Reference>> {
        if let Some(slot) = slots.iter().find(|slot| slot.len() != COUNT_BYTES + ID_BYTES) {
            return Err(Error::invalid("read reference").with("bytes", slot.len()));
        }
        let ids: Vec<_> = slots.iter().map(|slot| id_of(slot)).collect();
        let used: Vec<&[u8]> = ids.iter().flatten().map(|id| &id[..]).collect();
        let mut blobs = vol::Blobs::default();
        if !used.is_empty() {
            self.get_blobs(&used, &mut blobs)?;
        }
        let mut values = blobs.iter();
        ids.iter()
            .map(|id| match id {
                None => Ok(Reference::null()),
                Some(_) => decode(values.next().unwrap_or_default(), self.limits()),
            })
            .collect()
    }
}
