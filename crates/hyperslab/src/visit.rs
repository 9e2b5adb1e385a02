//! Visits of every link below a group. Groups are read ahead.

use std::collections::HashSet;
use std::ops::ControlFlow;

use algorithms::thread_pool;
use model::spread::Spread;
use model::{Link, LinkTarget, ObjectKind, ObjectPath, Result, Token};

use crate::Group;
use crate::object::Object;

/// A link that a visit calls the caller with.
#[derive(Debug)]
pub struct Visit<'a> {
    /// Path from the group where the visit began.
    pub path: &'a str,
    /// The link that led there.
    pub link: &'a Link,
    /// The object, if the link is a hard one. [`ObjectHandle::open`](crate::ObjectHandle::open) returns it as its
    /// kind.
    pub object: Option<&'a Object>,
    /// The kind of the object.
    pub kind: Option<ObjectKind>,
    /// Whether the object was visited before, by another path.
    pub again: bool,
}

/// Objects whose kinds are read together.
const KINDS: usize = 1024;
/// Groups that are read together, on all cores.
const AHEAD: usize = 8;

type Seen = HashSet<Token, Spread>;

impl Group {
    /// Calls `f` with every link below this group, depth first and sorted by name. Each object is entered once.
    ///
    /// # Errors
    /// Returns the first error of `f`, and otherwise the error of reading a group.
    pub fn visit(&self, mut f: impl FnMut(&Visit<'_>) -> Result<ControlFlow<()>>) -> Result<()> {
        let mut seen = Seen::default();
        seen.insert(self.token);
        // Where nothing changes, groups can be looked at before their turn.
        let is_still = !self.session.container.info()?.writable;
        let mut stack = vec![Level::new(self.clone(), 0, self.links()?, Vec::new())];
        // The path of the group that is visited, and then of what is in it.
        let mut path = String::new();
        while let Some(level) = stack.last_mut() {
            path.truncate(level.path_bytes);
            let Some(link) = level.links.next() else {
                stack.pop();
                continue;
            };
            if level.path_bytes > 0 {
                path.push('/');
            }
            path.push_str(&link.name);
            let (mut object, mut kind, mut again) = (None, None, false);
            if let LinkTarget::Hard(token) = link.target {
                again = !seen.insert(token);
                kind = Some(level.kind(token)?);
                let full = level.group.path_to(&link.name);
                object = Some(Object::new(level.group.session.clone(), token, full));
            }
            if f(&Visit { path: &path, link: &link, object: object.as_ref(), kind, again })?.is_break() {
                return Ok(());
            }
            if let (Some(object), Some(ObjectKind::Group), false) = (object, kind, again) {
                let group = Group(object);
                if is_still {
                    level.look_ahead(&group, &seen);
                }
                let next = level.enter(group, path.len())?;
                stack.push(next);
            }
        }
        Ok(())
    }

    /// Returns the kinds of objects, if all of them can be read.
    fn kinds_of(&self, objects: &[Token]) -> Option<Vec<ObjectKind>> {
        let kinds = self.session.container.object_kinds(objects).ok()?;
        (kinds.len() == objects.len()).then_some(kinds)
    }
}

fn hard(link: &Link) -> Option<Token> {
    if let LinkTarget::Hard(token) = link.target { Some(token) } else { None }
}

/// A group that was read ahead.
struct Ahead {
    group: Token,
    links: Vec<Link>,
    kinds: Vec<ObjectKind>,
}

/// A group on the path of a visit, and its links that were not visited yet.
struct Level {
    group: Group,
    /// Bytes of its path.
    path_bytes: usize,
    links: std::vec::IntoIter<Link>,
    /// Kinds of the next objects.
    kinds: std::vec::IntoIter<ObjectKind>,
    /// The number of objects whose kinds are read one by one, because reading all together failed.
    singly: usize,
    /// Groups in it that were read ahead, the next one last.
    ahead: Vec<Ahead>,
}

impl Level {
    fn new(group: Group, path_bytes: usize, links: Vec<Link>, kinds: Vec<ObjectKind>) -> Level {
        let (links, kinds) = (links.into_iter(), kinds.into_iter());
        Level { group, path_bytes, links, kinds, singly: 0, ahead: Vec::new() }
    }

    /// Returns the level of a group inside of this one.
    fn enter(&mut self, group: Group, path_bytes: usize) -> Result<Level> {
        let (links, kinds) = match self.ahead.pop_if(|next: &mut Ahead| next.group == group.token) {
            Some(ahead) => (ahead.links, ahead.kinds),
            None => (group.links()?, Vec::new()),
        };
        Ok(Level::new(group, path_bytes, links, kinds))
    }

    /// Reads this group and the following ones ahead, unless that was done. Errors are left to the visit of the group.
    fn look_ahead(&mut self, group: &Group, seen: &Seen) {
        // Another path may have led to one of them meanwhile.
        while self.ahead.pop_if(|next: &mut Ahead| next.group != group.token).is_some() {}
        if !self.ahead.is_empty() {
            return;
        }
        let next = self.links.as_slice().iter().filter_map(hard).zip(self.kinds.as_slice());
        let next = next.filter(|(token, kind)| **kind == ObjectKind::Group && !seen.contains(token));
        let tokens: Vec<Token> =
            std::iter::once(group.token).chain(next.map(|(token, _)| token)).take(AHEAD).collect();
        let look = |token| {
            let group = Group(Object::new(group.session.clone(), token, ObjectPath::start("")));
            let links = group.links()?;
            let objects: Vec<Token> = links.iter().filter_map(hard).take(KINDS).collect();
            let kinds = group.kinds_of(&objects).unwrap_or_default();
            Ok(Ahead { group: token, links, kinds })
        };
        self.ahead = thread_pool::map(tokens, look).unwrap_or_else(|_: model::Error| Vec::new());
        self.ahead.reverse();
    }

    /// Returns the kind of the object that the current link points to.
    fn kind(&mut self, object: Token) -> Result<ObjectKind> {
        if let Some(kind) = self.kinds.next() {
            return Ok(kind);
        }
        if self.singly == 0 {
            let next = self.links.as_slice().iter().filter_map(hard);
            let objects: Vec<Token> = std::iter::once(object).chain(next).take(KINDS).collect();
            if let Some(mut kinds) = self.group.kinds_of(&objects).map(Vec::into_iter)
                && let Some(kind) = kinds.next()
            {
                self.kinds = kinds;
                return Ok(kind);
            }
            self.singly = objects.len();
        }
        self.singly -= 1;
        Ok(self.group.session.container.object_info(object)?.kind)
    }
}
