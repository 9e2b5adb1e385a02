//! Everything that can be reached from the root group, compared with everything that is stored.

use std::collections::{HashMap, HashSet};

use iod_storage::{Batch, Id, Kind};
use keyed::{Datasets, Findings, Values};
use model::{LinkTarget, Result, text};
use vol::StorageFinding;

use crate::described::{Body, Described};
use crate::error::During;
use crate::identity;
use crate::keys::{self, LINK_COUNT, ROOT};
use crate::opening::Opening;

struct Walk<'a> {
    opening: &'a Opening,
    findings: Findings,
    /// Everything that is stored.
    stored: HashSet<Id>,
    /// Everything that is used, whether it is there or not.
    used: HashSet<Id>,
    /// Links to objects that were found.
    references: HashMap<Id, u64>,
    queue: Vec<Id>,
    /// Whether all that reached objects use is known.
    is_complete: bool,
}

impl Opening {
    /// What is wrong with what is stored; where `mends`, it is mended as far as it can be.
    pub(crate) fn check_storage(&self, mends: bool) -> Result<Vec<StorageFinding>> {
        let mut walk = Walk {
            opening: self,
            findings: Findings::new(mends),
            stored: self.all_ids()?.into_iter().collect(),
            used: HashSet::new(),
            references: HashMap::new(),
            queue: Vec::new(),
            is_complete: true,
        };
        walk.run()?;
        if mends {
            self.shared.forget_all();
        }
        Ok(walk.findings.into_list())
    }

    /// Everything that is stored.
    pub(crate) fn all_ids(&self) -> Result<Vec<Id>> {
        let mut ids: Vec<Id> = Vec::new();
        loop {
            let page = self.storage().list(ids.last().copied(), keyed::PAGE).during("list objects")?;
            if page.is_empty() {
                return Ok(ids);
            }
            ids.extend(page);
        }
    }
}

impl Walk<'_> {
    fn run(&mut self) -> Result<()> {
        // The root group has a link that is not stored.
        self.refer(ROOT);
        while let Some(id) = self.queue.pop() {
            if let Err(error) = self.object(id) {
                self.is_complete = false;
                self.findings.add(id.to_string(), "object", error.to_string());
            }
        }
        if let Err(error) = self.opening.storage().verify_index() {
            self.is_complete = false;
            self.findings.add("container", "index", error.to_string());
        }
        self.counts()?;
        self.missing();
        self.orphans()
    }

    fn refer(&mut self, id: Id) {
        *self.references.entry(id).or_insert(0) += 1;
        if self.used.insert(id) {
            self.queue.push(id);
        }
    }

    fn use_blobs(&mut self, blobs: &[[u8; 8]]) {
        self.used.extend(blobs.iter().map(|id| Id::from_bytes(*id)));
    }

    fn object(&mut self, id: Id) -> Result<()> {
        let opening = self.opening;
        let described = Described::load(&opening.shared, id, opening.limits())?;
        self.used.extend([described.metadata, described.attributes]);
        for (_, attribute) in opening.all_attributes(&described)? {
            self.used.extend([attribute.id, attribute.metadata]);
            self.use_blobs(&opening.blobs_of_value(&attribute)?);
            if let Some(committed) = attribute.committed {
                self.refer(identity::object(committed)?);
            }
        }
        match &described.body {
            Body::Group(_) => self.group(&described)?,
            Body::Dataset(dataset) => {
                if let Some(committed) = dataset.info.committed {
                    self.refer(identity::object(committed)?);
                }
                self.use_blobs(&opening.blobs_of_fill(dataset)?);
                self.use_blobs(&opening.blobs_of_chunks(id, dataset)?);
                if !dataset.filters().is_empty() {
                    let cells = opening.shared.all_cells(id, dataset)?;
                    self.used.extend(cells.iter().map(|(_, cell)| cell.blob));
                }
            }
            Body::Map { .. } => self.use_blobs(&opening.blobs_of_map(&described)?),
            Body::Datatype { .. } => {}
        }
        Ok(())
    }

    fn group(&mut self, group: &Described) -> Result<()> {
        let mut links = Vec::new();
        self.opening.each_pair(group.id, |name, value| {
            links.push((name.to_vec(), keys::link_target(value)));
            Ok(())
        })?;
        for (name, target) in links {
            match target {
                Ok(LinkTarget::Hard(token)) => match identity::object(token)? {
                    target if self.stored.contains(&target) => self.refer(target),
                    target => self.dangling(group, &name, target)?,
                },
                Ok(_) => {}
                Err(error) => {
                    let problem = format!("\"{}\": {error}", text::from_bytes(&name));
                    self.findings.add(group.id.to_string(), "link", problem);
                }
            }
        }
        Ok(())
    }

    /// A hard link whose object is not there leads nowhere: without it nothing is lost.
    fn dangling(&mut self, group: &Described, name: &[u8], target: Id) -> Result<()> {
        let opening = self.opening;
        let problem = format!("\"{}\" leads to {target}, which is not there", text::from_bytes(name));
        self.findings.mend(group.id.to_string(), "link", problem, || {
            let link = opening.link(group, &text::from_bytes(name))?;
            let mut batch = Batch::new();
            link.iter().try_for_each(|link| opening.take_link(&mut batch, group, link))?;
            opening.shared.apply(&batch, "mend link")
        })
    }

    /// Counts of links that differ from the links.
    fn counts(&mut self) -> Result<()> {
        let opening = self.opening;
        let mut expected: Vec<(Id, u64)> = self.references.iter().map(|(id, count)| (*id, *count)).collect();
        expected.sort_unstable();
        for (id, expected) in expected {
            let Ok(described) = Described::load(&opening.shared, id, opening.limits()) else { continue };
            let problem = match opening.references(&described) {
                Ok(found) if found == expected => continue,
                Ok(found) => format!("it says {found} links and has {expected}"),
                Err(error) => error.to_string(),
            };
            self.findings.mend(id.to_string(), "link count", problem, || {
                let mut batch = Batch::new();
                batch.put(described.metadata, LINK_COUNT, keys::number(expected).to_vec());
                opening.shared.apply(&batch, "mend link count")
            })?;
        }
        Ok(())
    }

    /// What is used and not there.
    fn missing(&mut self) {
        let is_blob = |id: &&&Id| id.kind() == Some(Kind::Blob);
        let missing = self.used.difference(&self.stored).collect::<Vec<_>>();
        match missing.iter().filter(is_blob).count() {
            0 => {}
            count => self.findings.add("container", "blobs", format!("{count} that are used are not there")),
        }
    }

    /// What is there and not used. Whatever somebody has open is used, and it may use anything.
    fn orphans(&mut self) -> Result<()> {
        let structure = self.opening.shared.structure();
        let is_held = !structure.unlinked.is_empty();
        drop(structure);
        let mut orphans: Vec<Id> = self.stored.difference(&self.used).copied().collect();
        if !self.is_complete || is_held || orphans.is_empty() {
            return Ok(());
        }
        orphans.sort_unstable();
        let opening = self.opening;
        let shown: Vec<String> = orphans.iter().take(3).map(Id::to_string).collect();
        let problem = format!("{} that nothing uses: {}…", orphans.len(), shown.join(", "));
        self.findings.mend("container", "objects", problem, || {
            let mut batch = Batch::new();
            for id in &orphans {
                batch.discard(*id);
            }
            opening.shared.apply(&batch, "remove lost objects")
        })
    }
}
