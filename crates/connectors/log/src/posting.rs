//! Writes that borrow the caller's buffers until they are flushed.

use std::collections::HashMap;
use std::slice;

use model::selection::Runs;
use model::spread::Spread;
use model::{Error, Result, Selection, Token};
use vol::{Durability, OpWrite};

use crate::arena::Arena;
use crate::container::LogContainer;
use crate::flat;
use crate::pieces::{ElementRun, RUN_BYTES, push};
use crate::state::{KnownDataset, LogState};
use crate::write::{together_only, unknown};

/// Requests that wait for [`Posting::flush`], with the buffers they borrow: until then the compiler keeps them as they are.
///
/// Requests of a posting that is dropped without a flush are forgotten, but for those that were too many for the buffer
/// and went to the file.
#[derive(Debug)]
pub struct Posting<'c, 'b> {
    container: &'c LogContainer,
    lent: LentBuffers<'b>,
}

/// Requests of so many bytes are copied: to note a buffer takes as much space.
const COPIED_BYTES_MAX: usize = 64;

/// Borrowed buffers and what they are for.
#[derive(Debug, Default)]
pub(crate) struct LentBuffers<'b> {
    blocks: Vec<&'b [u8]>,
    /// Small requests.
    copies: Arena,
    /// By dataset, in the order of the requests.
    requests: Vec<(Token, Vec<ElementRun>)>,
    numbers: HashMap<Token, usize, Spread>,
    /// The dataset of the request before.
    last: usize,
    /// Runs of all datasets.
    noted: u64,
}

impl<'b> LentBuffers<'b> {
    /// Returns the requests of a dataset.
    pub(crate) fn requests(&self, dataset: Token) -> &[ElementRun] {
        let list = self.numbers.get(&dataset).and_then(|number| self.requests.get(*number));
        list.map_or(&[], |(_, pieces)| pieces)
    }

    /// Returns the bytes that the posting holds itself: copies, addresses of what it borrows, and where all of it goes.
    #[inline]
    fn own_bytes(&self) -> u64 {
        self.copies.bytes() + size_of_val(self.blocks.as_slice()) as u64 + self.noted * RUN_BYTES
    }

    /// Takes a buffer. Returns its source, and where it begins there.
    #[inline]
    fn lend(&mut self, from: &'b [u8]) -> (u32, u64) {
        if from.len() <= COPIED_BYTES_MAX {
            return self.copy(from);
        }
        self.blocks.push(from);
        (LENT | (self.blocks.len() as u32 - 1), 0)
    }

    /// Copies a buffer. Returns its source, and where it begins there.
    #[inline]
    fn copy(&mut self, from: &[u8]) -> (u32, u64) {
        let (block, at) = self.copies.copy(from);
        (COPIES | block, at)
    }

    /// Notes a run of a dataset whose elements have `size` bytes.
    #[inline]
    fn note(&mut self, dataset: Token, run: ElementRun, size: u64) {
        if self.requests.get(self.last).is_none_or(|(other, _)| *other != dataset) {
            self.last = *self.numbers.entry(dataset).or_insert(self.requests.len());
            if self.last == self.requests.len() {
                self.requests.push((dataset, Vec::new()));
            }
        }
        let list = &mut self.requests[self.last].1;
        let before = list.len();
        push(list, run, size);
        self.noted += (list.len() - before) as u64;
    }
}

/// Sources of pieces that wait: what the container copied or was given, and, with a bit of their own, what a posting copied
/// and what it borrows.
const COPIES: u32 = 1 << 30;
const LENT: u32 = 1 << 31;

/// Bytes that wait, by source.
pub(crate) struct Blocks<'a> {
    waiting: Vec<&'a [u8]>,
    copies: Vec<&'a [u8]>,
    lent: &'a [&'a [u8]],
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(waiting: &'a Arena, lent: &'a LentBuffers<'_>) -> Self {
        Blocks { waiting: waiting.blocks(), copies: lent.copies.blocks(), lent: &lent.blocks }
    }

    /// Returns the bytes of a piece.
    #[inline]
    pub(crate) fn slice(&self, piece: &ElementRun, size: u64) -> Result<&'a [u8]> {
        let (list, number) = match piece.source {
            source if source & LENT != 0 => (self.lent, source & !LENT),
            source if source & COPIES != 0 => (self.copies.as_slice(), source & !COPIES),
            source => (self.waiting.as_slice(), source),
        };
        let (at, len) = (piece.at as usize, (piece.len * size) as usize);
        let found = list.get(number as usize).and_then(|block| block.get(at..at + len));
        found.ok_or_else(|| Error::invalid("flush").with("problem", "a request lost its bytes"))
    }
}

impl<'c, 'b> Posting<'c, 'b> {
    pub(crate) fn new(container: &'c LogContainer) -> Self {
        Posting { container, lent: LentBuffers::default() }
    }

    pub(crate) fn take(self) -> LentBuffers<'b> {
        self.lent
    }

    /// Notes elements of a dataset. They are written by [`Posting::flush`], after everything that waited before.
    ///
    /// # Errors
    /// Returns `Limit` where more would wait than may, with what the posting holds itself, and a flush needs other
    /// processes or was not chosen ([`vol::WhenFull`]). Otherwise what waits goes to the file then.
    pub fn write(&mut self, dataset: Token, selection: &Selection, from: &'b [u8]) -> Result<()> {
        let copied = if from.len() <= COPIED_BYTES_MAX { from.len() } else { size_of::<&[u8]>() };
        self.add(&OpWrite { dataset, selection, from }, copied as u64, |lent| lent.lend(from))
    }

    /// Notes elements as [`Posting::write`] does, and copies them.
    ///
    /// # Errors
    /// As [`Posting::write`].
    pub fn write_copied(&mut self, dataset: Token, selection: &Selection, from: &[u8]) -> Result<()> {
        self.add(&OpWrite { dataset, selection, from }, from.len() as u64, |lent| lent.copy(from))
    }

    /// Notes a write that takes `copied` bytes of the posting's own.
    #[inline]
    fn add(
        &mut self,
        write: &OpWrite<'_>,
        copied: u64,
        take: impl FnOnce(&mut LentBuffers<'b>) -> (u32, u64),
    ) -> Result<()> {
        self.container.check_writable()?;
        let shared = self.container.shared();
        let state = shared.read();
        if let Some(logged) = state.logged(write.dataset)
            && let Some(run) = logged.run_of(write, shared.is_alone())
            && state.waiting_with(self.lent.own_bytes() + copied, 1) <= shared.settings.buffer_bytes_max
        {
            let (source, at) = take(&mut self.lent);
            let run = ElementRun { start: run.offset, len: run.len, at, source };
            self.lent.note(write.dataset, run, logged.size);
            return Ok(());
        }
        drop(state);
        self.container.know(write.dataset)?;
        self.add_any(write, copied, take)
    }

    /// Notes a write of any runs, or of what is too much for the buffer.
    fn add_any(
        &mut self,
        write: &OpWrite<'_>,
        copied: u64,
        take: impl FnOnce(&mut LentBuffers<'b>) -> (u32, u64),
    ) -> Result<()> {
        let shared = self.container.shared();
        let state = shared.read();
        let logged = match state.known.get(&write.dataset) {
            Some(KnownDataset::Logged(logged)) => logged,
            Some(KnownDataset::Plain) if !shared.is_alone() => return Err(together_only()),
            // The inner container has its elements, all of them: none waits.
            Some(KnownDataset::Plain) => return self.container.inner().dataset_write(slice::from_ref(write)),
            None => return Err(unknown(write.dataset)),
        };
        let runs = logged.plan(write.selection, write.from.len(), shared.is_alone())?;
        let own = self.lent.own_bytes();
        let is_over = shared.is_over_limit(&state, (own + copied, write.from.len() as u64), [&runs]);
        if is_over && !shared.may_flush_by_itself() {
            return Err(shared.full(state.waiting_bytes() + own, copied));
        }
        let Some(runs) = runs.filter(|_| !write.from.is_empty()) else { return Ok(()) };
        let taken = take(&mut self.lent);
        self.note_runs(write.dataset, logged.size, runs, taken);
        drop(state);
        if is_over { self.write_out() } else { Ok(()) }
    }

    /// Writes everything that waits to the file, without a commit.
    fn write_out(&mut self) -> Result<()> {
        let lent = std::mem::take(&mut self.lent);
        let done = self.container.flush_state(&mut self.container.shared().write(), &lent, Durability::None);
        if done.is_err() {
            self.lent = lent;
        }
        done
    }

    /// Notes a write that was checked already, whatever the limit is.
    pub(crate) fn note(
        &mut self,
        state: &LogState,
        dataset: Token,
        selection: &Selection,
        from: &'b [u8],
    ) -> Result<()> {
        let logged = state.logged(dataset).ok_or_else(|| unknown(dataset))?;
        let runs = flat::runs(selection, logged.info.space.dims(), &logged.shape)?;
        let taken = self.lent.lend(from);
        self.note_runs(dataset, logged.size, runs, taken);
        Ok(())
    }

    fn note_runs(&mut self, dataset: Token, size: u64, runs: Runs, (source, mut at): (u32, u64)) {
        for run in runs {
            self.lent.note(dataset, ElementRun { start: run.offset, len: run.len, at, source }, size);
            at += run.len * size;
        }
    }

    /// Writes everything that waits in the container and here, as one commit. All processes call this together.
    pub fn flush(self, durability: Durability) -> Result<()> {
        self.container.flush_with(&self.lent, durability)
    }
}

impl<'b> vol::Posting<'b> for Posting<'_, 'b> {
    fn write(&mut self, dataset: Token, selection: &Selection, from: &'b [u8]) -> Result<()> {
        Posting::write(self, dataset, selection, from)
    }

    fn write_copied(&mut self, dataset: Token, selection: &Selection, from: &[u8]) -> Result<()> {
        Posting::write_copied(self, dataset, selection, from)
    }

    fn flush(self: Box<Self>, durability: Durability) -> Result<()> {
        Posting::flush(*self, durability)
    }
}

impl LogContainer {
    /// Writes that borrow their buffers.
    pub fn posting<'b>(&self) -> Posting<'_, 'b> {
        Posting::new(self)
    }
}
