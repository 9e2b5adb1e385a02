//! The flush: one log dataset of everything that waits, each process in its own range of it.

use files::File;
use model::properties::{AllocTime, DatasetCreate, Fill, FillTime, FillValue, Layout};
use model::{Dataspace, Datatype, Error, Result, Selection, Token};
use protocol::wire;
use vol::{Container, Durability, LinkLocation as At, OpDatasetCreate, OpPlacement, PlacementParts};

use crate::container::LogContainer;
use crate::gather;
use crate::load::{log_name, store_numbers, table_name};
use crate::logged::Logged;
use crate::logs::{Log, Logs};
use crate::plan::{Plan, filter};
use crate::posting::{Blocks, LentBuffers};
use crate::state::{FlushTable, KnownDataset, LogState, Shared};
use crate::subfiles::segments_of;
use crate::table::{EntryOffset, Table};
use crate::table_bytes::{FileRange, TableBytes};

/// The size that a process sends if it cannot take part in a flush.
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
    /// Returns an error if any process has one; the first is everyone's.
    pub(crate) fn agree<T>(&self, own: Result<T>) -> Result<T> {
        if self.is_alone() {
            return own;
        }
        let message = match &own {
            Ok(_) => vec![1],
            Err(error) => [wire::to_bytes(&false)?, wire::to_bytes(error)?].concat(),
        };
        let all = self.comm.allgather(&message)?;
        let own = own?;
        for (rank, message) in all.into_iter().enumerate() {
            match message.split_first() {
                Some((1, [])) => {}
                Some((0, error)) => return Err(wire::from_bytes::<Error>(error)?.with("rank", rank)),
                _ => return Err(confused()),
            }
        }
        Ok(own)
    }

    /// Returns the bytes of all processes. An error of one that cannot take part is everyone's.
    pub(crate) fn shares<T>(&self, own: Result<T>, bytes: impl Fn(&T) -> u64) -> Result<(T, Sizes)> {
        // One exchange is the exclusive scan of sizes and their sum, and says who cannot take part.
        let sizes = self.comm.numbers(own.as_ref().map_or(CANNOT, bytes))?;
        if sizes.contains(&CANNOT) {
            self.agree(own)?;
            return Err(confused());
        }
        let before = sizes.iter().take(self.comm.rank()).sum();
        Ok((own?, Sizes { before, total: sizes.iter().sum(), all: sizes }))
    }

    /// Makes what this process wrote durable, where another one commits it.
    pub(crate) fn sync_own(&self, durability: Durability) -> Result<()> {
        if durability == Durability::None {
            return Ok(());
        }
        let failed = |e: std::io::Error| Error::io("sync log", &e);
        self.subfiles.sync().map_err(failed)?;
        if self.is_alone() { Ok(()) } else { self.file.sync(files::Sync::Data).map_err(failed) }
    }
}

/// Bytes of processes.
pub(crate) struct Sizes {
    /// Of those before this one.
    before: u64,
    total: u64,
    all: Vec<u64>,
}

fn confused() -> Error {
    Error::invalid("flush").with("problem", "processes call different operations")
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

/// Returns a new list of bytes in the log's group; the offset of its space in the file.
fn make_list(inner: &dyn Container, group: Token, name: String, bytes: u64) -> Result<u64> {
    let dataset = inner.dataset_create(&bytes_dataset(group, name, bytes)?)?;
    match inner.elements_place(&OpPlacement { dataset, selection: Selection::All })?.parts {
        PlacementParts::Contiguous { offset: Some(offset) } => Ok(offset),
        _ => Err(not_in_one_piece()),
    }
}

pub(crate) fn not_in_one_piece() -> Error {
    Error::invalid("create log").with("problem", "the inner container has no datasets in one piece")
}

impl LogContainer {
    /// Flushes and commits, with requests that borrow their bytes.
    pub(crate) fn flush_with(&self, lent: &LentBuffers<'_>, durability: Durability) -> Result<()> {
        self.check_writable()?;
        let state = &mut self.shared().write();
        self.flush_state(state, lent, durability)?;
        self.finish(state, durability)
    }

    /// Makes one log dataset of what waits, and the table of it. Both count when a commit has come.
    pub(crate) fn flush_state(
        &self,
        state: &mut LogState,
        lent: &LentBuffers<'_>,
        durability: Durability,
    ) -> Result<()> {
        let shared = self.shared();
        let ordered = state.ordered(lent, shared.settings.version, shared.is_alone());
        let blocks = Blocks::new(&state.arena, lent);
        let filtered = ordered
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|ordered| filter(&self.shared().filters, ordered, &blocks));
        let plan = match (&ordered, &filtered) {
            (Ok(ordered), Ok(filtered)) => Plan::new(ordered, filtered, &blocks),
            (Err(error), _) | (_, Err(error)) => Err(error.clone()),
        };
        let (plan, sizes) = shared.shares(plan, |plan| plan.bytes)?;
        if sizes.total == 0 {
            state.forget_requests();
            return Ok(());
        }
        let (number, flush) = (state.logs.next(), state.flush_next);
        let log = self.make_log(state, number, &sizes)?;
        let written = self.write_own(plan, &log, (number, sizes.before));
        let table = self.write_table(written, flush, durability);
        let table = table.map_err(|error| self.undo(number, flush).err().unwrap_or(error))?;
        state.logs.insert(number, log);
        state.tables.push(table);
        (state.flush_next, state.is_changed) = (flush + 1, true);
        state.forget_requests();
        Ok(())
    }

    /// Makes a log dataset for what all processes have, in the file or in its subfiles.
    fn make_log(&self, state: &LogState, number: u64, sizes: &Sizes) -> Result<Log> {
        let (shared, total) = (self.shared(), sizes.total);
        if shared.settings.subfiles == 0 {
            let make = |inner: &dyn Container| {
                Ok((number, make_list(inner, shared.group, log_name(number), total)?))
            };
            return self.ask_leader(make).map(|(_, offset)| Log::in_file(offset, total));
        }
        let segments = segments_of(&sizes.all, shared.settings.subfiles, |file| state.logs.end_in(file));
        self.ask_leader(|inner| {
            shared.subfiles.create(&segments)?;
            let mut op = bytes_dataset(shared.group, log_name(number), total)?;
            op.create.layout = Layout::External(shared.subfiles.external(&segments));
            inner.dataset_create(&op)?;
            Ok((0, 0))
        })?;
        Ok(Log { segments })
    }

    /// Writes what this process has, which begins at byte `before` of the log; its entries as a table.
    fn write_own(&self, mut plan: Plan<'_>, log: &Log, (number, before): (u64, u64)) -> Result<Vec<u8>> {
        if plan.entries.is_empty() {
            return Ok(Vec::new());
        }
        let (shared, mut logs) = (self.shared(), Logs::default());
        logs.insert(number, log.clone());
        let place = logs.find(EntryOffset::Log(number, before), plan.bytes)?;
        gather::write(&*shared.file_of(place.file)?, place.offset, &plan, shared.is_alone())?;
        for entry in &mut plan.entries {
            if let EntryOffset::Log(_, start) = entry.place {
                entry.place = EntryOffset::Log(number, before + start);
            }
        }
        let table = Table { names: Vec::new(), entries: plan.entries };
        table.encode(shared.settings.version, &|place| logs.in_file(place))
    }

    /// Writes the table of this process next to those of the others: no one has all of them.
    fn write_table(&self, own: Result<Vec<u8>>, flush: u64, durability: Durability) -> Result<FlushTable> {
        let shared = self.shared();
        let (own, Sizes { before, total, .. }) = shared.shares(own, |own| own.len() as u64)?;
        let make =
            |inner: &dyn Container| Ok((flush, make_list(inner, shared.group, table_name(flush), total)?));
        let (_, offset) = self.ask_leader(make)?;
        let written = shared.file.write_at(offset + before, &own);
        let written = written.map_err(|e| Error::io("write log metadata table", &e).at(offset));
        shared.agree(written.and_then(|()| shared.sync_own(durability)))?;
        let bytes = TableBytes::File(vec![FileRange { offset, bytes: total }]);
        Ok(FlushTable { bytes, own: Some(FileRange { offset: offset + before, bytes: own.len() as u64 }) })
    }

    /// Takes back a log that a process could not write: what waits goes on waiting.
    fn undo(&self, number: u64, flush: u64) -> Result<()> {
        let (group, Some(inner)) = (self.shared().group, self.leading()) else { return Ok(()) };
        for name in [log_name(number), table_name(flush)] {
            if inner.link_get(group, &name)?.is_some() {
                inner.link_delete(group, &name)?;
            }
        }
        Ok(())
    }

    /// Stores what counts datasets and logs, if it changed, and commits.
    pub(crate) fn finish(&self, state: &mut LogState, durability: Durability) -> Result<()> {
        let group = self.shared().group;
        let done = self.ask_leader(|inner| {
            if state.is_changed {
                store_numbers(inner, group, state)?;
            }
            inner.commit(durability)?;
            Ok((0, 0))
        });
        done.map(|_| state.is_changed = false)
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
        self.noted = 0;
    }
}
