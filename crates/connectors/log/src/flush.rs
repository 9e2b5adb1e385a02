//! The flush: one log dataset of everything that waits, each process in its own range of it.

use files::File;
use model::properties::{AllocTime, DatasetCreate, Fill, FillTime, FillValue, Layout};
use model::{Dataspace, Datatype, Error, Result, Selection, Token};
use protocol::wire;
use vol::{Container, Durability, LinkLocation as At, OpDatasetCreate, OpPlacement, PlacementParts};

use crate::container::LogContainer;
use crate::gather;
use crate::load::log_name;
use crate::logs::Log;
use crate::merge::{Last, Unfinished};
use crate::plan::{Plan, filter};
use crate::posting::{Blocks, LentBuffers};
use crate::state::{KnownDataset, LogState, Logged, Shared};
use crate::table::{Entry, EntryOffset, Table};

/// The size of one who cannot take part in a flush.
const CANNOT: u64 = u64::MAX;

/// The answer of the leader to the other processes: a number and an offset, or its error.
type LogRange = Result<(u64, u64)>;

fn range_to_bytes(range: &LogRange) -> Result<Vec<u8>> {
    match range {
        Ok((number, offset)) => wire::to_bytes(&(true, vec![*number, *offset])),
        Err(error) => Ok([wire::to_bytes(&false)?, wire::to_bytes(error)?].concat()),
    }
}

fn range_from_bytes(bytes: &[u8]) -> LogRange {
    match bytes.split_first() {
        Some((0, error)) => Err(wire::from_bytes(error)?),
        _ => match wire::from_bytes::<(bool, Vec<u64>)>(bytes)?.1[..] {
            [number, offset] => Ok((number, offset)),
            _ => Err(Error::invalid("flush").with("problem", "processes call different operations")),
        },
    }
}

impl LogContainer {
    /// Returns the inner container, where this process is the one that changes it.
    pub(crate) fn leading(&self) -> Option<&dyn Container> {
        let shared = self.shared();
        if shared.is_alone() { Some(self.inner()) } else { shared.leader.as_deref() }
    }

    /// Returns what the leader finds out, for everyone; its error is everyone's.
    pub(crate) fn ask_leader(&self, find: impl FnOnce(&dyn Container) -> LogRange) -> LogRange {
        let range = self.leading().map(find);
        if let Some(range) = range.as_ref().filter(|_| self.shared().is_alone()) {
            return range.clone();
        }
        let mut bytes = range.as_ref().map_or(Ok(Vec::new()), range_to_bytes)?;
        self.shared().comm.bcast(0, &mut bytes)?;
        range.unwrap_or_else(|| range_from_bytes(&bytes))
    }
}

impl Shared {
    /// Everyone's bytes, or the first error.
    fn gather(&self, own: Result<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        if self.is_alone() {
            return own.map(|own| vec![own]);
        }
        let message = match &own {
            Ok(bytes) => [&[1], bytes.as_slice()].concat(),
            Err(error) => [wire::to_bytes(&false)?, wire::to_bytes(error)?].concat(),
        };
        let all = self.comm.allgather(&message)?;
        own?;
        let read = |(rank, message): (usize, Vec<u8>)| match message.split_first() {
            Some((1, bytes)) => Ok(bytes.to_vec()),
            Some((0, error)) => Err(wire::from_bytes::<Error>(error)?.with("rank", rank)),
            _ => Err(Error::invalid("flush").with("problem", "processes call different operations")),
        };
        all.into_iter().enumerate().map(read).collect()
    }
}

/// Returns a one-dimensional dataset of bytes in the log's group.
pub(crate) fn bytes_dataset(group: Token, name: String, bytes: u64) -> Result<OpDatasetCreate> {
    let fill = Fill { value: FillValue::Default, time: FillTime::Never };
    let create = DatasetCreate {
        layout: Layout::Contiguous,
        fill,
        alloc_time: AllocTime::Late,
        ..DatasetCreate::default()
    };
    Ok(OpDatasetCreate {
        place: Some(At::new(group, name)),
        datatype: Datatype::native_uint(1),
        committed: None,
        space: Dataspace::simple(&[bytes])?,
        create,
    })
}

/// Returns a log dataset with space for `bytes`; the offset in the file.
fn make_log(inner: &dyn Container, group: Token, number: u64, bytes: u64) -> Result<u64> {
    let dataset = inner.dataset_create(&bytes_dataset(group, log_name(number), bytes)?)?;
    match inner.elements_place(&OpPlacement { dataset, selection: Selection::All })?.parts {
        PlacementParts::Contiguous { offset: Some(offset) } => Ok(offset),
        _ => {
            Err(Error::invalid("create log")
                .with("problem", "the inner container has no contiguous datasets"))
        }
    }
}

impl LogContainer {
    /// Flushes and commits, with requests that borrow their bytes.
    pub(crate) fn flush_with(&self, lent: &LentBuffers<'_>, durability: Durability) -> Result<()> {
        self.check_writable()?;
        self.flush_state(&mut self.shared().write(), lent, Last::Commit(durability))
    }

    /// Makes one log dataset of what waits.
    pub(crate) fn flush_state(&self, state: &mut LogState, lent: &LentBuffers<'_>, last: Last) -> Result<()> {
        let shared = self.shared();
        let ordered = state.ordered(lent, shared.settings.version);
        let blocks = Blocks::new(&state.arena, lent);
        let filtered = ordered
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|ordered| filter(&self.shared().filters, ordered, &blocks));
        let plan = match (&ordered, &filtered) {
            (Ok(ordered), Ok(filtered)) => Plan::new(ordered, filtered, &blocks),
            (Err(error), _) | (_, Err(error)) => Err(error.clone()),
        };
        // One exchange is the exclusive scan of sizes and their sum, and tells who cannot take part.
        let sizes = shared.comm.numbers(plan.as_ref().map_or(CANNOT, |plan| plan.bytes))?;
        if sizes.contains(&CANNOT) {
            shared.gather(plan.map(|_| Vec::new()))?;
            return Err(Error::invalid("flush").with("problem", "a process cannot take part"));
        }
        let before = sizes.iter().take(shared.comm.rank()).sum();
        let total = sizes.iter().sum();
        if total == 0 {
            state.forget_requests();
            return Ok(self.finish(state, &[], last)?);
        }
        let number = state.logs.next();
        let make = |inner: &dyn Container| Ok((number, make_log(inner, shared.group, number, total)?));
        let (number, offset) = self.ask_leader(make)?;
        let own = plan.and_then(|plan| self.write_own(plan, (number, offset, before), last.durability()));
        let gathered = own.map_or_else(
            |e| shared.gather(Err(e)).map(|t| (Vec::new(), t)),
            |(entries, table)| shared.gather(Ok(table)).map(|tables| (entries, tables)),
        );
        let undo = |error: Error| self.undo_log(number).err().unwrap_or(error);
        let (entries, tables) = gathered.map_err(undo)?;
        let entries = if shared.is_alone() { entries } else { self.entries_of(&tables)? };
        state.logs.insert(number, Log { offset, bytes: total });
        let kept = self.finish(state, &tables, last);
        match kept {
            Err(Unfinished::NotKept(error)) => {
                state.logs.remove(number);
                Err(undo(error))
            }
            kept => {
                state.arrive(entries);
                state.forget_requests();
                kept.map_err(Error::from)
            }
        }
    }

    /// Returns the entries of all processes.
    fn entries_of(&self, tables: &[Vec<u8>]) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for table in tables {
            entries.extend(Table::decode_all(table, &self.shared().limits)?.entries);
        }
        Ok(entries)
    }

    /// Writes what this process has; its entries, and the same as a table.
    fn write_own(
        &self,
        mut plan: Plan<'_>,
        (number, offset, before): (u64, u64, u64),
        durability: Durability,
    ) -> Result<(Vec<Entry>, Vec<u8>)> {
        let shared = self.shared();
        gather::write(&shared.file, offset + before, &plan, shared.is_alone())?;
        if durability != Durability::None && !shared.is_alone() && plan.bytes > 0 {
            shared.file.sync(files::Sync::Data).map_err(|e| Error::io("sync log", &e))?;
        }
        for entry in &mut plan.entries {
            if let EntryOffset::Log(_, start) = entry.place {
                entry.place = EntryOffset::Log(number, before + start);
            }
        }
        if plan.entries.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let table = Table { names: Vec::new(), entries: plan.entries };
        let locate = |place: EntryOffset| match place {
            EntryOffset::Log(_, at) => EntryOffset::File(offset + at),
            file => file,
        };
        let bytes = table.encode(shared.settings.version, &locate)?.bytes;
        Ok((table.entries, bytes))
    }

    /// Takes back a log that a caller could not write: what waits goes on waiting.
    fn undo_log(&self, number: u64) -> Result<()> {
        let group = self.shared().group;
        self.leading().map_or(Ok(()), |inner| inner.link_delete(group, &log_name(number)))
    }
}

impl LogState {
    fn forget_requests(&mut self) {
        for known in self.known.values_mut() {
            if let KnownDataset::Logged(logged) = known {
                Logged::flushed(logged);
            }
        }
        self.arena.clear();
    }
}
