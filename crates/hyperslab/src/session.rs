//! What all handles of one open file share.

use std::sync::Arc;

use model::{Error, Result, Token};
use vol::{Container, FileAccess, Lookup, OpLookup};

/// An open container and how it was opened.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) container: Arc<dyn Container>,
    pub(crate) location: String,
    pub(crate) access: FileAccess,
    pub(crate) root: Token,
}

impl Session {
    pub(crate) fn new(
        container: Arc<dyn Container>,
        location: &str,
        access: &FileAccess,
    ) -> Result<Arc<Self>> {
        let root = container.info()?.root;
        Ok(Arc::new(Session { container, location: location.to_owned(), access: access.clone(), root }))
    }

    /// The object that a path leads to, through other files where links go there.
    pub(crate) fn find(self: &Arc<Self>, from: Token, path: &str) -> Result<(Arc<Session>, Token)> {
        let mut session = self.clone();
        let traversals_max = self.access.limits.link_traversals_max;
        let mut op = OpLookup { from, path: path.to_owned(), traversals_max };
        for _ in 0..=traversals_max {
            match vol::path::lookup(session.container.as_ref(), &op)? {
                Lookup::Object(token) => return Ok((session, token)),
                Lookup::External { file, path } => {
                    session = session.elsewhere(&file)?;
                    (op.from, op.path) = (session.root, path);
                }
                Lookup::User { class, .. } => {
                    return Err(Error::unsupported("follow user-defined link")
                        .with("path", op.path)
                        .with("class", class));
                }
            }
        }
        Err(Error::limit("follow links").with("path", op.path).with("limit", traversals_max))
    }

    /// Another container, as this one calls it.
    pub(crate) fn elsewhere(&self, file: &str) -> Result<Arc<Session>> {
        let refused = || {
            Error::denied("follow external link").with("file", file).with("problem", "no resolver was given")
        };
        let resolver = self.access.resolver.as_ref().ok_or_else(refused)?;
        let container = resolver.container(file, &self.location)?;
        Session::new(container, file, &self.access)
    }
}
