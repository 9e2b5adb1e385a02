//! Elements strip by strip: not all of them need be in memory at once.

use hyperslab::vol::Transfer;
use hyperslab::vol::algorithms::transfer::Elements;
use hyperslab::vol::model::Heap;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::{Dataset, Datatype, Selection};

use crate::answer::Failure;
use crate::call::Call;

/// Reads elements as a type in memory, in C order, and calls `take` with each strip and the heap of its values.
///
/// # Errors
/// Returns the first failure, of the container or of `take`. It ends early if the client is gone.
pub(crate) fn read_strips(
    call: &Call<'_>,
    dataset: &Dataset,
    selection: &Selection,
    memory: &Datatype,
    mut take: impl FnMut(&[u8], &Heap) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let info = dataset.dataset_info();
    let conversions = Conversions::default();
    let elements = Elements {
        container: dataset.container().as_ref(),
        dataset: dataset.token(),
        file_type: &info.datatype,
        space: &info.space,
        selection,
        conversions: &conversions,
        transfer: Transfer::Independent,
    };
    if elements.count()? == 0 {
        return Ok(());
    }
    elements.read_strips(memory, |bytes, heap| {
        call.check_cancelled()?;
        take(bytes, heap)
    })
}
