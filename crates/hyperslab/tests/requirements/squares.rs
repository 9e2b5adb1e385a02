//! A connector from outside of the library, for a part of the model: its containers have one dataset that is computed.

use std::sync::Arc;

use hyperslab::vol::model::datatype::DescriptorSizes;
use hyperslab::vol::model::properties::{DatasetCreate, FileCreate, GroupCreate, ObjectCreate};
use hyperslab::vol::*;
use hyperslab::{Dataspace, Datatype, Link, LinkTarget, ObjectKind, Selection};

/// `squares:100` holds the squares of the numbers below 100.
pub(crate) struct SquaresConnector;

struct Squares {
    count: u64,
}

const ROOT: Token = Token([1; 16]);
const DATA: Token = Token([2; 16]);

impl Connector for SquaresConnector {
    fn info(&self) -> ConnectorInfo {
        let capability = Capability::default();
        ConnectorInfo { name: "squares", value: 480, version: 1, capability, about: "computed, not stored" }
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        let count = op.path.parse().map_err(|_| Error::not_found("open squares").with("path", op.path))?;
        Ok(Arc::new(Squares { count }))
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        let path = op.path;
        Ok(path.parse::<u64>().is_ok())
    }
}

impl Squares {
    fn link(&self) -> Link {
        let target = LinkTarget::Hard(DATA);
        Link { name: "squares".to_owned(), target, charset: Default::default(), creation_order: None }
    }

    fn space(&self) -> Result<Dataspace> {
        Dataspace::simple(&[self.count])
    }

    fn read(&self, selection: &Selection, into: &mut [u8]) -> Result<()> {
        let mut places = into.chunks_exact_mut(8);
        for run in selection.runs(&[self.count])? {
            for (n, place) in (run.offset..run.offset + run.len).zip(&mut places) {
                place.copy_from_slice(&(n * n).to_ne_bytes());
            }
        }
        Ok(())
    }
}

/// What a program needs to open the container and read its dataset, and one operation that no other connector has.
impl Container for Squares {
    fn info(&self) -> Result<Arc<ContainerInfo>> {
        Ok(Arc::new(ContainerInfo {
            connector: "squares".to_owned(),
            capability: Capability::default(),
            writable: false,
            root: ROOT,
            descriptors: DescriptorSizes::native(8),
            create: FileCreate::default(),
            storage_bytes: None,
            versions: Vec::new(),
            warnings: Vec::new(),
        }))
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }

    fn retain(&self, _object: Token) -> Result<()> {
        Ok(())
    }

    fn release(&self, _object: Token) -> Result<()> {
        Ok(())
    }

    fn object_info(&self, token: Token) -> Result<ObjectInfo> {
        let kind = if token == ROOT { ObjectKind::Group } else { ObjectKind::Dataset };
        let create = ObjectCreate::default();
        Ok(ObjectInfo { token, kind, references: 1, attributes: 0, times: None, create, comment: None })
    }

    fn group_info(&self, _group: Token) -> Result<GroupInfo> {
        Ok(GroupInfo { links: 1, creation_order_next: 0, create: GroupCreate::default() })
    }

    fn link_get(&self, _group: Token, name: &str) -> Result<Option<Link>> {
        Ok((name == "squares").then(|| self.link()))
    }

    fn link_list(&self, _group: Token, op: &OpList) -> Result<Page<Link>> {
        Ok(Page { entries: [self.link()].into_iter().skip(op.skip as usize).collect(), more: false })
    }

    fn dataset_info(&self, _dataset: Token) -> Result<Arc<DatasetInfo>> {
        let (datatype, create) = (Datatype::native_uint(8), DatasetCreate::default());
        Ok(Arc::new(DatasetInfo { datatype, committed: None, space: self.space()?, create }))
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        reads.iter_mut().try_for_each(|read| self.read(read.selection, read.into))
    }

    /// `squares.sum`: of as many squares as the first byte says.
    fn optional(&self, operation: &str, arguments: &[u8]) -> Result<Vec<u8>> {
        match (operation, arguments) {
            ("squares.sum", [count]) => {
                let sum: u64 = (0..u64::from(*count)).map(|n| n * n).sum();
                Ok(sum.to_le_bytes().to_vec())
            }
            _ => Err(Error::unsupported(operation)),
        }
    }
}
