//! The writer's part for processes that follow it: it sends them changes, and allocates space for their elements.

use std::ops::Range;

use files::DataKind;
use model::properties::FillTime;
use model::{Error, LinkTarget, Result, Selection, Token};
use vol::{LinkLocation, NewChunk};

use super::Writer;
use super::storage::Storage;
use crate::chunk;
use crate::chunk::index::ChunkAt;
use crate::format::Address;
use crate::format::layout::Layout;
use crate::placement;
use crate::replica::Changes;

/// Space for elements that was allocated since followers were told.
#[derive(Debug, Default)]
pub(super) struct RecentSpace {
    pub(super) ranges: Vec<Range<u64>>,
    /// A commit has what was recent before.
    pub(super) is_committed: bool,
    /// Space was given up, which may be used again while followers still read there what they were told of.
    pub(super) has_freed: bool,
}

impl Storage {
    /// From now on followers are told what changes.
    pub(crate) fn begin_following(&mut self) -> Result<()> {
        self.followed = Some(RecentSpace { is_committed: true, ..RecentSpace::default() });
        self.store().begin_following()
    }

    /// Returns what followers were not told yet.
    pub(crate) fn changes(&mut self) -> Result<Changes> {
        let noted = std::mem::take(self.followed.get_or_insert_default());
        let base = self.store().base();
        let (end, last_end) = (self.allocator.space.end(), self.allocator.space.last_end());
        let recent: Vec<_> = noted.ranges.iter().map(|range| base + range.start..base + range.end).collect();
        let written_end = recent.iter().map(|range| range.end).max().unwrap_or(0);
        let staged = self.store().take_staged_ranges(written_end)?;
        let mut pieces = self.store().pieces(&staged.ranges)?;
        // Followers see the file as the next commit will describe it, and no one has it open there.
        let superblock = &mut self.transaction.superblock.clone();
        (superblock.end, superblock.flags) = (superblock.base + end, 0);
        pieces.push((base, superblock.encode()?));
        Ok(Changes {
            is_anew: staged.is_anew,
            is_committed: noted.is_committed,
            end: base + last_end,
            reserved: staged.reserved,
            recent,
            pieces,
        })
    }
}

impl Storage {
    /// Returns what followers must know to use a new object whose header this is. What leads to the object they are told later:
    /// until then nothing else of the file changes for them.
    fn changes_of_new(&mut self, at: Address, header: Vec<u8>) -> Result<Changes> {
        let noted = std::mem::take(self.followed.get_or_insert_default());
        let base = self.store().base();
        let (end, last_end) = (self.allocator.space.end(), self.allocator.space.last_end());
        let recent: Vec<_> = noted.ranges.iter().map(|range| base + range.start..base + range.end).collect();
        self.store().hold(recent.iter().map(|range| range.end).max().unwrap_or(0))?;
        let superblock = &mut self.transaction.superblock.clone();
        (superblock.end, superblock.flags) = (superblock.base + end, 0);
        let pieces = vec![(base + at.0, header), (base, superblock.encode()?)];
        let (end, reserved) = (base + last_end, self.store().reserved());
        Ok(Changes { is_anew: false, is_committed: false, end, reserved, recent, pieces })
    }

    /// Returns whether followers can be told of a new object by itself: nothing of it lies where they still read something else.
    /// Where the file says what space is free, they would take for their own links what this process has used meanwhile.
    fn may_tell_of_new(&self) -> bool {
        let noted = self.followed.as_ref().filter(|_| self.account.is_none());
        noted.is_some_and(|noted| !noted.is_committed && !noted.has_freed)
    }
}

impl Writer {
    /// Returns what followers must know to use a dataset that was just created, or `None` if they must know of all that changed.
    pub(crate) fn changes_of_new(&mut self, at: Address) -> Result<Option<Changes>> {
        if !self.storage.may_tell_of_new() {
            return Ok(None);
        }
        let header = self.objects.write_new(at, &mut self.storage)?;
        self.chunks.forget(at);
        header.map(|header| self.storage.changes_of_new(at, header)).transpose()
    }

    /// Returns what a link to each of these objects changes, of which nothing but the links is missing.
    pub(crate) fn changes_of_links(&mut self, links: &[(LinkLocation, Token)]) -> Result<Changes> {
        self.storage.begin_following()?;
        links
            .iter()
            .try_for_each(|(place, token)| self.objects.insert_link(place, LinkTarget::Hard(*token)))?;
        self.serialize_all()?;
        self.storage.changes()
    }

    /// Gives space to elements that have none, with the fill value.
    pub(crate) fn allocate_elements(&mut self, at: Address, selection: &Selection) -> Result<()> {
        self.serialize(at)?;
        let dataset = self.dataset(at)?;
        placement::check_dataset(&dataset, selection)?;
        match &dataset.layout {
            Layout::Chunked(layout) => self.place_chunks(&dataset, layout, selection).map(drop),
            Layout::Contiguous { address: None, .. } if dataset.info.create.fill.time == FillTime::Never => {
                self.allocate_unfilled(&dataset).map(drop)
            }
            Layout::Contiguous { address: None, .. } => self.allocate_early(at),
            _ => Ok(()),
        }
    }

    /// Gives space to chunks that others write to the file. The space of those that they replace is given up.
    pub(crate) fn allocate_new_chunks(&mut self, at: Address, chunks: &[NewChunk]) -> Result<Vec<u64>> {
        let dataset = self.dataset(at)?;
        let Layout::Chunked(layout) = &dataset.layout else {
            return Err(Error::invalid("allocate chunks").with("problem", "dataset is not chunked"));
        };
        let whole = chunk::chunk_bytes(&self.reader, &layout.shape, layout.element_bytes)? as u64;
        chunks.iter().try_for_each(|new| {
            chunk::load::check_stored(&self.reader.store.limits, whole, new.bytes)?;
            let is_inside = new.offset.len() == dataset.dims().len()
                && new.offset.iter().zip(dataset.dims()).all(|(offset, dim)| offset < dim);
            let outside = || Error::invalid("allocate chunks").with("offset", format!("{:?}", new.offset));
            if is_inside { Ok(()) } else { Err(outside()) }
        })?;
        let shape = layout.shape.clone();
        chunks.iter().map(|new| self.allocate_new_chunk(at, &shape, new)).collect()
    }

    fn allocate_new_chunk(&mut self, dataset: Address, shape: &[u64], new: &NewChunk) -> Result<u64> {
        let chunk_coords: Vec<u64> = new.offset.iter().zip(shape).map(|(o, c)| o / c).collect();
        let address = self.storage.allocate(new.bytes, DataKind::Raw);
        if let Err(error) = self.storage.store().write_fresh(&[address], new.bytes, |_| Ok(())) {
            self.storage.release_raw(address, new.bytes);
            return Err(error);
        }
        self.storage.transaction.is_changed = true;
        self.chunks.pending.remove(dataset, &chunk_coords);
        let chunk = ChunkAt { address, bytes: new.bytes, filter_mask: new.filter_mask };
        self.set_chunk(dataset, &chunk_coords, Some(chunk))?;
        Ok(self.storage.store().base() + address.0)
    }
}
