//! Objects and how long they live: hard links and users of a committed datatype count, and so do open handles.

use std::collections::BTreeMap;

use model::properties::{GroupCreate, ObjectCreate};
use model::{Datatype, Error, LinkTarget, ObjectKind, Result, Token};
use vol::{LinkLocation, ObjectInfo, Times};

use crate::attributes::Attributes;
use crate::blobs::Blobs;
use crate::datasets::Dataset;
use crate::links::Group;
use crate::maps::Map;

/// The part that depends on the kind of the object.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    Group(Group),
    Dataset(Box<Dataset>),
    Datatype(Datatype),
    Map(Map),
}

/// A group, dataset, committed datatype or map.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    /// Hard links, and users of a committed datatype.
    pub(crate) references: u32,
    /// Open handles, of all who have the container open.
    pub(crate) handles: u32,
    pub(crate) create: ObjectCreate,
    pub(crate) comment: Option<String>,
    pub(crate) times: Option<Times>,
    pub(crate) attributes: Attributes,
    pub(crate) body: Body,
}

/// All objects of a container.
#[derive(Debug)]
pub(crate) struct ContainerState {
    /// The container's number, in every token.
    number: u64,
    objects: BTreeMap<u64, Object>,
    object_next: u64,
    pub(crate) blobs: Blobs,
    /// Commits so far.
    pub(crate) generation: u64,
}

const ROOT: u64 = 1;

impl Object {
    pub(crate) fn new(create: ObjectCreate, body: Body) -> Self {
        let now = system::clock::seconds();
        let times = Times { access: now, modification: now, change: now, birth: now };
        Object {
            references: 0,
            handles: 0,
            times: create.track_times.then_some(times),
            create,
            comment: None,
            attributes: Attributes::default(),
            body,
        }
    }

    pub(crate) fn kind(&self) -> ObjectKind {
        match &self.body {
            Body::Group(_) => ObjectKind::Group,
            Body::Dataset(_) => ObjectKind::Dataset,
            Body::Datatype(_) => ObjectKind::Datatype,
            Body::Map(_) => ObjectKind::Map,
        }
    }

    /// Notes a change of metadata.
    pub(crate) fn touch(&mut self) {
        if let Some(times) = &mut self.times {
            times.change = system::clock::seconds();
        }
    }

    /// Notes a change of data.
    pub(crate) fn touch_data(&mut self) {
        if let Some(times) = &mut self.times {
            times.modification = system::clock::seconds();
        }
    }

    /// Returns what this object counts as a reference to.
    fn holds(&self) -> Vec<Token> {
        let mut held: Vec<Token> = self.attributes.committed().collect();
        match &self.body {
            Body::Group(group) => held.extend(group.links().filter_map(|link| hard(&link.target))),
            Body::Dataset(dataset) => held.extend(dataset.info.committed),
            Body::Datatype(_) | Body::Map(_) => {}
        }
        held
    }
}

pub(crate) fn hard(target: &LinkTarget) -> Option<Token> {
    match target {
        LinkTarget::Hard(token) => Some(*token),
        _ => None,
    }
}

pub(crate) fn wrong_kind(token: Token, wanted: ObjectKind, found: ObjectKind) -> Error {
    Error::invalid(format!("use {} as {}", found.name(), wanted.name())).with("token", token)
}

macro_rules! typed_access {
    ($($get:ident, $get_mut:ident => $kind:ident($ty:ty);)*) => {
        impl ContainerState { $(
            pub(crate) fn $get(&self, token: Token) -> Result<&$ty> {
                let object = self.object(token)?;
                match &object.body {
                    Body::$kind(body) => Ok(body),
                    _ => Err(wrong_kind(token, ObjectKind::$kind, object.kind())),
                }
            }

            pub(crate) fn $get_mut(&mut self, token: Token) -> Result<&mut $ty> {
                let object = self.object_mut(token)?;
                let found = object.kind();
                match &mut object.body {
                    Body::$kind(body) => Ok(body),
                    _ => Err(wrong_kind(token, ObjectKind::$kind, found)),
                }
            }
        )* }
    };
}

typed_access! {
    group, group_mut => Group(Group);
    dataset, dataset_mut => Dataset(Dataset);
    map, map_mut => Map(Map);
}

impl ContainerState {
    /// Returns a container with an empty root group.
    pub(crate) fn new(number: u64, root: &GroupCreate) -> Self {
        let mut object = Object::new(root.object.clone(), Body::Group(Group::new(root.clone())));
        // The container itself refers to its root.
        object.references = 1;
        let objects = BTreeMap::from([(ROOT, object)]);
        ContainerState { number, objects, object_next: ROOT + 1, blobs: Blobs::default(), generation: 0 }
    }

    pub(crate) fn root(&self) -> Token {
        self.token(ROOT)
    }

    fn token(&self, id: u64) -> Token {
        let mut token = Token::from_u64(id);
        token.0[8..].copy_from_slice(&self.number.to_le_bytes());
        token
    }

    /// Returns whether a token was given out by this container.
    pub(crate) fn is_own(&self, token: Token) -> bool {
        let id = token.to_u64();
        id > 0 && id < self.object_next && token == self.token(id)
    }

    fn id(&self, token: Token) -> Result<u64> {
        let id = token.to_u64();
        if self.is_own(token) && self.objects.contains_key(&id) {
            return Ok(id);
        }
        Err(Error::not_found("find object").with("token", token))
    }

    pub(crate) fn object(&self, token: Token) -> Result<&Object> {
        let found = self.objects.get(&self.id(token)?);
        found.ok_or_else(|| Error::not_found("find object").with("token", token))
    }

    pub(crate) fn object_mut(&mut self, token: Token) -> Result<&mut Object> {
        let id = self.id(token)?;
        self.objects.get_mut(&id).ok_or_else(|| Error::not_found("find object").with("token", token))
    }

    /// Returns the type of a committed datatype.
    pub(crate) fn datatype(&self, token: Token) -> Result<&Datatype> {
        let object = self.object(token)?;
        match &object.body {
            Body::Datatype(datatype) => Ok(datatype),
            _ => Err(wrong_kind(token, ObjectKind::Datatype, object.kind())),
        }
    }

    /// Adds an object, and links it where it has a place.
    pub(crate) fn insert(
        &mut self,
        object: Object,
        place: Option<&LinkLocation>,
        links_max: u64,
    ) -> Result<Token> {
        if let Some(place) = place {
            self.check_place(place, links_max)?;
        }
        let token = self.insert_anonymous(object)?;
        if let Some(place) = place {
            self.link(place, LinkTarget::Hard(token))?;
        }
        Ok(token)
    }

    /// Adds an object without a link; what it refers to gains a user.
    pub(crate) fn insert_anonymous(&mut self, object: Object) -> Result<Token> {
        for held in object.holds() {
            self.add_reference(held)?;
        }
        let token = self.reserve();
        self.objects.insert(token.to_u64(), object);
        Ok(token)
    }

    /// Returns a token for an object that is about to come.
    pub(crate) fn reserve(&mut self) -> Token {
        let token = self.token(self.object_next);
        self.object_next += 1;
        token
    }

    pub(crate) fn add_reference(&mut self, token: Token) -> Result<()> {
        let object = self.object_mut(token)?;
        let more = object.references.checked_add(1);
        object.references = more.ok_or_else(|| Error::limit("count references").with("token", token))?;
        Ok(())
    }

    /// Takes one reference away; with the last reference and handle the object goes, and what it held may follow.
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
        self.objects.remove(&token.to_u64()).map_or_else(Vec::new, |object| object.holds())
    }

    pub(crate) fn retain(&mut self, token: Token) -> Result<()> {
        self.object_mut(token)?.handles += 1;
        Ok(())
    }

    pub(crate) fn release(&mut self, token: Token, times: u32) -> Result<()> {
        let object = self.object_mut(token)?;
        object.handles = object.handles.saturating_sub(times);
        for held in self.remove_if_unused(token) {
            self.drop_reference(held);
        }
        Ok(())
    }

    /// Removes objects that never got a link nor a handle: no one can reach them once all have closed.
    pub(crate) fn collect(&mut self) {
        let tokens: Vec<Token> = self.objects.keys().map(|&id| self.token(id)).collect();
        for token in tokens {
            for held in self.remove_if_unused(token) {
                self.drop_reference(held);
            }
        }
    }

    pub(crate) fn object_info(&self, token: Token) -> Result<ObjectInfo> {
        let object = self.object(token)?;
        Ok(ObjectInfo {
            token,
            kind: object.kind(),
            references: object.references,
            attributes: object.attributes.len() as u64,
            times: object.times,
            create: object.create.clone(),
            comment: object.comment.clone(),
        })
    }

    pub(crate) fn set_comment(&mut self, token: Token, comment: Option<&str>) -> Result<()> {
        let object = self.object_mut(token)?;
        object.comment = comment.map(str::to_owned);
        object.touch();
        Ok(())
    }

    pub(crate) fn adjust_references(&mut self, token: Token, by: i32) -> Result<u32> {
        let is_root = token == self.root();
        let object = self.object_mut(token)?;
        let count = object.references.checked_add_signed(by).filter(|&count| count > 0 || !is_root);
        let count = count.ok_or_else(|| {
            Error::invalid("adjust references").with("references", object.references).with("by", by)
        })?;
        object.references = count;
        for held in self.remove_if_unused(token) {
            self.drop_reference(held);
        }
        Ok(count)
    }
}
