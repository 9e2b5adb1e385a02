//! Writing elements: they are copied, or kept, until the next flush.

use model::{Dataspace, Error, Result, Selection, Token};
use vol::{DatasetInfo, OpWrite, WhenFull};

use crate::arena::Given;
use crate::container::LogContainer;
use crate::flat;
use crate::pieces::{Piece, push};
use crate::posting::Posting;
use crate::state::{Known, Logged, Shared, State};

/// An error unless the selection fits the extent and the buffer has room for exactly its elements.
pub(crate) fn check_transfer(info: &DatasetInfo, selection: &Selection, buffer_bytes: usize) -> Result<()> {
    let count = match &info.space {
        Dataspace::Null => 0,
        space => {
            selection.validate(space.dims())?;
            selection.element_count(space.dims())?
        }
    };
    match count.checked_mul(u64::from(info.datatype.size())) == Some(buffer_bytes as u64) {
        true => Ok(()),
        false => Err(Error::invalid("transfer elements").with("elements", count).with("bytes", buffer_bytes)),
    }
}

impl Logged {
    /// An error where elements cannot be written so.
    pub(crate) fn check_write(&self, selection: &Selection, bytes: usize, is_alone: bool) -> Result<()> {
        if !is_alone && self.info.datatype.has_slots() {
            let error =
                Error::unsupported("write variable-length values or references from several processes");
            return Err(error.with("dataset", self.id));
        }
        check_transfer(&self.info, selection, bytes)
    }

    /// Notes elements whose bytes begin at `at` of a source.
    pub(crate) fn note(&mut self, selection: &Selection, source: u32, mut at: u64) -> Result<()> {
        if self.info.space == Dataspace::Null {
            return Ok(());
        }
        for run in flat::runs(selection, self.info.space.dims(), &self.shape)? {
            let piece = Piece { start: run.offset, len: run.len, at, source };
            self.add_request(piece);
            at += run.len * self.size;
        }
        Ok(())
    }

    pub(crate) fn add_request(&mut self, piece: Piece) {
        // What somebody has put in order already does not grow any more.
        match self.absorbed == self.requests.len() {
            true => self.requests.push(piece),
            false => push(&mut self.requests, piece, self.size),
        }
    }
}

impl State {
    /// Copies elements.
    fn append(&mut self, write: &OpWrite<'_>) -> Result<()> {
        if let Some(Known::Logged(logged)) = self.known.get_mut(&write.dataset)
            && !write.from.is_empty()
        {
            let (source, at) = self.arena.copy(write.from);
            return logged.note(write.selection, source, at);
        }
        Ok(())
    }
}

impl Shared {
    /// An error where more would wait than may.
    fn full(&self, state: &State, bytes: u64) -> Error {
        Error::limit("buffer elements until a flush")
            .with("waiting", state.arena.bytes())
            .with("bytes", bytes)
            .with("limit", self.settings.buffer_bytes_max)
            .with("remedy", "flush, or allow more")
    }
}

impl LogContainer {
    /// Writes of any datasets, which are known.
    pub(crate) fn write_all(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let shared = self.shared();
        let mut state = shared.write();
        let (mut bytes, mut plain) = (0u64, false);
        for write in writes {
            match state.known.get(&write.dataset) {
                Some(Known::Logged(logged)) => {
                    logged.check_write(write.selection, write.from.len(), shared.is_alone())?;
                    bytes += write.from.len() as u64;
                }
                Some(Known::Plain) => plain = true,
                None => return Err(unknown(write.dataset)),
            }
        }
        if plain {
            let is_plain = |write: &&OpWrite<'_>| state.logged(write.dataset).is_none();
            let plain: Vec<OpWrite<'_>> = writes.iter().filter(is_plain).cloned().collect();
            self.beneath().dataset_write(&plain)?;
        }
        if state.arena.bytes().saturating_add(bytes) > shared.settings.buffer_bytes_max {
            if shared.settings.when_full == WhenFull::Fail || !shared.is_alone() {
                return Err(shared.full(&state, bytes));
            }
            return self.write_through(&mut state, writes);
        }
        writes.iter().try_for_each(|write| state.append(write))
    }

    /// What does not fit goes to the file at once: what waits, and these writes without a copy.
    fn write_through(&self, state: &mut State, writes: &[OpWrite<'_>]) -> Result<()> {
        let mut posting = Posting::new(self);
        for write in writes.iter().filter(|write| !write.from.is_empty()) {
            posting.note(state, write.dataset, write.selection, write.from)?;
        }
        let lent = posting.take();
        self.flush_state(state, &lent, vol::Durability::None)
    }

    /// Writes elements whose buffer is given away: nothing is copied until the flush, and nobody can change it meanwhile.
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
        logged.check_write(selection, len, shared.is_alone())?;
        if len == 0 {
            return Ok(());
        }
        let source = state.arena.keep(given);
        state.logged_mut(dataset).map_or(Ok(()), |logged| logged.note(selection, source, 0))
    }
}

/// The error of a dataset that not all processes have opened.
pub(crate) fn unknown(dataset: Token) -> Error {
    Error::invalid("use logged dataset")
        .with("token", dataset)
        .with("problem", "it is opened by all processes together before elements move")
}
