//! Keys and values as elements.

use model::heap::Heap;
use model::{Datatype, Result};

use crate::H5Type;
#[cfg(feature = "async")]
use crate::{
    Map,
    prepared::{Change, Packed},
};

/// Packed elements of values in the memory datatype.
pub(super) struct Elements {
    pub(super) datatype: Datatype,
    pub(super) bytes: Vec<u8>,
    pub(super) heap: Heap,
}

impl Elements {
    pub(super) fn new<T: H5Type>() -> Self {
        Elements { datatype: T::datatype(), bytes: Vec::new(), heap: Heap::new() }
    }

    pub(super) fn push<T: H5Type>(&mut self, value: &T) -> Result<()> {
        let start = self.bytes.len();
        self.bytes.resize(start + T::element_bytes(), 0);
        value.store(&mut self.bytes[start..], &mut self.heap)
    }

    /// Keeps the elements at places, which ascend.
    pub(super) fn keep(&mut self, places: &[usize]) {
        let size = self.datatype.size().max(1) as usize;
        if places.len() * size < self.bytes.len() {
            let element = |place: &usize| self.bytes[place * size..(place + 1) * size].to_vec();
            self.bytes = places.iter().flat_map(element).collect();
        }
    }
}

#[cfg(feature = "async")]
impl Map {
    /// Queues pairs whose values hold descriptors of what is stored before them.
    pub(super) fn queue_pairs(&self, keys: Vec<Vec<u8>>, values: Elements) {
        let (map, size, file_type) = (self.token, self.value.size().max(1) as usize, self.value.clone());
        let Elements { datatype: memory, bytes: elements, heap } = values;
        let change = Change { operation: vol::Operation::map_put, object: map };
        let packed = Packed { memory, elements, heap, file_type };
        self.session.queue_values(change, packed, move |container, values| {
            let keys = keys.iter().map(Vec::as_slice);
            container.map_put(map, &keys.zip(values.chunks_exact(size)).collect::<Vec<_>>())
        });
    }
}
