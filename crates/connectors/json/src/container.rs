//! A handle of a document.

use std::sync::Arc;

use json_text::Translated;
use model::{Error, Result, Token};
use system::sync::RwLock;
use vol::{Access, Container, ContainerInfo, Durability, FileAccess, Layer};

use crate::document::Document;

/// A layer over the inner container: a commit writes the document.
pub(crate) struct JsonContainer {
    opened: Translated,
    /// Released by `close`: without handles, a document is not open.
    document: RwLock<Option<Arc<Document>>>,
    is_writable: bool,
    durability: Durability,
}

impl JsonContainer {
    pub(crate) fn new(document: Arc<Document>, place: &str, access: &FileAccess) -> Result<Self> {
        let opened = document.handle(place, access)?;
        let is_writable = access.access == Access::Write;
        let document = RwLock::new(Some(document));
        Ok(JsonContainer { opened, document, is_writable, durability: access.durability })
    }

    fn document(&self) -> Option<Arc<Document>> {
        self.document.read().clone()
    }
}

impl Layer for JsonContainer {
    fn inner(&self) -> &dyn Container {
        &self.opened
    }

    fn info(&self) -> Result<Arc<ContainerInfo>> {
        let mut info = ContainerInfo::clone(&*Container::info(&self.opened)?);
        info.storage_bytes = self.document().and_then(|document| document.bytes());
        Ok(Arc::new(info))
    }

    /// While a document is open for writing no one else changes it; one that is only read is not read again.
    fn object_refresh(&self, object: Token) -> Result<()> {
        match self.is_writable {
            true => Container::object_refresh(&self.opened, object),
            false => Err(Error::unsupported("refresh object of a document that is open to read")),
        }
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        Container::commit(&self.opened, durability)?;
        match self.document().filter(|_| self.is_writable) {
            Some(document) => document.save(durability),
            None => Ok(()),
        }
    }

    fn close(&self) -> Result<()> {
        Layer::commit(self, self.durability)?;
        Container::close(&self.opened)?;
        self.document.write().take();
        Ok(())
    }
}
