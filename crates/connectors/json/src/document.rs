//! One open document: the inner container, and the file it came from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dir::Dir;
use json_text::files::{self, Stamp};
use json_text::{InnerContainer, SiblingResolver, Translated, TranslatedInfo, text};
use model::properties::FileCreate;
use model::{Context, Error, Limits, Result, Within};
use system::sync::Mutex;
use vol::{ContainerCreate, ContainerOpen, Durability, FileAccess, Registry};

use crate::connector::{CAPABILITY, NAME};
use crate::{read, write};

/// The state that all handles of a document share.
pub(crate) struct Document {
    /// The folder of its file, and the file's name in it.
    dir: Dir,
    name: PathBuf,
    inner: InnerContainer,
    create: FileCreate,
    limits: Limits,
    saved: Mutex<Saved>,
}

/// The state of the file.
struct Saved {
    changes: u64,
    stamp: Option<Stamp>,
    durability: Durability,
}

/// Returns the folder of a file, and the file's name in it.
pub(crate) fn folder_of(path: &Path) -> Result<(Dir, PathBuf)> {
    Dir::of_file(path).map_err(|e| Error::io("open folder of document", &e).with("path", path.display()))
}

impl Document {
    /// Returns a document with an empty root group.
    pub(crate) fn create(path: &Path, op: &ContainerCreate<'_>) -> Result<Arc<Self>> {
        let document = Self::empty(path, op.registry, op.create, &op.access.limits)?;
        document.save(op.access.durability)?;
        Ok(Arc::new(document))
    }

    /// Returns the document that a file holds.
    pub(crate) fn open(path: &Path, op: &ContainerOpen<'_>) -> Result<Arc<Self>> {
        let limits = &op.access.limits;
        let (dir, name) = folder_of(path)?;
        let (text, stamp) = files::read_text(&dir, &name, limits.metadata_bytes_max)?;
        let value = text::read(&text)?;
        let create = read::file_create(&value)?;
        let document = Self::empty(path, op.registry, &create, limits)?;
        read::fill(document.inner.keeper(), &value, limits).during("read document")?;
        let changes = document.inner.keeper().shared().changes();
        *document.saved.lock() = Saved { changes, stamp: Some(stamp), durability: Durability::Full };
        Ok(Arc::new(document))
    }

    fn empty(path: &Path, registry: &Registry, create: &FileCreate, limits: &Limits) -> Result<Self> {
        let info = TranslatedInfo {
            connector: NAME,
            capability: CAPABILITY,
            limits: limits.clone(),
            is_keeper: true,
        };
        let inner = InnerContainer::new(&model::text::from_path(path), info, registry, create)?;
        let saved = Mutex::new(Saved { changes: u64::MAX, stamp: None, durability: Durability::None });
        let ((dir, name), create, limits) = (folder_of(path)?, create.clone(), limits.clone());
        Ok(Document { dir, name, inner, create, limits, saved })
    }

    /// Returns a handle for a user.
    pub(crate) fn handle(&self, place: &str, access: &FileAccess) -> Result<Translated> {
        let siblings = access.resolver.is_some().then(|| SiblingResolver::new(access, place));
        self.inner.handle(access, siblings)
    }

    /// Returns the number of bytes of the file.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.saved.lock().stamp.map(|stamp| stamp.bytes())
    }

    /// Puts the text of what is now in the container in the place of the file.
    pub(crate) fn save(&self, durability: Durability) -> Result<()> {
        let mut saved = self.saved.lock();
        let paused = self.inner.keeper().shared().pause();
        let changes = self.inner.keeper().shared().changes();
        let is_safe = durability == Durability::None || saved.durability == Durability::Full;
        if saved.changes == changes && is_safe {
            return Ok(());
        }
        let text =
            write::document(self.inner.keeper(), &self.create, &self.limits).during("write document")?;
        drop(paused);
        (text.len() as u64).within(self.limits.metadata_bytes_max, "document")?;
        self.check_unchanged(saved.stamp)?;
        let stamp = Some(files::replace(&self.dir, &self.name, text.as_bytes(), durability)?);
        *saved = Saved { changes, stamp, durability };
        Ok(())
    }

    /// Returns an error if another program wrote the file meanwhile: it is not overwritten.
    fn check_unchanged(&self, known: Option<Stamp>) -> Result<()> {
        let Some(known) = known else { return Ok(()) };
        match Stamp::at(&self.dir, &self.name) {
            Some(now) if now != known => Err(Error::busy("write document")
                .with("problem", "another program changed it since it was read")
                .with("path", self.dir.path(&self.name).display())),
            _ => Ok(()),
        }
    }
}
