//! The state that all handles of one open file share.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use model::datatype::DescriptorSizes;
use model::{Error, Result, Token};
use system::sync::{Mutex, RwLock};
use vol::{Container, DatasetInfo, FileAccess, LinkContext, Lookup, OpLookup, Registered};

/// The info of a dataset that all its handles share.
pub(crate) type SharedInfo = Arc<RwLock<Arc<DatasetInfo>>>;

/// An open container and how it was opened.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) container: Arc<dyn Container>,
    pub(crate) location: String,
    pub(crate) access: FileAccess,
    /// Conversions and classes of links of the registry that it was opened with.
    pub(crate) registered: Registered,
    pub(crate) root: Token,
    /// Descriptors as the container stores them.
    pub(crate) descriptors: DescriptorSizes,
    /// Info of datasets with open handles, so that a changed extent changes in all of them.
    datasets: Mutex<HashMap<Token, Weak<RwLock<Arc<DatasetInfo>>>>>,
}

impl Session {
    pub(crate) fn new(
        container: Arc<dyn Container>,
        location: &str,
        access: &FileAccess,
        registered: &Registered,
    ) -> Result<Arc<Self>> {
        let info = container.info()?;
        let (root, descriptors, datasets) = (info.root, info.descriptors, Mutex::default());
        let (location, access, registered) = (location.to_owned(), access.clone(), registered.clone());
        Ok(Arc::new(Session { container, location, access, registered, root, descriptors, datasets }))
    }

    /// Reads the info of a dataset, and shares it with all other handles of the dataset.
    pub(crate) fn dataset(&self, token: Token) -> Result<SharedInfo> {
        let datasets = || self.datasets.lock();
        let known = datasets().get(&token).and_then(Weak::upgrade);
        if let Some(shared) = known {
            let mut info = shared.write();
            *info = self.container.dataset_info(token)?;
            drop(info);
            return Ok(shared);
        }
        Ok(self.share(token, self.container.dataset_info(token)?))
    }

    /// Shares the info of a dataset with all other handles of the dataset.
    pub(crate) fn share(&self, token: Token, info: Arc<DatasetInfo>) -> SharedInfo {
        let mut datasets = self.datasets.lock();
        // Another thread may have opened it meanwhile, and changed it since.
        if let Some(shared) = datasets.get(&token).and_then(Weak::upgrade) {
            return shared;
        }
        // Entries of handles that are gone go when the table would grow.
        if datasets.len() == datasets.capacity() {
            datasets.retain(|_, shared| shared.strong_count() > 0);
        }
        let shared = Arc::new(RwLock::new(info));
        datasets.insert(token, Arc::downgrade(&shared));
        shared
    }

    /// Returns the object that a path leads to, also through links to other files.
    pub(crate) fn find(self: &Arc<Self>, from: Token, path: &str) -> Result<(Arc<Session>, Token)> {
        let mut session = self.clone();
        let traversals_max = self.access.limits.link_traversals_max;
        let mut op = OpLookup { from, path: path.to_owned(), traversals_max };
        for _ in 0..=traversals_max {
            match vol::path::lookup(session.container.as_ref(), &op)? {
                Lookup::Object(token) => return Ok((session, token)),
                Lookup::External { file, path } => {
                    session = session.external(&file)?;
                    (op.from, op.path) = (session.root, path);
                }
                Lookup::User { .. } => {
                    let followed = session.registered.link_classes.follow(session.link_context(), &op)?;
                    op = followed.lookup;
                    if let Some((container, location)) = followed.other {
                        session = Session::new(container, &location, &session.access, &session.registered)?;
                    }
                }
            }
        }
        Err(Error::limit("follow links").with("path", op.path).with("limit", traversals_max))
    }

    fn link_context(&self) -> LinkContext<'_> {
        LinkContext {
            container: &*self.container,
            location: &self.location,
            resolver: self.access.resolver.as_ref(),
        }
    }

    /// Opens another container by the name that an external link of this one has for it.
    pub(crate) fn external(&self, file: &str) -> Result<Arc<Session>> {
        let refused = || {
            Error::denied("follow external link").with("file", file).with("problem", "no resolver was given")
        };
        let resolver = self.access.resolver.as_ref().ok_or_else(refused)?;
        let container = resolver.container(file, &self.location)?;
        Session::new(container, file, &self.access, &self.registered)
    }
}
