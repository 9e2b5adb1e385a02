//! Maps, as far as all connectors share them.

use model::convert::{Conversions, Plan};
use model::heap::{Heap, VarLenDescriptor};
use model::{Datatype, Error, Result, Token};
use vol::{Container, MapInfo, Page};

/// Checks a type for keys. A key is compared by its bytes, so it must hold its value and not a descriptor for it: neither
/// references, nor variable-length values inside of anything.
pub fn check_key_type(key: &Datatype) -> Result<()> {
    let has_inner_descriptors = match key {
        Datatype::VarLen(_) => key.children().into_iter().any(Datatype::has_descriptors),
        other => other.has_descriptors(),
    };
    match has_inner_descriptors {
        true => {
            Err(Error::invalid("create map")
                .with("problem", "keys with references or nested variable length"))
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

/// Returns the number of bytes of an element of a variable-length key.
fn unit_bytes(key_type: &Datatype) -> u64 {
    key_type.children().first().map_or(1, |base| u64::from(base.size())).max(1)
}

/// Returns keys as packed elements of the memory datatype of their type.
pub fn to_elements<'k>(
    key_type: &Datatype,
    keys: impl ExactSizeIterator<Item = &'k [u8]>,
    heap: &mut Heap,
) -> Result<Vec<u8>> {
    let (memory, unit) = (key_type.memory_type(), unit_bytes(key_type));
    if !matches!(memory, Datatype::VarLen(_)) {
        return Ok(keys.collect::<Vec<_>>().concat());
    }
    let mut elements = vec![0; keys.len() * memory.size() as usize];
    for (key, element) in keys.zip(elements.chunks_exact_mut(memory.size() as usize)) {
        heap.push(key, key.len() as u64 / unit).store(element)?;
    }
    Ok(elements)
}

/// Returns the opposite of [`to_elements`].
pub fn from_elements(key_type: &Datatype, elements: &[u8], heap: &Heap) -> Result<Vec<Vec<u8>>> {
    let (memory, unit) = (key_type.memory_type(), unit_bytes(key_type));
    let one = |element: &[u8]| match memory {
        Datatype::VarLen(_) => heap.get(VarLenDescriptor::load(element)?, unit).map(<[u8]>::to_vec),
        _ => Ok(element.to_vec()),
    };
    elements.chunks_exact(memory.size().max(1) as usize).map(one).collect()
}

/// Returns the keys of elements in memory, in the form in which a map with keys of `key_type` holds them.
///
/// # Errors
/// Returns `Error::Invalid` where a key is another one as the map holds it (a number out of range, digits that do not fit,
/// a text that is too long): it would be found under other keys too.
pub fn stored_keys(
    key_type: &Datatype,
    datatype: &Datatype,
    elements: &[u8],
    heap: &mut Heap,
) -> Result<Vec<Vec<u8>>> {
    let (memory, count) = (key_type.memory_type(), elements.len() / datatype.size().max(1) as usize);
    let mut stored = vec![0; count * memory.size() as usize];
    Plan::compile(datatype, &memory, &Conversions::default())?.run(elements, &mut stored, count, heap)?;
    if memory != *datatype {
        let mut back = vec![0; elements.len()];
        Plan::compile(&memory, datatype, &Conversions::default())?.run(&stored, &mut back, count, heap)?;
        let (given, held) = (from_elements(datatype, elements, heap)?, from_elements(datatype, &back, heap)?);
        if given != held {
            return Err(Error::invalid("use map key")
                .with("problem", "a key does not fit the type of the map's keys"));
        }
    }
    from_elements(key_type, &stored, heap)
}

/// Calls `each` with all keys of a map, `count` at a time.
pub fn each_page(
    container: &dyn Container,
    map: Token,
    count: u64,
    mut each: impl FnMut(&[&[u8]]) -> Result<()>,
) -> Result<()> {
    let mut after: Option<Vec<u8>> = None;
    loop {
        let mut page = container.map_keys(map, after.as_deref(), count)?;
        each(&page.entries.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        after = page.entries.pop();
        if !page.more || after.is_none() {
            return Ok(());
        }
    }
}

/// Returns a page of keys that are known in their order, from the first one that is asked for on.
pub fn page<'k>(keys: impl Iterator<Item = &'k Vec<u8>>, count_max: u64) -> Page<Vec<u8>> {
    let mut keys = keys.peekable();
    let count = usize::try_from(count_max).unwrap_or(usize::MAX);
    let entries = keys.by_ref().take(count).cloned().collect();
    Page { entries, more: keys.peek().is_some() }
}

/// Pairs, each as a key and a value.
pub type Pairs<'p> = Vec<(&'p [u8], &'p [u8])>;

/// Returns the last pair of each key, and the values that these replace. A key may come several times.
pub fn last_of_each<'p>(pairs: &[(&'p [u8], &'p [u8])]) -> (Pairs<'p>, Vec<&'p [u8]>) {
    let (mut places, mut last, mut replaced) = (std::collections::HashMap::new(), Vec::new(), Vec::new());
    for &(key, value) in pairs {
        let at = *places.entry(key).or_insert(last.len());
        match last.get_mut(at) {
            Some((_, held)) => replaced.push(std::mem::replace(held, value)),
            None => last.push((key, value)),
        }
    }
    (last, replaced)
}

/// Checks that pairs are of a map's types. Values are in their on-disk representation.
pub fn check_pairs(map: &MapInfo, pairs: &[(&[u8], &[u8])]) -> Result<()> {
    let bytes = map.value.size() as usize;
    pairs.iter().try_for_each(|(key, value)| {
        check_key(&map.key, key)?;
        if value.len() == bytes {
            return Ok(());
        }
        Err(Error::invalid("set map value").with("bytes", value.len()).with("need", bytes))
    })
}
