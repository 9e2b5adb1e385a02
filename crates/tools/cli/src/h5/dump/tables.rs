//! The objects of a file by identity: which name each was found under first, and whether it was printed.

use std::collections::{HashMap, HashSet};

use hyperslab::vol::model::properties::CreationOrder;
use hyperslab::vol::model::{Charge, ObjectPath};
use hyperslab::vol::{Container, OpList};
use hyperslab::{Index, Kind, Link, LinkTarget, ObjectKind, Order, Result, Token};

use crate::h5::ls::seen::charge_object;

/// Memory of an object that was met.
const MET_BYTES: u64 = 48;

/// One object.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The first path that led to it. For a datatype without a name, the path of a dataset that uses it.
    pub(crate) path: ObjectPath,
    /// The object at that path.
    pub(crate) at: Token,
    /// Its identity.
    pub(crate) token: Token,
}

impl Entry {
    /// Returns whether it has a name of its own.
    pub(crate) fn is_named(&self) -> bool {
        self.at == self.token
    }
}

/// Objects of one kind in the order they were found.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    places: HashMap<Token, usize>,
}

impl Table {
    /// Adds an object that a path led to, or that the object at that path uses.
    fn add(&mut self, token: Token, (path, at): (&ObjectPath, Token), charge: &mut Charge) -> Result<()> {
        match self.places.get(&token) {
            Some(&place) if at == token && !self.entries[place].is_named() => {
                let entry = &mut self.entries[place];
                (entry.path, entry.at) = (path.clone(), at);
            }
            Some(_) => {}
            None => {
                charge_object(charge, path)?;
                self.places.insert(token, self.entries.len());
                self.entries.push(Entry { path: path.clone(), at, token });
            }
        }
        Ok(())
    }

    /// Returns how many there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the entry of an object.
    pub(crate) fn get(&self, token: Token) -> Option<&Entry> {
        self.places.get(&token).and_then(|&place| self.entries.get(place))
    }

    /// Returns those that no link leads to.
    pub(crate) fn unnamed(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| !entry.is_named())
    }
}

/// All objects of a file.
#[derive(Debug)]
pub(crate) struct Tables {
    /// Groups.
    pub(crate) groups: Table,
    /// Datasets.
    pub(crate) datasets: Table,
    /// Committed datatypes.
    pub(crate) types: Table,
    _charge: Charge,
}

/// How links are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sorting {
    /// By what.
    pub(crate) by: Index,
    /// Which way.
    pub(crate) order: Order,
}

/// A step of a walk over all links.
pub(crate) struct Step<'a> {
    /// The path of the link.
    pub(crate) path: &'a ObjectPath,
    /// Where it leads.
    pub(crate) target: &'a LinkTarget,
    /// The kind and token of the object behind a hard link.
    pub(crate) object: Option<(ObjectKind, Token)>,
    /// Whether that object was met before.
    pub(crate) again: bool,
}

/// All links of a group, or those that are left. They are charged as long as there are some.
#[derive(Debug)]
pub(crate) struct Links {
    left: std::vec::IntoIter<Link>,
    _charge: Option<Charge>,
}

impl Links {
    /// Of a group that was printed before.
    pub(crate) fn none() -> Links {
        Links { left: Vec::new().into_iter(), _charge: None }
    }
}

impl Iterator for Links {
    type Item = Link;

    fn next(&mut self) -> Option<Link> {
        self.left.next()
    }
}

/// Lists all links of a group.
pub(crate) fn list_links(container: &dyn Container, group: Token, mut sorting: Sorting) -> Result<Links> {
    let (mut links, mut charge) = (Vec::new(), container.budget().empty_charge());
    // Where creation order is not tracked, names say the order.
    if sorting.by == Index::CreationOrder
        && container.group_info(group)?.create.link_order == CreationOrder::Untracked
    {
        sorting.by = Index::Name;
    }
    loop {
        let op =
            OpList { index: sorting.by, order: sorting.order, skip: links.len() as u64, ..OpList::default() };
        let page = container.link_list(group, &op)?;
        let empty = page.entries.is_empty();
        let bytes: usize = page.entries.iter().map(|link| size_of::<Link>() + link.name.len()).sum();
        charge.resize(charge.bytes() + bytes as u64, "list of links")?;
        links.extend(page.entries);
        if !page.more || empty {
            return Ok(Links { left: links.into_iter(), _charge: Some(charge) });
        }
    }
}

/// Walks over everything below the root group, depth first, each group once.
pub(crate) fn walk(
    container: &dyn Container,
    sorting: Sorting,
    visit: &mut dyn FnMut(&Step<'_>) -> Result<()>,
) -> Result<()> {
    let root = container.info()?.root;
    let mut met = HashSet::from([root]);
    let target = LinkTarget::Hard(root);
    let path = ObjectPath::root();
    visit(&Step { path: &path, target: &target, object: Some((ObjectKind::Group, root)), again: false })?;
    let mut charge = container.budget().empty_charge();
    let mut waiting = vec![(path, list_links(container, root, sorting)?)];
    while let Some((parent, links)) = waiting.last_mut() {
        let Some(link) = links.next() else {
            waiting.pop();
            continue;
        };
        let path = parent.join(&link.name);
        let object = match link.target {
            LinkTarget::Hard(token) => match container.object_info(token) {
                Ok(info) => Some((info.kind, token)),
                Err(_) => continue,
            },
            _ => None,
        };
        let again = object.is_some_and(|(_, token)| !met.insert(token));
        if !again {
            charge.resize(charge.bytes() + MET_BYTES, "list of objects")?;
        }
        visit(&Step { path: &path, target: &link.target, object, again })?;
        if let (Some((ObjectKind::Group, token)), false) = (object, again) {
            match list_links(container, token, sorting) {
                Ok(links) => waiting.push((path, links)),
                Err(error) if error.kind() == Kind::Limit => return Err(error),
                // What is broken is reported where it is printed.
                Err(_) => {}
            }
        }
    }
    Ok(())
}

/// Returns a path as text; of a very long one only its ends, unless the user wants all.
pub(crate) fn shown(path: &ObjectPath) -> String {
    if crate::common::expand() { path.to_string() } else { path.shown() }
}

impl Tables {
    /// Returns the tables of a file.
    pub(crate) fn build(container: &dyn Container, sorting: Sorting) -> Result<Self> {
        let (mut groups, mut datasets, mut types) = (Table::default(), Table::default(), Table::default());
        let mut charge = container.budget().empty_charge();
        walk(container, sorting, &mut |step| match step.object {
            Some((ObjectKind::Group, token)) => groups.add(token, (step.path, token), &mut charge),
            Some((ObjectKind::Datatype, token)) => types.add(token, (step.path, token), &mut charge),
            Some((ObjectKind::Dataset, token)) => {
                datasets.add(token, (step.path, token), &mut charge)?;
                match container.dataset_info(token).ok().and_then(|info| info.committed) {
                    Some(shared) => types.add(shared, (step.path, token), &mut charge),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        })?;
        Ok(Tables { groups, datasets, types, _charge: charge })
    }

    /// Returns the committed datatypes that no link leads to.
    pub(crate) fn unnamed_types(&self) -> impl Iterator<Item = Token> + '_ {
        self.types.unnamed().map(|entry| entry.token)
    }

    /// Returns the path of any object.
    pub(crate) fn path(&self, token: Token) -> Option<String> {
        let named = |table: &Table| table.get(token).filter(|entry| entry.is_named()).is_some();
        [&self.groups, &self.datasets, &self.types]
            .into_iter()
            .find(|table| named(table))
            .and_then(|table| table.get(token))
            .map(|entry| shown(&entry.path))
    }
}
