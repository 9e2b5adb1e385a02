//! Writing elements: they are copied, or kept, until the next flush.

use model::selection::{Run, Runs};
use model::{Dataspace, Error, Result, Selection, Token};
use vol::{Durability, OpWrite, WhenFull};

use crate::arena::Given;
use crate::container::LogContainer;
use crate::flat;
use crate::logged::Logged;
use crate::pieces::{ElementRun, push};
use crate::posting::Posting;
use crate::state::{KnownDataset, LogState, Settings, Shared};

impl Logged {
    /// Returns the runs that a write goes to; an error where it cannot.
    pub(crate) fn plan(&self, selection: &Selection, bytes: usize, is_alone: bool) -> Result<Option<Runs>> {
        if !is_alone && self.has_descriptors {
            return Err(alone_only());
        }
        if self.info.space == Dataspace::Null {
            return algorithms::checks::transfer(&self.info, selection, bytes).map(|()| None);
        }
        let dims = self.info.space.dims();
        let runs = flat::runs(selection, dims, &self.shape)?;
        let count = selection.element_count(dims)?;
        match count.checked_mul(self.size) == Some(bytes as u64) {
            true => Ok(Some(runs)),
            false => Err(Error::invalid("transfer elements").with("elements", count).with("bytes", bytes)),
        }
    }

    /// Notes elements whose bytes begin at `at` of a source.
    fn note(&mut self, runs: Runs, source: u32, mut at: u64) {
        for run in runs {
            self.add_request(ElementRun { start: run.offset, len: run.len, at, source });
            at += run.len * self.size;
        }
    }

    pub(crate) fn add_request(&mut self, piece: ElementRun) {
        // What a caller has put in order already does not grow any more.
        match self.absorbed == self.requests.len() {
            true => self.requests.push(piece),
            false => push(&mut self.requests, piece, self.size),
        }
    }
}

impl Logged {
    /// Returns the run of a write, where it is one run with elements and may be made.
    #[inline]
    pub(crate) fn run_of(&self, write: &OpWrite<'_>, is_alone: bool) -> Option<Run> {
        let run = flat::one_run(write.selection, self.info.space.dims(), &self.shape)?;
        let fits = run.len.checked_mul(self.size) == Some(write.from.len() as u64);
        (fits && run.len > 0 && (is_alone || !self.has_descriptors)).then_some(run)
    }
}

impl LogState {
    /// Copies elements that are one run each and find space; `false` where they do not, or are not.
    fn append_runs(&mut self, writes: &[OpWrite<'_>], settings: &Settings, is_alone: bool) -> bool {
        let bytes = writes.iter().map(|write| write.from.len() as u64).sum::<u64>();
        if self.arena.bytes().saturating_add(bytes) > settings.buffer_bytes_max {
            return false;
        }
        if let [write] = writes {
            return self.append_run(write, is_alone);
        }
        let is_one_run = |write: &OpWrite<'_>| {
            self.logged(write.dataset).is_some_and(|logged| logged.run_of(write, is_alone).is_some())
        };
        writes.iter().all(is_one_run) && writes.iter().all(|write| self.append_run(write, is_alone))
    }

    #[inline]
    fn append_run(&mut self, write: &OpWrite<'_>, is_alone: bool) -> bool {
        let Some(KnownDataset::Logged(logged)) = self.known.get_mut(&write.dataset) else { return false };
        let Some(run) = logged.run_of(write, is_alone) else { return false };
        let (source, at) = self.arena.copy(write.from);
        logged.add_request(ElementRun { start: run.offset, len: run.len, at, source });
        true
    }
}

impl Shared {
    /// Returns an error where more would wait than may.
    fn full(&self, state: &LogState, bytes: u64) -> Error {
        Error::limit("buffer elements until a flush")
            .with("waiting", state.arena.bytes())
            .with("bytes", bytes)
            .with("limit", self.settings.buffer_bytes_max)
            .with("remedy", "flush, or allow more")
    }
}

/// The datasets of some writes.
enum WriteTargets {
    /// Not what this one is.
    Missing(Token),
    /// Runs of the only write; `None` where the inner container takes it, or there is nothing to take.
    One(Option<Runs>),
    Many(Vec<Option<Runs>>),
}

impl LogContainer {
    /// Writes of any datasets: all or none.
    pub(crate) fn write_all(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let shared = self.shared();
        loop {
            let mut state = shared.write();
            if state.append_runs(writes, &shared.settings, shared.is_alone()) {
                return Ok(());
            }
            let found = self.plan_all(&state, writes)?;
            match found {
                WriteTargets::Missing(dataset) if shared.is_alone() => {
                    drop(state);
                    self.know(dataset)?;
                }
                WriteTargets::Missing(dataset) => return Err(unknown(dataset)),
                WriteTargets::One(runs) => return self.append(&mut state, writes, std::iter::once(runs)),
                WriteTargets::Many(runs) => return self.append(&mut state, writes, runs.into_iter()),
            }
        }
    }

    fn plan_all(&self, state: &LogState, writes: &[OpWrite<'_>]) -> Result<WriteTargets> {
        let is_alone = self.shared().is_alone();
        let mut many = Vec::new();
        for write in writes {
            let runs = match state.known.get(&write.dataset) {
                Some(KnownDataset::Logged(logged)) => {
                    logged.plan(write.selection, write.from.len(), is_alone)?
                }
                Some(KnownDataset::Plain) if !is_alone => return Err(together_only()),
                Some(KnownDataset::Plain) => None,
                None => return Ok(WriteTargets::Missing(write.dataset)),
            };
            if writes.len() == 1 {
                return Ok(WriteTargets::One(runs));
            }
            many.push(runs);
        }
        Ok(WriteTargets::Many(many))
    }

    /// Copies elements, or flushes where too many wait.
    fn append(
        &self,
        state: &mut LogState,
        writes: &[OpWrite<'_>],
        runs: impl Iterator<Item = Option<Runs>>,
    ) -> Result<()> {
        let settings = &self.shared().settings;
        let bytes = writes.iter().map(|write| write.from.len() as u64).sum::<u64>();
        if state.arena.bytes().saturating_add(bytes) > settings.buffer_bytes_max {
            return self.write_over_limit(state, writes);
        }
        for (write, runs) in writes.iter().zip(runs).filter(|(write, _)| !write.from.is_empty()) {
            match (state.known.get_mut(&write.dataset), runs) {
                (Some(KnownDataset::Logged(logged)), Some(runs)) => {
                    let (source, at) = state.arena.copy(write.from);
                    logged.note(runs, source, at);
                }
                _ => self.inner().dataset_write(std::slice::from_ref(write))?,
            }
        }
        Ok(())
    }

    /// Writes what the buffer has no space for: to the file at once, or not at all.
    fn write_over_limit(&self, state: &mut LogState, writes: &[OpWrite<'_>]) -> Result<()> {
        let bytes = writes.iter().map(|write| write.from.len() as u64).sum::<u64>();
        match self.shared().settings.when_full == WhenFull::Fail || !self.shared().is_alone() {
            true => Err(self.shared().full(state, bytes)),
            false => self.write_through(state, writes),
        }
    }

    /// Writes what does not fit to the file at once: pending writes, then these without a copy.
    fn write_through(&self, state: &mut LogState, writes: &[OpWrite<'_>]) -> Result<()> {
        let mut posting = Posting::new(self);
        for write in writes.iter().filter(|write| !write.from.is_empty()) {
            match state.logged(write.dataset) {
                Some(_) => posting.note(state, write.dataset, write.selection, write.from)?,
                None => self.inner().dataset_write(std::slice::from_ref(write))?,
            }
        }
        let lent = posting.take();
        self.flush_state(state, &lent, Durability::None)
    }

    /// Writes elements whose buffer is given away: nothing is copied until the flush, and no one can change it meanwhile.
    /// It counts towards the limit of what may wait, as copies do.
    pub fn write_owned(
        &self,
        dataset: Token,
        selection: &Selection,
        from: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Result<()> {
        self.check_writable()?;
        self.know(dataset)?;
        let given: Given = std::sync::Arc::new(from);
        let len = (*given).as_ref().len();
        let shared = self.shared();
        let mut state = shared.write();
        let logged = state.logged(dataset).ok_or_else(|| unknown(dataset))?;
        let runs = logged.plan(selection, len, shared.is_alone())?;
        if state.arena.bytes().saturating_add(len as u64) > shared.settings.buffer_bytes_max {
            let write = OpWrite { dataset, selection, from: (*given).as_ref() };
            return self.write_over_limit(&mut state, &[write]);
        }
        if let Some(runs) = runs.filter(|_| len > 0) {
            let source = state.arena.keep(given);
            state.logged_mut(dataset).into_iter().for_each(|logged| logged.note(runs.clone(), source, 0));
        }
        Ok(())
    }
}

/// Returns the error of entries that hold addresses, as old logs have them.
fn alone_only() -> Error {
    Error::unsupported("write variable-length values or references from several processes")
        .with("problem", "this dataset has them in the log")
}

/// Returns the error of a transfer of a dataset that is not in the log, by one process among several.
pub(crate) fn together_only() -> Error {
    Error::unsupported("transfer elements independently")
        .with("problem", "several processes transfer this dataset collectively: it is not in the log")
}

/// Returns the error of a dataset that not all processes have opened.
pub(crate) fn unknown(dataset: Token) -> Error {
    Error::invalid("use logged dataset")
        .with("token", dataset)
        .with("problem", "it is opened by all processes together before elements move")
}
