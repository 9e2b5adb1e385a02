//! The entries and bytes that one process adds to the log: its pending elements, in order.

use std::borrow::Cow;
use std::sync::Arc;

use model::Result;
use model::selection::Run;

use crate::logged::Logged;
use crate::pieces::{ElementRun, batches, without_overlaps};
use crate::pipeline::{ENTRY_BYTES_MAX, Pipeline};
use crate::posting::{Blocks, LentBuffers};
use crate::state::{KnownDataset, LogState};
use crate::table::{Coded, Entry, EntryOffset, TableVersion};

/// So many requests and more are put in order by all cores, where these are the process's own.
const CREW_REQUESTS_MIN: usize = 20_000;
/// Bytes of a share, unless one piece has more.
const SHARE_BYTES: u64 = 8 << 20;

/// The requests of one dataset, in order.
pub(crate) struct Ordered<'a> {
    id: u64,
    size: u64,
    pieces: Cow<'a, [ElementRun]>,
    pipeline: Option<Pipeline>,
}

/// An entry that went through filters.
pub(crate) struct Filtered {
    id: u64,
    bytes: Vec<u8>,
    coded: Coded,
    runs: Arc<[Run]>,
}

/// The bytes that are written at once.
pub(crate) struct Share<'a> {
    /// Where it begins, counted from the start of the process's range.
    pub(crate) at: u64,
    pub(crate) bytes: Bytes<'a>,
}

/// Bytes of a share.
pub(crate) enum Bytes<'a> {
    /// As they lie in memory.
    Whole(&'a [u8]),
    /// Pieces of blocks, one after another, with the size of an element.
    Pieces(&'a [ElementRun], u64),
}

/// Entries whose places count from the start of the process's own range, and their bytes.
pub(crate) struct Plan<'a> {
    pub(crate) entries: Vec<Entry>,
    pub(crate) bytes: u64,
    pub(crate) shares: Vec<Share<'a>>,
    blocks: &'a Blocks<'a>,
}

/// Elements of pieces that follow each other are one run, wherever their bytes come from.
fn runs_of(pieces: &[ElementRun]) -> impl Iterator<Item = Run> {
    pieces.chunk_by(|piece, next| piece.end() == next.start).map(|group| {
        let (first, last) = (group[0], group[group.len() - 1]);
        Run { offset: first.start, len: last.end() - first.start }
    })
}

impl LogState {
    /// Returns what waits, by dataset, newest over oldest.
    pub(crate) fn ordered<'a>(
        &'a self,
        lent: &'a LentBuffers<'_>,
        version: TableVersion,
        is_alone: bool,
    ) -> Result<Vec<Ordered<'a>>> {
        let mut waiting: Vec<(&Logged, &[ElementRun])> = Vec::new();
        for (token, known) in &self.known {
            if let KnownDataset::Logged(logged) = known {
                waiting.push((logged, lent.requests(*token)));
            }
        }
        waiting.retain(|(logged, borrowed)| !logged.requests.is_empty() || !borrowed.is_empty());
        waiting.sort_unstable_by_key(|(logged, _)| logged.id);
        let order = |(logged, borrowed): (&'a Logged, &'a [ElementRun])| {
            let pieces = match (logged.requests.as_slice(), borrowed) {
                (own, []) => without_overlaps(own, logged.size),
                ([], lent) => without_overlaps(lent, logged.size),
                (own, lent) => Cow::Owned(without_overlaps(&[own, lent].concat(), logged.size).into_owned()),
            };
            let pipeline = Pipeline::new(&logged.info, version);
            Ok(Ordered { id: logged.id, size: logged.size, pieces, pipeline })
        };
        let requests: usize =
            waiting.iter().map(|(logged, borrowed)| logged.requests.len() + borrowed.len()).sum();
        match is_alone && requests >= CREW_REQUESTS_MIN {
            true => algorithms::thread_pool::map(waiting, order),
            false => waiting.into_iter().map(order).collect(),
        }
    }
}

/// Returns the entries of datasets with filters, on all cores.
pub(crate) fn filter(
    registry: &filters::Registry,
    ordered: &[Ordered<'_>],
    blocks: &Blocks<'_>,
) -> Result<Vec<Filtered>> {
    let mut work = Vec::new();
    for one in ordered.iter().filter(|one| one.pipeline.is_some()) {
        batches(&one.pieces, one.size, ENTRY_BYTES_MAX).into_iter().for_each(|group| work.push((one, group)));
    }
    algorithms::thread_pool::map(work, |(one, group): (&Ordered<'_>, Vec<ElementRun>)| {
        let mut raw = Vec::new();
        for piece in &group {
            raw.extend_from_slice(blocks.slice(piece, one.size)?);
        }
        let (bytes, coded) = match &one.pipeline {
            Some(pipeline) => pipeline.encode(registry, raw)?,
            None => (raw, Coded::Plain),
        };
        Ok(Filtered { id: one.id, bytes, coded, runs: runs_of(&group).collect() })
    })
}

impl<'a> Plan<'a> {
    pub(crate) fn new(
        ordered: &'a [Ordered<'_>],
        filtered: &'a [Filtered],
        blocks: &'a Blocks<'a>,
    ) -> Result<Self> {
        let mut plan = Plan { entries: Vec::new(), bytes: 0, shares: Vec::new(), blocks };
        let mut filtered = filtered.iter().peekable();
        for one in ordered {
            if one.pipeline.is_none() {
                let start = plan.bytes;
                plan.add_pieces(&one.pieces, one.size);
                let runs = plan.shared_runs(&one.pieces);
                plan.add_entry(one.id, Coded::Plain, start, runs);
            }
            while let Some(entry) = filtered.next_if(|entry| entry.id == one.id) {
                let start = plan.bytes;
                plan.shares.push(Share { at: start, bytes: Bytes::Whole(&entry.bytes) });
                plan.bytes += entry.bytes.len() as u64;
                plan.add_entry(entry.id, entry.coded, start, entry.runs.clone());
            }
        }
        Ok(plan)
    }

    /// Returns the bytes of a piece that is part of a share.
    pub(crate) fn slice(&self, piece: &ElementRun, size: u64) -> Result<&'a [u8]> {
        self.blocks.slice(piece, size)
    }

    /// Adds the bytes of blocks, in shares.
    fn add_pieces(&mut self, pieces: &'a [ElementRun], size: u64) {
        let (mut from, mut bytes) = (0, 0);
        for (n, piece) in pieces.iter().enumerate() {
            bytes += piece.len * size;
            if bytes >= SHARE_BYTES || n + 1 == pieces.len() {
                self.shares.push(Share { at: self.bytes, bytes: Bytes::Pieces(&pieces[from..=n], size) });
                self.bytes += bytes;
                (from, bytes) = (n + 1, 0);
            }
        }
    }

    /// Returns the runs of pieces: the list of the entry before, where it is the same. Variables of a model that are divided alike
    /// come one after another.
    fn shared_runs(&self, pieces: &[ElementRun]) -> Arc<[Run]> {
        let last = self.entries.last().map(|entry| &entry.runs);
        match last.filter(|last| last.iter().copied().eq(runs_of(pieces))) {
            Some(same) => same.clone(),
            None => runs_of(pieces).collect::<Vec<_>>().into(),
        }
    }

    fn add_entry(&mut self, dataset: u64, coded: Coded, start: u64, runs: Arc<[Run]>) {
        let (place, stored) = (EntryOffset::Log(0, start), Some(self.bytes - start));
        self.entries.push(Entry { dataset, coded, place, stored, runs });
    }
}
