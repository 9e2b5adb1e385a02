//! Datasets: what may be made, and which array they are.

use std::sync::Arc;

use iod_storage::{Batch, Kind};
use keyed::{Dataset, check_dataset};
use model::properties::{FillValue, Layout};
use model::{Dataspace, ObjectKind, Result, Token, encode};
use vol::{DatasetInfo, OpDatasetCreate};

use crate::chunks::CELL_BYTES;
use crate::described::{Body, shape_of};
use crate::identity;
use crate::keys::{COMMITTED, DATASPACE, DATATYPE, FILL_VALUE, OTHER_PROPERTIES};
use crate::objects_of::New;
use crate::opening::Opening;

/// The array of a dataset.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ArrayOf {
    pub(crate) cell_bytes: u32,
    pub(crate) dims: Vec<u64>,
    pub(crate) chunk: Option<Vec<u64>>,
}

/// The array of an extent without chunks. One without elements has a dimension without cells.
pub(crate) fn plain_dims(space: &Dataspace) -> Vec<u64> {
    match space {
        Dataspace::Null => vec![0],
        space => space.dims().to_vec(),
    }
}

/// Which array a dataset is. One that is chunked is in every dimension but the first as large as it may become: only the
/// first of an array's can change, and holes take no room. With filters a cell is a whole chunk.
pub(crate) fn array_of(dataset: &Dataset) -> ArrayOf {
    let info = &dataset.info;
    let cell_bytes = info.datatype.size();
    let Layout::Chunked { shape, .. } = &info.create.layout else {
        return ArrayOf { cell_bytes, dims: plain_dims(&info.space), chunk: None };
    };
    let mut dims = info.space.max_dims().to_vec();
    dims.iter_mut().zip(info.space.dims()).take(1).for_each(|(dim, now)| *dim = *now);
    if dataset.filters().is_empty() {
        return ArrayOf { cell_bytes, dims, chunk: Some(shape.clone()) };
    }
    let dims = dims.iter().zip(shape).map(|(dim, len)| dim.div_ceil(*len)).collect();
    ArrayOf { cell_bytes: CELL_BYTES, dims, chunk: None }
}

impl Opening {
    pub(crate) fn make_dataset(&self, op: &OpDatasetCreate) -> Result<Token> {
        let datatype = self.file_type(&op.datatype, op.committed)?;
        check_dataset(op, &datatype, self.limits(), "arrays")?;
        let mut create = op.create.clone();
        filters::pipeline::complete(&mut create, &datatype)?;
        let info =
            Arc::new(DatasetInfo { datatype, committed: op.committed, space: op.space.clone(), create });
        let chunk = match &info.create.layout {
            Layout::Chunked { shape, .. } => Some(shape.clone()),
            _ => None,
        };
        let mut dataset = Dataset { info, shape: chunk.unwrap_or_default() };
        let array = array_of(&dataset);
        if array.chunk.is_none() && dataset.filters().is_empty() {
            let block = iod_storage::automatic_block(&array.dims, array.cell_bytes);
            dataset.shape = shape_of(&block, &op.space);
        }
        self.insert_dataset(&dataset, &array, op)
    }

    fn insert_dataset(&self, dataset: &Dataset, array: &ArrayOf, op: &OpDatasetCreate) -> Result<Token> {
        let info = &dataset.info;
        let mut entries =
            vec![(DATATYPE, encode::datatype(&info.datatype)?), (DATASPACE, encode::space(&info.space)?)];
        if let FillValue::Value(value) = &info.create.fill.value {
            entries.push((FILL_VALUE, value.clone()));
        }
        if let Some(committed) = info.committed {
            entries.push((COMMITTED, identity::object(committed)?.to_bytes().to_vec()));
        }
        entries.extend(filters::pipeline::other(&info.create)?.map(|other| (OTHER_PROPERTIES, other)));
        self.insert(New {
            kind: ObjectKind::Dataset,
            id: self.new_identity(Kind::Array)?,
            creation: encode::dataset_create(&info.create, &info.datatype, &info.space)?,
            entries,
            body: Body::Dataset(dataset.clone()),
            committed: info.committed,
            place: op.place.as_ref(),
            make: &|batch: &mut Batch<'_>, id, pad| {
                batch.create_array(id, pad, array.cell_bytes, &array.dims, array.chunk.as_deref());
            },
        })
    }
}
