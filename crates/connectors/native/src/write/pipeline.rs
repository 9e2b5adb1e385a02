//! Filters of new datasets, with all that libhdf5 sets at creation.

use model::properties::FilterSpec;
use model::{Datatype, Error, Result};
use vol::OpDatasetCreate;

use crate::reader::Reader;

/// The first number that is not a filter of libhdf5's own.
const FOREIGN_MIN: u16 = 256;

/// Returns a filter with all its values. One that is not built in always has a name: libhdf5 adds the name that it knows
/// when it writes the message again, in the space of before.
pub(crate) fn with_values(
    file: &Reader,
    filter: &FilterSpec,
    op: &OpDatasetCreate,
    datatype: &Datatype,
) -> Result<FilterSpec> {
    let mut filter = filter.clone();
    // One with a name was read from a container: a copy takes its chunks as they are.
    if !filter.optional && filter.name.is_none() {
        file.registry.get(filter.id).map_err(|e| Error::unsupported("create dataset").with("problem", e))?;
    }
    if filter.id >= FOREIGN_MIN && filter.name.is_none() {
        filter.name = Some(file.filter_name(filter.id));
    }
    if let Some(values) = filters::pipeline::values(&filter, &op.create, datatype)? {
        filter.values = values;
    }
    Ok(filter)
}
