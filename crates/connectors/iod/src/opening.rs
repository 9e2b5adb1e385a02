//! One opening of a container: what it may do, and the handles that it holds.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iod_storage::{Container as Storage, Id, Mode};
use keyed::Values;
use model::properties::FileCreate;
use model::{Error, Limits, Result, Token};
use system::sync::{Mutex, MutexGuard};
use vol::{Access, ContainerInfo, FileAccess};

use crate::blobs::SLOTS;
use crate::connector::{CAPABILITY, NAME};
use crate::described::Described;
use crate::shared::Shared;
use crate::{identity, keys};

/// One opening of a container.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) shared: Arc<Shared>,
    pub(crate) path: String,
    pub(crate) access: FileAccess,
    pub(crate) info: Arc<ContainerInfo>,
    is_closed: AtomicBool,
    /// Handles of this opening: closing it releases what its user did not.
    handles: Mutex<HashMap<Id, u32>>,
}

fn describe(shared: &Shared, writable: bool) -> ContainerInfo {
    ContainerInfo {
        connector: NAME.to_owned(),
        capability: CAPABILITY,
        writable,
        root: identity::token(keys::ROOT),
        slots: SLOTS,
        // No bytes come before those of the storage.
        create: FileCreate { userblock_bytes: 0, ..shared.create.clone() },
        storage_bytes: None,
        versions: vec![("layout".into(), keys::VERSION)],
        warnings: Vec::new(),
    }
}

impl Opening {
    pub(crate) fn new(shared: Arc<Shared>, path: &str, access: FileAccess) -> Self {
        shared.opened.fetch_add(1, Ordering::SeqCst);
        shared.budget.get_or_init(|| access.budget());
        let info = Arc::new(describe(&shared, access.access == Access::Write));
        let (is_closed, handles) = (AtomicBool::new(false), Mutex::default());
        Opening { shared, path: path.to_owned(), access, info, is_closed, handles }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.access.limits
    }

    pub(crate) fn storage(&self) -> &Storage {
        &self.shared.storage
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.access.access {
            Access::Read => Err(Error::denied("change container").with("path", &self.path)),
            Access::Write => Ok(()),
        }
    }

    /// What an object is.
    pub(crate) fn described(&self, token: Token) -> Result<Arc<Described>> {
        self.shared.describe(identity::object(token)?, self.limits())
    }

    pub(crate) fn handles(&self) -> MutexGuard<'_, HashMap<Id, u32>> {
        self.handles.lock()
    }

    pub(crate) fn is_writing(&self) -> bool {
        self.access.access == Access::Write
    }

    /// Gives up handles, and with the last opening what nobody can reach any more.
    pub(crate) fn let_go(&self) -> Result<()> {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let mut structure = self.shared.structure();
        for (id, times) in std::mem::take(&mut *self.handles()) {
            self.release_handles(&mut structure, id, times)?;
        }
        let is_last = self.shared.is_last();
        if is_last {
            self.remove_unlinked(&mut structure)?;
            self.remove_blobs(&self.shared.released.all())?;
        }
        drop(structure);
        // The last to go may be a reader beside writers: what went with it is a change too.
        let ends_writing = is_last && self.shared.mode == Mode::ReadWrite;
        if !self.is_writing() && !ends_writing {
            return Ok(());
        }
        self.shared.elements().settle_all()?;
        if is_last {
            self.shared.numbers.give_back(self.storage())?;
        }
        self.shared.flush()
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        // Whoever wants to know whether all arrived closes the container.
        let _ = self.let_go();
    }
}
