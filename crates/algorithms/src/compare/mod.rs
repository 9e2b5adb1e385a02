//! Comparison of two containers of any connectors.
//!
//! Objects are paired by the links that lead to them, each once, so that shared objects must be shared in the same way.
//! Values are compared as the model sees them: what descriptors stand for, not the descriptors; references by where they lead.

mod elements;
mod maps;
mod values;

pub use maps::{MapDifferences, maps};

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use model::properties::CreationOrder;
use model::{Index, Link, LinkTarget, ObjectKind, ObjectPath, Reference, Result, Token};

use vol::{Container, ObjectInfo, OpList, Pin};

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The object, by a path that leads to it.
    pub path: String,
    /// The part of it that differs.
    pub what: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// The number of differences that are reported in full.
const DIFFERENCES_MAX: usize = 1000;
/// Longer values are not shown.
const SHOWN_MAX: usize = 120;
/// Keys of a map compared at a time.
const KEYS_PER_PAGE: u64 = 1024;

/// Returns all that differs between two containers, up to a thousand things. Both are read whole.
pub fn contents(a: &dyn Container, b: &dyn Container) -> Result<Vec<Difference>> {
    let (from, to) = (a.info()?.root, b.info()?.root);
    objects((a, from), (b, to))
}

/// Returns the differences between two objects and everything below them, as [`contents`] does for containers.
pub fn objects(
    (a, from): (&dyn Container, Token),
    (b, to): (&dyn Container, Token),
) -> Result<Vec<Difference>> {
    let _pins = (Pin::new(a)?, Pin::new(b)?);
    let mut comparer = Comparer {
        a,
        b,
        pairs: HashMap::new(),
        back: HashMap::new(),
        waiting: VecDeque::new(),
        references: Vec::new(),
        found: Vec::new(),
    };
    comparer.pair(from, to, &ComparedItem::from(ObjectPath::root()));
    while let Some((from, to, path)) = comparer.waiting.pop_front() {
        comparer.object(from, to, &ComparedItem::from(path))?;
        if comparer.found.len() >= DIFFERENCES_MAX {
            return Ok(comparer.found);
        }
    }
    comparer.check_references();
    comparer.found.truncate(DIFFERENCES_MAX);
    Ok(comparer.found)
}

struct Comparer<'c> {
    a: &'c dyn Container,
    b: &'c dyn Container,
    pairs: HashMap<Token, Token>,
    back: HashMap<Token, Token>,
    waiting: VecDeque<(Token, Token, ObjectPath)>,
    /// References at the same place, which are compared when all objects are paired.
    references: Vec<(Reference, Reference, ComparedItem)>,
    found: Vec<Difference>,
}

/// The object or attribute that is compared.
#[derive(Clone)]
struct ComparedItem {
    path: ObjectPath,
    attribute: Option<Arc<str>>,
}

impl From<ObjectPath> for ComparedItem {
    fn from(path: ObjectPath) -> Self {
        ComparedItem { path, attribute: None }
    }
}

impl ComparedItem {
    fn shown(&self) -> String {
        match &self.attribute {
            Some(name) => format!("{} attribute {name}", self.path.shown()),
            None => self.path.shown(),
        }
    }
}

impl Comparer<'_> {
    fn differs(&mut self, spot: &ComparedItem, what: impl Into<String>) {
        self.found.push(Difference { path: spot.shown(), what: what.into() });
    }

    fn same<T: PartialEq + std::fmt::Debug>(&mut self, path: &ComparedItem, what: &str, a: &T, b: &T) {
        if a != b {
            let (mut a, mut b) = (format!("{a:?}"), format!("{b:?}"));
            // Long types and names are not worth all of a line.
            [&mut a, &mut b]
                .into_iter()
                .filter(|text| text.len() > SHOWN_MAX)
                .for_each(|text| *text = "…".into());
            self.differs(path, format!("{what}: {a} and {b}"));
        }
    }

    /// Notes that two links at one path lead to these, which are one pair from now on.
    fn pair(&mut self, from: Token, to: Token, path: &ComparedItem) {
        match (self.pairs.get(&from), self.back.get(&to)) {
            (Some(known), Some(back)) if *known == to && *back == from => {}
            (None, None) => {
                self.pairs.insert(from, to);
                self.back.insert(to, from);
                self.waiting.push_back((from, to, path.path.clone()));
            }
            _ => self.differs(path, "it is not the same object that is shared"),
        }
    }

    fn object(&mut self, from: Token, to: Token, path: &ComparedItem) -> Result<()> {
        let (a, b) = (self.a.object_info(from)?, self.b.object_info(to)?);
        if a.kind != b.kind {
            self.differs(path, format!("{} and {}", a.kind.name(), b.kind.name()));
            return Ok(());
        }
        self.same(path, "comment", &a.comment, &b.comment);
        self.same(path, "number of links to it", &a.references, &b.references);
        self.same(path, "order of attributes", &a.create.attribute_order, &b.create.attribute_order);
        self.attributes(&a, &b, path)?;
        match a.kind {
            ObjectKind::Group => self.group(from, to, path),
            ObjectKind::Dataset => self.dataset(from, to, path),
            ObjectKind::Datatype => {
                let types = (self.a.datatype_get(from)?, self.b.datatype_get(to)?);
                self.same(path, "datatype", &types.0.memory_type(), &types.1.memory_type());
                Ok(())
            }
            ObjectKind::Map => self.map(from, to, path),
        }
    }

    fn group(&mut self, from: Token, to: Token, path: &ComparedItem) -> Result<()> {
        let (a, b) = (self.a.group_info(from)?.create, self.b.group_info(to)?.create);
        self.same(path, "order of links", &a.link_order, &b.link_order);
        let (a, b) = (all_links(self.a, from)?, all_links(self.b, to)?);
        let mut others: BTreeMap<&str, &Link> = b.iter().map(|link| (link.name.as_str(), link)).collect();
        for link in &a {
            let path = ComparedItem::from(path.path.join(&link.name));
            match others.remove(link.name.as_str()) {
                Some(other) => self.link(link, other, &path),
                None => self.differs(&path, "only in the first"),
            }
        }
        for name in others.keys() {
            self.differs(&ComparedItem::from(path.path.join(name)), "only in the second");
        }
        let is_tracked = a.iter().chain(&b).all(|link| link.creation_order.is_some());
        if is_tracked && in_order(&a) != in_order(&b) {
            self.differs(path, "links were created in another order");
        }
        Ok(())
    }

    fn link(&mut self, a: &Link, b: &Link, path: &ComparedItem) {
        self.same(path, "character set of a name", &a.charset, &b.charset);
        match (&a.target, &b.target) {
            (LinkTarget::Hard(from), LinkTarget::Hard(to)) => self.pair(*from, *to, path),
            (a, b) => self.same(path, "where a link leads", a, b),
        }
    }

    fn map(&mut self, from: Token, to: Token, path: &ComparedItem) -> Result<()> {
        let (a, b) = (self.a.map_info(from)?, self.b.map_info(to)?);
        self.same(path, "type of keys", &a.key.memory_type(), &b.key.memory_type());
        self.same(path, "type of values", &a.value.memory_type(), &b.value.memory_type());
        self.same(path, "number of keys", &a.count, &b.count);
        crate::maps::each_page(self.a, from, KEYS_PER_PAGE, |keys| {
            let values = self.a.map_get(from, keys)?.into_iter().zip(self.b.map_get(to, keys)?);
            for (one, other) in values {
                match (one, other) {
                    (Some(one), Some(other)) => {
                        self.values(path, "value of a key", (&a.value, &one), (&b.value, &other))?;
                    }
                    _ => self.differs(path, "a key is only in the first"),
                }
            }
            Ok(())
        })
    }

    fn attributes(&mut self, a: &ObjectInfo, b: &ObjectInfo, path: &ComparedItem) -> Result<()> {
        let index = match a.create.attribute_order == b.create.attribute_order
            && a.create.attribute_order != CreationOrder::Untracked
        {
            true => Index::CreationOrder,
            false => Index::Name,
        };
        let op = OpList { index, count_max: u64::MAX, ..OpList::default() };
        let (ours, theirs) =
            (self.a.attribute_list(a.token, &op)?.entries, self.b.attribute_list(b.token, &op)?.entries);
        let names = |list: &[vol::AttributeInfo]| list.iter().map(|i| i.name.clone()).collect::<Vec<_>>();
        if names(&ours) != names(&theirs) {
            self.differs(path, "names or order of attributes");
            return Ok(());
        }
        for (one, other) in ours.iter().zip(&theirs) {
            let place = ComparedItem { path: path.path.clone(), attribute: Some(one.name.as_str().into()) };
            self.same(&place, "extent", &one.space, &other.space);
            self.same(&place, "datatype", &one.datatype.memory_type(), &other.datatype.memory_type());
            self.committed(one.committed, other.committed, &place);
            let read = |c: &dyn Container, object, name: &str| c.attribute_read(object, &[name]);
            let values = (read(self.a, a.token, &one.name)?, read(self.b, b.token, &other.name)?);
            let (value, other_value) = (values.0.concat(), values.1.concat());
            self.values(&place, "value", (&one.datatype, &value), (&other.datatype, &other_value))?;
        }
        Ok(())
    }

    /// Compares two committed datatypes that are shared at the same place.
    fn committed(&mut self, a: Option<Token>, b: Option<Token>, path: &ComparedItem) {
        match (a, b) {
            (Some(from), Some(to)) => self.pair(from, to, path),
            (None, None) => {}
            _ => self.differs(path, "only one shares a committed datatype"),
        }
    }
}

fn all_links(container: &dyn Container, group: Token) -> Result<Vec<Link>> {
    let (mut links, mut more) = (Vec::new(), true);
    while more {
        let op = OpList { skip: links.len() as u64, ..OpList::default() };
        let page = container.link_list(group, &op)?;
        more = page.more && !page.entries.is_empty();
        links.extend(page.entries);
    }
    Ok(links)
}

/// Returns the names in the order in which the links were created.
fn in_order(links: &[Link]) -> Vec<&str> {
    let mut links: Vec<&Link> = links.iter().collect();
    links.sort_by_key(|link| link.creation_order);
    links.into_iter().map(|link| link.name.as_str()).collect()
}
