//! A process that another one leads.

use std::ops::Range;
use std::sync::Arc;

use files::File;
use model::{Error, Result, Token};
use vol::{
    Access, ChunkGrid, Container, ContainerOpen, FileAccess, LeaderBytes, NewChunk, OpPlacement, Placement,
    Replica,
};

use super::{Changes, FollowedFile};
use crate::connector::{ContainerFile, open_file};
use crate::container::NativeContainer;

pub(crate) struct Follower {
    file: Arc<FollowedFile>,
    native: Arc<NativeContainer>,
    container: Arc<dyn Container>,
}

impl Follower {
    /// Opens a file that the leader told about.
    pub(crate) fn open(file: Arc<FollowedFile>, op: &ContainerOpen<'_>) -> Result<Arc<dyn Replica>> {
        let access = FileAccess { access: Access::Read, swmr: false, ..op.access.clone() };
        let source = ContainerFile { identity: None, clears_flags: false, file: file.clone() };
        let native = open_file(source, op.path, &access, op.registry.registered())?;
        Ok(Arc::new(Follower { file, container: native.clone(), native }))
    }
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

    fn apply(&self, changes: &[u8]) -> Result<()> {
        self.file.apply(&Changes::decode(changes)?)?;
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

    fn keep(&self, pieces: &[(u64, &[u8])]) -> Result<()> {
        self.native.written_by_others(pieces)?;
        self.file.keep(pieces)
    }

    fn kept_bytes(&self) -> u64 {
        self.file.kept_bytes()
    }

    fn take_kept(&self) -> Vec<LeaderBytes> {
        self.file.take_kept()
    }

    fn elements_changed(&self) -> Result<()> {
        self.native.forget_elements()
    }

    fn end_write(&self) -> Result<()> {
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.file.sync_own().map_err(|e| Error::io("sync file", &e))
    }
}
