//! The values of descriptors: variable-length values, and references as text.

use json_text::text::{read, write};
use json_text::{reference_from_json, reference_to_json};
use model::datatype::ReferenceKind;
use model::{Error, Reference, Result};
use vol::Blobs;

use crate::container::RawContainer;
use crate::folder::Folder;
use crate::load::KnownObjects;

impl RawContainer {
    pub(crate) fn check_reference(
        &self,
        folder: &Folder,
        kind: ReferenceKind,
        reference: &Reference,
    ) -> Result<()> {
        algorithms::checks::reference(kind, reference)?;
        match reference.token() {
            // Metadata may mean what is gone.
            Some(token) if reference.file.is_none() && !self.is_keeper => {
                folder.ids().inner(token).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn put_blobs(&self, folder: &Folder, values: &[&[u8]]) -> Result<Vec<u8>> {
        if self.is_keeper { Ok(folder.blobs.keep(values)) } else { folder.blobs.put(values, &self.limits) }
    }

    pub(crate) fn reference_descriptor(
        &self,
        folder: &Folder,
        kind: ReferenceKind,
        reference: &Reference,
    ) -> Result<Vec<u8>> {
        match (kind, reference.token()) {
            (ReferenceKind::Object1, Some(token)) => Ok(folder.ids().to_stored(token).to_vec()),
            (ReferenceKind::Object1, None) => Ok(vec![0; 16]),
            (_, None) => Ok(vec![0; 8]),
            _ => {
                let text = write(&reference_to_json(reference, &KnownObjects(folder))?)?;
                self.put_blobs(folder, &[text.trim_end().as_bytes()])
            }
        }
    }

    pub(crate) fn reference_of(
        &self,
        folder: &Folder,
        kind: ReferenceKind,
        descriptor: &[u8],
    ) -> Result<Reference> {
        if descriptor.iter().all(|&byte| byte == 0) {
            return Ok(Reference::null());
        }
        if kind == ReferenceKind::Object1 {
            let stored = descriptor.try_into();
            let stored =
                stored.map_err(|_| Error::invalid("read reference").with("bytes", descriptor.len()))?;
            return Ok(Reference::object(folder.ids().of_stored(stored)));
        }
        let mut found = Blobs::default();
        folder.blobs.get(&[descriptor], &self.limits, &mut found)?;
        let text = std::str::from_utf8(found.bytes());
        let text = text.map_err(|_| Error::corrupt("read reference").with("problem", "not text"))?;
        reference_from_json(&read(text)?, &KnownObjects(folder), self.limits.selection_blocks_max)
    }
}
