//! Values of attributes and datasets as JSON.

use hyperslab::vol::algorithms::transfer;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::{Dataspace, Heap};
use hyperslab::{Attribute, Dataset, Datatype};
use serde_json::Value;

use crate::answer::Failure;
use crate::call::Call;
use crate::elements::form::JsonForm;
use crate::elements::json_text::JsonText;
use crate::elements::nesting::{Nesting, write_empty};
use crate::elements::selection::SelectedDims;
use crate::elements::strips::Reading;

/// An element takes one byte at least, and what parts it from the next one.
const ELEMENT_TEXT_BYTES: u64 = 2;

/// Elements as JSON: the type that they are read as, and the lists that they stand in.
struct JsonElements {
    form: JsonForm,
    memory: Datatype,
    shape: Vec<u64>,
}

impl JsonElements {
    /// Returns elements of a shape. Dimensions of an array type are dimensions as others.
    fn new(datatype: &Datatype, shape: &[u64]) -> Self {
        let (dims, form) = JsonForm::split_array(datatype);
        let each: Vec<u32> = dims.iter().filter_map(|&dim| u32::try_from(dim).ok()).collect();
        let memory =
            if each.is_empty() { form.memory.clone() } else { Datatype::array(&each, form.memory.clone()) };
        JsonElements { form, memory, shape: [shape, &dims].concat() }
    }

    /// In one list; a scalar stays a bare value.
    fn flat(mut self) -> Self {
        if !self.shape.is_empty() {
            self.shape = vec![self.count()];
        }
        self
    }

    fn count(&self) -> u64 {
        self.shape.iter().fold(1, |count: u64, dim| count.saturating_mul(*dim))
    }
}

/// Writes selected elements of a dataset.
pub(crate) fn write_dataset(
    call: &Call<'_>,
    dataset: &Dataset,
    selected: &SelectedDims,
    is_flat: bool,
    out: &mut JsonText,
) -> Result<(), Failure> {
    let elements = JsonElements::new(&dataset.dataset_info().datatype, &selected.shape());
    let elements = if is_flat { elements.flat() } else { elements };
    call.check_size(elements.count().saturating_mul(ELEMENT_TEXT_BYTES))?;
    if elements.count() == 0 {
        return write_empty(&elements.shape, out);
    }
    let mut nesting = Nesting::new(&elements.shape);
    Reading::new(call, dataset, selected.axes(), &elements.memory)
        .in_order(|bytes, heap| elements.form.write_all(bytes, heap, &mut nesting, out))
}

/// Writes the value of an attribute.
pub(crate) fn write_attribute(attribute: &Attribute, out: &mut JsonText) -> Result<(), Failure> {
    let info = attribute.info();
    if matches!(info.space, Dataspace::Null) {
        return out.push(b"null");
    }
    let elements = JsonElements::new(&info.datatype, info.space.dims());
    if elements.count() == 0 {
        return write_empty(&elements.shape, out);
    }
    let mut heap = Heap::new();
    let bytes = attribute.read_bytes(&elements.memory, &mut heap)?;
    elements.form.write_all(&bytes, &heap, &mut Nesting::new(&elements.shape), out)
}

/// Returns the value of a small attribute.
pub(crate) fn attribute_json(attribute: &Attribute) -> Result<Value, Failure> {
    let mut out = JsonText::unbounded();
    write_attribute(attribute, &mut out)?;
    parsed(out)
}

/// Returns the fill value of a dataset, whose bytes these are.
pub(crate) fn fill_json(dataset: &Dataset, raw: &[u8]) -> Result<Value, Failure> {
    let info = dataset.dataset_info();
    let elements = JsonElements::new(&info.datatype, &[]);
    let (mut heap, conversions) = (Heap::new(), Conversions::default());
    let container = dataset.container().as_ref();
    let bytes =
        transfer::from_file_type(container, &info.datatype, raw, &elements.memory, &conversions, &mut heap)?;
    let mut out = JsonText::unbounded();
    elements.form.write_all(&bytes, &heap, &mut Nesting::new(&elements.shape), &mut out)?;
    parsed(out)
}

fn parsed(out: JsonText) -> Result<Value, Failure> {
    let wrong = |_| Failure::argument("The value has no JSON form");
    serde_json::from_slice(&out.into_bytes()).map_err(wrong)
}
