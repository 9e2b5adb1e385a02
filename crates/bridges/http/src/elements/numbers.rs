//! Elements as numbers.

use hyperslab::vol::algorithms::transfer;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::model::properties::FillValue;
use hyperslab::vol::model::{ByteOrder, Heap};
use hyperslab::{Dataset, Datatype};

use crate::answer::Failure;
use crate::call::Call;
use crate::elements::axis::Axis;
use crate::elements::selection::SelectedDims;
use crate::elements::strips::Reading;

/// Bytes of a number in memory.
pub(crate) const NUMBER_BYTES: usize = 8;

/// Returns the numbers in the bytes of a strip.
pub(crate) fn f64s(bytes: &[u8]) -> impl Iterator<Item = f64> {
    bytes.as_chunks::<NUMBER_BYTES>().0.iter().map(|bytes| f64::from_le_bytes(*bytes))
}

/// Returns the type that numbers are read as.
///
/// # Errors
/// Returns a failure with the status 422 if elements are not integers, floats, enums or booleans.
pub(crate) fn f64_type(dataset: &Dataset) -> Result<Datatype, Failure> {
    match dataset.dataset_info().datatype {
        Datatype::Integer(_) | Datatype::Float(_) | Datatype::Enum(_) | Datatype::Bitfield(_) => {
            Ok(Datatype::ieee_f64(ByteOrder::Little))
        }
        _ => Err(Failure::argument("The elements are not numbers")),
    }
}

/// Returns whether elements are integers.
pub(crate) fn is_integer(datatype: &Datatype) -> bool {
    matches!(datatype, Datatype::Integer(_) | Datatype::Enum(_) | Datatype::Bitfield(_))
}

/// Calls `take` with the bytes of numbers, tile by tile: not in C order, except of one axis.
pub(crate) fn read_f64s(
    call: &Call<'_>,
    dataset: &Dataset,
    axes: Vec<Axis>,
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let memory = f64_type(dataset)?;
    Reading::new(call, dataset, axes, &memory).each_tile(|bytes, _| take(bytes))
}

/// Returns the fill value that someone chose for a dataset of numbers.
pub(crate) fn fill(dataset: &Dataset) -> Result<Option<f64>, Failure> {
    let info = dataset.dataset_info();
    let FillValue::Value(raw) = &info.create.fill.value else { return Ok(None) };
    let (memory, container) = (f64_type(dataset)?, dataset.container().as_ref());
    let conversions = Conversions::default();
    let bytes =
        transfer::from_file_type(container, &info.datatype, raw, &memory, &conversions, &mut Heap::new())?;
    Ok(f64s(&bytes).next())
}

/// Returns the extent, and what a request selects of it.
///
/// # Errors
/// Returns a failure with the status 422 if the dataset has a null dataspace, or if the selection is not one.
pub(crate) fn selected(call: &Call<'_>, dataset: &Dataset) -> Result<SelectedDims, Failure> {
    let info = dataset.dataset_info();
    if matches!(info.space, hyperslab::vol::model::Dataspace::Null) {
        return Err(Failure::argument("The dataset has no elements"));
    }
    SelectedDims::parse(call.query.get("selection"), info.space.dims())
}
