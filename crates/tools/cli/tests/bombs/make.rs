//! Containers that are small and ask for much.

use std::sync::Arc;

use hyperslab::model::properties::FileCreate;
use hyperslab::vol::{Container, FileAccess, OpGroupCreate, Place};
use hyperslab::{Result, Token};

/// A new container.
pub(crate) fn create(location: &str) -> Result<Arc<dyn Container>> {
    hyperslab::registry().create(location, &FileCreate::default(), &FileAccess::write(), true)
}

/// Groups in groups, so many levels.
pub(crate) fn nested_groups(location: &str, levels: usize) -> Result<()> {
    let container = create(location)?;
    let mut here = container.info()?.root;
    for _ in 0..levels {
        here = group(&*container, here, "g")?;
    }
    container.close()
}

fn group(container: &dyn Container, parent: Token, name: &str) -> Result<Token> {
    let place = Some(Place::new(parent, name));
    container.group_create(&OpGroupCreate { place, create: Default::default() })
}
