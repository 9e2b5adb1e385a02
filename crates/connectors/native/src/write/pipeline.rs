//! Filters of new datasets, with all that libhdf5 sets at creation.

use model::properties::FilterSpec;
use model::{Datatype, Error, Result};
use vol::OpDatasetCreate;

use crate::reader::Reader;

/// The first number that is not a filter of libhdf5's own.
const FOREIGN_MIN: u16 = 256;

/// Returns a filter with a name if it is not built in: libhdf5 adds the name that it knows when it writes the message again, in
/// the space of before.
pub(crate) fn with_name(file: &Reader, filter: &FilterSpec) -> FilterSpec {
    let mut filter = filter.clone();
    if filter.id >= FOREIGN_MIN && filter.name.is_none() {
        filter.name = Some(file.filter_name(filter.id));
    }
    filter
}

/// Returns a filter with a name and all its values.
pub(crate) fn with_values(
    file: &Reader,
    filter: &FilterSpec,
    op: &OpDatasetCreate,
    datatype: &Datatype,
) -> Result<FilterSpec> {
    // One with a name was read from a container: a copy takes its chunks as they are.
    if !filter.optional && filter.name.is_none() {
        file.registry.get(filter.id).map_err(|e| Error::unsupported("create dataset").with("problem", e))?;
    }
    let mut filter = with_name(file, filter);
    if let Some(values) = filters::pipeline::values(&filter, &op.create, datatype)? {
        filter.values = values;
    }
    Ok(filter)
}
