//! Links, and walks along them.

use std::collections::HashSet;

use hyperslab::vol::model::link;
use hyperslab::vol::{LinkLocation, OpGroupCreate, OpLinkCreate, OpLinkMove, OpList};
use hyperslab::{Index, Kind, Link, LinkTarget, ObjectKind, Order, Result, Token};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::object::Object;

/// A link as Python sees it: its class and up to two strings.
type LinkParts = (&'static str, String, String);

/// Links that are fetched at a time.
const PAGE: u64 = 4096;

fn parts(link: Link) -> LinkParts {
    match link.target {
        LinkTarget::Hard(_) => ("hard", String::new(), String::new()),
        LinkTarget::Soft(path) => ("soft", path, String::new()),
        LinkTarget::External { file, path } => ("external", file, path),
        LinkTarget::User { class, .. } => ("user", class.to_string(), String::new()),
    }
}

impl Object {
    /// Returns all links of a group: in creation order where it is tracked, else sorted by name.
    pub(crate) fn all_links(&self, group: Token) -> Result<Vec<Link>> {
        let is_tracked = self.container().group_info(group)?.create.link_order
            != hyperslab::plist::CreationOrder::Untracked;
        self.links_by(group, if is_tracked { Index::CreationOrder } else { Index::Name })
    }

    /// Returns all links of a group in the order of an index.
    fn links_by(&self, group: Token, index: Index) -> Result<Vec<Link>> {
        let mut links = Vec::new();
        loop {
            let op = OpList { index, order: Order::Increasing, skip: links.len() as u64, count_max: PAGE };
            let page = self.container().link_list(group, &op)?;
            links.extend(page.entries);
            if !page.more {
                return Ok(links);
            }
        }
    }

    /// Returns where a new link goes; groups on the way are created.
    pub(crate) fn place(&self, path: &str) -> Result<(Object, LinkLocation)> {
        let (parent, name) = link::split_last(path)?;
        let here = Object::new(self.session.clone(), self.token);
        if parent.is_empty() {
            let place = LinkLocation::new(self.token, name);
            return Ok((here, place));
        }
        let parent = match self.session.find(self.token, parent) {
            Ok((session, token)) => Object::new(session, token),
            Err(error) if error.kind() == Kind::NotFound => here.make_groups(parent)?,
            Err(error) => return Err(error),
        };
        let place = LinkLocation::new(parent.token, name);
        Ok((parent, place))
    }

    /// Returns the group at a path. Groups that are missing on the way are created.
    fn make_groups(self, path: &str) -> Result<Object> {
        let mut here =
            if link::is_absolute(path) { Object::new(self.session.clone(), self.session.root) } else { self };
        for part in link::components(path) {
            let (session, token) = match here.container().link_get(here.token, part)? {
                Some(_) => here.session.find(here.token, part)?,
                None => {
                    let place = Some(LinkLocation::new(here.token, part));
                    let op = OpGroupCreate { place, create: Default::default() };
                    (here.session.clone(), here.container().group_create(&op)?)
                }
            };
            here = Object::new(session, token);
        }
        Ok(here)
    }

    /// Returns the group that holds the last link of a path, and the name of that link.
    fn parent_of<'p>(&self, path: &'p str) -> Result<(Object, &'p str)> {
        let (parent, name) = link::split_last(path)?;
        let (session, token) = match parent.is_empty() {
            true => (self.session.clone(), self.token),
            false => self.session.find(self.token, parent)?,
        };
        Ok((Object::new(session, token), name))
    }

    fn add_link(&self, path: &str, target: LinkTarget) -> Result<()> {
        let (group, place) = self.place(path)?;
        group.container().link_create(&OpLinkCreate { place, target })
    }

    /// Returns the first path from the root that leads to this object.
    pub(crate) fn search_path(&self) -> Result<Option<String>> {
        let root = Object::new(self.session.clone(), self.session.root);
        if self.token == root.token {
            return Ok(Some("/".to_owned()));
        }
        let mut found = None;
        root.walk(&mut |path, link| {
            let is_here = matches!(link.target, LinkTarget::Hard(token) if token == self.token);
            if is_here {
                found = Some(format!("/{path}"));
            }
            !is_here
        })?;
        Ok(found)
    }

    /// Calls `take` with every link below this group, by name, until it returns `false`. A group is entered once.
    fn walk(&self, take: &mut dyn FnMut(&str, &Link) -> bool) -> Result<()> {
        let mut seen = HashSet::from([self.token]);
        let mut stack = vec![(String::new(), self.links_by(self.token, Index::Name)?.into_iter())];
        while let Some((prefix, links)) = stack.last_mut() {
            let Some(link) = links.next() else {
                stack.pop();
                continue;
            };
            let path = format!("{prefix}{}", link.name);
            if !take(&path, &link) {
                return Ok(());
            }
            if let LinkTarget::Hard(token) = link.target
                && Object::kind_of(&self.session, token)? == ObjectKind::Group
                && seen.insert(token)
            {
                stack.push((format!("{path}/"), self.links_by(token, Index::Name)?.into_iter()));
            }
        }
        Ok(())
    }
}

#[pymethods]
impl Object {
    /// Names of all links, in the order of the group.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let links = py.detach(|| self.all_links(self.token)).or_raise()?;
        Ok(links.into_iter().map(|link| link.name).collect())
    }

    /// The number of links.
    fn link_count(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.free(py, || self.container().group_info(self.token)).or_raise()?.links)
    }

    /// The class and the target of a link, or `None` if there is no such link.
    fn link(&self, py: Python<'_>, path: &str) -> PyResult<Option<LinkParts>> {
        let found = || {
            let (group, name) = self.parent_of(path)?;
            group.container().link_get(group.token, name)
        };
        match self.free(py, found) {
            Err(error) if error.kind() == Kind::NotFound => Ok(None),
            found => Ok(found.or_raise()?.map(parts)),
        }
    }

    /// Whether there is a link at a path, though it may lead nowhere.
    fn contains(&self, py: Python<'_>, path: &str) -> bool {
        let found = || {
            let (group, name) = self.parent_of(path)?;
            Ok::<_, hyperslab::Error>(group.container().link_get(group.token, name)?.is_some())
        };
        py.detach(|| found().unwrap_or(false) || self.session.find(self.token, path).is_ok())
    }

    /// Gives an object of the same file another name.
    fn link_hard(&self, py: Python<'_>, path: &str, object: &Object) -> PyResult<()> {
        self.free(py, || self.add_link(path, LinkTarget::Hard(object.token))).or_raise()
    }

    /// Creates a soft link.
    fn link_soft(&self, py: Python<'_>, path: &str, target: String) -> PyResult<()> {
        self.free(py, || self.add_link(path, LinkTarget::Soft(target))).or_raise()
    }

    /// Creates a link to an object of another file.
    fn link_external(&self, py: Python<'_>, path: &str, file: String, target: String) -> PyResult<()> {
        self.free(py, || self.add_link(path, LinkTarget::External { file, path: target })).or_raise()
    }

    /// Removes a link, and the object with its last one.
    fn unlink(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        let removed = py.detach(|| {
            let (group, name) = self.parent_of(path)?;
            group.container().link_delete(group.token, name)
        });
        removed.or_raise()
    }

    /// Moves a link of this group to a path of another one.
    fn move_link(&self, py: Python<'_>, from: &str, group: &Object, to: &str) -> PyResult<()> {
        let moved = || {
            let (source, name) = self.parent_of(from)?;
            let (_, to) = group.place(to)?;
            source.container().link_move(&OpLinkMove {
                from: source.token,
                name: name.to_owned(),
                to,
                copy: false,
            })
        };
        self.free(py, moved).or_raise()
    }

    /// Paths of all objects below this group, each once; with `links`, paths of all links.
    fn paths(&self, py: Python<'_>, links: bool) -> PyResult<Vec<String>> {
        let walked = py.detach(|| {
            let (mut paths, mut seen) = (Vec::new(), HashSet::from([self.token]));
            self.walk(&mut |path, link| {
                let is_new = matches!(link.target, LinkTarget::Hard(token) if seen.insert(token));
                if links || is_new {
                    paths.push(path.to_owned());
                }
                true
            })?;
            Ok(paths)
        });
        walked.or_raise()
    }
}
