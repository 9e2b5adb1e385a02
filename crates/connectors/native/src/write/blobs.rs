//! Variable-length values and references, in global heap collections.

use std::collections::BTreeMap;

use model::bytes::{Cursor, Put};
use model::datatype::{ReferenceKind, SlotSizes};
use model::selection::SelectionVersion;
use model::{Error, Reference, ReferenceTarget, Result, Token, Within, text};

use super::Writer;
use crate::file::File;
use crate::format::Address;
use crate::format::encode::global_heap::Collection;
use crate::format::global_heap::{self, HeapId};

/// The collection that values go to until it is full.
#[derive(Debug)]
pub(crate) struct OpenCollection {
    address: Address,
    collection: Collection,
    is_dirty: bool,
}

impl Writer {
    /// Stores a value and says where.
    pub(crate) fn blob_put(&mut self, file: &File, value: &[u8]) -> Result<Vec<u8>> {
        (value.len() as u64).within(file.store.limits.blob_bytes_max, "variable-length value")?;
        let index = match self.blobs.as_mut().and_then(|open| open.insert(value)) {
            Some(index) => index,
            None => self.open_collection(file, value)?,
        };
        let collection = self.blobs.as_ref().map(|open| open.address);
        let collection = collection.ok_or_else(|| Error::invalid("store value"))?;
        HeapId::encode(Some(HeapId { collection, index }), self.sizes)
    }

    /// Gives up values, those of one collection together.
    pub(crate) fn blob_delete(&mut self, file: &File, ids: &[&[u8]]) -> Result<()> {
        let mut by_collection: BTreeMap<Address, Vec<u32>> = BTreeMap::new();
        for id in ids {
            if let Some(id) = HeapId::decode(&mut Cursor::new(id, "heap ID"), self.sizes)? {
                by_collection.entry(id.collection).or_default().push(id.index);
            }
        }
        by_collection.into_iter().try_for_each(|(at, indexes)| self.delete_in(file, at, &indexes))
    }

    fn delete_in(&mut self, file: &File, at: Address, indexes: &[u32]) -> Result<()> {
        let mut collection = match self.blobs.take_if(|open| open.address == at) {
            Some(open) => open.collection,
            None => self.load_collection(file, at)?,
        };
        let missing = indexes.iter().find(|index| !collection.remove(**index));
        file.forget_collection(at);
        if collection.is_empty() {
            self.release(at, collection.len());
            return Ok(());
        }
        // New values go where much room is.
        match &self.blobs {
            Some(open) if open.collection.free_bytes() >= collection.free_bytes() => {
                self.write(at, &collection.encode()?)?;
            }
            _ => {
                self.flush_blobs(file)?;
                self.blobs = Some(OpenCollection { address: at, collection, is_dirty: true });
            }
        }
        match missing {
            Some(index) => Err(Error::not_found("delete value").at(at.0).with("index", index)),
            None => Ok(()),
        }
    }

    fn load_collection(&self, file: &File, at: Address) -> Result<Collection> {
        let head = file.store.block(at, global_heap::header_bytes(self.sizes), "global heap")?;
        let bytes = global_heap::collection_bytes(&head, self.sizes)?;
        Collection::decode(&file.store.block(at, bytes, "global heap collection")?, self.sizes)
    }

    fn open_collection(&mut self, file: &File, value: &[u8]) -> Result<u32> {
        self.flush_blobs(file)?;
        let collection = Collection::new(value.len(), self.sizes);
        let address = self.allocate(collection.len());
        let mut open = OpenCollection { address, collection, is_dirty: true };
        let index = open.insert(value);
        self.blobs = Some(open);
        index.ok_or_else(|| Error::limit("store value").with("bytes", value.len()))
    }

    /// Whether values were stored that the file does not hold yet.
    pub(crate) fn has_new_blobs(&self) -> bool {
        self.blobs.as_ref().is_some_and(|open| open.is_dirty)
    }

    /// Writes the open collection, so that what is in it can be read.
    pub(crate) fn flush_blobs(&mut self, file: &File) -> Result<()> {
        let Some(open) = self.blobs.as_mut().filter(|open| open.is_dirty) else { return Ok(()) };
        open.is_dirty = false;
        let (at, bytes) = (open.address, open.collection.encode()?);
        file.forget_collection(at);
        self.write(at, &bytes)
    }

    /// The slot of a reference.
    pub(crate) fn reference_put(
        &mut self,
        file: &File,
        kind: ReferenceKind,
        reference: &Reference,
    ) -> Result<Vec<u8>> {
        let size = SlotSizes::native(self.sizes.offset as u32).of_reference(kind) as usize;
        let mut slot = match kind {
            ReferenceKind::ObjectOld => self.old_object(reference)?,
            ReferenceKind::RegionOld => self.old_region(file, reference)?,
            _ => self.new_reference(file, reference)?,
        };
        slot.resize(size, 0);
        Ok(slot)
    }

    fn address(&self, token: Token) -> Vec<u8> {
        token.to_u64().to_le_bytes()[..self.sizes.offset].to_vec()
    }

    fn old_object(&self, reference: &Reference) -> Result<Vec<u8>> {
        match &reference.target {
            ReferenceTarget::Null => Ok(Vec::new()),
            ReferenceTarget::Object(token) => Ok(self.address(*token)),
            _ => Err(Error::invalid("store object reference").with("problem", "it points into an object")),
        }
    }

    fn old_region(&mut self, file: &File, reference: &Reference) -> Result<Vec<u8>> {
        match &reference.target {
            ReferenceTarget::Null => Ok(Vec::new()),
            ReferenceTarget::Region { dataset, selection } => {
                let blob = [self.address(*dataset), selection.encode(self.selection_version())?].concat();
                self.blob_put(file, &blob)
            }
            _ => Err(Error::invalid("store region reference").with("problem", "it has no region")),
        }
    }

    fn new_reference(&mut self, file: &File, reference: &Reference) -> Result<Vec<u8>> {
        let Some(token) = reference.token() else { return Ok(Vec::new()) };
        let mut blob = vec![self.sizes.offset as u8];
        blob.extend(self.address(token));
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
                blob.put_uint(selection.rank().unwrap_or(0) as u64, 4);
                blob.extend(bytes);
            }
            ReferenceTarget::Attribute { name, .. } => put_text(&mut blob, name)?,
            _ => {}
        }
        let mut slot = vec![kind, u8::from(reference.file.is_some())];
        slot.put_uint(blob.len() as u64, 4);
        slot.extend(self.blob_put(file, &blob)?);
        Ok(slot)
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

impl OpenCollection {
    fn insert(&mut self, value: &[u8]) -> Option<u32> {
        let index = self.collection.insert(value)?;
        self.is_dirty = true;
        Some(index)
    }
}
