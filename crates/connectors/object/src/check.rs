//! `storage_check`: what is stored and not reachable, and counters that differ from what they count.

use std::collections::HashSet;

use keyed::{
    Attributes, During, Findings, Handle, ObjectHeader, ReachableObjects, StorageReport, is_tracked,
};
use model::{Result, text};
use objects::{Change, ObjectId, Phase, Update};

use crate::ObjectMapping;
use crate::blobs::BlobId;
use crate::identity;
use crate::keys::{
    self, ATTRIBUTE_COUNT, ATTRIBUTES, GLOBAL, INTERNAL, LINK, LINK_ORDER, ORDER, ORDER_COUNT, Spelling,
};

impl StorageReport for ObjectMapping {
    const REFERENCES: (&'static str, &'static str) = ("reference count", "references");

    fn describe(id: ObjectId) -> String {
        format!("{} {id}", identity::kind(id).name())
    }

    fn stored_ids(&self) -> Result<Vec<ObjectId>> {
        self.store.all_objects().during("list objects")
    }

    fn verify_index(&self) -> Result<()> {
        self.store.verify_index().during("verify index")
    }

    fn check_object(
        handle: &Handle<Self>,
        header: &ObjectHeader<Self>,
        links: Option<u64>,
        findings: &mut Findings,
    ) -> Result<()> {
        let mapping = handle.mapping();
        mapping.check_attribute_count(header, findings)?;
        match links {
            Some(links) if is_tracked(header.group()?.link_order) => {
                mapping.check_order(header.id, links, findings)
            }
            _ => Ok(()),
        }
    }

    fn check_unreached(
        handle: &Handle<Self>,
        reached: &ReachableObjects<Self>,
        findings: &mut Findings,
    ) -> Result<()> {
        let is_complete = check_orphans(handle, reached, findings)?;
        check_blobs(handle, reached, is_complete, findings)?;
        handle.mapping().check_engine(findings)
    }

    fn show(handle: &Handle<Self>) -> Result<String> {
        crate::show::show(handle.mapping(), handle.limits())
    }
}

impl ObjectMapping {
    /// Changes keys of an object to repair it.
    fn repair(&self, object: ObjectId, dkey: &[u8], changes: &[Change<'_>]) -> Result<()> {
        let update = Update { object, dkey, changes, conditions: &[], phase: Phase::Link };
        self.store.update(&update).during("repair object")
    }

    /// Checks the creation order of a group that has `count` links.
    fn check_order(&self, id: ObjectId, count: u64, findings: &mut Findings) -> Result<()> {
        for (place, link) in self.order_entries(id)? {
            let akey = if self.spelling == Spelling::Design { LINK_ORDER } else { LINK };
            let found = self.store.get(id, &link, &[akey]).during("check order")?.pop().flatten();
            let is_there = found.is_some() && self.spelling == Spelling::Daos;
            if is_there || found.as_deref() == Some(&keys::number(place)[..]) {
                continue;
            }
            let problem = format!("place {place} has \"{}\", which is not there", text::from_bytes(&link));
            findings.repair(Self::describe(id), "link creation order", problem, || {
                let (name, target) = (keys::order_name(place), keys::order_target(place));
                self.repair(id, ORDER, &[Change::Punch(&name), Change::Punch(&target)])
            })?;
        }
        let (_, counted) = self.order_counts(id)?;
        if counted == count {
            return Ok(());
        }
        let problem = format!("it says {counted} links and has {count}");
        findings.repair(Self::describe(id), "link count", problem, || {
            self.repair(id, ORDER, &[Change::Single(ORDER_COUNT, &keys::number(count))])
        })
    }

    /// Checks the number of attributes if it is stored.
    fn check_attribute_count(&self, object: &ObjectHeader<Self>, findings: &mut Findings) -> Result<()> {
        let Some(counted) = self.attribute_count(object)? else { return Ok(()) };
        let (id, count) = (object.id, self.attribute_names(object)?.len() as u64);
        if counted == count {
            return Ok(());
        }
        let problem = format!("it says {counted} attributes and has {count}");
        findings.repair(Self::describe(id), "attribute count", problem, || {
            self.repair(id, ATTRIBUTES, &[Change::Single(ATTRIBUTE_COUNT, &keys::number(count))])
        })
    }

    /// Checks for pieces of the engine that no key points to.
    fn check_engine(&self, findings: &mut Findings) -> Result<()> {
        let count = self.store.orphans(false).during("look for lost pieces")?;
        if count == 0 {
            return Ok(());
        }
        findings.repair("container", "engine", format!("{count} pieces that no key points to"), || {
            self.store.orphans(true).map(drop).during("remove lost pieces")
        })
    }
}

/// Checks for objects that cannot be reached and are not retained. Returns whether all blobs that are in use are known:
/// retained objects use blobs too, and may contain anything.
fn check_orphans(
    handle: &Handle<ObjectMapping>,
    reached: &ReachableObjects<ObjectMapping>,
    findings: &mut Findings,
) -> Result<bool> {
    let is_reached = |id: &ObjectId| reached.references.contains_key(id);
    let counts = handle.shared.reference_counts();
    let is_orphan = |id: &&ObjectId| **id != GLOBAL && !is_reached(id) && !counts.holds(id);
    let mut orphans: Vec<ObjectId> = reached.stored.iter().filter(is_orphan).copied().collect();
    let holds_unreached = reached.stored.iter().any(|id| counts.holds(id) && !is_reached(id));
    drop(counts);
    if holds_unreached || !reached.is_complete {
        return Ok(false);
    }
    orphans.sort_unstable();
    for id in orphans {
        findings.repair(ObjectMapping::describe(id), "object", "nothing leads to it", || {
            handle.mapping().store.punch_object(id, Phase::Removal).during("repair object")?;
            handle.shared.forget(id);
            Ok(())
        })?;
    }
    Ok(true)
}

/// Checks for blobs that nothing uses, and for those that are used and missing.
fn check_blobs(
    handle: &Handle<ObjectMapping>,
    reached: &ReachableObjects<ObjectMapping>,
    is_complete: bool,
    findings: &mut Findings,
) -> Result<()> {
    let mut found = HashSet::new();
    for dkey in crate::listing::dkeys(&*handle.mapping().store, GLOBAL, b"")? {
        match <BlobId>::try_from(&dkey[..]) {
            Ok(id) => drop(found.insert(id)),
            Err(_) if dkey == INTERNAL => {}
            Err(_) => {
                let problem = format!("unknown dkey {}", dkey.escape_ascii());
                findings.add("container", "global metadata", problem);
            }
        }
    }
    let missing = reached.blobs.difference(&found).count();
    if missing > 0 {
        findings.add("container", "blobs", format!("{missing} that are used are not there"));
    }
    let mut unused: Vec<BlobId> = found.difference(&reached.blobs).copied().collect();
    if unused.is_empty() || !is_complete {
        return Ok(());
    }
    unused.sort_unstable();
    let problem = format!("{} that nothing uses", unused.len());
    findings.repair("container", "blobs", problem, || handle.drop_blobs(&unused))
}
