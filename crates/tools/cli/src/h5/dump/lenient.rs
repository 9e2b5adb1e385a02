//! Elements of which some cannot be followed: h5dump prints the others, and nothing for these.

use std::cell::Cell;

use hyperslab::vol::Container;
use hyperslab::vol::algorithms::transfer::from_file_type;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::heap::VarLenDescriptor;
use hyperslab::vol::model::{Datatype, Heap};
use hyperslab::{Reference, Result, Selection, Token};

/// Returns whether one element can be printed without what it stands for.
pub(crate) fn can_be_missing(datatype: &Datatype) -> bool {
    matches!(datatype, Datatype::Reference(_))
        || (matches!(datatype, Datatype::VarLen(_)) && datatype.is_string())
}

/// Converts elements one by one; those that fail become empty texts, and the command fails in the end, or references to
/// nothing known.
pub(crate) fn convert(
    container: &dyn Container,
    file_type: &Datatype,
    raw: &[u8],
    memory: &Datatype,
    heap: &mut Heap,
    failed: &Cell<bool>,
) -> Result<Vec<u8>> {
    let conversions = Conversions::default();
    // An empty text that is there differs from one that is not by its offset.
    heap.push(&[0], 0);
    let mut bytes = Vec::new();
    for element in raw.chunks_exact(file_type.size().max(1) as usize) {
        match from_file_type(container, file_type, element, memory, &conversions, heap) {
            Ok(good) => bytes.extend(good),
            Err(error) => {
                eprintln!("hyperslab dump: {error}");
                // A reference that leads nowhere is reported and no failure, as in h5dump.
                failed.set(failed.get() || !matches!(memory, Datatype::Reference(_)));
                bytes.extend(missing(memory, heap)?);
            }
        }
    }
    Ok(bytes)
}

fn missing(memory: &Datatype, heap: &mut Heap) -> Result<Vec<u8>> {
    let mut element = vec![0; memory.size() as usize];
    match memory {
        Datatype::Reference(_) => {
            let nowhere = Reference::region(Token::from_u64(u64::MAX), Selection::None);
            heap.store_reference(nowhere, &mut element)?;
        }
        _ => VarLenDescriptor { offset: 1, count: 0 }.store(&mut element)?,
    }
    Ok(element)
}
