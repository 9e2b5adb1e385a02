//! The process that changes the file, and tells the others.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use files::PageKind;
use model::{Error, Result, Token};
use vol::{ChunkGrid, Container, LeaderBytes, LinkLocation, NewChunk, OpPlacement, Placement, Replica};

use crate::container::NativeContainer;
use crate::format::Address;
use crate::gate::Scope;
use crate::replica::{Changes, without};

pub(crate) struct Leader {
    native: Arc<NativeContainer>,
    container: Arc<dyn Container>,
    /// Elements are written over those of the last commit, too.
    is_in_place: AtomicBool,
}

impl Leader {
    /// From now on the writer notes what followers must be told.
    pub(crate) fn new(native: Arc<NativeContainer>) -> Result<Self> {
        native.change(Scope::All, |writer| writer.storage.begin_following())?;
        Ok(Leader { container: native.clone(), native, is_in_place: AtomicBool::new(false) })
    }

    /// Writes bytes: to fresh space at once, over others with the next commit.
    fn put(&self, pieces: &[(u64, &[u8])]) -> Result<()> {
        let base = self.native.file.store.user_block_bytes();
        self.native.change(Scope::Nothing, |writer| {
            let mut put = |(at, bytes): &(u64, &[u8])| writer.storage.write_raw(Address(at - base), bytes);
            pieces.iter().try_for_each(&mut put)
        })
    }

    /// Writes bytes where they lie, unless others wait for the next commit there.
    fn put_in_place(&self, pieces: &[(u64, &[u8])]) -> Result<()> {
        let base = self.native.file.store.user_block_bytes();
        self.native.change(Scope::Nothing, |writer| {
            pieces.iter().try_for_each(|(at, bytes)| writer.storage.put_in_place(Address(at - base), bytes))
        })
    }
}

impl Replica for Leader {
    fn container(&self) -> &Arc<dyn Container> {
        &self.container
    }

    fn changes(&self) -> Result<Vec<u8>> {
        let changes = self.native.change(Scope::All, |writer| {
            writer.serialize_all()?;
            writer.storage.changes()
        })?;
        Ok(changes.encode())
    }

    fn changes_of_new(&self, dataset: Token) -> Result<Option<Vec<u8>>> {
        let at = Address(dataset.to_u64());
        let changes = self.native.change(Scope::Objects(&[at]), |writer| writer.changes_of_new(at))?;
        Ok(changes.map(|changes| changes.encode()))
    }

    /// The leader knows.
    fn apply(&self, _changes: &[u8]) -> Result<()> {
        Ok(())
    }

    /// The header is asked for next. Here it is decoded while followers do so, and not while they wait for it.
    fn apply_new(&self, changes: &[u8], _place: &LinkLocation, dataset: Token) -> Result<()> {
        match Changes::decode(changes)?.pieces.first() {
            Some((_, header)) => self.native.file.know_header(Address(dataset.to_u64()), header),
            None => Ok(()),
        }
    }

    fn place(&self, op: &OpPlacement) -> Result<Placement> {
        self.native.place_stored(op)
    }

    fn allocate(&self, op: &OpPlacement) -> Result<()> {
        let at = Address(op.dataset.to_u64());
        self.native.change(Scope::Objects(&[at]), |writer| writer.allocate_elements(at, &op.selection))
    }

    fn filtered(&self, dataset: Token) -> Result<Option<ChunkGrid>> {
        self.native.chunk_grid(dataset)
    }

    fn load_chunk(&self, dataset: Token, chunk_coords: &[u64]) -> Result<Vec<u8>> {
        self.native.load_chunk(dataset, chunk_coords)
    }

    fn encode_chunk(&self, dataset: Token, chunk_coords: &[u64], chunk: Vec<u8>) -> Result<(Vec<u8>, u32)> {
        self.native.encode_chunk(dataset, chunk_coords, chunk)
    }

    fn allocate_chunks(&self, dataset: Token, chunks: &[NewChunk]) -> Result<Vec<u64>> {
        let at = Address(dataset.to_u64());
        self.native.change(Scope::Objects(&[at]), |writer| writer.allocate_new_chunks(at, chunks))
    }

    fn write_in_place(&self) {
        self.is_in_place.store(true, Ordering::Relaxed);
    }

    fn fresh(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let file = &self.native.file;
        if self.is_in_place.load(Ordering::Relaxed) {
            return without(&range, &file.store.shared.reserved());
        }
        let base = file.store.user_block_bytes();
        let is_fresh = |start: u64, end: u64| {
            let writer = file.reading().ok().flatten();
            writer.is_some_and(|writer| writer.storage.is_fresh(Address(start - base), end - start))
        };
        match is_fresh(range.start, range.end) {
            true => without(&range, &file.store.shared.reserved()),
            false => Vec::new(),
        }
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let store = &self.native.file.store;
        let address = Address(at - store.user_block_bytes());
        let read = store.shared.read(PageKind::Raw, address, into);
        read.map_err(|e| Error::io("read elements", &e).at(at))
    }

    fn write(&self, pieces: &[(u64, &[u8])]) -> Result<()> {
        match self.is_in_place.load(Ordering::Relaxed) {
            true => self.put_in_place(pieces),
            false => self.put(pieces),
        }
    }

    fn write_for_commit(&self, pieces: &[(u64, &[u8])]) -> Result<()> {
        self.put(pieces)
    }

    fn buffered_bytes(&self) -> u64 {
        0
    }

    fn take_buffered(&self) -> Vec<LeaderBytes> {
        Vec::new()
    }

    fn elements_changed(&self) -> Result<()> {
        self.native.forget_elements()
    }

    fn elements_changed_of(&self, datasets: &[Token]) -> Result<()> {
        datasets.iter().try_for_each(|dataset| self.native.forget_elements_of(*dataset))
    }

    fn end_write(&self) -> Result<()> {
        // What waits to go to fresh space goes there now: others read it.
        self.native.file.store.shared.ensure_in_file(&[], false)
    }

    /// A commit syncs what the leader wrote.
    fn sync(&self) -> Result<()> {
        Ok(())
    }
}
