//! Compaction: the log is written anew without what was overwritten, cut off or deleted.

use std::sync::Arc;

use model::{Error, Result, Token};
use vol::{Container, Durability};

use crate::container::LogContainer;
use crate::datasets::shown;
use crate::load::{Loaded, OFFSETS, TABLE, flush_names, log_name};
use crate::pieces::{ElementRun, batches};
use crate::posting::LentBuffers;
use crate::read::read_pieces;

/// Bytes that are moved at a time.
const MOVED_BYTES: u64 = 64 << 20;

impl LogContainer {
    /// Writes the log anew, as one commit: only elements that show are kept. The space of the old log is free for what is
    /// written later; the file becomes shorter when it is repacked. A log in subfiles goes to the file itself.
    pub fn compact(&self) -> Result<()> {
        self.check_writable()?;
        if !self.shared().is_alone() {
            return Err(Error::unsupported("compact a log that several processes have open"));
        }
        Container::commit(self, Durability::Full)?;
        let (shared, inner) = (self.shared(), self.inner());
        let subfiles = shared.read().logs.subfiles();
        let old: Vec<String> = shared.read().logs.iter().map(|(number, _)| log_name(number)).collect();
        let tables = flush_names(inner, shared.group, &shared.limits)?;
        let stale = [old, tables, vec![TABLE.to_owned(), OFFSETS.to_owned()]].concat();
        for (_, dataset) in self.all_datasets()? {
            self.know(dataset)?;
            self.move_elements(dataset)?;
        }
        let mut state = shared.write();
        self.flush_state(&mut state, &LentBuffers::default(), Durability::None)?;
        for name in stale {
            if inner.link_get(shared.group, &name)?.is_some() {
                inner.link_delete(shared.group, &name)?;
            }
        }
        let loaded = Loaded::read(inner, shared.group, &shared.limits)?;
        let fresh = loaded.into_state(&shared.file, &shared.limits)?;
        state.forget_file();
        (state.logs, state.merged, state.tables) = (fresh.logs, fresh.merged, fresh.tables);
        state.is_changed = true;
        shared.forget_decoded();
        self.merge(&mut state, Durability::None)?;
        self.finish(&mut state, Durability::Full)?;
        let used = state.logs.subfiles();
        let unused: Vec<u32> = subfiles.into_iter().filter(|number| !used.contains(number)).collect();
        shared.subfiles.remove(&unused)
    }

    /// Returns an error where repacking the file would take something from the log: entries that know places in the file.
    pub(crate) fn check_repack(&self) -> Result<()> {
        let refused = |problem: &str| {
            let error = Error::unsupported("repack log").with("problem", problem);
            error.with("help", "copy it to a new log: hyperslab copy log:OLD log:NEW")
        };
        let shared = self.shared();
        if !shared.read().survives_repack(&shared.file, &shared.limits)? {
            return Err(refused("its tables say where in the file elements are"));
        }
        if !shared.read().logs.subfiles().is_empty() {
            return Err(refused("its logs are in subfiles").with("help", "hyperslab log --join"));
        }
        for (path, dataset) in self.all_datasets()? {
            self.know(dataset)?;
            if shared.read().logged(dataset).is_some_and(|logged| logged.has_descriptors) {
                return Err(refused("entries hold addresses of values or objects").with("dataset", path));
            }
        }
        Ok(())
    }

    /// Writes all elements of a dataset that show once more, some at a time.
    fn move_elements(&self, dataset: Token) -> Result<()> {
        let shared = self.shared();
        let (pieces, size) = {
            let state = shared.ready(&[dataset])?;
            let Some(logged) = state.logged(dataset) else { return Ok(()) };
            let list = logged.index.lists().next().unwrap_or(&[]);
            let pieces: Vec<ElementRun> = shown(logged, list)?.collect();
            (pieces, logged.size)
        };
        for batch in batches(&pieces, size, MOVED_BYTES) {
            let bytes = batch.iter().map(|piece| piece.len * size).sum::<u64>();
            let mut buffer = vec![0; bytes as usize];
            read_pieces(shared, &*shared.ready(&[dataset])?, dataset, &batch, &mut buffer)?;
            let mut state = shared.write();
            let source = state.arena.keep(Arc::new(buffer));
            let mut at = 0;
            for piece in batch {
                let request = ElementRun { at, source, ..piece };
                state.noted += state.logged_mut(dataset).map_or(0, |logged| logged.add_request(request));
                at += piece.len * size;
            }
            if state.arena.bytes() >= MOVED_BYTES {
                self.flush_state(&mut state, &LentBuffers::default(), Durability::None)?;
            }
        }
        Ok(())
    }
}
