//! The mark of a container while something is copied to it. If the copy is interrupted, readers learn that data is missing.

use std::sync::Arc;

use model::{CharacterSet, Dataspace, Datatype, Kind, Result};

use crate::{Collective, Container, ContainerInfo, Durability, Layer, OpAttributeCreate, Pipeline, Posting};

/// The attribute of the root group that says that a copy to the container did not finish.
const UNFINISHED: &str = "HYPERSLAB_UNFINISHED";

/// The warning about such a container.
pub const UNFINISHED_WARNING: &str =
    "a copy to this container did not finish: copy again with --resume or --overwrite";

/// Marks a container before anything is copied to it. The mark stays if the copy is interrupted.
///
/// A container of a connector without attributes gets no mark.
///
/// # Errors
/// Returns the error of creating the attribute or of the commit.
pub fn mark_unfinished(target: &dyn Container) -> Result<()> {
    if !target.info()?.capability.attributes || is_unfinished(target)? {
        return Ok(());
    }
    target.attribute_create(&OpAttributeCreate {
        object: target.info()?.root,
        name: UNFINISHED.to_owned(),
        charset: CharacterSet::Ascii,
        datatype: Datatype::native_uint(1),
        committed: None,
        space: Dataspace::Scalar,
    })?;
    target.commit(Durability::Full)
}

/// Removes the mark. The commit that follows completes the copy.
///
/// # Errors
/// Returns the error of removing the attribute.
pub fn clear_unfinished(target: &dyn Container) -> Result<()> {
    match is_unfinished(target)? {
        true => target.attribute_delete(target.info()?.root, UNFINISHED),
        false => Ok(()),
    }
}

/// Returns whether a container has the mark.
///
/// # Errors
/// Returns the error of reading the root group.
pub fn is_unfinished(container: &dyn Container) -> Result<bool> {
    match container.attribute_info(container.info()?.root, UNFINISHED) {
        Err(error) if error.kind() == Kind::Unsupported => Ok(false),
        found => Ok(found?.is_some()),
    }
}

/// Returns a container that was just opened. If it has the mark, its info includes the warning.
pub(crate) fn with_warning(container: Arc<dyn Container>) -> Arc<dyn Container> {
    // A root group that cannot be read is an error of the caller that needs it.
    match is_unfinished(&*container) {
        Ok(true) => Arc::new(Unfinished(container)),
        _ => container,
    }
}

struct Unfinished(Arc<dyn Container>);

impl Layer for Unfinished {
    fn inner(&self) -> &dyn Container {
        &*self.0
    }

    fn collective(&self) -> Option<&dyn Collective> {
        self.0.collective()
    }

    fn pipeline(&self) -> Option<&dyn Pipeline> {
        self.0.pipeline()
    }

    fn posting<'c, 'b: 'c>(&'c self) -> Option<Box<dyn Posting<'b> + 'c>> {
        self.0.posting()
    }

    fn info(&self) -> Result<Arc<ContainerInfo>> {
        let mut info = ContainerInfo::clone(&*self.0.info()?);
        // The copy may have finished since.
        if is_unfinished(&*self.0)? {
            info.warnings.push(UNFINISHED_WARNING.to_owned());
        }
        Ok(Arc::new(info))
    }
}
