//! Values of variable length and references in one process among several: what descriptors stand for, on the way to the
//! leader, which stores them, or back.

use std::sync::Arc;

use algorithms::transfer;
use model::convert::Conversions;
use model::datatype::ReferenceKind;
use model::heap::Heap;
use model::{Datatype, Error, Reference, Result};
use system::sync::Mutex;
use vol::{Blobs, Container, ContainerInfo};

/// Values that have no place in the file yet, or that came from there. Their identities are numbers, from 1.
pub(crate) struct Values {
    info: Arc<ContainerInfo>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    blobs: Vec<Vec<u8>>,
    references: Vec<Reference>,
}

fn unknown() -> Error {
    Error::invalid("read value of variable length")
        .with("problem", "several processes read such values with collective transfers")
}

/// Returns a number as the first bytes of a descriptor of `size` bytes.
fn descriptor(number: usize, size: usize) -> Result<Vec<u8>> {
    let mut bytes = (number as u64).to_le_bytes().to_vec();
    if size < bytes.len() {
        return Err(Error::unsupported("hold value of variable length").with("descriptor bytes", size));
    }
    bytes.resize(size, 0);
    Ok(bytes)
}

fn find<'h, T>(held: &'h [T], descriptor: &[u8]) -> Result<&'h T> {
    let number = descriptor.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let found = usize::try_from(number).ok().and_then(|number| held.get(number.checked_sub(1)?));
    found.ok_or_else(unknown)
}

impl Values {
    pub(crate) fn new(info: Arc<ContainerInfo>) -> Self {
        Values { info, held: Mutex::default() }
    }

    /// Forgets all values: no one asks for them any more.
    pub(crate) fn clear(&self) {
        *self.held.lock() = Held::default();
    }

    /// Adds values that came from the leader. Returns the elements with descriptors that stand for them.
    pub(crate) fn put(&self, datatype: &Datatype, from: InMemory) -> Result<Vec<u8>> {
        from.store(datatype, self)
    }
}

impl Container for Values {
    fn info(&self) -> Result<Arc<ContainerInfo>> {
        Ok(self.info.clone())
    }

    fn blob_put(&self, values: &[&[u8]]) -> Result<Vec<u8>> {
        let size = (self.info.descriptors.varlen as usize).saturating_sub(4);
        let mut held = self.held.lock();
        let mut ids = Vec::with_capacity(values.len() * size);
        for value in values {
            held.blobs.push(value.to_vec());
            ids.extend(descriptor(held.blobs.len(), size)?);
        }
        Ok(ids)
    }

    fn blob_get(&self, ids: &[&[u8]], out: &mut Blobs) -> Result<()> {
        let held = self.held.lock();
        ids.iter().try_for_each(|id| out.push(find(&held.blobs, id)?))
    }

    fn blob_delete(&self, _ids: &[&[u8]]) -> Result<()> {
        // They are forgotten with all others.
        Ok(())
    }

    fn reference_put(&self, kind: ReferenceKind, references: &[Reference]) -> Result<Vec<Vec<u8>>> {
        let size = self.info.descriptors.of_reference(kind) as usize;
        let mut held = self.held.lock();
        let mut put = |reference: &Reference| {
            held.references.push(reference.clone());
            descriptor(held.references.len(), size)
        };
        references.iter().map(&mut put).collect()
    }

    fn reference_get(&self, _kind: ReferenceKind, descriptors: &[&[u8]]) -> Result<Vec<Reference>> {
        let held = self.held.lock();
        descriptors.iter().map(|descriptor| find(&held.references, descriptor).cloned()).collect()
    }
}

/// Elements in the memory datatype, with the values they hold.
pub(crate) struct InMemory {
    pub(crate) elements: Vec<u8>,
    pub(crate) heap: Heap,
}

/// Elements and their values as processes exchange them.
pub(crate) type ElementsMessage = (Vec<u8>, (Vec<u8>, Vec<Reference>));

impl InMemory {
    /// Returns elements of a container with their values.
    pub(crate) fn fetch(datatype: &Datatype, raw: &[u8], from: &dyn Container) -> Result<Self> {
        let mut heap = Heap::new();
        let none = Conversions::default();
        let memory = datatype.memory_type();
        let elements = transfer::from_file_type(from, datatype, raw, &memory, &none, &mut heap)?;
        Ok(InMemory { elements, heap })
    }

    /// Stores the values in a container. Returns the elements as it has them.
    pub(crate) fn store(mut self, datatype: &Datatype, to: &dyn Container) -> Result<Vec<u8>> {
        let (none, memory) = (Conversions::default(), datatype.memory_type());
        transfer::to_file_type(to, &memory, &self.elements, datatype, &none, &mut self.heap)
    }

    pub(crate) fn to_message(&self) -> ElementsMessage {
        let (bytes, references) = self.heap.parts();
        (self.elements.clone(), (bytes.to_vec(), references.to_vec()))
    }

    pub(crate) fn from_message((elements, (bytes, references)): ElementsMessage) -> Self {
        InMemory { elements, heap: Heap::from_parts(bytes, references) }
    }
}
