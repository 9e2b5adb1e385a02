//! Copies of objects, between any two containers or inside one (`H5Ocopy`): written once, for every connector.
//!
//! Objects are made where their first link is; groups wait in a queue until their links are copied. Values that
//! hold references come last, when it is known which objects have copies.

mod committed;
mod elements;
mod loss;
mod resume;
mod values;

pub use committed::CommittedSearch;
use committed::KnownCommitted;
pub(crate) use elements::pieces;
pub use loss::{Tell as TellLost, create_for};
pub use resume::{ALL, Resume};

use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};

use model::properties::CreationOrder;
use model::{Charge, Error, Index, Kind, Limits, Link, LinkTarget, ObjectKind, ObjectPath, Result, Token};

use vol::{
    Container, CopyOptions, FileAccess, LinkLocation, Lookup, ObjectInfo, OpDatasetCreate, OpDatatypeCommit,
    OpGroupCreate, OpLinkCreate, OpList, OpLookup, OpMapCreate, OpObjectCopy, Pin, Resolver,
};

/// Changes a dataset before its copy is made: its path in the source, and what is about to be created.
pub type Alter<'a> = dyn Fn(&ObjectPath, &mut OpDatasetCreate) -> Result<()> + 'a;
/// A function that is called with the progress of a copy. Its error ends the copy.
pub type Tell<'a> = dyn Fn(Progress) -> Result<()> + 'a;

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Objects that were created.
    pub objects: u64,
    /// Bytes of elements that were copied, as the source stores or shows them.
    pub bytes: u64,
}

/// How to copy, and with whose help.
#[derive(Clone, Copy)]
pub struct CopyContext<'a> {
    /// Options of the copy, as for a copy inside of one container.
    pub options: CopyOptions,
    /// Leave the elements of datasets behind.
    pub without_elements: bool,
    /// Opens other containers, and where the source is, for their names.
    pub resolver: Option<(&'a dyn Resolver, &'a str)>,
    /// Changes datasets on the way.
    pub alter: Option<&'a Alter<'a>>,
    /// Called with the progress.
    pub tell: Option<&'a Tell<'a>>,
    /// Called for each loss. If `None`, a loss is an error.
    pub lost: Option<&'a TellLost<'a>>,
    /// Goes on where an earlier copy was stopped.
    pub resume: Option<&'a dyn Resume>,
    /// Where committed datatypes are looked for that copies share.
    pub committed: CommittedSearch<'a>,
    /// Bounds of links and depth.
    pub limits: &'a Limits,
}

impl std::fmt::Debug for CopyContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyContext").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<'a> CopyContext<'a> {
    /// Returns the context of a deep copy that keeps links as links, and opens no other container.
    pub fn new(limits: &'a Limits) -> Self {
        CopyContext {
            options: CopyOptions::default(),
            without_elements: false,
            resolver: None,
            alter: None,
            tell: None,
            lost: None,
            resume: None,
            committed: CommittedSearch::default(),
            limits,
        }
    }

    /// Returns the context of a copy from a source at `path` that was opened with `access`. Its resolver opens the
    /// targets of external links.
    pub fn of(access: &'a FileAccess, path: &'a str) -> Self {
        let resolver = access.resolver.as_deref().map(|resolver| (resolver, path));
        CopyContext { resolver, ..Self::new(&access.limits) }
    }
}

/// Copies an object inside one container, in the container's own way where it has one. On an error nothing of the copy stays.
pub fn object(container: &dyn Container, op: &OpObjectCopy, context: CopyContext<'_>) -> Result<Token> {
    match container.object_copy(op) {
        Err(error) if error.kind() == Kind::Unsupported => within(container, op, context),
        answer => answer,
    }
}

/// Copies an object inside one container, for containers without a way of their own. The options are those of the operation. On
/// an error nothing of the copy stays.
pub fn within(container: &dyn Container, op: &OpObjectCopy, context: CopyContext<'_>) -> Result<Token> {
    let _pin = Pin::new(container)?;
    let context = CopyContext { options: op.options, ..context };
    Copier::new((container, true), container, context).top(op.object, &op.place)
}

/// Copies an object to another container. On an error nothing of the copy stays.
pub fn between(
    (source, object): (&dyn Container, Token),
    (target, place): (&dyn Container, &LinkLocation),
    context: CopyContext<'_>,
) -> Result<Token> {
    let _pin = Pin::new(source)?;
    Copier::new((source, false), target, context).top(object, place)
}

/// Copies all that is in one container to another, whose root group is empty.
pub fn contents(source: &dyn Container, target: &dyn Container, context: CopyContext<'_>) -> Result<()> {
    let (from, to) = (source.info()?.root, target.info()?.root);
    let _pin = Pin::new(source)?;
    let mut copier = Copier::new((source, false), target, context);
    let info = source.object_info(from)?;
    copier.note(from, to, &ObjectPath::root())?;
    copier.root(&info, to)?;
    copier.groups.push_back(PendingGroup { old: from, new: to, path: ObjectPath::start("") });
    copier.run()
}

/// Memory of an object that was copied, besides its name: its tokens, and its path while it waits.
const OBJECT_BYTES: u64 = 256;
/// Keys of a map copied at a time.
const MAP_KEYS_PER_PAGE: u64 = 1024;

/// A group whose links are not copied yet.
struct PendingGroup {
    old: Token,
    new: Token,
    /// From the object that is copied, or from the root group.
    path: ObjectPath,
}

struct Copier<'a> {
    source: &'a dyn Container,
    /// Source and target are one container.
    is_one: bool,
    target: &'a dyn Container,
    context: CopyContext<'a>,
    copies: HashMap<Token, Token>,
    made: HashSet<Token>,
    /// For these, and for the groups that wait.
    charge: Charge,
    groups: VecDeque<PendingGroup>,
    /// Objects whose values hold references, with their copies.
    referring: Vec<(Token, Token)>,
    committed: KnownCommitted,
    progress: Cell<Progress>,
}

impl<'a> Copier<'a> {
    fn new(
        (source, is_one): (&'a dyn Container, bool),
        target: &'a dyn Container,
        context: CopyContext<'a>,
    ) -> Self {
        Copier {
            source,
            is_one,
            target,
            context,
            copies: HashMap::new(),
            made: HashSet::new(),
            charge: source.budget().empty_charge(),
            groups: VecDeque::new(),
            referring: Vec::new(),
            committed: KnownCommitted::default(),
            progress: Cell::default(),
        }
    }

    fn top(&mut self, object: Token, place: &LinkLocation) -> Result<Token> {
        self.source.object_info(object)?;
        if self.target.link_get(place.group, &place.name)?.is_some() {
            return Err(Error::exists("copy object").with("name", &place.name));
        }
        let done = self.object(object, Some(place.clone()), &ObjectPath::start("")).and_then(|new| {
            self.run()?;
            Ok(new)
        });
        if done.is_err() && self.target.link_get(place.group, &place.name)?.is_some() {
            self.target.link_delete(place.group, &place.name)?;
        }
        done
    }

    /// Copies what waits, then values with references.
    fn run(&mut self) -> Result<()> {
        self.drain()?;
        if self.context.options.expand_references {
            self.copy_referenced()?;
        }
        for (old, new) in std::mem::take(&mut self.referring) {
            self.values_with_references(old, new)?;
        }
        Ok(())
    }

    /// Copies the attributes and properties of the root group, which exists before the copy begins.
    fn root(&mut self, info: &ObjectInfo, to: Token) -> Result<()> {
        let path = ObjectPath::root();
        match self.context.resume.map(|resume| resume.pieces(&path)) {
            Some(Some(ALL)) => return self.refers_again(info, to),
            Some(_) => self.clear_attributes(to)?,
            None => {}
        }
        self.common(info, to, &path)?;
        self.reached(&path, ALL)
    }

    fn drain(&mut self) -> Result<()> {
        while let Some(group) = self.groups.pop_front() {
            self.links(&group)?;
        }
        Ok(())
    }

    fn note(&mut self, old: Token, new: Token, path: &ObjectPath) -> Result<()> {
        let bytes = self.charge.bytes() + OBJECT_BYTES + path.name().len() as u64;
        self.charge.resize(bytes, "list of copied objects")?;
        self.copies.insert(old, new);
        self.made.insert(new);
        Ok(())
    }

    fn advance(&self, objects: u64, bytes: u64) -> Result<()> {
        let Progress { objects: o, bytes: b } = self.progress.get();
        let progress = Progress { objects: o + objects, bytes: b + bytes };
        self.progress.set(progress);
        self.context.tell.map_or(Ok(()), |tell| tell(progress))
    }

    /// Makes the copy of an object at a place; its links wait.
    fn object(&mut self, old: Token, place: Option<LinkLocation>, path: &ObjectPath) -> Result<Token> {
        if let Some(&new) = self.copies.get(&old) {
            if let Some(place) = place {
                self.make_link(place, LinkTarget::Hard(new), path)?;
            }
            return Ok(new);
        }
        if let Some(new) = self.earlier(old, place.as_ref(), path)? {
            return Ok(new);
        }
        let info = self.source.object_info(old)?;
        let new = match info.kind {
            ObjectKind::Group => {
                let create = self.source.group_info(old)?.create;
                self.target.group_create(&OpGroupCreate { place, create })?
            }
            ObjectKind::Dataset => self.dataset(old, place, path)?,
            ObjectKind::Datatype => {
                let (datatype, create) = (self.source.datatype_get(old)?, info.create.clone());
                self.target.datatype_commit(&OpDatatypeCommit { place, datatype, create })?
            }
            ObjectKind::Map => self.map(old, &info, place)?,
        };
        self.note(old, new, path)?;
        self.common(&info, new, path)?;
        if info.kind == ObjectKind::Dataset {
            self.reached(path, 0)?;
            self.elements(old, new, (path, 0))?;
        }
        self.reached(path, ALL)?;
        if info.kind == ObjectKind::Group {
            self.groups.push_back(PendingGroup { old, new, path: path.clone() });
        }
        self.advance(1, 0)?;
        Ok(new)
    }

    /// Creates a link, unless an earlier run did.
    fn make_link(&self, place: LinkLocation, target: LinkTarget, path: &ObjectPath) -> Result<()> {
        if self.context.resume.is_some() && self.target.link_get(place.group, &place.name)?.is_some() {
            return Ok(());
        }
        self.or_lost(path, "link", self.target.link_create(&OpLinkCreate { place, target }))
    }

    fn map(&mut self, old: Token, info: &ObjectInfo, place: Option<LinkLocation>) -> Result<Token> {
        let map = self.source.map_info(old)?;
        let (key, value, create) = (map.key.clone(), map.value.clone(), info.create.clone());
        let new = self.target.map_create(&OpMapCreate { place, key, value, create })?;
        crate::maps::each_page(self.source, old, MAP_KEYS_PER_PAGE, |keys| {
            let values = self.source.map_get(old, keys)?;
            let own = |value: &'_ Option<Vec<u8>>| {
                let own = value.as_ref().map(|v| self.convert(self.target, &map.value, v)).transpose();
                own.map(|own| own.map(std::borrow::Cow::into_owned))
            };
            let values = values.iter().map(own).collect::<Result<Vec<_>>>()?;
            let pairs: Vec<(&[u8], &[u8])> =
                keys.iter().zip(&values).filter_map(|(k, v)| Some((*k, v.as_deref()?))).collect();
            self.target.map_put(new, &pairs)
        })?;
        Ok(new)
    }

    /// Copies what every object has: attributes and a comment.
    fn common(&mut self, info: &ObjectInfo, new: Token, path: &ObjectPath) -> Result<()> {
        if let Some(comment) = &info.comment {
            self.or_lost(path, "comment", self.target.object_set_comment(new, Some(comment)))?;
        }
        if !self.context.options.without_attributes && info.attributes > 0 {
            self.attributes(info, new, path)?;
        }
        Ok(())
    }

    fn links(&mut self, group: &PendingGroup) -> Result<()> {
        if self.context.options.shallow && group.path.depth() > 0 {
            return Ok(());
        }
        let tracked = self.source.group_info(group.old)?.create.link_order != CreationOrder::Untracked;
        let index = if tracked { Index::CreationOrder } else { Index::Name };
        let (mut skip, mut more) = (0, true);
        while more {
            let op = OpList { index, skip, ..OpList::default() };
            let page = self.source.link_list(group.old, &op)?;
            (skip, more) = (skip + page.entries.len() as u64, page.more && !page.entries.is_empty());
            for link in page.entries {
                self.link(group, link)?;
            }
        }
        Ok(())
    }

    fn link(&mut self, group: &PendingGroup, link: Link) -> Result<()> {
        let place = LinkLocation { group: group.new, name: link.name, charset: link.charset };
        let path = group.path.join(&place.name);
        let found = match &link.target {
            LinkTarget::Hard(token) => Some(*token),
            LinkTarget::Soft(to) if self.context.options.expand_soft_links => self.follow(group.old, to)?,
            LinkTarget::External { file, path } if self.context.options.expand_external_links => {
                if self.external(file, path, &place)? {
                    return Ok(());
                }
                None
            }
            _ => None,
        };
        match found {
            // A copy that is made inside its own original is no part of it.
            Some(token) if self.is_one && self.made.contains(&token) => Ok(()),
            Some(token) => {
                let made = self.object(token, Some(place), &path);
                self.or_lost(&path, "object", made.map(drop))
            }
            None => self.make_link(place, link.target, &path),
        }
    }

    /// Returns what a soft link leads to; nothing where it dangles or leaves the container.
    fn follow(&self, from: Token, path: &str) -> Result<Option<Token>> {
        let traversals_max = self.context.limits.link_traversals_max;
        let op = OpLookup { from, path: path.to_owned(), traversals_max };
        match vol::path::lookup(self.source, &op) {
            Ok(Lookup::Object(token)) => Ok(Some(token)),
            Ok(_) => Ok(None),
            Err(error) if matches!(error.kind(), Kind::NotFound | Kind::Limit) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Copies what an external link leads to; whether there is anything.
    fn external(&mut self, file: &str, path: &str, place: &LinkLocation) -> Result<bool> {
        let refused = || Error::denied("copy what an external link points to").with("file", file);
        let (resolver, location) = self.context.resolver.ok_or_else(refused)?;
        let other = match resolver.container(file, location) {
            Err(error) if error.kind() == Kind::NotFound => return Ok(false),
            other => other?,
        };
        let root = other.info()?.root;
        match vol::path::token(other.as_ref(), root, path, self.context.limits.link_traversals_max) {
            Err(error) if error.kind() == Kind::NotFound => Ok(false),
            Err(error) => Err(error),
            Ok(token) => {
                let context = CopyContext { resolver: Some((resolver, file)), ..self.context };
                between((other.as_ref(), token), (self.target, place), context)?;
                Ok(true)
            }
        }
    }
}
