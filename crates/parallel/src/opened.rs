//! A container that every rank opened for itself: to read it, behind a server, or in a store that many processes write.
//! There is nothing to lead or to follow.

use std::ops::Range;
use std::sync::Arc;

use model::{Error, Result, Token};
use vol::{ChunkGrid, Container, Durability, LeaderBytes, NewChunk, OpPlacement, Placement, Replica};

/// A container without a leader.
pub(crate) struct LeaderlessReplica {
    pub(crate) container: Arc<dyn Container>,
    /// Others see what this rank changed after a commit, and this rank what others changed.
    pub(crate) needs_commit: bool,
}

impl LeaderlessReplica {
    /// Lets others see what this rank changed, and sees what they changed.
    fn exchange(&self) -> Result<()> {
        if self.needs_commit { self.container.commit(Durability::None) } else { Ok(()) }
    }
}

fn refused() -> Error {
    Error::denied("change container").with("problem", "every rank has its own")
}

impl Replica for LeaderlessReplica {
    fn container(&self) -> &Arc<dyn Container> {
        &self.container
    }

    fn changes(&self) -> Result<Vec<u8>> {
        self.exchange().map(|()| Vec::new())
    }

    fn changes_of_new(&self, _dataset: Token) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn apply(&self, _changes: &[u8]) -> Result<()> {
        self.exchange()
    }

    fn place(&self, _op: &OpPlacement) -> Result<Placement> {
        Err(refused())
    }

    fn allocate(&self, _op: &OpPlacement) -> Result<()> {
        Err(refused())
    }

    fn filtered(&self, _dataset: Token) -> Result<Option<ChunkGrid>> {
        Err(refused())
    }

    fn load_chunk(&self, _dataset: Token, _chunk_coords: &[u64]) -> Result<Vec<u8>> {
        Err(refused())
    }

    fn encode_chunk(&self, _dataset: Token, _coords: &[u64], _chunk: Vec<u8>) -> Result<(Vec<u8>, u32)> {
        Err(refused())
    }

    fn allocate_chunks(&self, _dataset: Token, _chunks: &[NewChunk]) -> Result<Vec<u64>> {
        Err(refused())
    }

    /// Nothing is written.
    fn write_in_place(&self) {}

    fn fresh(&self, _range: Range<u64>) -> Vec<Range<u64>> {
        Vec::new()
    }

    fn read(&self, _at: u64, _into: &mut [u8]) -> Result<()> {
        Err(refused())
    }

    fn write(&self, _pieces: &[(u64, &[u8])]) -> Result<()> {
        Err(refused())
    }

    fn write_for_commit(&self, _pieces: &[(u64, &[u8])]) -> Result<()> {
        Err(refused())
    }

    fn buffered_bytes(&self) -> u64 {
        0
    }

    fn take_buffered(&self) -> Vec<LeaderBytes> {
        Vec::new()
    }

    fn end_write(&self) -> Result<()> {
        self.exchange()
    }

    fn elements_changed(&self) -> Result<()> {
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.exchange()
    }
}
