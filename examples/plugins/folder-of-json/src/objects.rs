//! Objects and how long they live: as long as there are hard links or open handles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use model::properties::{CreationOrder, FileCreate, GroupCreate, ObjectCreate};
use model::{Error, LinkTarget, ObjectKind, Result, Token};
use vol::{GroupInfo, LinkLocation, ObjectInfo};

use crate::attributes::Attributes;
use crate::datasets::Dataset;
use crate::links::Group;

/// What only one kind of object has.
#[derive(Debug)]
pub(crate) enum Body {
    Group(Group),
    Dataset(Dataset),
}

/// A group or dataset.
#[derive(Debug)]
pub(crate) struct Object {
    /// Hard links.
    pub(crate) references: u32,
    /// Open handles.
    pub(crate) handles: u32,
    pub(crate) attributes: Attributes,
    pub(crate) body: Body,
}

/// All objects of a container.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) create: FileCreate,
    pub(crate) objects: BTreeMap<u64, Object>,
    /// The number of the next object: none is used twice.
    pub(crate) next: u64,
    /// Objects whose files are not what the objects are.
    pub(crate) changed: BTreeSet<u64>,
    /// In every token, so that those of one container mean nothing to another.
    number: u64,
}

/// The number of the root group.
pub(crate) const ROOT: u64 = 1;

static CONTAINER_NEXT: AtomicU64 = AtomicU64::new(1);

impl Object {
    pub(crate) fn new(body: Body) -> Self {
        Object { references: 0, handles: 0, attributes: Attributes::default(), body }
    }

    fn kind(&self) -> ObjectKind {
        match self.body {
            Body::Group(_) => ObjectKind::Group,
            Body::Dataset(_) => ObjectKind::Dataset,
        }
    }

    fn create(&self) -> &ObjectCreate {
        match &self.body {
            Body::Group(group) => &group.create.object,
            Body::Dataset(dataset) => &dataset.info.create.object,
        }
    }

    /// Returns what this object has hard links to.
    fn holds(&self) -> Vec<Token> {
        match &self.body {
            Body::Group(group) => group.hard_links().collect(),
            Body::Dataset(_) => Vec::new(),
        }
    }
}

/// An error where an order of creation is asked for: it is not kept.
pub(crate) fn check_order(orders: &[CreationOrder]) -> Result<()> {
    match orders.iter().all(|order| *order == CreationOrder::Untracked) {
        true => Ok(()),
        false => Err(Error::unsupported("track creation order")),
    }
}

impl State {
    /// Returns a container with an empty root group.
    pub(crate) fn new(create: &FileCreate) -> Result<Self> {
        let mut root = Object::new(Body::Group(Group::new(create.root.clone())?));
        // The container itself refers to its root.
        root.references = 1;
        let mut state = State::of(create.clone(), BTreeMap::from([(ROOT, root)]), ROOT + 1);
        state.changed.insert(ROOT);
        Ok(state)
    }

    /// Returns what was stored.
    pub(crate) fn of(create: FileCreate, objects: BTreeMap<u64, Object>, next: u64) -> Self {
        let number = CONTAINER_NEXT.fetch_add(1, Ordering::Relaxed);
        State { create, objects, next, changed: BTreeSet::new(), number }
    }

    pub(crate) fn token(&self, id: u64) -> Token {
        let mut token = Token::from_u64(id);
        token.0[8..].copy_from_slice(&self.number.to_le_bytes());
        token
    }

    pub(crate) fn root(&self) -> Token {
        self.token(ROOT)
    }

    pub(crate) fn object(&self, token: Token) -> Result<&Object> {
        let id = token.to_u64();
        let found = self.objects.get(&id).filter(|_| token == self.token(id));
        found.ok_or_else(|| Error::not_found("find object").with("token", token))
    }

    /// Returns an object whose handles are counted: that changes no file.
    fn held(&mut self, token: Token) -> Result<&mut Object> {
        self.object(token)?;
        self.objects
            .get_mut(&token.to_u64())
            .ok_or_else(|| Error::not_found("find object").with("token", token))
    }

    /// Returns an object that is about to change.
    pub(crate) fn object_mut(&mut self, token: Token) -> Result<&mut Object> {
        self.object(token)?;
        self.changed.insert(token.to_u64());
        self.held(token)
    }

    pub(crate) fn group(&self, token: Token) -> Result<&Group> {
        match &self.object(token)?.body {
            Body::Group(group) => Ok(group),
            Body::Dataset(_) => Err(wrong_kind(token, "a dataset is no group")),
        }
    }

    pub(crate) fn group_mut(&mut self, token: Token) -> Result<&mut Group> {
        self.group(token)?;
        match &mut self.object_mut(token)?.body {
            Body::Group(group) => Ok(group),
            Body::Dataset(_) => Err(wrong_kind(token, "a dataset is no group")),
        }
    }

    pub(crate) fn dataset(&self, token: Token) -> Result<&Dataset> {
        match &self.object(token)?.body {
            Body::Dataset(dataset) => Ok(dataset),
            Body::Group(_) => Err(wrong_kind(token, "a group is no dataset")),
        }
    }

    pub(crate) fn dataset_mut(&mut self, token: Token) -> Result<&mut Dataset> {
        self.dataset(token)?;
        match &mut self.object_mut(token)?.body {
            Body::Dataset(dataset) => Ok(dataset),
            Body::Group(_) => Err(wrong_kind(token, "a group is no dataset")),
        }
    }

    /// Adds an object, and links it where it has a place.
    pub(crate) fn insert(
        &mut self,
        body: Body,
        place: Option<&LinkLocation>,
        links_max: u64,
    ) -> Result<Token> {
        if let Some(place) = place {
            self.check_place(place, links_max)?;
        }
        let (id, token) = (self.next, self.token(self.next));
        self.next = id.checked_add(1).ok_or_else(|| Error::limit("number objects"))?;
        self.objects.insert(id, Object::new(body));
        if let Some(place) = place {
            self.link(place, LinkTarget::Hard(token))?;
        }
        Ok(token)
    }

    pub(crate) fn group_create(
        &mut self,
        create: GroupCreate,
        place: Option<&LinkLocation>,
        links_max: u64,
    ) -> Result<Token> {
        self.insert(Body::Group(Group::new(create)?), place, links_max)
    }

    pub(crate) fn group_info(&self, token: Token) -> Result<GroupInfo> {
        let group = self.group(token)?;
        let (links, create) = (group.links.len() as u64, group.create.clone());
        Ok(GroupInfo { links, creation_order_next: 0, create })
    }

    pub(crate) fn object_info(&self, token: Token) -> Result<ObjectInfo> {
        let object = self.object(token)?;
        Ok(ObjectInfo {
            token,
            kind: object.kind(),
            references: object.references,
            attributes: object.attributes.len() as u64,
            times: None,
            create: object.create().clone(),
            comment: None,
        })
    }

    /// Takes one reference away; with the last one and the last handle the object goes, and what it held may follow.
    pub(crate) fn drop_reference(&mut self, token: Token) {
        let mut pending = vec![token];
        while let Some(token) = pending.pop() {
            if let Ok(object) = self.object_mut(token) {
                object.references = object.references.saturating_sub(1);
                pending.extend(self.remove_if_unused(token));
            }
        }
    }

    /// Removes an object that nothing refers to; returns what it held.
    fn remove_if_unused(&mut self, token: Token) -> Vec<Token> {
        let is_unused = self.object(token).is_ok_and(|object| object.references == 0 && object.handles == 0);
        if !is_unused {
            return Vec::new();
        }
        self.changed.insert(token.to_u64());
        self.objects.remove(&token.to_u64()).map_or_else(Vec::new, |object| object.holds())
    }

    fn remove_with_members(&mut self, token: Token) {
        for held in self.remove_if_unused(token) {
            self.drop_reference(held);
        }
    }

    pub(crate) fn retain(&mut self, token: Token) -> Result<()> {
        self.held(token)?.handles += 1;
        Ok(())
    }

    pub(crate) fn release(&mut self, token: Token, times: u32) -> Result<()> {
        let object = self.held(token)?;
        object.handles = object.handles.saturating_sub(times);
        self.remove_with_members(token);
        Ok(())
    }

    /// Removes objects that never got a link nor a handle: no one can reach them once all have closed.
    pub(crate) fn collect(&mut self) {
        let tokens: Vec<Token> = self.objects.keys().map(|&id| self.token(id)).collect();
        tokens.into_iter().for_each(|token| self.remove_with_members(token));
    }

    pub(crate) fn adjust_references(&mut self, token: Token, by: i32) -> Result<u32> {
        let is_root = token == self.root();
        let object = self.object_mut(token)?;
        let count = object.references.checked_add_signed(by).filter(|&count| count > 0 || !is_root);
        let count = count.ok_or_else(|| Error::invalid("adjust references").with("by", by))?;
        object.references = count;
        self.remove_with_members(token);
        Ok(count)
    }
}

fn wrong_kind(token: Token, problem: &str) -> Error {
    Error::invalid("use object").with("problem", problem).with("token", token)
}
