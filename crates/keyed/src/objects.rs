//! Objects: creation, information, comments.

use std::sync::Arc;

use algorithms::maps::check_key_type;
use model::properties::{Layout, ObjectCreate};
use model::{LinkTarget, ObjectKind, Result, Token};
use vol::{
    DatasetInfo, LinkLocation, ObjectInfo, OpDatasetCreate, OpDatatypeCommit, OpGroupCreate, OpMapCreate,
};

use crate::dataset::check_dataset;
use crate::mapping::Mapping;
use crate::reference_counts::Changes;
use crate::{Body, Dataset, Handle, ObjectHeader};

impl<M: Mapping> Handle<M> {
    /// Creates an object, and a link to it if it has a place. Without one the object stays until it is released.
    ///
    /// # Errors
    /// Returns `Exists` if the name is in use; then no object is created.
    fn insert(&self, mut body: Body, place: Option<&LinkLocation>) -> Result<Token> {
        let committed = match &body {
            Body::Dataset(dataset) => dataset.info.committed,
            _ => None,
        };
        let (id, location) = self.mapping().new_object(&mut body)?;
        let header = ObjectHeader { id, location, body };
        let mut counts = self.shared.reference_counts();
        let group = place.map(|place| self.group_of_new(place)).transpose()?;
        let mut changes = Changes::default();
        if let Some(committed) = committed {
            self.add_reference(&mut changes, M::id(committed)?)?;
        }
        self.mapping().put_object(&mut changes.stored, &header, place.is_some().into())?;
        if let (Some(place), Some(group)) = (place, &group) {
            let target = LinkTarget::Hard(header.token());
            let linked = self.mapping().put_link(&mut changes.stored, group, place, &target);
            if let Err(error) = linked {
                self.shared.listings.changed(group.id);
                let removed = self.remove_unused(&mut counts, &[id]);
                return Err(removed.err().unwrap_or(error));
            }
        } else {
            changes.unlinked.push(id);
        }
        let done = self.commit_changes(&mut counts, changes, "create object");
        group.iter().for_each(|group| self.shared.listings.changed(group.id));
        done?;
        let token = header.token();
        self.shared.cache_header(Arc::new(header));
        Ok(token)
    }

    pub(crate) fn create_group(&self, op: &OpGroupCreate) -> Result<Token> {
        self.insert(Body::Group(op.create.clone()), op.place.as_ref())
    }

    pub(crate) fn commit_datatype(&self, op: &OpDatatypeCommit) -> Result<Token> {
        let datatype = self.file_type(&op.datatype, None)?;
        self.insert(Body::Datatype { datatype, create: op.create.clone() }, op.place.as_ref())
    }

    pub(crate) fn create_map(&self, op: &OpMapCreate) -> Result<Token> {
        let key = self.file_type(&op.key, None)?;
        let value = self.file_type(&op.value, None)?;
        check_key_type(&key)?;
        self.insert(Body::Map { key, value, create: op.create.clone() }, op.place.as_ref())
    }

    pub(crate) fn create_dataset(&self, op: &OpDatasetCreate) -> Result<Token> {
        let datatype = self.file_type(&op.datatype, op.committed)?;
        check_dataset(op, &datatype, self.limits(), M::NAME)?;
        let mut create = op.create.clone();
        filters::pipeline::complete(&self.shared.filters, &mut create, &datatype)?;
        self.mapping().adapt_dataset(&mut create, &op.space, &datatype);
        let shape = match &create.layout {
            Layout::Chunked { shape, .. } => shape.clone(),
            _ => self.mapping().automatic_chunks(&op.space, &datatype),
        };
        let info = DatasetInfo { datatype, committed: op.committed, space: op.space.clone(), create };
        self.insert(Body::Dataset(Dataset { info: Arc::new(info), shape }), op.place.as_ref())
    }

    pub(crate) fn object_info(&self, header: &ObjectHeader<M>) -> Result<ObjectInfo> {
        let (references, comment) = self.mapping().read_status(header)?;
        Ok(ObjectInfo {
            token: header.token(),
            kind: header.kind(),
            references: u32::try_from(references).unwrap_or(u32::MAX),
            attributes: self.attribute_count(header)?,
            times: None,
            create: ObjectCreate::clone(header.object()),
            comment,
        })
    }

    pub(crate) fn object_kinds(&self, tokens: &[Token]) -> Result<Vec<ObjectKind>> {
        let ids = tokens.iter().map(|token| M::id(*token)).collect::<Result<Vec<_>>>()?;
        self.mapping().kinds(&ids)
    }
}
