//! Everything that can be reached from the root group, compared with everything that is stored.

use std::collections::{HashMap, HashSet};

use keyed::{Datasets, Findings, Values};
use model::{LinkTarget, Result, text};
use objects::{Change, ObjectId, Phase, Update};

use crate::described::{Body, Described};
use crate::error::During;
use crate::identity;
use crate::keys::{self, GLOBAL, INTERNAL, LINK, LINK_ORDER, REFERENCES, ROOT};
use crate::links::is_link;
use crate::listing::{PAGE, after};
use crate::opening::Opening;
use crate::slots::{BlobId, ID_BYTES};

pub(super) struct Walk<'a> {
    pub(super) opening: &'a Opening,
    pub(super) findings: Findings,
    /// Objects that are stored.
    stored: HashSet<ObjectId>,
    /// References to objects that were found.
    references: HashMap<ObjectId, u64>,
    reached: HashSet<ObjectId>,
    queue: Vec<ObjectId>,
    /// Blobs that reached objects use.
    used: HashSet<BlobId>,
    /// Whether all blobs of reached objects are known.
    is_complete: bool,
}

/// The name of an object in findings.
fn name(id: ObjectId) -> String {
    format!("{} {id}", identity::kind(id).name())
}

impl<'a> Walk<'a> {
    pub(super) fn new(opening: &'a Opening, findings: Findings) -> Result<Self> {
        let mut stored = HashSet::new();
        let mut from = None;
        loop {
            let page = opening.store().objects(from, PAGE).during("list objects")?;
            let before = stored.len();
            from = page.last().copied();
            stored.extend(page);
            // A page that has nothing new is the last.
            if stored.len() == before {
                break;
            }
        }
        let references = HashMap::from([(ROOT, 1)]);
        let (reached, queue) = (HashSet::from([ROOT]), vec![ROOT]);
        let used = HashSet::new();
        Ok(Walk { opening, findings, stored, references, reached, queue, used, is_complete: true })
    }

    pub(super) fn run(mut self) -> Result<Findings> {
        while let Some(id) = self.queue.pop() {
            if let Err(error) = self.object(id) {
                self.is_complete = false;
                self.findings.add(name(id), "object", error.to_string());
            }
        }
        if let Err(error) = self.opening.store().verify_index() {
            self.is_complete = false;
            self.findings.add("container", "index", error.to_string());
        }
        self.counts()?;
        self.orphans()?;
        self.blobs()?;
        self.pieces()?;
        Ok(self.findings)
    }

    /// What the engine keeps and no key points to.
    fn pieces(&mut self) -> Result<()> {
        let store = self.opening.store();
        let count = store.orphans(false).during("look for lost pieces")?;
        if count == 0 {
            return Ok(());
        }
        self.findings.mend("container", "engine", format!("{count} pieces that no key points to"), || {
            store.orphans(true).map(drop).during("remove lost pieces")
        })
    }

    fn refer(&mut self, id: ObjectId) {
        *self.references.entry(id).or_insert(0) += 1;
        if self.reached.insert(id) {
            self.queue.push(id);
        }
    }

    fn object(&mut self, id: ObjectId) -> Result<()> {
        let described = Described::load(self.opening.store(), id, self.opening.limits())?;
        for committed in self.opening.committed_in_attributes(&described)? {
            self.refer(committed);
        }
        self.used.extend(self.opening.blobs_in_attributes(&described)?);
        self.attribute_count(&described)?;
        match &described.body {
            Body::Group(_) => self.group(&described),
            Body::Dataset(dataset) => {
                if let Some(committed) = dataset.info.committed {
                    self.refer(identity::object(committed)?);
                }
                self.used.extend(self.opening.blobs_of_fill(dataset)?);
                self.used.extend(self.opening.blobs_of_chunks(described.id, dataset)?);
                Ok(())
            }
            Body::Map { .. } => {
                self.used.extend(self.opening.blobs_of_map(&described)?);
                Ok(())
            }
            Body::Datatype { .. } => Ok(()),
        }
    }

    fn group(&mut self, group: &Described) -> Result<()> {
        let (opening, id) = (self.opening, group.id);
        let mut links = Vec::new();
        opening.each_value(id, LINK, |dkey, value| {
            if is_link(dkey) {
                links.push((dkey.to_vec(), value));
            }
            Ok(())
        })?;
        let mut count = 0;
        for (dkey, value) in links {
            count += 1;
            match keys::link_target(&value) {
                Ok(LinkTarget::Hard(token)) => {
                    let target = identity::object(token)?;
                    match self.stored.contains(&target) {
                        true => self.refer(target),
                        false => {
                            self.dangling(id, &dkey, target)?;
                            count -= u64::from(self.findings.mends);
                        }
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    let problem = format!("\"{}\": {error}", text::from_bytes(&dkey));
                    self.findings.add(name(id), "link", problem);
                }
            }
        }
        self.order(group, count)
    }

    /// A hard link whose object is not there leads nowhere: without it nothing is lost.
    fn dangling(&mut self, group: ObjectId, dkey: &[u8], target: ObjectId) -> Result<()> {
        let store = self.opening.store();
        let problem = format!("\"{}\" leads to {target}, which is not there", text::from_bytes(dkey));
        self.findings.mend(name(group), "link", problem, || {
            let place = store.get(group, dkey, &[LINK_ORDER]).during("mend link")?.pop().flatten();
            store.punch_dkey(group, dkey, Phase::Link).during("mend link")?;
            match place.and_then(|place| place.try_into().ok()).map(u64::from_le_bytes) {
                Some(place) => self.opening.take_from_order(group, place),
                None => Ok(()),
            }
        })
    }

    /// Counts of references that differ from the references.
    fn counts(&mut self) -> Result<()> {
        let expected: Vec<(ObjectId, u64)> =
            self.references.iter().map(|(id, count)| (*id, *count)).collect();
        for (id, expected) in expected {
            let found = match self.opening.references(id) {
                Err(error) if error.kind() == model::Kind::NotFound => continue,
                found => found,
            };
            let problem = match found {
                Ok(found) if found == expected => continue,
                Ok(found) => format!("it says {found} references and has {expected}"),
                Err(error) => error.to_string(),
            };
            let opening = self.opening;
            self.findings.mend(name(id), "reference count", problem, || {
                let count = keys::number(expected);
                opening.describe_as(id, &[Change::Single(REFERENCES, &count)], &[])
            })?;
        }
        Ok(())
    }

    /// Objects that nothing leads to. Those that somebody has open are none.
    fn orphans(&mut self) -> Result<()> {
        let structure = self.opening.shared.structure();
        let is_held = |id: &ObjectId| structure.handles.contains_key(id) || structure.unlinked.contains(id);
        let is_orphan = |id: &&ObjectId| **id != GLOBAL && !self.reached.contains(id) && !is_held(id);
        let mut orphans: Vec<ObjectId> = self.stored.iter().filter(is_orphan).copied().collect();
        let held: Vec<ObjectId> = self.stored.iter().filter(|id| is_held(id)).copied().collect();
        drop(structure);
        orphans.sort_unstable();
        // What somebody has open uses blobs too, and objects below it may be anywhere.
        if !held.iter().all(|id| self.reached.contains(id)) {
            self.is_complete = false;
        }
        if !self.is_complete {
            return Ok(());
        }
        for id in orphans {
            let opening = self.opening;
            self.findings.mend(name(id), "object", "nothing leads to it", || {
                opening.store().punch_object(id, Phase::Removal).during("mend object")?;
                opening.shared.forget(id);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Blobs that nothing uses, and those that are used and missing.
    fn blobs(&mut self) -> Result<()> {
        let store = self.opening.store();
        let mut from = Vec::new();
        let mut found = HashSet::new();
        loop {
            let dkeys = store.dkeys(GLOBAL, &from, PAGE).during("list blobs")?;
            let Some(last) = dkeys.last() else { break };
            from = after(last);
            found.extend(dkeys.iter().filter_map(|dkey| <BlobId>::try_from(&dkey[..]).ok()));
            self.other_keys(&dkeys);
        }
        let missing = self.used.difference(&found).count();
        if missing > 0 {
            self.findings.add("container", "blobs", format!("{missing} that are used are not there"));
        }
        let mut unused: Vec<&BlobId> = found.difference(&self.used).collect();
        if unused.is_empty() || !self.is_complete {
            return Ok(());
        }
        unused.sort_unstable();
        let opening = self.opening;
        let problem = format!("{} that nothing uses", unused.len());
        self.findings.mend("container", "blobs", problem, || {
            opening.drop_blobs(&unused.into_iter().copied().collect::<Vec<_>>())
        })
    }

    fn other_keys(&mut self, dkeys: &[Vec<u8>]) {
        for dkey in dkeys.iter().filter(|dkey| dkey.len() != ID_BYTES && **dkey != INTERNAL) {
            let problem = format!("unknown dkey {}", dkey.escape_ascii());
            self.findings.add("container", "global metadata", problem);
        }
    }

    /// Changes something in the course of mending.
    pub(super) fn put(
        opening: &Opening,
        object: ObjectId,
        dkey: &[u8],
        changes: &[Change<'_>],
    ) -> Result<()> {
        let update = Update { object, dkey, changes, conditions: &[], phase: Phase::Link };
        opening.store().update(&update).during("mend object")
    }

    pub(super) fn note(
        &mut self,
        id: ObjectId,
        part: &'static str,
        problem: String,
        mend: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.findings.mend(name(id), part, problem, mend)
    }
}
