//! Iteration over links, with the functions that users of `hdf5-metno` know.

use model::{CharacterSet, Index, Link, LinkTarget, Order, Result};
use vol::OpList;

use crate::Group;

/// Links in a page of a listing.
const PAGE: u64 = 1024;

/// The type of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkType {
    /// A link to an object of the same file.
    Hard,
    /// A link to a path in the same file.
    Soft,
    /// A link to a path in another file.
    External,
    /// A link of a user-defined class.
    User,
}

/// A link, without its name and target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkInfo {
    /// Its type.
    pub link_type: LinkType,
    /// Its position in the order of creation, if the group tracks it.
    pub creation_order: Option<i64>,
    /// The character set of its name.
    pub char_encoding: CharacterSet,
}

impl From<&Link> for LinkInfo {
    fn from(link: &Link) -> Self {
        let link_type = match link.target {
            LinkTarget::Hard(_) => LinkType::Hard,
            LinkTarget::Soft(_) => LinkType::Soft,
            LinkTarget::External { .. } => LinkType::External,
            LinkTarget::User { .. } => LinkType::User,
        };
        LinkInfo { link_type, creation_order: link.creation_order, char_encoding: link.charset }
    }
}

/// A position among the links of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IterationCursor {
    index: Index,
    order: Order,
    position: u64,
}

impl IterationCursor {
    /// Returns the position before the first link.
    pub const fn start(index: Index, order: Order) -> Self {
        IterationCursor { index, order, position: 0 }
    }

    /// Returns the position after `items` more links.
    #[must_use]
    pub const fn skip(self, items: u64) -> Self {
        IterationCursor { position: self.position + items, ..self }
    }

    /// Returns the index that links are sorted by.
    pub const fn index_type(self) -> Index {
        self.index
    }

    /// Returns the order of iteration.
    pub const fn iteration_order(self) -> Order {
        self.order
    }

    /// Returns the number of links before the position.
    pub const fn position(self) -> u64 {
        self.position
    }
}

impl Group {
    /// Calls `visit` with every link of this group.
    ///
    /// # Errors
    /// Returns the first error of `visit`, and the errors of [`Group::links_by`].
    pub fn iter_visit(
        &self,
        index: Index,
        order: Order,
        mut visit: impl FnMut(&str, LinkInfo) -> Result<()>,
    ) -> Result<()> {
        self.find_link(index, order, |name, info| visit(name, info).map(|()| None::<()>)).map(drop)
    }

    /// Calls `visit` with every link of this group, sorted by name.
    ///
    /// # Errors
    /// Returns the first error of `visit`, and otherwise the error of reading the group.
    pub fn iter_visit_default(&self, visit: impl FnMut(&str, LinkInfo) -> Result<()>) -> Result<()> {
        self.iter_visit(Index::Name, Order::Native, visit)
    }

    /// Calls `visit` with the links of this group until it returns a value, and returns that.
    ///
    /// # Errors
    /// Returns the first error of `visit`, and the errors of [`Group::links_by`].
    pub fn find_link<B>(
        &self,
        index: Index,
        order: Order,
        visit: impl FnMut(&str, LinkInfo) -> Result<Option<B>>,
    ) -> Result<Option<B>> {
        Ok(self.iter_visit_from(IterationCursor::start(index, order), visit)?.map(|(found, _)| found))
    }

    /// Calls `visit` with the links from `cursor` on until it returns a value, and returns that with the position
    /// after the link.
    ///
    /// # Errors
    /// Returns the first error of `visit`, and the errors of [`Group::links_by`].
    pub fn iter_visit_from<B>(
        &self,
        mut cursor: IterationCursor,
        mut visit: impl FnMut(&str, LinkInfo) -> Result<Option<B>>,
    ) -> Result<Option<(B, IterationCursor)>> {
        loop {
            let IterationCursor { index, order, position: skip } = cursor;
            let page = self
                .session
                .container
                .link_list(self.token, &OpList { index, order, skip, count_max: PAGE })?;
            for link in &page.entries {
                cursor = cursor.skip(1);
                if let Some(found) = visit(&link.name, link.into())? {
                    return Ok(Some((found, cursor)));
                }
            }
            if !page.more {
                return Ok(None);
            }
        }
    }

    /// Returns the names of all links, sorted by an index.
    ///
    /// # Errors
    /// Returns the errors of [`Group::links_by`].
    pub fn member_names_by(&self, index: Index, order: Order) -> Result<Vec<String>> {
        Ok(self.links_by(index, order)?.into_iter().map(|link| link.name).collect())
    }
}
