//! The containers and datasets that mappings name.

use std::sync::Arc;

use model::convert::Conversions;
use model::{Kind, Result, Token};
use vol::{Container, DatasetInfo};

use super::nested;

/// Opens the containers that the mappings of a virtual dataset name.
pub trait Sources {
    /// Returns the container called `name`, to read it; `.` is the container of the virtual dataset itself.
    ///
    /// # Errors
    /// Returns `Error::NotFound` if there is none: its elements show the fill value.
    fn container(&self, name: &str) -> Result<SourceContainer<'_>>;

    /// Returns the container called `name`, to write to it.
    ///
    /// # Errors
    /// Returns the error of opening it.
    fn container_for_writing(&self, name: &str) -> Result<SourceContainer<'_>>;

    /// Returns how many links the path of a source may follow.
    fn link_traversals_max(&self) -> u32;

    /// Returns the conversions between the datatypes of sources and of the virtual dataset.
    fn conversions(&self) -> &Conversions;
}

/// A container that holds a source.
pub enum SourceContainer<'a> {
    /// The container of the virtual dataset itself.
    Own(&'a dyn Container),
    /// Another handle of the container of the virtual dataset.
    OwnHandle(Arc<dyn Container>),
    /// Another container.
    Other(Arc<dyn Container>),
}

impl std::fmt::Debug for SourceContainer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SourceContainer({})", if self.is_own() { "own" } else { "other" })
    }
}

impl SourceContainer<'_> {
    pub(super) fn get(&self) -> &dyn Container {
        match self {
            SourceContainer::Own(container) => *container,
            SourceContainer::OwnHandle(container) | SourceContainer::Other(container) => &**container,
        }
    }

    /// Returns whether it is the container of the virtual dataset, so that heap IDs and references mean the same in both.
    pub(super) fn is_own(&self) -> bool {
        !matches!(self, SourceContainer::Other(_))
    }
}

/// A dataset that a mapping names.
pub(super) struct Source<'a> {
    /// File and dataset, as the mapping names them.
    pub(super) names: (String, String),
    pub(super) container: SourceContainer<'a>,
    pub(super) token: Token,
    pub(super) info: Arc<DatasetInfo>,
}

/// Opens a source, or returns `None` if it does not exist.
pub(super) fn open<'s>(
    sources: &'s dyn Sources,
    (file, dataset): (String, String),
) -> Result<Option<Source<'s>>> {
    let opened = sources.container(&file).and_then(|container| {
        let (token, info) = find(container.get(), &dataset, sources.link_traversals_max())?;
        Ok(Source { names: (file, dataset), container, token, info })
    });
    match opened {
        Err(error) if error.kind() == Kind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// Finds a dataset by its path.
pub(super) fn find(
    container: &dyn Container,
    path: &str,
    link_traversals_max: u32,
) -> Result<(Token, Arc<DatasetInfo>)> {
    let token = vol::path::token(container, container.info()?.root, path, link_traversals_max)?;
    // The source may be a virtual dataset itself.
    let info = nested(|| container.dataset_info(token))?;
    Ok((token, info))
}
