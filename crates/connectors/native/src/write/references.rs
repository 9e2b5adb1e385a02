//! References, as elements and attributes of a file hold them.

use model::bytes::Put;
use model::datatype::{DescriptorSizes, ReferenceKind};
use model::selection::SelectionVersion;
use model::{Error, Reference, ReferenceTarget, Result, Token, text};

use super::Writer;
use super::blobs::Values;
use super::storage::Storage;
use crate::format::{Address, Sizes};

impl Writer {
    /// Returns the on-disk representation of a reference.
    pub(crate) fn reference_put(&mut self, kind: ReferenceKind, reference: &Reference) -> Result<Vec<u8>> {
        let sizes = self.storage.sizes;
        let mut descriptor = match kind {
            ReferenceKind::Object1 => old_object(reference, sizes)?,
            ReferenceKind::DatasetRegion1 => {
                let version = self.versions.selections();
                self.values.put_old_region(reference, version, &mut self.storage)?
            }
            _ => {
                let rank = self.rank_of(reference);
                self.values.put_reference(reference, rank, &mut self.storage)?
            }
        };
        descriptor.resize(DescriptorSizes::native(sizes.offset as u32).of_reference(kind) as usize, 0);
        Ok(descriptor)
    }

    /// Returns the rank of a region; 0 where its dataset would have to say, and is in another file or gone.
    fn rank_of(&mut self, reference: &Reference) -> usize {
        let ReferenceTarget::Region { dataset, selection } = &reference.target else { return 0 };
        match (selection.rank(), &reference.file) {
            (Some(rank), _) => rank,
            (None, None) => self.dataset(Address(dataset.to_u64())).map_or(0, |found| found.dims().len()),
            (None, Some(_)) => 0,
        }
    }
}

fn address(token: Token, sizes: Sizes) -> Vec<u8> {
    token.to_u64().to_le_bytes()[..sizes.offset].to_vec()
}

fn old_object(reference: &Reference, sizes: Sizes) -> Result<Vec<u8>> {
    match &reference.target {
        ReferenceTarget::Null => Ok(Vec::new()),
        ReferenceTarget::Object(token) => Ok(address(*token, sizes)),
        _ => Err(Error::invalid("store object reference").with("problem", "it points into an object")),
    }
}

impl Values {
    fn put_old_region(
        &mut self,
        reference: &Reference,
        version: SelectionVersion,
        storage: &mut Storage,
    ) -> Result<Vec<u8>> {
        match &reference.target {
            ReferenceTarget::Null => Ok(Vec::new()),
            ReferenceTarget::Region { dataset, selection } => {
                let blob = [address(*dataset, storage.sizes), selection.encode(version)?].concat();
                self.put(&[&blob], storage)
            }
            _ => Err(Error::invalid("store region reference").with("problem", "it has no region")),
        }
    }

    fn put_reference(
        &mut self,
        reference: &Reference,
        rank: usize,
        storage: &mut Storage,
    ) -> Result<Vec<u8>> {
        let Some(token) = reference.token() else { return Ok(Vec::new()) };
        let mut blob = vec![storage.sizes.offset as u8];
        blob.extend(address(token, storage.sizes));
        let kind = match &reference.target {
            ReferenceTarget::Region { .. } => 3,
            ReferenceTarget::Attribute { .. } => 4,
            _ => 2,
        };
        if kind == 2 && reference.file.is_none() {
            return Ok([&[2, 0], &blob[..]].concat());
        }
        if let Some(name) = &reference.file {
            put_text(&mut blob, name)?;
        }
        match &reference.target {
            ReferenceTarget::Region { selection, .. } => {
                let bytes = selection.encode(SelectionVersion::V112)?;
                blob.put_uint(bytes.len() as u64, 4);
                blob.put_uint(rank as u64, 4);
                blob.extend(bytes);
            }
            ReferenceTarget::Attribute { name, .. } => put_text(&mut blob, name)?,
            _ => {}
        }
        let mut descriptor = vec![kind, u8::from(reference.file.is_some())];
        descriptor.put_uint(blob.len() as u64, 4);
        descriptor.extend(self.put(&[&blob], storage)?);
        Ok(descriptor)
    }
}

fn put_text(out: &mut Vec<u8>, value: &str) -> Result<()> {
    let bytes = text::to_bytes(value);
    let len = u16::try_from(bytes.len())
        .map_err(|_| Error::limit("store reference").with("name bytes", bytes.len()))?;
    out.put_uint(u64::from(len), 2);
    out.extend(bytes);
    Ok(())
}
