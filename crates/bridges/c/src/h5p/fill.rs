//! Fill values in C's form.

use std::sync::Arc;

use hyperslab::vol::model::Heap;
use hyperslab::vol::model::convert::{Conversions, Plan};
use hyperslab::vol::model::datatype::Datatype;

use super::values::{FillElement, TransferValues};
use crate::failure::Fallible;
use crate::memory::{self, Allocator};

/// Returns an element of a type without values of variable length.
pub fn element(datatype: Datatype, bytes: Vec<u8>) -> FillElement {
    FillElement { datatype, bytes, heap: Heap::default() }
}

/// Returns the element that a program passes in C's form.
pub fn from_c(datatype: &Datatype, bytes: &[u8]) -> Fallible<Arc<FillElement>> {
    if !datatype.has_descriptors() {
        return Ok(Arc::new(element(datatype.clone(), bytes.to_vec())));
    }
    let mut heap = Heap::default();
    let bytes = memory::from_c(datatype, bytes, None, &mut heap)?;
    Ok(Arc::new(FillElement { datatype: datatype.clone(), bytes, heap }))
}

/// Writes an element into a program's buffer, in another type in C's form. The program frees values of variable length.
pub fn to_c(element: &FillElement, datatype: &Datatype, buffer: &mut [u8]) -> Fallible<()> {
    let mut heap = element.heap.clone();
    let bytes = match element.datatype == *datatype {
        true => element.bytes.clone(),
        false => convert(&element.bytes, &element.datatype, datatype, &mut heap)?,
    };
    if !datatype.has_descriptors() {
        buffer.copy_from_slice(&bytes);
        return Ok(());
    }
    let allocator = Allocator::of(&TransferValues::default());
    memory::write_values(datatype, &bytes, &heap, None, &allocator, buffer)
}

fn convert(bytes: &[u8], from: &Datatype, to: &Datatype, heap: &mut Heap) -> Fallible<Vec<u8>> {
    let (from, to) = (from.memory_type(), to.memory_type());
    let plan = Plan::compile(&from, &to, &Conversions::default())?;
    let mut out = vec![0; to.size() as usize];
    plan.run(bytes, &mut out, 1, heap)?;
    Ok(out)
}
