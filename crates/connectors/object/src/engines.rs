//! The storage engines: where a container is, and under which UUID.

use std::path::PathBuf;
use std::sync::Arc;

use keyed::engine::{self, EMBEDDED, EngineLocation, EnginePools, Options};
use keyed::{During, Engines, Location};
use model::properties::FileCreate;
use model::text::{from_path, to_path};
use model::{Error, Result};
use objects::{ContainerId, Mode, ObjectClass, Pool};
use vol::{Registry, Writers};

use crate::ObjectMapping;
use crate::identity::class_of_name;
use crate::keys::Spelling;

/// The location of a container.
#[derive(Debug, Clone)]
pub struct ObjectLocation {
    pool: Arc<dyn Pool>,
    id: ContainerId,
    key: String,
    /// Whether other processes may write at the same time.
    is_concurrent: bool,
    /// The folder that this container has for itself.
    folder: Option<PathBuf>,
    options: Options,
}

impl ObjectLocation {
    /// Returns the class of objects that are created.
    fn class(&self) -> Result<Option<ObjectClass>> {
        class_of_name(self.options.class.as_deref().unwrap_or_default())
    }

    fn exists(&self) -> Result<bool> {
        Ok(self.pool.list().during("list containers")?.contains(&self.id))
    }
}

impl Location for ObjectLocation {
    type Mapping = ObjectMapping;

    fn key(&self) -> &str {
        &self.key
    }

    fn create(&self, create: &FileCreate) -> Result<ObjectMapping> {
        let class = self.class()?;
        let store = self.pool.create(self.id).during("create container")?;
        let spelling = if self.options.daos_names { Spelling::Daos } else { Spelling::Design };
        Ok(ObjectMapping::create(store, self.is_concurrent, create, spelling)?.with_class(class))
    }

    fn open(&self, is_writable: bool) -> Result<(ObjectMapping, FileCreate)> {
        let mode = if is_writable { Mode::ReadWrite } else { Mode::Read };
        let class = self.class()?;
        let store = self.pool.open(self.id, mode).during("open container")?;
        let (mapping, create) = ObjectMapping::open(store, self.is_concurrent)?;
        Ok((mapping.with_class(class), create))
    }

    fn destroy(&self, operation: &str) -> Result<()> {
        self.pool.destroy(self.id).during(operation)
    }

    fn remove_folder(&self) {
        if let Some(folder) = &self.folder {
            // A folder with other files stays.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// The engines: folders, and those that a location names.
#[derive(Debug, Default)]
pub struct ObjectEngines(EnginePools);

/// The name that older programs gave every container that has a folder for itself.
const ALONE: &str = "/";
/// The end of the UUIDs of containers in folders: other storage on the same engine has another.
const MARK: &[u8; 6] = b"object";

impl From<EngineLocation> for ObjectLocation {
    fn from(found: EngineLocation) -> Self {
        let EngineLocation { place, is_concurrent, options } = found;
        let id = ContainerId::from_name(&place.name);
        ObjectLocation { pool: place.pool, id, key: place.key, is_concurrent, folder: None, options }
    }
}

impl Engines for ObjectEngines {
    type Location = ObjectLocation;

    const VALUE: u32 = 540;
    const ABOUT: &'static str = "objects with two levels of keys: embedded, or on Ceph (object+rados:)";

    fn writers(registry: &Registry, engine: Option<&str>) -> Writers {
        match engine.is_some_and(|engine| engine::is_concurrent(registry, engine)) {
            true => Writers::Many,
            false => Writers::One,
        }
    }

    fn location(&self, registry: &Registry, engine: Option<&str>, path: &str) -> Result<ObjectLocation> {
        match engine {
            None => embedded(path),
            Some(EMBEDDED) => {
                let (path, options) = Options::take(path)?;
                Ok(ObjectLocation { options, ..embedded(&path)? })
            }
            Some(engine) => self.0.place(registry, engine, path).map(ObjectLocation::from),
        }
    }

    fn find(&self, registry: &Registry, engine: Option<&str>, path: &str) -> Result<Option<ObjectLocation>> {
        if engine.is_some() {
            let location = self.location(registry, engine, path)?;
            return Ok(location.exists()?.then_some(location));
        }
        let named = [Some(self.0.in_memory(path)), self.0.in_known_cluster(path)];
        for location in named.into_iter().flatten().map(ObjectLocation::from) {
            if location.exists()? {
                return Ok(Some(location));
            }
        }
        if path.is_empty() || !to_path(path).is_dir() {
            return Ok(None);
        }
        let location = embedded(path)?;
        Ok(location.exists()?.then_some(location))
    }

    /// Two that create a container in one folder must find the same one.
    fn lock(&self, engine: Option<&str>, path: &str) -> Option<std::fs::File> {
        let path = match engine {
            None => path.to_owned(),
            Some(EMBEDDED) => Options::take(path).ok()?.0,
            Some(_) => return None,
        };
        if path.is_empty() {
            return None;
        }
        // If this fails, creating the container reports why.
        let path = to_path(&path);
        std::fs::create_dir_all(&path).ok()?;
        let folder = std::fs::File::open(&path).ok()?;
        folder.lock().ok().map(|()| folder)
    }
}

/// Returns a new UUID of version 8, whose bits are free to choose. All but the mark are random.
fn new_id() -> ContainerId {
    let mut id = crate::blobs::new_id();
    id[6] = id[6] & 0x0f | 0x80;
    id[10..].copy_from_slice(MARK);
    ContainerId(id)
}

/// Returns whether a UUID is that of a container of this connector.
fn is_ours(id: &ContainerId) -> bool {
    let has_mark = id.0.ends_with(MARK) && id.0[6] >> 4 == 8;
    has_mark || *id == ContainerId::from_name(ALONE)
}

/// Returns the location of the container in a folder.
fn embedded(path: &str) -> Result<ObjectLocation> {
    if path.is_empty() {
        return Err(Error::invalid("find container").with("problem", "the location names no folder"));
    }
    let folder = to_path(path).into_owned();
    let pool = objects::embedded::pool(&folder);
    let mut known = pool.list().unwrap_or_default();
    known.retain(is_ours);
    let id = match known[..] {
        [] => new_id(),
        [only] => only,
        _ => ContainerId::from_name(ALONE),
    };
    let absolute = std::fs::canonicalize(&folder).or_else(|_| std::path::absolute(&folder));
    let key = from_path(absolute.as_deref().unwrap_or(&folder));
    Ok(ObjectLocation {
        pool,
        id,
        key,
        is_concurrent: false,
        folder: Some(folder),
        options: Options::default(),
    })
}
