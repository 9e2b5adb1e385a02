//! Extents that change.

use std::sync::Arc;

use iod_storage::{Batch, Id};
use keyed::Datasets;
use model::{Result, encode};

use crate::datasets::array_of;
use crate::described::{Body, Described};
use crate::keys::DATASPACE;
use crate::opening::Opening;

impl Opening {
    pub(crate) fn resize(&self, id: Id, dims: &[u64]) -> Result<()> {
        let _alone = self.changing(id);
        self.shared.elements().settle(id)?;
        let described = self.shared.describe(id, self.limits())?;
        let dataset = described.dataset()?;
        let Some(resized) = dataset.resized(dims)? else { return Ok(()) };
        let space = encode::space(&resized.info.space)?;
        self.cut(id, dataset, &resized)?;
        let mut batch = Batch::new();
        batch.put(described.metadata, DATASPACE, space);
        if let Some(len) = array_of(&resized).dims.first() {
            batch.resize(id, *len);
        }
        self.shared.apply(&batch, "resize dataset")?;
        let (metadata, attributes) = (described.metadata, described.attributes);
        let body = Body::Dataset(resized);
        self.shared.remember(Arc::new(Described { id, metadata, attributes, body }));
        Ok(())
    }
}
