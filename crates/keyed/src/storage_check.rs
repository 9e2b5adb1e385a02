//! `storage_check`, `storage_repair` and `storage_show`: everything that can be reached from the root group, compared with everything that
//! is stored.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use model::{Kind, Result, text};
use vol::StorageFinding;

use crate::links::hard_target;
use crate::mapping::{Mapping, Objects};
use crate::{AttributeHeader, Body, Handle, ObjectHeader};

/// The problems that a check found.
#[derive(Debug)]
pub struct Findings {
    /// Whether problems are repaired, as far as they can be.
    pub repairs: bool,
    list: Vec<StorageFinding>,
}

/// Findings that are reported at most.
const FINDINGS_MAX: usize = 10_000;

impl Findings {
    fn new(repairs: bool) -> Self {
        Findings { repairs, list: Vec::new() }
    }

    /// Adds a problem that cannot be repaired.
    pub fn add(&mut self, object: impl Into<String>, part: &'static str, problem: impl Into<String>) {
        self.push(object, part, problem, false);
    }

    /// Adds a problem, and calls `repair` if problems are to be repaired.
    pub fn repair(
        &mut self,
        object: impl Into<String>,
        part: &'static str,
        problem: impl Into<String>,
        repair: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if self.repairs {
            repair()?;
        }
        self.push(object, part, problem, self.repairs);
        Ok(())
    }

    fn push(
        &mut self,
        object: impl Into<String>,
        part: &'static str,
        problem: impl Into<String>,
        is_repaired: bool,
    ) {
        if self.list.len() < FINDINGS_MAX {
            let (path, part, problem) = (object.into(), part.to_owned(), problem.into());
            self.list.push(StorageFinding { path, part, problem, is_repaired });
        }
    }
}

/// Everything that was reached from the root group.
#[derive(Debug)]
pub struct ReachableObjects<M: Objects> {
    /// Objects, and the references to each that were found.
    pub references: HashMap<M::Id, u64>,
    /// Other IDs that belong to objects.
    pub parts: HashSet<M::Id>,
    /// Blobs that objects use, whether they are stored or not.
    pub blobs: HashSet<M::BlobId>,
    /// Everything that is stored under an ID.
    pub stored: HashSet<M::Id>,
    /// Whether everything that objects use is known: no object was damaged.
    pub is_complete: bool,
}

impl<M: Mapping> Handle<M> {
    /// Compares what is stored with what can be reached, and repairs what can be repaired if `repairs`.
    ///
    /// # Errors
    /// Returns `Denied` if the container is to be repaired and is open to read.
    pub(crate) fn check_storage(&self, repairs: bool) -> Result<Vec<StorageFinding>> {
        self.shared.elements().flush_all()?;
        if repairs {
            self.check_writable()?;
        }
        let stored: HashSet<M::Id> = self.mapping().stored_ids()?.into_iter().collect();
        let reached = ReachableObjects {
            references: HashMap::new(),
            parts: HashSet::new(),
            blobs: HashSet::new(),
            stored,
            is_complete: true,
        };
        let mut check =
            Check { handle: self, findings: Findings::new(repairs), reached, pending: Vec::new() };
        check.run()?;
        if repairs {
            self.shared.forget_all();
        }
        Ok(check.findings.list)
    }

    /// Returns everything that is stored as text.
    pub(crate) fn show_storage(&self) -> Result<String> {
        self.shared.elements().flush_all()?;
        M::show(self)
    }
}

struct Check<'a, M: Mapping> {
    handle: &'a Handle<M>,
    findings: Findings,
    reached: ReachableObjects<M>,
    /// Objects that were reached and not looked at yet.
    pending: Vec<M::Id>,
}

impl<M: Mapping> Check<'_, M> {
    fn run(&mut self) -> Result<()> {
        // The root group has a reference that is no link.
        self.refer(M::ROOT);
        while let Some(id) = self.pending.pop() {
            if let Err(error) = self.object(id) {
                self.reached.is_complete = false;
                self.findings.add(M::describe(id), "object", error.to_string());
            }
        }
        if let Err(error) = self.handle.mapping().verify_index() {
            self.reached.is_complete = false;
            self.findings.add("container", "index", error.to_string());
        }
        self.counts()?;
        M::check_unreached(self.handle, &self.reached, &mut self.findings)
    }

    fn refer(&mut self, id: M::Id) {
        let count = self.reached.references.entry(id).or_insert(0);
        *count += 1;
        if *count == 1 {
            self.pending.push(id);
        }
    }

    fn object(&mut self, id: M::Id) -> Result<()> {
        let handle = self.handle;
        let header = handle.mapping().read_header(id, handle.limits())?;
        let attributes = handle.all_attributes(&header)?;
        for (name, attribute) in &attributes {
            if let Some(committed) = attribute.committed {
                self.refer(M::id(committed)?);
            }
            self.reached.blobs.extend(handle.blobs_of_attribute(&header, name, attribute)?);
        }
        let attributes: Vec<Arc<AttributeHeader<M>>> =
            attributes.into_iter().map(|(_, attribute)| attribute).collect();
        M::reach(&header, &attributes, &mut self.reached);
        let links = match &header.body {
            Body::Group(_) => Some(self.group(&header)?),
            Body::Dataset(dataset) => {
                if let Some(committed) = dataset.info.committed {
                    self.refer(M::id(committed)?);
                }
                self.reached.blobs.extend(handle.blobs_of_dataset(id, dataset)?);
                None
            }
            Body::Map { .. } => {
                self.reached.blobs.extend(handle.blobs_of_map(&header)?);
                None
            }
            Body::Datatype { .. } => None,
        };
        M::check_object(handle, &header, links, &mut self.findings)
    }

    /// Follows the links of a group, and returns their number.
    fn group(&mut self, group: &ObjectHeader<M>) -> Result<u64> {
        let mut links = Vec::new();
        self.handle.each_link(group.id, |name, target| {
            links.push((name.to_vec(), target));
            Ok(())
        })?;
        let mut count = links.len() as u64;
        for (name, target) in links {
            match target {
                Ok(target) => {
                    let Some(token) = hard_target(&target) else { continue };
                    let target = M::id(token)?;
                    if self.reached.stored.contains(&target) {
                        self.refer(target);
                    } else {
                        self.dangling(group, name, target)?;
                        count -= u64::from(self.findings.repairs);
                    }
                }
                Err(error) => {
                    let problem = format!("\"{}\": {error}", text::from_bytes(&name));
                    self.findings.add(M::describe(group.id), "link", problem);
                }
            }
        }
        Ok(count)
    }

    /// A hard link to an object that does not exist is removed: nothing is lost with it.
    fn dangling(&mut self, group: &ObjectHeader<M>, name: Vec<u8>, target: M::Id) -> Result<()> {
        let mapping = self.handle.mapping();
        let problem = format!("\"{}\" leads to {target}, which is not there", text::from_bytes(&name));
        self.findings.repair(M::describe(group.id), "link", problem, || {
            let mut changes = M::Changes::default();
            for link in mapping.links(group, &[name])? {
                mapping.remove_link(&mut changes, group, &link)?;
            }
            mapping.apply(changes, "repair link")
        })
    }

    /// Compares reference counts with the references that were found.
    fn counts(&mut self) -> Result<()> {
        let (part, references) = M::REFERENCES;
        let mut expected: Vec<(M::Id, u64)> =
            self.reached.references.iter().map(|(id, count)| (*id, *count)).collect();
        expected.sort_unstable();
        for (id, expected) in expected {
            let mapping = self.handle.mapping();
            let problem = match mapping.references(&M::Changes::default(), id) {
                Ok(found) if found == expected => continue,
                Ok(found) => format!("it says {found} {references} and has {expected}"),
                Err(error) if error.kind() == Kind::NotFound => continue,
                Err(error) => error.to_string(),
            };
            let repair = || mapping.put_references(id, expected);
            self.findings.repair(M::describe(id), part, problem, repair)?;
        }
        Ok(())
    }
}
