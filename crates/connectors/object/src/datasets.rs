//! Datasets: what may be made, and how it is described.

use std::sync::Arc;

use model::properties::{DatasetCreate, FillValue, Layout};
use model::{Dataspace, Datatype, Error, Limits, ObjectKind, Result, Token, Within, encode};
use vol::{DatasetInfo, OpDatasetCreate};

use crate::attributes::space_bytes;
use crate::described::{Body, Dataset, Described};
use crate::keys::{
    self, CHUNK_SHAPE, COMMITTED, CREATION, DATASPACE, DATATYPE, FILL_VALUE, OTHER_PROPERTIES,
};
use crate::opening::Opening;

/// Bytes of a chunk where the layout has none.
const CHUNK_BYTES: u64 = 1 << 20;

fn invalid(problem: &str) -> Error {
    Error::invalid("make dataset").with("problem", problem)
}

/// Chunks for an extent whose layout has none: whole rows of the fastest dimensions.
fn automatic_shape(dims: &[u64], element_bytes: u64) -> Vec<u64> {
    let mut elements = (CHUNK_BYTES / element_bytes.max(1)).max(1);
    let mut shape = vec![1; dims.len()];
    for (len, &dim) in shape.iter_mut().zip(dims).rev() {
        *len = dim.clamp(1, elements);
        elements = (elements / *len).max(1);
    }
    shape
}

fn check_fill(create: &DatasetCreate, datatype: &Datatype) -> Result<()> {
    match &create.fill.value {
        FillValue::Value(value) if value.len() != datatype.size() as usize => {
            let wanted = datatype.size();
            Err(Error::invalid("set fill value").with("bytes", value.len()).with("wanted", wanted))
        }
        _ => Ok(()),
    }
}

fn check_chunks(shape: &[u64], space: &Dataspace, element_bytes: u32, limits: &Limits) -> Result<()> {
    if shape.is_empty() || shape.len() != space.rank() {
        return Err(invalid("chunks differ in rank from the extent").with("rank", shape.len()));
    }
    if shape.contains(&0) {
        return Err(invalid("a chunk without elements"));
    }
    if shape.iter().zip(space.max_dims()).any(|(len, max)| len > max) {
        return Err(invalid("a chunk is larger than the extent may become"));
    }
    let bytes = shape.iter().try_fold(u64::from(element_bytes), |n, &len| n.checked_mul(len));
    bytes.unwrap_or(u64::MAX).within(limits.chunk_bytes_max, "chunk").map(|_| ())
}

fn check_layout(op: &OpDatasetCreate, datatype: &Datatype, limits: &Limits) -> Result<()> {
    let is_chunked = matches!(op.create.layout, Layout::Chunked { .. });
    if !is_chunked && op.create.filters.iter().any(|filter| !filter.optional) {
        return Err(invalid("filters without chunks"));
    }
    match &op.create.layout {
        Layout::Chunked { shape, .. } => check_chunks(shape, &op.space, datatype.size(), limits),
        Layout::External(_) => Err(Error::unsupported("keep elements in files beside an object store")),
        Layout::Virtual(_) => Err(Error::unsupported("make virtual dataset in an object store")),
        Layout::Compact | Layout::Contiguous if op.space.is_resizable() => {
            Err(invalid("an extent that changes needs chunks"))
        }
        Layout::Compact | Layout::Contiguous => Ok(()),
    }
}

impl Opening {
    pub(crate) fn make_dataset(&self, op: &OpDatasetCreate) -> Result<Token> {
        let datatype = self.file_type(&op.datatype, op.committed)?;
        space_bytes(&op.space, &datatype)?;
        check_layout(op, &datatype, self.limits())?;
        check_fill(&op.create, &datatype)?;
        let mut create = op.create.clone();
        pipeline::complete(&mut create, &datatype)?;
        let shape = match &create.layout {
            Layout::Chunked { shape, .. } => shape.clone(),
            _ => automatic_shape(op.space.dims(), datatype.size().into()),
        };
        let info = DatasetInfo { datatype, committed: op.committed, space: op.space.clone(), create };
        let id = self.new_identity(ObjectKind::Dataset)?;
        let dataset = Dataset { info: Arc::new(info), shape };
        self.insert_dataset(Described { id, body: Body::Dataset(dataset) }, op)
    }

    fn insert_dataset(&self, described: Described, op: &OpDatasetCreate) -> Result<Token> {
        let dataset = described.dataset()?.clone();
        let info = &dataset.info;
        let creation = encode::dataset_create(&info.create, &info.datatype, &info.space)?;
        let (datatype, space) = (encode::datatype(&info.datatype)?, encode::space(&info.space)?);
        let mut entries = vec![(CREATION, &creation[..]), (DATATYPE, &datatype[..]), (DATASPACE, &space[..])];
        if let FillValue::Value(value) = &info.create.fill.value {
            entries.push((FILL_VALUE, value));
        }
        let committed = info.committed.map(|token| token.0);
        entries.extend(committed.as_ref().map(|token| (COMMITTED, &token[..])));
        let other = pipeline::other(&info.create)?;
        entries.extend(other.as_ref().map(|other| (OTHER_PROPERTIES, &other[..])));
        let shape = keys::shape(&dataset.shape);
        if !matches!(info.create.layout, Layout::Chunked { .. }) {
            entries.push((CHUNK_SHAPE, &shape));
        }
        self.insert(described, entries, info.committed, op.place.as_ref())
    }
}
