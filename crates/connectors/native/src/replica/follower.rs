//! A process that another one leads.

use std::ops::Range;
use std::sync::Arc;

use files::{File, Handle};
use model::{Error, Result, Token};
use system::sync::Mutex;
use vol::{
    Access, ChunkGrid, Container, ContainerOpen, FileAccess, LeaderBytes, LinkLocation, NewChunk,
    OpPlacement, Placement, Registered, Replica,
};

use super::{Changes, FollowedFile, LinkedFile};
use crate::connector::{ContainerFile, open_file};
use crate::container::NativeContainer;
use crate::gate::Scope;
use crate::txn::Staged;

pub(crate) struct Follower {
    file: Arc<FollowedFile>,
    native: Arc<NativeContainer>,
    container: Arc<dyn Container>,
    /// How the file was opened, to open it once more.
    path: String,
    access: FileAccess,
    registered: Registered,
    /// New datasets that no link of the file leads to yet, and where the links will be.
    unlinked: Mutex<Vec<(LinkLocation, Token)>>,
}

impl Follower {
    /// Opens a file that the leader told about.
    pub(crate) fn open(file: Arc<FollowedFile>, op: &ContainerOpen<'_>) -> Result<Arc<dyn Replica>> {
        let access = FileAccess { access: Access::Read, swmr: false, ..op.access.clone() };
        let registered = op.registry.registered().clone();
        let native = open_file(unshared(file.clone()), op.path, &access, &registered)?;
        let (path, container, unlinked) = (op.path.to_owned(), native.clone(), Mutex::default());
        Ok(Arc::new(Follower { file, native, container, path, access, registered, unlinked }))
    }

    /// Creates links to these datasets, at addresses of this process's own. Returns what was written to fresh space, and the changes.
    fn link(&self, links: &[(LinkLocation, Token)]) -> Result<(Staged, Changes)> {
        let access = FileAccess { access: Access::Write, metadata_cache_log: None, ..self.access.clone() };
        let file = Arc::new(LinkedFile::new(self.file.clone()));
        let native = open_file(unshared(file.clone()), &self.path, &access, &self.registered)?;
        let changes = native.change(Scope::All, |writer| writer.changes_of_links(links))?;
        // A container that is dropped writes to space that was fresh.
        Ok((file.take(), changes))
    }
}

/// Returns a file that no other container of this process shares.
fn unshared(file: Handle) -> ContainerFile {
    ContainerFile { identity: None, clears_flags: false, file }
}

/// Only the leader changes structures.
fn not_the_leader(operation: &str) -> Error {
    Error::invalid(operation).with("problem", "another process leads")
}

impl Replica for Follower {
    fn container(&self) -> &Arc<dyn Container> {
        &self.container
    }

    fn changes(&self) -> Result<Vec<u8>> {
        Err(not_the_leader("get changes"))
    }

    fn changes_of_new(&self, _dataset: Token) -> Result<Option<Vec<u8>>> {
        Err(not_the_leader("get changes"))
    }

    fn apply(&self, changes: &[u8]) -> Result<()> {
        self.file.apply(&Changes::decode(changes)?)?;
        self.unlinked.lock().clear();
        self.native.forget_all(self.file.end())
    }

    fn apply_new(&self, changes: &[u8], place: &LinkLocation, dataset: Token) -> Result<()> {
        let changes = Changes::decode(changes)?;
        let was_linked = self.file.apply_new(&changes)?;
        self.unlinked.lock().push((place.clone(), dataset));
        match was_linked {
            true => self.native.forget_all(self.file.end()),
            false => self.native.know_new(&changes, dataset),
        }
    }

    fn lacks_links(&self) -> bool {
        !self.unlinked.lock().is_empty() && !self.file.is_linked()
    }

    fn is_unlinked(&self, dataset: Token) -> bool {
        // As a rule it is the last one.
        self.unlinked.lock().iter().rev().any(|(_, unlinked)| *unlinked == dataset)
    }

    fn link_new(&self) -> Result<()> {
        let (written, changes) = self.link(&self.unlinked.lock())?;
        self.file.set_linked(written, &changes)?;
        self.native.forget_all(self.file.end())
    }

    fn place(&self, op: &OpPlacement) -> Result<Placement> {
        self.native.place_stored(op)
    }

    fn allocate(&self, _op: &OpPlacement) -> Result<()> {
        Err(not_the_leader("allocate elements"))
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

    fn allocate_chunks(&self, _dataset: Token, _chunks: &[NewChunk]) -> Result<Vec<u64>> {
        Err(not_the_leader("allocate chunks"))
    }

    fn write_in_place(&self) {
        self.file.write_in_place();
    }

    fn fresh(&self, range: Range<u64>) -> Vec<Range<u64>> {
        self.file.fresh(range)
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.file.read_at(at, into).map_err(|e| Error::io("read elements", &e).at(at))
    }

    fn write(&self, pieces: &[(u64, &[u8])]) -> Result<()> {
        self.native.written_by_others(pieces)?;
        self.file.write_fresh(pieces).map_err(|e| Error::io("write to file", &e))
    }

    fn write_for_commit(&self, pieces: &[(u64, &[u8])]) -> Result<()> {
        self.native.written_by_others(pieces)?;
        self.file.buffer(pieces)
    }

    fn buffered_bytes(&self) -> u64 {
        self.file.buffered_bytes()
    }

    fn take_buffered(&self) -> Vec<LeaderBytes> {
        self.file.take_buffered()
    }

    fn elements_changed(&self) -> Result<()> {
        self.native.forget_elements()
    }

    fn elements_changed_of(&self, datasets: &[Token]) -> Result<()> {
        datasets.iter().try_for_each(|dataset| self.native.forget_elements_of(*dataset))
    }

    fn end_write(&self) -> Result<()> {
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.file.sync_own().map_err(|e| Error::io("sync file", &e))
    }
}
