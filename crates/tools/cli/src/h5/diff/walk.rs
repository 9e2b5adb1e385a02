//! All objects and links under a group, in the order in which h5diff lists them.

use std::collections::HashSet;
use std::rc::Rc;

use hyperslab::vol::model::{Charge, ObjectPath};
use hyperslab::{Error, Kind, LinkTarget, ObjectKind, Result};

use crate::h5::ls::seen::{Seen, charge_object};
use crate::h5::ls::source::ObjectAt;
use crate::h5::ls::walk::Frame;

/// The target of a path.
#[derive(Clone)]
pub(crate) enum What {
    Object(ObjectAt, ObjectKind),
    /// A link that is not followed, or leads nowhere.
    Link(LinkTarget),
}

/// A path and what it leads to.
#[derive(Clone)]
pub(crate) struct Entry {
    /// The path of what the list is of.
    prefix: Rc<str>,
    /// The path below it.
    pub(crate) below: ObjectPath,
    pub(crate) what: What,
}

impl Entry {
    /// Returns the whole path.
    pub(crate) fn path(&self) -> String {
        match self.below.depth() {
            0 => self.prefix.to_string(),
            _ => format!("{}{}", self.prefix.trim_end_matches('/'), shown(&self.below)),
        }
    }
}

/// Returns a path as text; of a very long one only its ends, unless the user wants all.
pub(crate) fn shown(path: &ObjectPath) -> String {
    if crate::common::expand() { path.to_string() } else { path.shown() }
}

impl What {
    /// Returns the name of its kind.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            What::Object(_, ObjectKind::Dataset) => "H5G_DATASET",
            What::Object(_, ObjectKind::Group) => "H5G_GROUP",
            What::Object(_, ObjectKind::Datatype) => "H5G_TYPE",
            What::Object(_, ObjectKind::Map) => "H5G_MAP",
            What::Link(LinkTarget::Soft(_)) => "H5G_LINK",
            What::Link(_) => "H5G_UDLINK",
        }
    }

    pub(crate) fn is_group(&self) -> bool {
        matches!(self, What::Object(_, ObjectKind::Group))
    }

    /// Returns whether both are the same object of one of these files. h5diff opens others anew for each object, and does not
    /// see that they are the same.
    pub(crate) fn is_same(&self, other: &What, files: [&ObjectAt; 2]) -> bool {
        match (self, other) {
            (What::Object(a, _), What::Object(b, _)) => a.is_same(b) && files.iter().any(|f| f.is_next_to(a)),
            _ => false,
        }
    }
}

/// The list of what is under a group.
pub(crate) struct List {
    pub(crate) entries: Vec<Entry>,
    prefix: Rc<str>,
    /// Whether a link was met that leads nowhere.
    pub(crate) dangling: bool,
    follow: bool,
    frames: Vec<Frame>,
    /// Targets of links that were followed.
    followed: HashSet<LinkTarget>,
    /// For the entries, where there are many.
    charge: Option<Charge>,
}

impl List {
    /// Lists a group and all that is in it; links are followed where the user wants that.
    pub(crate) fn of(group: &ObjectAt, path: &str, follow: bool) -> Result<List> {
        let mut list = List {
            entries: Vec::new(),
            prefix: path.into(),
            dangling: false,
            follow,
            frames: Vec::new(),
            followed: HashSet::new(),
            charge: Some(group.container().budget().empty_charge()),
        };
        list.start(group.clone(), ObjectPath::start(""))?;
        list.run()?;
        Ok(list)
    }

    /// Returns a list of one.
    pub(crate) fn single(path: &str, what: What) -> List {
        let prefix: Rc<str> = path.into();
        let entries = vec![Entry { prefix: prefix.clone(), below: ObjectPath::start(""), what }];
        let (frames, followed) = (Vec::new(), HashSet::new());
        List { entries, prefix, dangling: false, follow: false, frames, followed, charge: None }
    }

    #[cfg(test)]
    pub(crate) fn push(&mut self, name: &str, what: What) {
        self.add(&ObjectPath::start("").join(name), what).unwrap();
    }

    fn start(&mut self, place: ObjectAt, path: ObjectPath) -> Result<()> {
        let kind = place.container().object_info(place.token)?.kind;
        self.add(&path, What::Object(place.clone(), kind))?;
        if kind == ObjectKind::Group {
            let seen = Seen::from(&place, &path);
            self.frames.push(Frame::new(place, path, seen));
        }
        Ok(())
    }

    fn add(&mut self, path: &ObjectPath, what: What) -> Result<()> {
        self.charge.as_mut().map_or(Ok(()), |charge| charge_object(charge, path))?;
        self.entries.push(Entry { prefix: self.prefix.clone(), below: path.clone(), what });
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        while let Some(frame) = self.frames.last_mut() {
            let Some(link) = frame.next()? else {
                self.frames.pop();
                continue;
            };
            let (group, path, seen) = (frame.group.clone(), frame.path.join(&link.name), frame.seen.clone());
            match link.target {
                LinkTarget::Hard(token) => self.object(ObjectAt { token, ..group }, path, &seen)?,
                target => self.link(&group, &link.name, &path, target)?,
            }
        }
        Ok(())
    }

    fn object(&mut self, place: ObjectAt, path: ObjectPath, seen: &Seen) -> Result<()> {
        let kind = place.container().object_info(place.token)?.kind;
        self.add(&path, What::Object(place.clone(), kind))?;
        if kind == ObjectKind::Group && seen.insert(place.token, &path)? {
            self.frames.push(Frame::new(place, path, seen.clone()));
        }
        Ok(())
    }

    fn link(&mut self, group: &ObjectAt, name: &str, path: &ObjectPath, target: LinkTarget) -> Result<()> {
        if !self.follow {
            return self.add(path, What::Link(target));
        }
        if matches!(target, LinkTarget::User { .. }) {
            return Err(Error::unsupported("follow user-defined link").with("path", path.shown()));
        }
        match group.find(name) {
            Ok(place) if !self.followed.contains(&target) => {
                self.followed.insert(target);
                self.start(place, path.clone())
            }
            Ok(_) => Ok(()),
            Err(error) if leads_nowhere(&error) => {
                self.dangling = true;
                self.add(path, What::Link(target))
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns whether an error means that a link's target is not there, rather than broken.
pub(crate) fn leads_nowhere(error: &Error) -> bool {
    !matches!(error.kind(), Kind::Corrupt)
}
