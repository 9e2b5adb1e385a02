//! The readonly layer: reads go through, every change is refused, whatever the inner container would allow.
//!
//! ```text
//! readonly
//! ```
//!
//! Optional operations go through: their meaning is known to the connector alone.

use std::sync::Arc;

use model::{Error, Result};
use vol::{
    Call, Capability, ConnectorInfo, Container, ContainerInfo, LayerFactory, Observed, Observer, Wrap,
    WrapCheck,
};

/// Makes containers read-only.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadonlyLayer;

impl LayerFactory for ReadonlyLayer {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: "readonly",
            value: 522,
            version: 1,
            capability: Capability::default(),
            about: "refuses every change",
        }
    }

    fn check(&self, op: &WrapCheck<'_>) -> Result<()> {
        op.parameters.only(&[])
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        op.parameters.only(&[])?;
        Ok(Arc::new(Observed::new(op.inner.clone(), Refuse)))
    }
}

struct Refuse;

impl Observer for Refuse {
    type Begun = ();

    fn begin(&self, call: &Call) -> Result<()> {
        if !call.operation.changes() {
            return Ok(());
        }
        let error = Error::denied(call.operation.name().replace('_', " "));
        Err(error.with("problem", "the readonly layer is over this container"))
    }

    fn end(&self, _call: &Call, _begun: (), _error: Option<&Error>) -> Result<()> {
        Ok(())
    }

    fn describe(&self, info: Arc<ContainerInfo>) -> Arc<ContainerInfo> {
        Arc::new(ContainerInfo { writable: false, ..(*info).clone() })
    }
}

#[cfg(test)]
mod tests {
    use memory::MemoryConnector;
    use model::datatype::ReferenceKind;
    use model::properties::{DatasetCreate, FileCreate, ObjectCreate};
    use model::{Dataspace, Datatype, Kind, LinkTarget, Reference, Selection, Token};
    use vol::*;

    use super::*;

    /// Returns a container with a dataset, made without the layer and opened with it.
    fn opened() -> (Arc<dyn Container>, Token, Token) {
        let mut registry = Registry::new();
        registry.register(Arc::new(MemoryConnector::new())).unwrap();
        registry.register_layer(Arc::new(ReadonlyLayer)).unwrap();
        let made = registry.create("memory:x", &FileCreate::default(), &FileAccess::write(), false).unwrap();
        let root = made.info().unwrap().root;
        let dataset = made.dataset_create(&dataset_op(LinkLocation::new(root, "d"))).unwrap();
        made.close().unwrap();
        let access = FileAccess::write().with_stack("readonly");
        (registry.open("memory:x", &access).unwrap(), root, dataset)
    }

    fn dataset_op(place: LinkLocation) -> OpDatasetCreate {
        let space = Dataspace::simple(&[4]).unwrap();
        let create = DatasetCreate { layout: model::properties::Layout::chunked(&[4]), ..Default::default() };
        OpDatasetCreate { place: Some(place), datatype: int(), committed: None, space, create }
    }

    fn int() -> Datatype {
        Datatype::native_int(4)
    }

    fn attribute(object: Token) -> OpAttributeCreate {
        let (name, charset) = ("a".to_owned(), model::CharacterSet::Ascii);
        OpAttributeCreate {
            object,
            name,
            charset,
            datatype: int(),
            committed: None,
            space: Dataspace::Scalar,
        }
    }

    fn refused<T>(result: Result<T>) {
        assert_eq!(result.map(|_| ()).unwrap_err().kind(), Kind::Denied);
    }

    #[test]
    fn every_operation_on_objects_and_links_that_changes_something_is_denied() {
        let (c, root, dataset) = opened();
        let place = || LinkLocation::new(root, "new");
        let create = ObjectCreate::default;
        refused(c.object_copy(&OpObjectCopy::new(dataset, place())));
        refused(c.object_set_comment(root, Some("x")));
        refused(c.object_adjust_references(dataset, 1));
        refused(c.group_create(&OpGroupCreate { place: Some(place()), ..Default::default() }));
        refused(c.group_create(&OpGroupCreate::default()));
        refused(c.dataset_create(&dataset_op(place())));
        refused(c.datatype_commit(&OpDatatypeCommit { place: None, datatype: int(), create: create() }));
        refused(c.map_create(&OpMapCreate { place: None, key: int(), value: int(), create: create() }));
        refused(c.link_create(&OpLinkCreate { place: place(), target: LinkTarget::Hard(dataset) }));
        refused(c.link_delete(root, "d"));
        refused(c.link_move(&OpLinkMove { from: root, name: "d".into(), to: place(), copy: false }));
        refused(c.attribute_create(&attribute(root)));
        refused(c.attribute_write(root, "a", &[0; 4]));
        refused(c.attribute_delete(root, "a"));
        refused(c.attribute_rename(root, "a", "b"));
    }

    #[test]
    fn every_operation_on_values_that_changes_something_is_denied() {
        let (c, root, dataset) = opened();
        let selection = &Selection::All;
        refused(c.dataset_write(&[OpWrite { dataset, selection, from: &[0; 16] }]));
        refused(c.dataset_resize(dataset, &[2]));
        refused(c.chunk_write(dataset, &[0], 0, &[0; 16]));
        let placement = OpPlacement { dataset, selection: Selection::All };
        refused(c.elements_place(&placement));
        refused(c.elements_changed(&placement));
        refused(c.map_put(root, &[(b"k", b"v")]));
        refused(c.map_delete(root, b"k"));
        refused(c.blob_put(&[b"x"]));
        refused(c.blob_delete(&[b"12345678"]));
        refused(c.reference_put(ReferenceKind::Object, &[Reference::null()]));
        refused(c.start_swmr());
        refused(c.storage_repair());
        let changing = Operation::ALL.iter().filter(|operation| operation.changes()).count();
        assert_eq!(changing, 26, "a new operation wants a line in these tests");
    }

    #[test]
    fn reading_goes_on_and_info_says_how_it_is() {
        let (c, root, dataset) = opened();
        assert!(!c.info().unwrap().writable);
        c.retain(dataset).unwrap();
        assert_eq!(c.link_list(root, &OpList::default()).unwrap().entries.len(), 1);
        c.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut [1; 16] }]).unwrap();
        c.release(dataset).unwrap();
        c.commit(Durability::None).unwrap();
        c.close().unwrap();
        assert_eq!(c.link_get(root, "d").unwrap_err().kind(), Kind::Invalid);
    }
}
