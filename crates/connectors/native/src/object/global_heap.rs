//! Reading objects out of global heap collections.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use model::{Context, Error, Result, Within};

use crate::file::File;
use crate::format::Address;
use crate::format::global_heap::{self, HeapId};

/// A collection and where its objects are.
#[derive(Debug)]
pub(crate) struct Collection {
    bytes: Arc<[u8]>,
    objects: HashMap<u32, Range<usize>>,
}

impl Collection {
    pub(crate) fn load(file: &File, address: Address) -> Result<Collection> {
        let (store, sizes) = (&file.store, file.store.sizes());
        let head = store.block(address, global_heap::header_bytes(sizes), "global heap")?;
        let whole = global_heap::collection_bytes(&head, sizes).during_at("read global heap", address.0)?;
        whole.within(store.limits.metadata_bytes_max, "global heap collection")?;
        let bytes = store.block(address, whole, "global heap collection")?;
        let objects = global_heap::objects(&bytes, sizes).during_at("read global heap", address.0)?;
        Ok(Collection { bytes, objects: objects.into_iter().collect() })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len() + self.objects.len() * 48
    }

    pub(crate) fn object(&self, id: HeapId) -> Result<&[u8]> {
        let missing =
            || Error::corrupt("read global heap object").at(id.collection.0).with("index", id.index);
        self.objects.get(&id.index).map(|range| &self.bytes[range.clone()]).ok_or_else(missing)
    }
}
