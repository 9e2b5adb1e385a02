//! The container beneath one that is kept in files: of the `memory` connector, which the registry finds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::Result;
use model::properties::FileCreate;
use vol::{Access, Connector, Container, ContainerCreate, ContainerOpen, FileAccess, Registry, Resolver};

use crate::beside::Beside;
use crate::translated::{Shared, Told, Translated};

const CONNECTOR: &str = "memory";

/// Numbers of containers of this process, so that one opened again is not mixed up with the one before.
static NUMBER_NEXT: AtomicU64 = AtomicU64::new(0);

/// A container in memory, for as long as this lives.
pub struct Beneath {
    memory: Arc<dyn Connector>,
    /// Its path: no file is called like this.
    path: String,
    keeper: Translated,
    told: Told,
}

impl std::fmt::Debug for Beneath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Beneath").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Beneath {
    /// An empty container, beneath one at `place` that tells `told`.
    pub fn new(place: &str, told: Told, registry: &Registry, create: &FileCreate) -> Result<Self> {
        let memory = registry.by_name(CONNECTOR)?.clone();
        let number = NUMBER_NEXT.fetch_add(1, Ordering::Relaxed);
        let path = format!("\0{} {number} {place}", told.connector);
        let limits = told.limits.clone();
        let access = FileAccess { access: Access::Write, limits, ..FileAccess::default() };
        let made = memory.create(&ContainerCreate::new(&path, create, &access))?;
        let keeper = Translated::new(made, Shared::new(place), Told { is_keeper: true, ..told.clone() });
        Ok(Beneath { memory, path, keeper, told })
    }

    /// The opening that loads and saves.
    pub fn keeper(&self) -> &Translated {
        &self.keeper
    }

    /// An opening for a user, who finds what lies beside as told.
    pub fn opening(&self, access: &FileAccess, beside: Option<Arc<Beside>>) -> Result<Translated> {
        let resolver = beside.map(|beside| beside as Arc<dyn Resolver>);
        let below = FileAccess { resolver, stack: None, driver: None, ..access.clone() };
        let opened = self.memory.open(&ContainerOpen::new(&self.path, &below))?;
        let told = Told { is_keeper: false, limits: access.limits.clone(), ..self.told.clone() };
        Ok(Translated::new(opened, self.keeper.shared().clone(), told))
    }
}

impl Drop for Beneath {
    fn drop(&mut self) {
        // Nobody is left who could be told.
        let _ = self.keeper.close();
        let _ = self.memory.delete(&ContainerOpen::new(&self.path, &FileAccess::read()));
    }
}
