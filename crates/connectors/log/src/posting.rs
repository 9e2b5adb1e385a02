//! Writes that borrow the caller's buffers until they are flushed.

use model::{Result, Selection, Token};
use vol::Durability;

use crate::container::LogContainer;
use crate::flat;
use crate::pieces::{Piece, push};
use crate::state::State;
use crate::write::unknown;

/// Requests that wait for [`Posting::flush`], with the buffers they borrow: until then the compiler keeps them as they are.
///
/// Requests of a posting that is dropped without a flush are forgotten.
#[derive(Debug)]
pub struct Posting<'c, 'b> {
    container: &'c LogContainer,
    lent: Lent<'b>,
}

/// Borrowed buffers and what they are for.
#[derive(Debug, Default)]
pub(crate) struct Lent<'b> {
    pub(crate) blocks: Vec<&'b [u8]>,
    /// By dataset, in the order of the requests; sources count the blocks here.
    pub(crate) requests: Vec<(Token, Vec<Piece>)>,
}

impl<'c, 'b> Posting<'c, 'b> {
    pub(crate) fn new(container: &'c LogContainer) -> Self {
        Posting { container, lent: Lent::default() }
    }

    pub(crate) fn take(self) -> Lent<'b> {
        self.lent
    }

    /// Notes elements of a dataset. They are written by [`Posting::flush`], after everything that waited before.
    pub fn write(&mut self, dataset: Token, selection: &Selection, from: &'b [u8]) -> Result<()> {
        self.container.check_writable()?;
        self.container.know(dataset)?;
        let container = self.container;
        let state = container.shared().read();
        let logged = state.logged(dataset).ok_or_else(|| unknown(dataset))?;
        logged.plan(selection, from.len(), container.shared().is_alone())?;
        self.note(&state, dataset, selection, from)
    }

    /// The same, checked already.
    pub(crate) fn note(
        &mut self,
        state: &State,
        dataset: Token,
        selection: &Selection,
        from: &'b [u8],
    ) -> Result<()> {
        let logged = state.logged(dataset).ok_or_else(|| unknown(dataset))?;
        let source = self.lent.blocks.len() as u32;
        self.lent.blocks.push(from);
        // As a rule the dataset of the request before.
        let number = match self.lent.requests.iter().rposition(|(other, _)| *other == dataset) {
            Some(number) => number,
            None => {
                self.lent.requests.push((dataset, Vec::new()));
                self.lent.requests.len() - 1
            }
        };
        let (requests, mut at) = (&mut self.lent.requests[number].1, 0);
        for run in flat::runs(selection, logged.info.space.dims(), &logged.shape)? {
            push(requests, Piece { start: run.offset, len: run.len, at, source }, logged.size);
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
