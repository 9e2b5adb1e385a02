//! At the close the tables of all flushes become one, sorted by dataset, with a look-up table next to it. Every process
//! merges the entries of some datasets and writes its share; none has them all.

use std::collections::BTreeMap;
use std::ops::Range;

use comm::Reduce;
use files::File;
use model::properties::{AllocTime, DatasetCreate, Fill, FillTime, FillValue, Layout};
use model::{Dataspace, Datatype, Error, Kind, Limits, Result, Selection, Token, UNLIMITED};
use protocol::wire;
use vol::{
    Container, Durability, LinkLocation as At, OpDatasetCreate, OpLinkMove, OpPlacement, PlacementParts,
};

use crate::container::LogContainer;
use crate::flush::not_in_one_piece;
use crate::load::{OFFSETS, TABLE, flush_names, store_numbers};
use crate::merged::Merged;
use crate::share::{DatasetEntries, Share, Sums};
use crate::state::LogState;
use crate::table::{Coded, Entry, Table, TableVersion};
use crate::table_bytes::{FileRange, TableBytes};

/// Bytes that a table may take as one chunk, which is how `entry_off` can be an offset in the file. Where there would be
/// more, the tables of the flushes stay.
const TABLE_BYTES_MAX: u64 = u32::MAX as u64;
/// Lines of the look-up table beyond the entries that there are: a file with a number out of all proportion is not merged.
const STARTS_GAP_MAX: u64 = 1 << 24;
/// Names under which tables are written, until all is well.
const NEW_TABLE: &str = "metadata_new";
const NEW_OFFSETS: &str = "offsets_new";

/// Entries of tables by their age: those of older tables come first.
type Aged = Vec<(u64, Entry)>;
/// Ages and tables as processes exchange them.
type Message = Vec<(u64, Vec<u8>)>;

/// Returns the datasets of `count` that a process merges.
fn range_of(rank: usize, ranks: usize, count: u64) -> Range<u64> {
    let bound = |rank: usize| (u128::from(count) * rank as u128 / ranks as u128) as u64;
    bound(rank)..bound(rank + 1)
}

/// Returns a list of numbers of `size` bytes that may grow, in one chunk: where that begins in the file.
fn make_chunk(
    inner: &dyn Container,
    (group, name): (Token, &str),
    (size, count): (u32, u64),
    commit: &dyn Fn() -> Result<()>,
) -> Result<u64> {
    if inner.link_get(group, name)?.is_some() {
        inner.link_delete(group, name)?;
    }
    let fill = Fill { value: FillValue::Default, time: FillTime::Never };
    let layout = Layout::chunked(&[count]);
    let create = DatasetCreate { layout, fill, alloc_time: AllocTime::Late, ..DatasetCreate::default() };
    let dataset = inner.dataset_create(&OpDatasetCreate {
        place: Some(At::new(group, name)),
        datatype: Datatype::native_uint(size),
        committed: None,
        space: Dataspace::resizable(&[count], &[UNLIMITED])?,
        create,
    })?;
    let place = OpPlacement { dataset, selection: Selection::All };
    let placed = match inner.elements_place(&place) {
        // The space was another's since the last commit.
        Err(error) if error.kind() == Kind::Busy => commit().and_then(|()| inner.elements_place(&place)),
        placed => placed,
    };
    match placed?.parts {
        PlacementParts::Chunks { offsets, .. } => match offsets[..] {
            [Some(offset)] => Ok(offset),
            _ => Err(not_in_one_piece()),
        },
        PlacementParts::Contiguous { .. } => Err(not_in_one_piece()),
    }
}

impl LogContainer {
    /// Makes one table of those of all flushes. It counts when a commit has come; after an error the others do.
    pub(crate) fn merge(&self, state: &mut LogState, durability: Durability) -> Result<()> {
        if state.tables.is_empty() {
            return Ok(());
        }
        self.merge_tables(state, durability).inspect_err(|_| {
            if let Some(inner) = self.leading() {
                // The first error says more than one about this.
                let _ = [NEW_TABLE, NEW_OFFSETS].map(|name| inner.link_delete(self.shared().group, name));
            }
        })
    }

    fn merge_tables(&self, state: &mut LogState, durability: Durability) -> Result<()> {
        let shared = self.shared();
        let own = self.own_entries(state);
        let largest = own.as_ref().ok().and_then(|own| own.iter().map(|(_, entry)| entry.dataset + 1).max());
        let old = state.merged.as_ref().map_or(0, Merged::datasets);
        let count = shared.comm.allreduce(largest.unwrap_or(0).max(old), Reduce::Max)?;
        let range = range_of(shared.comm.rank(), shared.comm.size(), count);
        let entries = self.exchange(own, count);
        let datasets = entries.and_then(|entries| self.with_old(state, entries, range.clone()));
        let version = self.version_for(datasets.as_deref().unwrap_or_default())?;
        let share = datasets.and_then(|datasets| {
            let names = if shared.comm.rank() == 0 { Some(self.names(state)?) } else { None };
            Share::new(version, names, range.clone(), &datasets, &state.logs)
        });
        let sums = Sums::exchange(&*shared.comm, share.as_ref().ok())?;
        let share = shared.agree(share)?;
        let bytes = sums.bytes(version);
        if bytes > TABLE_BYTES_MAX || count > sums.entries.saturating_add(STARTS_GAP_MAX) {
            return Ok(());
        }
        let (table, starts) = self.ask_leader(|inner| {
            let commit = || {
                store_numbers(inner, shared.group, state)?;
                inner.commit(Durability::None)
            };
            let table = make_chunk(inner, (shared.group, NEW_TABLE), (1, bytes), &commit)?;
            Ok((table, make_chunk(inner, (shared.group, NEW_OFFSETS), (8, count.max(1)), &commit)?))
        })?;
        let written = self.write_share(share, &sums, (table, starts + range.start * 8));
        shared.agree(written.and_then(|()| shared.sync_own(durability)))?;
        self.ask_leader(|inner| self.replace_tables(inner).map(|()| (0, 0)))?;
        let file = |offset, bytes| TableBytes::File(vec![FileRange { offset, bytes }]);
        let merged = Merged::new(file(table, bytes), file(starts, count * 8), &shared.file, &shared.limits)?;
        state.forget_file();
        (state.merged, state.flush_next) = (merged, 0);
        Ok(())
    }

    /// Returns the version of the table: the first has no words for other filters than one.
    fn version_for(&self, datasets: &[DatasetEntries]) -> Result<TableVersion> {
        let shared = self.shared();
        if shared.settings.version == TableVersion::V2 {
            return Ok(TableVersion::V2);
        }
        let mut entries = datasets.iter().flat_map(|(_, entries)| entries);
        let has_filters = entries.any(|entry| matches!(entry.coded, Coded::Filters(_)));
        let anyone = shared.comm.allreduce(has_filters.into(), Reduce::Max)?;
        Ok(if anyone > 0 { TableVersion::V2 } else { TableVersion::V1 })
    }

    /// Returns the entries that this process brings: those of its own tables, and of every n-th that was there before.
    fn own_entries(&self, state: &LogState) -> Result<Aged> {
        let (shared, mut found) = (self.shared(), Vec::new());
        let (rank, ranks) = (shared.comm.rank(), shared.comm.size());
        for (age, table) in state.tables.iter().enumerate() {
            let own = match table.own {
                Some(range) => TableBytes::File(vec![range]),
                None if age % ranks == rank => table.bytes.clone(),
                None => continue,
            };
            let entries = Table::decode_all(&own.all(&shared.file, &shared.limits)?, &shared.limits)?.entries;
            // Numbers that no dataset ever had lead nowhere.
            for mut entry in entries.into_iter().filter(|entry| entry.dataset < state.id_next) {
                entry.place = state.logs.in_log(entry.place);
                found.push((age as u64, entry));
            }
        }
        Ok(found)
    }

    /// Sends entries to the processes that merge them. Returns those that this one merges, older ones first.
    fn exchange(&self, own: Result<Aged>, count: u64) -> Result<Vec<Entry>> {
        let shared = self.shared();
        let mut all = match shared.is_alone() {
            true => own?,
            false => {
                let messages = own.and_then(|own| messages(&own, shared.comm.size(), count));
                // One that cannot take part says so at once.
                received(shared.comm.alltoall(shared.agree(messages)?)?, &shared.limits)?
            }
        };
        // Entries of one age come by rank, and stay in this order.
        all.sort_by_key(|(age, entry)| (entry.dataset, *age));
        Ok(all.into_iter().map(|(_, entry)| entry).collect())
    }

    /// Returns entries by dataset, after those that the old table has of the datasets of `range`.
    fn with_old(
        &self,
        state: &LogState,
        entries: Vec<Entry>,
        range: Range<u64>,
    ) -> Result<Vec<DatasetEntries>> {
        let shared = self.shared();
        let mut datasets: BTreeMap<u64, Vec<Entry>> = BTreeMap::new();
        if let Some(merged) = &state.merged {
            for dataset in merged.present(range, &shared.file, &shared.limits)? {
                let mut old = merged.entries_of(dataset, &shared.file, &shared.limits)?;
                old.iter_mut().for_each(|entry| entry.place = state.logs.in_log(entry.place));
                datasets.insert(dataset, old);
            }
        }
        for entry in entries {
            datasets.entry(entry.dataset).or_default().push(entry);
        }
        Ok(datasets.into_iter().collect())
    }

    /// Returns the names of all datasets, by ID.
    fn names(&self, state: &LogState) -> Result<Vec<String>> {
        let shared = self.shared();
        let mut names = match &state.merged {
            Some(merged) => merged.names(&shared.file, &shared.limits)?,
            None => Vec::new(),
        };
        for (id, name) in &state.names {
            // Names are for people: they stop where numbers have run away from them.
            if *id < names.len() as u64 + STARTS_GAP_MAX {
                names.resize(names.len().max(*id as usize + 1), String::new());
                names[*id as usize] = name.clone();
            }
        }
        Ok(names)
    }

    /// Writes what this process adds to the tables: where they begin in the file, and its lines of the look-up.
    fn write_share(&self, share: Share, sums: &Sums, (table, starts): (u64, u64)) -> Result<()> {
        let file = &self.shared().file;
        let failed = |e: std::io::Error| Error::io("write log metadata table", &e).at(table);
        let lines: Vec<u8> = share.starts(sums).iter().flat_map(|start| start.to_le_bytes()).collect();
        file.write_at(starts, &lines).map_err(failed)?;
        for (at, bytes) in share.pieces(sums, table)? {
            file.write_at(table + at, &bytes).map_err(failed)?;
        }
        Ok(())
    }

    /// Puts the new tables in the place of all others.
    fn replace_tables(&self, inner: &dyn Container) -> Result<()> {
        let shared = self.shared();
        for (new, name) in [(NEW_TABLE, TABLE), (NEW_OFFSETS, OFFSETS)] {
            if inner.link_get(shared.group, name)?.is_some() {
                inner.link_delete(shared.group, name)?;
            }
            let to = At::new(shared.group, name);
            inner.link_move(&OpLinkMove { from: shared.group, name: new.to_owned(), to, copy: false })?;
        }
        let flushes = flush_names(inner, shared.group, &shared.limits)?;
        flushes.iter().try_for_each(|name| inner.link_delete(shared.group, name))
    }
}

/// Returns entries as messages, by the process that merges their datasets.
fn messages(own: &[(u64, Entry)], ranks: usize, count: u64) -> Result<Vec<Vec<u8>>> {
    let ends: Vec<u64> = (0..ranks).map(|rank| range_of(rank, ranks, count).end).collect();
    let mut to: Vec<Message> = vec![Vec::new(); ranks];
    for group in own.chunk_by(|a, b| a.0 == b.0) {
        let mut by_rank: Vec<Vec<Entry>> = vec![Vec::new(); ranks];
        for (_, entry) in group {
            by_rank[ends.partition_point(|end| *end <= entry.dataset)].push(entry.clone());
        }
        for (message, entries) in to.iter_mut().zip(by_rank).filter(|(_, entries)| !entries.is_empty()) {
            let table = Table { names: Vec::new(), entries };
            message.push((group[0].0, table.encode(TableVersion::V2, &|place| place)?));
        }
    }
    to.iter().map(wire::to_bytes).collect()
}

fn received(messages: Vec<Vec<u8>>, limits: &Limits) -> Result<Aged> {
    let mut all = Vec::new();
    for message in messages {
        for (age, table) in wire::from_bytes::<Message>(&message)? {
            let entries = Table::decode_all(&table, limits)?.entries;
            all.extend(entries.into_iter().map(|entry| (age, entry)));
        }
    }
    Ok(all)
}
