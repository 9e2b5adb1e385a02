//! The position of each object in the folder: at one of its links. The other links become link files.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ffi::OsString;

use json_text::Saver;
use model::{Error, Link, LinkTarget, ObjectKind, Result, Token};
use vol::OpList;

use crate::homes::{ObjectHome, ObjectHomes};
use crate::names;

/// Bytes of a path that operating systems take.
const PATH_BYTES_MAX: usize = 4096;

/// An object and its place.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) token: Token,
    pub(crate) kind: ObjectKind,
    pub(crate) home: ObjectHome,
    pub(crate) name: String,
}

/// Links of a group, with the stems of their names.
#[derive(Debug)]
pub(crate) struct Links {
    pub(crate) all: Vec<Link>,
    pub(crate) stems: BTreeMap<String, OsString>,
}

/// Where everything that links lead to belongs.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Groups before what is in them; without the root.
    pub(crate) objects: Vec<Planned>,
    pub(crate) groups: HashMap<Token, Links>,
    /// Types that are used though no link leads to them.
    pub(crate) unlinked_types: Vec<Token>,
}

/// Whether an object belongs where a link of a group is.
type Rule<'r> = dyn Fn(Token, Token, &Link, &OsString) -> bool + 'r;

/// The names that are assigned so far.
struct Assigning<'a> {
    saver: &'a Saver<'a>,
    plan: Plan,
    homed: HashSet<Token>,
    /// Bytes of the paths below the folder.
    bytes: HashMap<Token, usize>,
    queue: VecDeque<Token>,
}

impl Plan {
    /// Objects stay where they are as long as the link is there; else they go to where they were made, or to the
    /// first link that is found.
    pub(crate) fn new(
        saver: &Saver<'_>,
        homes: &ObjectHomes,
        births: &HashMap<Token, (Token, String)>,
    ) -> Result<Plan> {
        let plan = Plan { objects: Vec::new(), groups: HashMap::new(), unlinked_types: Vec::new() };
        let root = homes.root();
        let mut assigning = Assigning {
            saver,
            plan,
            homed: HashSet::from([root]),
            bytes: HashMap::new(),
            queue: VecDeque::new(),
        };
        let is_home = |token: Token, group: Token, _: &Link, stem: &OsString| {
            homes.get(token).is_some_and(|home| home.parent == group && home.stem == *stem)
        };
        assigning.spread(root, &is_home)?;
        assigning.spread(root, &|token, group, link, stem| {
            let born =
                births.get(&token).is_some_and(|(parent, name)| *parent == group && *name == link.name);
            born || is_home(token, group, link, stem)
        })?;
        assigning.spread(root, &|_, _, _, _| true)?;
        assigning.unlinked_types()?;
        Ok(assigning.plan)
    }

    /// Returns whether a link of a group is the home of what it points to.
    pub(crate) fn is_home(&self, homes: &ObjectHomes, group: Token, link: &Link) -> bool {
        let LinkTarget::Hard(token) = link.target else { return false };
        let stem = self.groups.get(&group).and_then(|links| links.stems.get(&link.name));
        homes.get(token).is_some_and(|home| home.parent == group && Some(&home.stem) == stem)
    }
}

impl Assigning<'_> {
    /// Goes through all groups that have a place, and gives one to what a rule says belongs where a link is.
    fn spread(&mut self, root: Token, rule: &Rule<'_>) -> Result<()> {
        self.queue =
            std::iter::once(root).chain(self.plan.objects.iter().map(|planned| planned.token)).collect();
        while let Some(group) = self.queue.pop_front() {
            if !self.plan.groups.contains_key(&group) {
                if self.saver.container.object_info(group)?.kind != ObjectKind::Group {
                    continue;
                }
                let all = self.saver.all_links(group)?;
                let stems = names::stems(all.iter().map(|link| link.name.as_str()));
                self.plan.groups.insert(group, Links { all, stems });
            }
            self.assign(group, rule)?;
        }
        Ok(())
    }

    fn assign(&mut self, group: Token, rule: &Rule<'_>) -> Result<()> {
        let Some(links) = self.plan.groups.get(&group) else { return Ok(()) };
        for link in &links.all {
            let (&LinkTarget::Hard(token), Some(stem)) = (&link.target, links.stems.get(&link.name)) else {
                continue;
            };
            if self.homed.contains(&token) || !rule(token, group, link, stem) {
                continue;
            }
            let kind = self.saver.container.object_info(token)?.kind;
            let bytes = self.bytes.get(&group).copied().unwrap_or(0) + 1 + stem.len();
            if bytes > PATH_BYTES_MAX {
                return Err(Error::limit("put objects in folders")
                    .with("problem", "groups are nested too deeply for paths of files")
                    .with("limit", PATH_BYTES_MAX));
            }
            self.bytes.insert(token, bytes);
            let home = ObjectHome { parent: group, stem: stem.clone(), is_plain: false };
            self.homed.insert(token);
            self.plan.objects.push(Planned { token, kind, home, name: link.name.clone() });
            if kind == ObjectKind::Group {
                self.queue.push_back(token);
            }
        }
        Ok(())
    }

    fn unlinked_types(&mut self) -> Result<()> {
        let op = OpList { count_max: u64::MAX, ..OpList::default() };
        let mut used = Vec::new();
        for token in &self.homed {
            if let Ok(info) = self.saver.container.dataset_info(*token) {
                used.extend(info.committed);
            }
            let attributes = self.saver.container.attribute_list(*token, &op)?.entries;
            used.extend(attributes.iter().filter_map(|info| info.committed));
        }
        used.sort_unstable();
        used.dedup();
        used.retain(|token| !self.homed.contains(token));
        self.plan.unlinked_types = used;
        Ok(())
    }
}
