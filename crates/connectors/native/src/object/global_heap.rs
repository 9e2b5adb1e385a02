//! Reading objects out of global heap collections.

use std::ops::{Deref, Range};

use std::sync::Arc;

use model::{Context, Error, Result, Within};
use vol::Blobs;

use crate::format::Address;
use crate::format::global_heap::{self, HeapId};
use crate::pages::Block;
use crate::reader::Reader;

/// Bytes of most collections.
const GUESS_BYTES: u64 = 4096;

/// A collection and where its objects are.
#[derive(Debug)]
pub(crate) struct Collection {
    bytes: Bytes,
    /// By index.
    objects: Vec<(u32, Range<usize>)>,
}

/// The bytes of a collection: a block that was read anyway, or all of a larger one.
#[derive(Debug)]
enum Bytes {
    Block(Block),
    Own(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Block(block) => block,
            Bytes::Own(bytes) => bytes,
        }
    }
}

impl Collection {
    pub(crate) fn load(file: &Reader, address: Address) -> Result<Collection> {
        let (store, sizes) = (&file.store, file.store.sizes());
        let head = store.block_up_to(address, GUESS_BYTES, "global heap")?;
        let whole = global_heap::collection_bytes(&head, sizes).during_at("read global heap", address.0)?;
        whole.within(store.limits.metadata_bytes_max, "global heap collection")?;
        let bytes = match head.len() as u64 == whole {
            true => Bytes::Block(head),
            false => Bytes::Own(store.bytes(address, whole, "global heap collection")?),
        };
        let mut objects = global_heap::objects(&bytes, sizes).during_at("read global heap", address.0)?;
        // As a rule they are in order. Of two with one index the later one counts.
        if !objects.is_sorted_by(|a, b| a.0 < b.0) {
            objects.reverse();
            objects.sort_by_key(|object| object.0);
            objects.dedup_by_key(|object| object.0);
        }
        Ok(Collection { bytes, objects })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len() + self.objects.len() * 24
    }

    pub(crate) fn object(&self, id: HeapId) -> Result<&[u8]> {
        let missing =
            || Error::corrupt("read global heap object").at(id.collection.0).with("index", id.index);
        // Where none was ever removed, the first has index 1, the second 2.
        let guess = (id.index as usize).checked_sub(1).and_then(|at| self.objects.get(at));
        let found = guess.filter(|object| object.0 == id.index).or_else(|| {
            let at = self.objects.binary_search_by_key(&id.index, |object| object.0).ok()?;
            self.objects.get(at)
        });
        found.map(|(_, range)| &self.bytes[range.clone()]).ok_or_else(missing)
    }
}

/// Appends the objects of `ids` to `out`. Nothing that was stored waits in memory.
pub(crate) fn get(file: &Reader, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
    let sizes = file.store.sizes();
    let mut last: Option<(Address, Arc<Collection>)> = None;
    for id in ids {
        let Some(id) = HeapId::of(id, sizes)? else {
            out.push(&[])?;
            continue;
        };
        if last.as_ref().is_none_or(|(address, _)| *address != id.collection) {
            last = Some((id.collection, file.collection(id.collection)?));
        }
        if let Some((_, collection)) = &last {
            out.push(collection.object(id)?)?;
        }
    }
    Ok(())
}
