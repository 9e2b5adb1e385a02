//! The container under one that is stored in files. It is one of the `memory` connector, which the registry finds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::Result;
use model::properties::FileCreate;
use vol::{Access, Connector, Container, ContainerCreate, ContainerOpen, FileAccess, Registry, Resolver};

use crate::siblings::SiblingResolver;
use crate::translated::{Shared, Translated, TranslatedInfo};

const CONNECTOR: &str = "memory";

/// Numbers of containers of this process, so that one opened again is not mixed up with the one before.
static NUMBER_NEXT: AtomicU64 = AtomicU64::new(0);

/// A container in memory, for as long as this lives.
pub struct InnerContainer {
    memory: Arc<dyn Connector>,
    /// Its path: no file is called like this.
    path: String,
    keeper: Translated,
    info: TranslatedInfo,
}

impl std::fmt::Debug for InnerContainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InnerContainer").field("path", &self.path).finish_non_exhaustive()
    }
}

impl InnerContainer {
    /// Returns an empty container, for a container at `place` with this `info`.
    pub fn new(place: &str, info: TranslatedInfo, registry: &Registry, create: &FileCreate) -> Result<Self> {
        let memory = registry.by_name(CONNECTOR)?.clone();
        let number = NUMBER_NEXT.fetch_add(1, Ordering::Relaxed);
        let path = format!("\0{} {number} {place}", info.connector);
        let limits = info.limits.clone();
        let access = FileAccess { access: Access::Write, limits, ..FileAccess::default() };
        let made = memory.create(&ContainerCreate::new(&path, create, &access))?;
        let keeper =
            Translated::new(made, Shared::new(place), TranslatedInfo { is_keeper: true, ..info.clone() });
        Ok(InnerContainer { memory, path, keeper, info })
    }

    /// Returns the handle that loads and saves.
    pub fn keeper(&self) -> &Translated {
        &self.keeper
    }

    /// Returns a handle for a user. `siblings` opens what the container refers to.
    pub fn handle(&self, access: &FileAccess, siblings: Option<Arc<SiblingResolver>>) -> Result<Translated> {
        let resolver = siblings.map(|siblings| siblings as Arc<dyn Resolver>);
        let below = FileAccess { resolver: resolver.clone(), stack: None, driver: None, ..access.clone() };
        let opened = self.memory.open(&ContainerOpen::new(&self.path, &below))?;
        let info = TranslatedInfo { is_keeper: false, limits: access.limits.clone(), ..self.info.clone() };
        Ok(Translated::new(opened, self.keeper.shared().clone(), info).with_resolver(resolver))
    }
}

impl Drop for InnerContainer {
    fn drop(&mut self) {
        // There is no caller left to return an error to.
        let _ = self.keeper.close();
        let _ = self.memory.delete(&ContainerOpen::new(&self.path, &FileAccess::read()));
    }
}
