//! An open file: what all its objects share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use hyperslab::vol::{Container, FileAccess, Location, Lookup, OpLookup, Registry, path};
use hyperslab::{Error, Kind, Result, Token};

use crate::file_object::SharedObject;
use crate::resolver::{self, Neighbours};

/// A container that was opened once, and how.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) container: Arc<dyn Container>,
    pub(crate) registry: Registry,
    pub(crate) location: String,
    pub(crate) access: FileAccess,
    pub(crate) root: Token,
    /// Whether short operations wait for nothing but local files.
    pub(crate) is_local: bool,
    /// The Python object that has the bytes, if one has.
    object: OnceLock<Arc<SharedObject>>,
    /// Opens the files that this one leads to.
    neighbours: OnceLock<Arc<Neighbours>>,
    closed: AtomicBool,
}

/// Returns whether no operation on structure waits for a network, a Python object, another driver or a layer.
fn is_local(location: &str, access: &FileAccess) -> bool {
    let is_plain = access.driver.is_none() && access.stack.is_none();
    is_plain && !location.contains("://") && Location::parse(location).engine.is_none()
}

impl Session {
    /// Returns the session of a container that was just opened.
    pub(crate) fn new(
        container: Arc<dyn Container>,
        registry: Registry,
        location: &str,
        access: FileAccess,
    ) -> Result<Arc<Self>> {
        let root = container.info()?.root;
        let (location, closed) = (location.to_owned(), AtomicBool::new(false));
        let is_local = is_local(&location, &access);
        let (object, neighbours) = Default::default();
        let session =
            Session { container, registry, location, access, root, is_local, object, neighbours, closed };
        Ok(Arc::new(session))
    }

    /// Keeps the Python object that has the bytes until the file is closed.
    pub(crate) fn keep_until_closed(&self, object: Arc<SharedObject>) {
        // A session is made for one object, so this is never the second.
        let _ = self.object.set(object);
    }

    /// Keeps what opens the files that this one leads to: the resolver of its access, so that it learns of prefixes.
    pub(crate) fn set_neighbours(&self, neighbours: Arc<Neighbours>) {
        // A session is opened once.
        let _ = self.neighbours.set(neighbours);
    }

    /// Returns what opens the files that this one leads to, if it was opened with that.
    pub(crate) fn neighbours(&self) -> Option<&Arc<Neighbours>> {
        self.neighbours.get()
    }

    /// Returns whether the file was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Commits and closes the file; a second time does nothing.
    pub(crate) fn close(&self) -> Result<()> {
        match self.closed.swap(true, Ordering::AcqRel) {
            true => Ok(()),
            false => {
                let closed = self.container.close();
                // Whoever closes the file may want the object to be gone, and what it stands for.
                self.object.get().inspect(|object| object.forget());
                closed
            }
        }
    }

    /// Returns the object that a path leads to, through other files where links go there.
    ///
    /// # Errors
    /// Returns `NotFound` if the path leads nowhere, and `Limit` if it goes through too many links.
    pub(crate) fn find(self: &Arc<Self>, from: Token, path: &str) -> Result<(Arc<Session>, Token)> {
        self.find_with(from, path, &self.access)
    }

    /// Returns the object that a path leads to; `external` says how other files are opened.
    ///
    /// # Errors
    /// Returns those of [`Session::find`].
    pub(crate) fn find_with(
        self: &Arc<Self>,
        from: Token,
        path: &str,
        external: &FileAccess,
    ) -> Result<(Arc<Session>, Token)> {
        let traversals_max = self.access.limits.link_traversals_max;
        let mut session = self.clone();
        let mut op = OpLookup { from, path: path.to_owned(), traversals_max };
        for _ in 0..=traversals_max {
            match path::lookup(&*session.container, &op)? {
                Lookup::Object(token) => return Ok((session, token)),
                Lookup::External { file, path } => {
                    session = session.external(&file, external)?;
                    (op.from, op.path) = (session.root, path);
                }
                Lookup::User { class, .. } => {
                    return Err(Error::unsupported("follow user-defined link").with("class", class));
                }
            }
        }
        Err(Error::limit("follow links").with("path", op.path).with("limit", traversals_max))
    }

    /// Opens the file that an external link leads to: to change it where this one can be changed and it is possible.
    fn external(&self, file: &str, access: &FileAccess) -> Result<Arc<Session>> {
        let location = resolver::find(file, &self.location, None)?;
        let open = |access: &FileAccess| -> Result<Arc<Session>> {
            let container = self.registry.open(&location, access)?;
            let session = Session::new(container, self.registry.clone(), &location, access.clone())?;
            self.neighbours().inspect(|neighbours| session.set_neighbours(Arc::clone(neighbours)));
            Ok(session)
        };
        match open(access) {
            Err(error) if matches!(error.kind(), Kind::Denied | Kind::Busy | Kind::Io) => {
                open(&FileAccess { access: hyperslab::vol::Access::Read, ..access.clone() })
            }
            opened => opened,
        }
    }
}
