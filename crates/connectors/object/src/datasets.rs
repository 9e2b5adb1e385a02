//! Datasets: what may be made, and how it is described.

use std::sync::Arc;

use keyed::{Dataset, automatic_shape, check_dataset};
use model::properties::{FillValue, Layout};
use model::{ObjectKind, Result, Token};
use vol::{DatasetInfo, OpDatasetCreate};

use crate::described::{Body, Described};
use crate::keys::{
    self, CHUNK_SHAPE, COMMITTED, CREATION, DATASPACE, DATATYPE, FILL_VALUE, OTHER_PROPERTIES,
};
use crate::opening::Opening;

impl Opening {
    pub(crate) fn make_dataset(&self, op: &OpDatasetCreate) -> Result<Token> {
        let datatype = self.file_type(&op.datatype, op.committed)?;
        check_dataset(op, &datatype, self.limits(), "an object store")?;
        let mut create = op.create.clone();
        filters::pipeline::complete(&mut create, &datatype)?;
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
        let parts = self.shared.last_dataset.dataset(info)?;
        let mut entries =
            vec![(CREATION, &parts.creation[..]), (DATATYPE, &parts.datatype), (DATASPACE, &parts.space)];
        if let FillValue::Value(value) = &info.create.fill.value {
            entries.push((FILL_VALUE, value));
        }
        let committed = info.committed.map(|token| token.0);
        entries.extend(committed.as_ref().map(|token| (COMMITTED, &token[..])));
        let other = filters::pipeline::other(&info.create)?;
        entries.extend(other.as_ref().map(|other| (OTHER_PROPERTIES, &other[..])));
        let shape = keys::shape(&dataset.shape);
        if !matches!(info.create.layout, Layout::Chunked { .. }) {
            entries.push((CHUNK_SHAPE, &shape));
        }
        self.insert(described, entries, info.committed, op.place.as_ref())
    }
}
