//! User-defined links: a class number, and bytes that the class alone understands.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Error, Result, Token};

use crate::{Container, OpLookup, Resolver, path};

/// The smallest number of a user-defined class: 64 (`H5L_TYPE_UD_MIN`) is that of external links.
pub const LINK_CLASS_MIN: u8 = 65;

/// A link that is followed.
#[derive(Clone)]
pub struct LinkTraversal<'a> {
    /// The container that holds the link.
    pub container: &'a dyn Container,
    /// Where that container is.
    pub location: &'a str,
    /// Opens other files, if the caller gave a way to do so.
    pub resolver: Option<&'a Arc<dyn Resolver>>,
    /// The group that holds the link.
    pub group: Token,
    /// The name of the link.
    pub name: &'a str,
    /// The value of the link.
    pub data: &'a [u8],
    /// How many links may still be followed.
    pub traversals_left: u32,
}

impl std::fmt::Debug for LinkTraversal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkTraversal")
            .field("location", &self.location)
            .field("group", &self.group)
            .field("name", &self.name)
            .field("data", &self.data)
            .finish_non_exhaustive()
    }
}

/// The destination of a user-defined link.
#[derive(Debug, Clone)]
pub enum LinkDestination {
    /// A path in the container, from the group that holds the link unless it is absolute.
    Path(String),
    /// An object of the container.
    Object(Token),
    /// An object of another container.
    Other {
        /// That container.
        container: Arc<dyn Container>,
        /// Where it is.
        location: String,
        /// The object.
        object: Token,
    },
}

/// A class of user-defined links (`H5L_class_t`).
pub trait LinkClass: Send + Sync {
    /// Returns the number of the class: [`LINK_CLASS_MIN`] to 255.
    fn class(&self) -> u8;

    /// Returns the name of the class, for messages.
    fn name(&self) -> &str;

    /// Returns the destination of a link.
    ///
    /// # Errors
    /// Returns `NotFound` if it leads nowhere, as a soft link may.
    fn traverse(&self, link: &LinkTraversal<'_>) -> Result<LinkDestination>;
}

/// Classes of user-defined links, by number.
#[derive(Clone, Default)]
pub struct LinkClasses(Arc<BTreeMap<u8, Arc<dyn LinkClass>>>);

impl std::fmt::Debug for LinkClasses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(number, class)| (number, class.name()))).finish()
    }
}

/// The position of the caller of [`LinkClasses::follow`].
#[derive(Clone, Copy)]
pub struct LinkContext<'a> {
    /// The container whose path is followed.
    pub container: &'a dyn Container,
    /// Where that container is.
    pub location: &'a str,
    /// Opens other files, if the caller gave a way to do so.
    pub resolver: Option<&'a Arc<dyn Resolver>>,
}

impl std::fmt::Debug for LinkContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkContext").field("location", &self.location).finish_non_exhaustive()
    }
}

/// The continuation of a path behind a user-defined link.
#[derive(Debug)]
pub struct FollowedLink {
    /// The other container that the link led to, and where it is.
    pub other: Option<(Arc<dyn Container>, String)>,
    /// The next lookup, there or in the same container.
    pub lookup: OpLookup,
}

impl LinkClasses {
    /// Adds a class.
    ///
    /// # Errors
    /// Returns `Invalid` if its number is not one of user-defined classes, and `Exists` if it is taken.
    pub fn register(&mut self, class: Arc<dyn LinkClass>) -> Result<()> {
        let number = class.class();
        let error = match self.0.get(&number) {
            _ if number < LINK_CLASS_MIN => Error::invalid("register link class"),
            Some(taken) => Error::exists("register link class").with("taken by", taken.name()),
            None => {
                Arc::make_mut(&mut self.0).insert(number, class);
                return Ok(());
            }
        };
        Err(error.with("name", class.name()).with("class", number))
    }

    /// Returns all classes, sorted by number.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn LinkClass>> {
        self.0.values()
    }

    /// Returns the class with this number.
    ///
    /// # Errors
    /// Returns `Unsupported` if it is not registered.
    pub fn get(&self, number: u8) -> Result<&Arc<dyn LinkClass>> {
        self.0.get(&number).ok_or_else(|| {
            let known: Vec<String> = self.iter().map(|c| format!("{} ({})", c.class(), c.name())).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Error::unsupported("follow user-defined link")
                .with("class", number)
                .with("problem", "the class is not registered")
                .with("known", known)
        })
    }

    /// Follows the first user-defined link on a path, which a lookup in the container ended with.
    ///
    /// # Errors
    /// Returns `Unsupported` if its class is not registered, and `Limit` if no link may be followed any more.
    pub fn follow(&self, context: LinkContext<'_>, op: &OpLookup) -> Result<FollowedLink> {
        let LinkContext { container, location, resolver } = context;
        let link = path::user_link(container, op)?;
        let class = self.get(link.class).map_err(|error| error.with("path", &op.path))?;
        let limit = || Error::limit("follow links").with("path", &op.path);
        let traversals_left = op.traversals_max.checked_sub(1).ok_or_else(limit)?;
        let traversal = LinkTraversal {
            container,
            location,
            resolver,
            group: link.group,
            name: &link.name,
            data: &link.data,
            traversals_left,
        };
        let destination = class.traverse(&traversal).map_err(|error| {
            error.during(format!("follow link \"{}\" of class {}", link.name, class.name()))
        })?;
        let lookup = |from, path| OpLookup { from, path, traversals_max: traversals_left };
        Ok(match destination {
            LinkDestination::Path(path) => {
                let path = if link.rest.is_empty() { path } else { format!("{path}/{}", link.rest) };
                FollowedLink { other: None, lookup: lookup(link.group, path) }
            }
            LinkDestination::Object(object) => {
                FollowedLink { other: None, lookup: lookup(object, link.rest) }
            }
            LinkDestination::Other { container, location, object } => {
                FollowedLink { other: Some((container, location)), lookup: lookup(object, link.rest) }
            }
        })
    }
}
