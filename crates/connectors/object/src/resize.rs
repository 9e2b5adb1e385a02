//! Extents that change.

use std::sync::Arc;

use keyed::Datasets;
use model::{Result, encode};
use objects::{Change, ObjectId};

use crate::described::{Body, Described};
use crate::keys::DATASPACE;
use crate::opening::Opening;

impl Opening {
    pub(crate) fn resize(&self, id: ObjectId, dims: &[u64]) -> Result<()> {
        let _alone = self.changing(id);
        self.shared.elements().settle(id)?;
        let described = self.shared.describe(id, self.limits())?;
        let dataset = described.dataset()?;
        let Some(resized) = dataset.resized(dims)? else { return Ok(()) };
        let bytes = encode::space(&resized.info.space)?;
        self.cut(id, dataset, &resized)?;
        self.describe_as(id, &[Change::Single(DATASPACE, &bytes)], &[])?;
        self.shared.remember(Arc::new(Described { id, body: Body::Dataset(resized) }));
        Ok(())
    }
}
