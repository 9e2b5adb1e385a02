//! Writing elements: they are copied or borrowed until the next flush.

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
    /// Returns the runs that a write goes to, or an error if it cannot be made.
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

    /// Notes elements whose bytes begin at `at` of a source. Returns how many more runs are noted.
    fn note(&mut self, runs: Runs, source: u32, mut at: u64) -> u64 {
        let mut added = 0;
        for run in runs {
            added += self.add_request(ElementRun { start: run.offset, len: run.len, at, source });
            at += run.len * self.size;
        }
        added
    }

    /// Notes a run. Returns how many more there are: 0 where it goes on where the last one ends.
    #[inline]
    pub(crate) fn add_request(&mut self, piece: ElementRun) -> u64 {
        let before = self.requests.len();
        // What a caller has put in order already does not grow any more.
        match self.absorbed == before {
            true => self.requests.push(piece),
            false => push(&mut self.requests, piece, self.size),
        }
        (self.requests.len() - before) as u64
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
        if self.waiting_with(bytes, writes.len() as u64) > settings.buffer_bytes_max {
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
        self.noted += logged.add_request(ElementRun { start: run.offset, len: run.len, at, source });
        true
    }
}

impl Shared {
    /// Returns whether more would wait than may with `bytes` more, and with these runs, of at most so many elements.
    pub(crate) fn is_over_limit<'a>(
        &self,
        state: &LogState,
        (bytes, elements_max): (u64, u64),
        runs: impl IntoIterator<Item = &'a Option<Runs>>,
    ) -> bool {
        let is_over = |runs| state.waiting_with(bytes, runs) > self.settings.buffer_bytes_max;
        // A run has an element or more: they are only counted where that does not say enough.
        let count = || runs.into_iter().flatten().map(|runs| runs.clone().count() as u64).sum();
        is_over(elements_max) && is_over(count())
    }

    /// Returns whether what is too much for the buffer may go to the file without a call of the user: a flush needs all
    /// processes.
    pub(crate) fn may_flush_by_itself(&self) -> bool {
        self.settings.when_full != WhenFull::Fail && self.is_alone()
    }

    /// Returns an error where more would wait than may.
    pub(crate) fn full(&self, waiting: u64, bytes: u64) -> Error {
        Error::limit("buffer elements until a flush")
            .with("waiting", waiting)
            .with("bytes", bytes)
            .with("limit", self.settings.buffer_bytes_max)
            .with("remedy", "flush, or allow more")
    }
}

/// The datasets of some writes.
enum WriteTargets {
    /// Not what this one is.
    Missing(Token),
    /// Runs of each write; `None` where the inner container takes it, or there is nothing to take.
    Known(Vec<Option<Runs>>),
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
                WriteTargets::Known(runs) => return self.append(&mut state, writes, runs),
            }
        }
    }

    fn plan_all(&self, state: &LogState, writes: &[OpWrite<'_>]) -> Result<WriteTargets> {
        let is_alone = self.shared().is_alone();
        let mut found = Vec::with_capacity(writes.len());
        for write in writes {
            let runs = match state.known.get(&write.dataset) {
                Some(KnownDataset::Logged(logged)) => {
                    logged.plan(write.selection, write.from.len(), is_alone)?
                }
                Some(KnownDataset::Plain) if !is_alone => return Err(together_only()),
                Some(KnownDataset::Plain) => None,
                None => return Ok(WriteTargets::Missing(write.dataset)),
            };
            found.push(runs);
        }
        Ok(WriteTargets::Known(found))
    }

    /// Copies elements, or flushes where too many wait.
    fn append(&self, state: &mut LogState, writes: &[OpWrite<'_>], runs: Vec<Option<Runs>>) -> Result<()> {
        let bytes = writes.iter().map(|write| write.from.len() as u64).sum::<u64>();
        if self.shared().is_over_limit(state, (bytes, bytes), &runs) {
            return self.write_over_limit(state, writes);
        }
        for (write, runs) in writes.iter().zip(runs).filter(|(write, _)| !write.from.is_empty()) {
            match (state.known.get_mut(&write.dataset), runs) {
                (Some(KnownDataset::Logged(logged)), Some(runs)) => {
                    let (source, at) = state.arena.copy(write.from);
                    state.noted += logged.note(runs, source, at);
                }
                _ => self.inner().dataset_write(std::slice::from_ref(write))?,
            }
        }
        Ok(())
    }

    /// Writes what the buffer has no space for: to the file at once, or not at all.
    fn write_over_limit(&self, state: &mut LogState, writes: &[OpWrite<'_>]) -> Result<()> {
        let bytes = writes.iter().map(|write| write.from.len() as u64).sum::<u64>();
        match self.shared().may_flush_by_itself() {
            true => self.write_through(state, writes),
            false => Err(self.shared().full(state.waiting_bytes(), bytes)),
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
        if shared.is_over_limit(&state, (len as u64, len as u64), [&runs]) {
            let write = OpWrite { dataset, selection, from: (*given).as_ref() };
            return self.write_over_limit(&mut state, &[write]);
        }
        if let Some(runs) = runs.filter(|_| len > 0) {
            let source = state.arena.keep(given);
            let noted = state.logged_mut(dataset).map_or(0, |logged| logged.note(runs, source, 0));
            state.noted += noted;
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
