//! What all connectors ask of maps.

use model::heap::{Heap, VarSlot};
use model::{Datatype, Error, Result};

use crate::MapInfo;

/// Checks a type for keys. A key is compared by its bytes, so it must hold its value and not a slot for it: neither
/// references, nor variable-length values inside of anything.
pub fn check_key_type(key: &Datatype) -> Result<()> {
    let has_inner_slots = match key {
        Datatype::VarLen(_) => key.children().into_iter().any(Datatype::has_slots),
        other => other.has_slots(),
    };
    match has_inner_slots {
        true => {
            Err(Error::invalid("make map").with("problem", "keys with references or nested variable length"))
        }
        false => Ok(()),
    }
}

/// Checks that bytes are a key of a map with keys of this type.
pub fn check_key(key_type: &Datatype, key: &[u8]) -> Result<()> {
    let is_key = match key_type {
        Datatype::VarLen(_) => (key.len() as u64).is_multiple_of(unit_bytes(key_type)),
        fixed => key.len() == fixed.size() as usize,
    };
    if is_key { Ok(()) } else { Err(Error::invalid("use map key").with("bytes", key.len())) }
}

/// Bytes of an element of a variable-length key.
fn unit_bytes(key_type: &Datatype) -> u64 {
    key_type.children().first().map_or(1, |base| u64::from(base.size())).max(1)
}

/// Keys as packed elements of the memory form of their type.
pub fn to_elements<'k>(
    key_type: &Datatype,
    keys: impl ExactSizeIterator<Item = &'k [u8]>,
    heap: &mut Heap,
) -> Result<Vec<u8>> {
    let (memory, unit) = (key_type.memory_form(), unit_bytes(key_type));
    if !matches!(memory, Datatype::VarLen(_)) {
        return Ok(keys.collect::<Vec<_>>().concat());
    }
    let mut elements = vec![0; keys.len() * memory.size() as usize];
    for (key, element) in keys.zip(elements.chunks_exact_mut(memory.size() as usize)) {
        heap.push(key, key.len() as u64 / unit).store(element)?;
    }
    Ok(elements)
}

/// The opposite of [`to_elements`].
pub fn from_elements(key_type: &Datatype, elements: &[u8], heap: &Heap) -> Result<Vec<Vec<u8>>> {
    let (memory, unit) = (key_type.memory_form(), unit_bytes(key_type));
    let one = |element: &[u8]| match memory {
        Datatype::VarLen(_) => heap.get(VarSlot::load(element)?, unit).map(<[u8]>::to_vec),
        _ => Ok(element.to_vec()),
    };
    elements.chunks_exact(memory.size().max(1) as usize).map(one).collect()
}

impl MapInfo {
    /// Checks that pairs are of this map's types. Values are in file form.
    pub fn check_pairs(&self, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        let bytes = self.value.size() as usize;
        pairs.iter().try_for_each(|(key, value)| {
            check_key(&self.key, key)?;
            if value.len() == bytes {
                return Ok(());
            }
            Err(Error::invalid("set map value").with("bytes", value.len()).with("need", bytes))
        })
    }
}
