//! Writes that borrow the caller's buffers until they are flushed.

use std::collections::HashMap;

use model::spread::Spread;
use model::{Error, Result, Selection, Token};
use vol::{Durability, OpWrite};

use crate::arena::Arena;
use crate::container::LogContainer;
use crate::flat;
use crate::pieces::{ElementRun, push};
use crate::state::LogState;
use crate::write::unknown;

/// Requests that wait for [`Posting::flush`], with the buffers they borrow: until then the compiler keeps them as they are.
///
/// Requests of a posting that is dropped without a flush are forgotten.
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
}

impl<'b> LentBuffers<'b> {
    /// Returns the requests of a dataset.
    pub(crate) fn requests(&self, dataset: Token) -> &[ElementRun] {
        let list = self.numbers.get(&dataset).and_then(|number| self.requests.get(*number));
        list.map_or(&[], |(_, pieces)| pieces)
    }

    /// Takes a buffer; its source, where it begins there, and the requests of the dataset that it is for.
    #[inline]
    fn take(&mut self, dataset: Token, from: &'b [u8]) -> (u32, u64, &mut Vec<ElementRun>) {
        let (source, at) = match from.len() <= COPIED_BYTES_MAX {
            true => {
                let (block, at) = self.copies.copy(from);
                (COPIES | block, at)
            }
            false => {
                self.blocks.push(from);
                (LENT | (self.blocks.len() as u32 - 1), 0)
            }
        };
        if self.requests.get(self.last).is_none_or(|(other, _)| *other != dataset) {
            self.last = *self.numbers.entry(dataset).or_insert(self.requests.len());
            if self.last == self.requests.len() {
                self.requests.push((dataset, Vec::new()));
            }
        }
        (source, at, &mut self.requests[self.last].1)
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
    pub fn write(&mut self, dataset: Token, selection: &Selection, from: &'b [u8]) -> Result<()> {
        self.container.check_writable()?;
        let shared = self.container.shared();
        let state = shared.read();
        if let Some(logged) = state.logged(dataset)
            && let Some(run) = logged.run_of(&OpWrite { dataset, selection, from }, shared.is_alone())
        {
            let (source, at, requests) = self.lent.take(dataset, from);
            push(requests, ElementRun { start: run.offset, len: run.len, at, source }, logged.size);
            return Ok(());
        }
        drop(state);
        self.container.know(dataset)?;
        let state = shared.read();
        let logged = state.logged(dataset).ok_or_else(|| unknown(dataset))?;
        logged.plan(selection, from.len(), shared.is_alone())?;
        self.note(&state, dataset, selection, from)
    }

    /// The same, checked already.
    pub(crate) fn note(
        &mut self,
        state: &LogState,
        dataset: Token,
        selection: &Selection,
        from: &'b [u8],
    ) -> Result<()> {
        let logged = state.logged(dataset).ok_or_else(|| unknown(dataset))?;
        let runs = flat::runs(selection, logged.info.space.dims(), &logged.shape)?;
        let (source, mut at, requests) = self.lent.take(dataset, from);
        for run in runs {
            push(requests, ElementRun { start: run.offset, len: run.len, at, source }, logged.size);
            at += run.len * logged.size;
        }
        Ok(())
    }

    /// Writes everything that waits in the container and here, as one commit. All processes call this together.
    pub fn flush(self, durability: Durability) -> Result<()> {
        self.container.flush_with(&self.lent, durability)
    }
}

impl LogContainer {
    /// Writes that borrow their buffers.
    pub fn posting<'b>(&self) -> Posting<'_, 'b> {
        Posting::new(self)
    }
}
