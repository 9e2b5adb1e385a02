//! Datasets: made, opened, resized, and what they take.

use std::sync::Arc;

use algorithms::stored::{Block, run_blocks};
use model::properties::{FillValue, Layout};
use model::selection::SetOp;
use model::{Dataspace, Datatype, Error, Kind, Result, Selection, Token};
use vol::{Allocation, Container, DatasetInfo, OpDatasetCreate, StorageInfo, StoredBlock};

use crate::container::LogContainer;
use crate::logged::Logged;
use crate::pieces::{ElementRun, within};
use crate::state::{KnownDataset, LogState};
use crate::values::InMemory;
use crate::{anchor, flat, hidden, read};

/// Bytes of fill values that are made at a time.
const FILL_BYTES: u64 = 1 << 20;

/// Returns the operation with the values that its filters have for this datatype and these chunks.
fn with_values(
    registry: &filters::Registry,
    op: &OpDatasetCreate,
    datatype: &Datatype,
) -> Result<OpDatasetCreate> {
    let mut op = op.clone();
    filters::pipeline::complete(registry, &mut op.create, datatype)?;
    Ok(op)
}

impl LogContainer {
    pub(crate) fn make_dataset(&self, op: &OpDatasetCreate) -> Result<Token> {
        self.check_writable()?;
        let (shared, inner) = (self.shared(), self.inner());
        if let Some(place) = &op.place {
            hidden::check_link(shared.root, place.group, &place.name)?;
        }
        if matches!(op.create.layout, Layout::Virtual(_)) {
            return Err(Error::unsupported("create virtual dataset in a log"));
        }
        if !anchor::is_logged(&op.create, &op.datatype) {
            let token = self.make_plain(op)?;
            shared.write().known.insert(token, KnownDataset::Plain);
            return Ok(token);
        }
        op.datatype.validate(&shared.limits)?;
        let datatype = op.datatype.with_descriptors(&self.descriptors());
        anchor::check(op, &datatype, &shared.limits, &shared.filters)?;
        let op = &with_values(&shared.filters, op, &datatype)?;
        flat::shape(&op.space)?;
        let id = shared.write().take_id(op.place.as_ref().map_or("", |place| &place.name));
        let token = match shared.is_alone() {
            true => anchor::create(inner, op, id)?,
            // All of it is one exchange.
            false => {
                let make = |leader: &dyn Container| Ok((anchor::create(leader, op, id)?.to_u64(), 0));
                Token::from_u64(self.ask_leader(make)?.0)
            }
        };
        let made = inner.dataset_info(token)?;
        let info =
            DatasetInfo { space: op.space.clone(), create: op.create.clone(), ..DatasetInfo::clone(&made) };
        let logged = Logged::new(id, Arc::new(info))?;
        let mut state = shared.write();
        state.is_changed = true;
        state.known.insert(token, KnownDataset::Logged(Box::new(logged)));
        Ok(token)
    }

    /// Creates a dataset that is not in the log.
    fn make_plain(&self, op: &OpDatasetCreate) -> Result<Token> {
        if self.shared().is_alone() {
            return self.inner().dataset_create(op);
        }
        let made = self.ask_leader(|leader| {
            let (mut op, descriptors) = (op.clone(), self.descriptors());
            let datatype = op.datatype.with_descriptors(&descriptors);
            if let FillValue::Value(value) = &mut op.create.fill.value
                && datatype.has_descriptors()
            {
                *value = InMemory::fetch(&datatype, value, self.values())?.store(&datatype, leader)?;
            }
            Ok((leader.dataset_create(&op)?.to_u64(), 0))
        });
        self.values().clear();
        made.map(|(token, _)| Token::from_u64(token))
    }

    /// Finds out what a dataset is, unless that is known.
    pub(crate) fn know(&self, dataset: Token) -> Result<()> {
        let shared = self.shared();
        if shared.read().known.contains_key(&dataset) {
            return Ok(());
        }
        self.find_out(dataset)
    }

    fn find_out(&self, dataset: Token) -> Result<()> {
        let known = match anchor::load(self.inner(), dataset, self.shared().is_alone())? {
            Some((id, info)) => KnownDataset::Logged(Box::new(Logged::new(id, info)?)),
            None => KnownDataset::Plain,
        };
        // Another caller may have been faster.
        self.shared().write().known.entry(dataset).or_insert(known);
        Ok(())
    }

    /// Returns an error for a dataset that is gone; what is known of it goes too.
    fn check_there(&self, dataset: Token) -> Result<()> {
        self.check_open()?;
        let found = self.inner().dataset_info(dataset);
        if found.as_ref().is_err_and(|error| error.kind() == Kind::NotFound) {
            self.shared().write().known.remove(&dataset);
        }
        found.map(drop)
    }

    pub(crate) fn show_dataset(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        self.check_there(dataset)?;
        self.know(dataset)?;
        let state = self.shared().read();
        match state.logged(dataset) {
            Some(logged) => Ok(logged.info.clone()),
            None => {
                drop(state);
                self.inner().dataset_info(dataset)
            }
        }
    }

    pub(crate) fn storage(&self, dataset: Token) -> Result<StorageInfo> {
        self.check_there(dataset)?;
        self.know(dataset)?;
        let state = self.shared().ready(&[dataset])?;
        let Some(logged) = state.logged(dataset) else {
            drop(state);
            return self.inner().dataset_storage(dataset);
        };
        let (covered, total) = (covered(logged)?, logged.info.space.element_count()?);
        let allocation = match covered {
            0 => Allocation::None,
            some if some < total => Allocation::Part,
            _ => Allocation::Full,
        };
        Ok(StorageInfo::new(covered * logged.size, allocation))
    }

    /// Returns which elements of a dataset are stored.
    pub(crate) fn blocks_of(&self, dataset: Token) -> Result<Vec<StoredBlock>> {
        self.check_there(dataset)?;
        self.know(dataset)?;
        let state = self.shared().ready(&[dataset])?;
        let Some(logged) = state.logged(dataset) else {
            drop(state);
            return self.inner().stored_blocks(dataset);
        };
        let pieces = logged.index.lists().chain(logged.recent.lists()).flatten();
        let blocks = pieces.flat_map(|piece| run_blocks((piece.start, piece.len), &logged.shape, u64::MAX));
        Ok(blocks.map(|block| StoredBlock { start: block.start, shape: block.shape }).collect())
    }

    pub(crate) fn resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        self.check_writable()?;
        self.check_there(dataset)?;
        self.know(dataset)?;
        let shared = self.shared();
        drop(shared.ready(&[dataset])?);
        let mut state = shared.write();
        let Some(logged) = state.logged(dataset) else {
            drop(state);
            return self.inner().dataset_resize(dataset, dims);
        };
        let old = logged.info.space.clone();
        if dims == old.dims() && old != Dataspace::Null {
            return Ok(());
        }
        let is_chunked = matches!(logged.info.create.layout, Layout::Chunked { .. });
        if !is_chunked || dims.len() != old.rank() || dims.is_empty() {
            return Err(Error::invalid("resize dataset").with("rank", dims.len()));
        }
        let space = old.resized(dims)?;
        let count = space.element_count()?;
        let bytes = count.checked_mul(logged.size);
        bytes.ok_or_else(|| Error::limit("resize dataset").with("elements", count))?;
        flat::check(dims, &logged.shape)?;
        let bytes: Vec<u8> = dims.iter().flat_map(|dim| dim.to_le_bytes()).collect();
        self.inner().attribute_write(dataset, hidden::DIMS, &bytes)?;
        state.cover_exposed(dataset, &old, &space, self.leading().is_some())?;
        if let Some(logged) = state.logged_mut(dataset) {
            Arc::make_mut(&mut logged.info).space = space;
        }
        Ok(())
    }
}

/// Returns the number of elements of the extent that a caller wrote.
fn covered(logged: &Logged) -> Result<u64> {
    if logged.info.space == Dataspace::Null {
        return Ok(0);
    }
    let mut index = crate::pieces::Index::default();
    for list in logged.index.lists().chain(logged.recent.lists()) {
        index.push(list.to_vec(), logged.size);
    }
    index.merge(logged.size);
    let dims = logged.info.space.dims();
    // By pieces, and not by rows of the extent: no one needs to store anything to claim many of those.
    let pieces = index.lists().next().unwrap_or(&[]).iter();
    if dims.is_empty() {
        return Ok(u64::from(pieces.len() > 0));
    }
    let blocks = pieces.flat_map(|piece| run_blocks((piece.start, piece.len), &logged.shape, u64::MAX));
    Ok(blocks.map(|block| inside(&block, dims)).sum())
}

/// Rows of an extent that are gone through one by one; of more, only those that pieces lie in.
const ROWS_MAX: u64 = 1 << 20;

/// Returns the pieces of a list that are in the extent.
pub(crate) fn shown<'l>(
    logged: &'l Logged,
    list: &'l [ElementRun],
) -> Result<Box<dyn Iterator<Item = ElementRun> + 'l>> {
    let (dims, shape, size) = (logged.info.space.dims(), &logged.shape, logged.size);
    let rows =
        dims.split_last().map_or(1, |(_, outer)| outer.iter().fold(1u64, |n, dim| n.saturating_mul(*dim)));
    if rows <= ROWS_MAX || dims.get(1..) == shape.get(1..) {
        let runs = flat::runs(&Selection::All, dims, shape)?;
        return Ok(Box::new(
            runs.flat_map(move |run| {
                within(list, run.offset, run.offset + run.len, size).collect::<Vec<_>>()
            }),
        ));
    }
    let blocks = list.iter().flat_map(move |piece| {
        run_blocks((piece.start, piece.len), shape, u64::MAX).map(move |block| (piece, block))
    });
    Ok(Box::new(blocks.flat_map(move |(piece, block)| {
        let left = block.start.iter().zip(dims).map(|(at, dim)| dim.saturating_sub(*at));
        let inside: Vec<u64> = left.zip(&block.shape).map(|(left, len)| left.min(*len)).collect();
        let found = (!inside.contains(&0))
            .then(|| Selection::block(&block.start, &inside).and_then(|b| b.runs(shape)));
        let runs = found.and_then(Result::ok).into_iter().flatten();
        runs.map(move |run| piece.cut(run.offset, run.offset + run.len, size))
    })))
}

/// Returns the number of elements of a block that are in the extent.
fn inside(block: &Block, dims: &[u64]) -> u64 {
    let left = block.start.iter().zip(dims).map(|(at, dim)| dim.saturating_sub(*at));
    left.zip(&block.shape).map(|(left, len)| left.min(*len)).product()
}

impl LogState {
    /// Returns the number of a new dataset.
    fn take_id(&mut self, name: &str) -> u64 {
        let id = self.id_next;
        self.id_next = id.saturating_add(1);
        self.names.insert(id, name.to_owned());
        id
    }

    /// Writes fill values where a dataset shrank and grows again, so that it does not show old elements there.
    fn cover_exposed(&mut self, dataset: Token, old: &Dataspace, new: &Dataspace, leads: bool) -> Result<()> {
        let Some(KnownDataset::Logged(logged)) = self.known.get_mut(&dataset) else { return Ok(()) };
        // What is in the file concerns one process only.
        let in_file = logged.index.lists().filter(|_| leads);
        let lists: Vec<&[ElementRun]> =
            in_file.chain(logged.recent.lists()).filter(|list| !list.is_empty()).collect();
        if lists.is_empty() || new.dims().contains(&0) {
            return Ok(());
        }
        let zeros = vec![0; new.rank()];
        let whole = Selection::block(&zeros, new.dims())?;
        let exposed = whole.combine(SetOp::NotB, &Selection::block(&zeros, old.dims())?, new.dims())?;
        let mut stale: Vec<ElementRun> = Vec::new();
        for run in flat::runs(&exposed, new.dims(), &logged.shape)? {
            for list in &lists {
                stale.extend(within(list, run.offset, run.offset + run.len, logged.size));
            }
        }
        let elements_max = (FILL_BYTES / logged.size).max(1);
        let longest = stale.iter().map(|piece| piece.len).max().unwrap_or(0).min(elements_max);
        let mut values = vec![0; (longest * logged.size) as usize];
        read::fill(&logged.info.create.fill.value, &mut values);
        for piece in stale {
            let mut start = piece.start;
            while start < piece.end() {
                let len = (piece.end() - start).min(elements_max);
                let (source, at) = self.arena.copy(&values[..(len * logged.size) as usize]);
                self.noted += logged.add_request(ElementRun { start, len, at, source });
                start += len;
            }
        }
        Ok(())
    }
}
