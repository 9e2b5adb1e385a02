//! Content that a target cannot store: it is named, and the rest is copied.

use std::sync::Arc;

use model::properties::{FileCreate, Layout};
use model::{Error, Kind, ObjectPath, Result, Token};
use vol::{Container, OpDatasetCreate};

use super::Copier;

/// A function that is called for each loss of a copy: the path of the object, the part that is lost, and the target's error.
pub type Tell<'a> = dyn Fn(&str, &str, &Error) + 'a;

/// Creates a container for a copy: one that shares no messages where the connector cannot share them.
pub fn create_for(
    make: impl Fn(&FileCreate) -> Result<Arc<dyn Container>>,
    create: &FileCreate,
    lost: Option<&Tell<'_>>,
) -> Result<Arc<dyn Container>> {
    match (make(create), lost) {
        (Err(error), Some(tell))
            if error.kind() == Kind::Unsupported && !create.shared_indexes.is_empty() =>
        {
            tell("/", "sharing of messages", &error);
            make(&FileCreate { shared_indexes: Vec::new(), ..create.clone() })
        }
        (made, _) => made,
    }
}

impl Copier<'_> {
    /// Goes on where the target cannot hold something, if the caller wants to hear of it instead.
    pub(super) fn or_lost<T: Default>(&self, path: &ObjectPath, what: &str, done: Result<T>) -> Result<T> {
        match (done, self.context.lost) {
            (Err(error), Some(tell)) if error.kind() == Kind::Unsupported => {
                tell(&path.shown(), what, &error);
                Ok(T::default())
            }
            (done, _) => done,
        }
    }

    /// Creates a dataset; one that the target cannot hold as it is loses its filters, then its layout.
    pub(super) fn make_dataset(&self, mut op: OpDatasetCreate, path: &ObjectPath) -> Result<Token> {
        let mut done = self.target.dataset_create(&op);
        for what in ["filters", "layout"] {
            let (Err(error), Some(tell)) = (&done, self.context.lost) else { break };
            if error.kind() != Kind::Unsupported {
                break;
            }
            match what {
                "filters" if op.create.filters.is_empty() => continue,
                "filters" => op.create.filters.clear(),
                _ => op.create.layout = plain_layout(&op),
            }
            tell(&path.shown(), what, error);
            done = self.target.dataset_create(&op);
        }
        done
    }
}

/// Returns the layout that everybody has: in chunks where the extent changes, in one piece where it does not.
fn plain_layout(op: &OpDatasetCreate) -> Layout {
    match &op.create.layout {
        Layout::Chunked { shape, .. } => Layout::chunked(shape),
        _ if op.space.is_resizable() => Layout::chunked(&vec![1; op.space.rank()]),
        _ => Layout::Contiguous,
    }
}
