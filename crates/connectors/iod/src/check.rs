//! `storage_check`: what is stored and not used, and what is used and not stored.

use std::collections::HashSet;
use std::sync::Arc;

use iod_storage::{Batch, Id, Kind};
use keyed::{AttributeHeader, Findings, Handle, ObjectHeader, ReachableObjects, StorageReport};
use model::Result;

use crate::IodMapping;
use crate::error::During;

impl StorageReport for IodMapping {
    const REFERENCES: (&'static str, &'static str) = ("link count", "links");

    fn describe(id: Id) -> String {
        id.to_string()
    }

    fn stored_ids(&self) -> Result<Vec<Id>> {
        self.storage.list().during("list objects")
    }

    fn verify_index(&self) -> Result<()> {
        self.storage.verify_index().during("verify index")
    }

    fn reach(
        header: &ObjectHeader<Self>,
        attributes: &[Arc<AttributeHeader<Self>>],
        reached: &mut ReachableObjects<Self>,
    ) {
        reached.parts.extend([header.location.metadata, header.location.attributes]);
        for attribute in attributes {
            reached.parts.extend([attribute.location.array, attribute.location.metadata]);
        }
    }

    fn check_unreached(
        handle: &Handle<Self>,
        reached: &ReachableObjects<Self>,
        findings: &mut Findings,
    ) -> Result<()> {
        let mut used: HashSet<Id> = reached.references.keys().chain(&reached.parts).copied().collect();
        used.extend(reached.blobs.iter().map(|id| Id::from_bytes(*id)));
        let is_blob = |id: &&Id| id.kind() == Some(Kind::Blob);
        let missing = used.difference(&reached.stored).filter(is_blob).count();
        if missing > 0 {
            findings.add("container", "blobs", format!("{missing} that are used are not there"));
        }
        // An object without links that is retained may use anything.
        let holds_unlinked = handle.shared.reference_counts().has_unlinked();
        let mut orphans: Vec<Id> = reached.stored.difference(&used).copied().collect();
        if !reached.is_complete || holds_unlinked || orphans.is_empty() {
            return Ok(());
        }
        orphans.sort_unstable();
        let shown: Vec<String> = orphans.iter().take(3).map(Id::to_string).collect();
        let problem = format!("{} that nothing uses: {}…", orphans.len(), shown.join(", "));
        findings.repair("container", "objects", problem, || {
            let mut batch = Batch::new();
            for id in &orphans {
                batch.discard(*id);
            }
            handle.mapping().apply_batch(&batch, "remove lost objects")
        })
    }

    fn show(handle: &Handle<Self>) -> Result<String> {
        crate::show::show(handle)
    }
}
