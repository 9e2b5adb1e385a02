//! Containers that several processes have open together.
//!
//! One process leads: it alone changes the structure. The others follow: they see the same container through what the
//! leader tells them, and write elements where the storage has space for them. A connector that can do so says so
//! with [`Connector::replicas`](crate::Connector::replicas); `parallel` makes one container of the replicas of all
//! processes.

use std::ops::Range;
use std::sync::Arc;

use model::heap::Heap;
use model::{Error, Result, Selection, Token};

use crate::{
    Container, ContainerCreate, ContainerOpen, LinkLocation, OpPlacement, OpRead, OpWrite, Placement,
};

/// Whether a transfer of elements is made by one process, or by all that have the container open together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transfer {
    /// One process transfers elements, whatever the others do (`H5FD_MPIO_INDEPENDENT`).
    #[default]
    Independent,
    /// All processes make the same call, each with its own selection, which may be empty (`H5FD_MPIO_COLLECTIVE`).
    /// For a container that one process has open it is the same as an independent one.
    Collective,
}

impl Transfer {
    /// Returns the transfer of one process.
    pub fn independent() -> Self {
        Transfer::Independent
    }

    /// Returns the transfer of all processes together.
    pub fn collective() -> Self {
        Transfer::Collective
    }
}

/// Which way elements go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the container.
    Read,
    /// To the container.
    Write,
}

/// Transfers that all processes make together: each calls the same function for the same datasets, with selections of
/// its own. An error of one is an error of all.
pub trait Collective: Send + Sync {
    /// Reads elements, as [`Container::dataset_read`] does.
    fn read_all(&self, reads: &mut [OpRead<'_>]) -> Result<()>;

    /// Writes elements, as [`Container::dataset_write`] does. Where selections of several processes overlap, the
    /// elements are those of any of them.
    fn write_all(&self, writes: &[OpWrite<'_>]) -> Result<()>;

    /// Writes elements with values of variable length or references, in the memory datatype of the dataset's type;
    /// `heap` has the values.
    fn write_values_all(
        &self,
        dataset: Token,
        selection: &Selection,
        values: &[u8],
        heap: &Heap,
    ) -> Result<()>;

    /// Says that this process cannot take part in a transfer of a dataset that the others make: all of them get the
    /// error, instead of waiting. Returns the error that they get.
    fn refuse(&self, direction: Direction, dataset: Token, error: Error) -> Error;
}

/// A chunk that is about to be stored, after its filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChunk {
    /// First element, in each dimension.
    pub offset: Vec<u64>,
    /// Bit i set: filter i was not applied.
    pub filter_mask: u32,
    /// Bytes in storage.
    pub bytes: u64,
}

/// The chunks of a dataset whose elements have filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkGrid {
    /// The extent.
    pub dims: Vec<u64>,
    /// Elements of a chunk, in each dimension.
    pub shape: Vec<u64>,
    /// Bytes of an element.
    pub element_bytes: u32,
}

impl ChunkGrid {
    /// Returns the bytes of a chunk before its filters.
    ///
    /// # Errors
    /// Returns `Limit` if they do not fit in memory.
    pub fn chunk_bytes(&self) -> Result<usize> {
        let bytes = self.shape.iter().try_fold(u64::from(self.element_bytes), |n, side| n.checked_mul(*side));
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        bytes.ok_or_else(|| Error::limit("size of chunk").with("shape", format!("{:?}", self.shape)))
    }
}

/// Bytes of a file that only the leader may write, because a commit has others there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderBytes {
    /// Where in the file.
    pub at: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Creates and opens the containers of processes that have one open together.
pub trait Replicas: Send + Sync {
    /// Creates a container, as its leader.
    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Replica>>;

    /// Opens a container for writing, as its leader.
    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Replica>>;

    /// Opens a container that another process leads; `changes` is what its [`Replica::changes`] returned first.
    fn follow(&self, op: &ContainerOpen<'_>, changes: &[u8]) -> Result<Arc<dyn Replica>>;
}

/// The container of one process among several. No one changes or reads it while its structure changes: the caller
/// sees to that.
pub trait Replica: Send + Sync {
    /// Returns the container as this process sees it. That of a follower can only be read.
    fn container(&self) -> &Arc<dyn Container>;

    /// Returns what followers must know of all changes since the last call. Everything else is in storage. Only the
    /// leader can say.
    fn changes(&self) -> Result<Vec<u8>>;

    /// Returns what followers must know to use a dataset that was just made with a link to it, or `None` if they need all
    /// [`changes`](Replica::changes). That is less to say: followers add the link themselves when they look for it
    /// ([`link_new`](Replica::link_new)), and the next `changes` have it. Only the leader can say.
    fn changes_of_new(&self, dataset: Token) -> Result<Option<Vec<u8>>>;

    /// Takes what the leader's `changes` returned. Only followers do.
    fn apply(&self, changes: &[u8]) -> Result<()>;

    /// Takes what the leader's [`changes_of_new`](Replica::changes_of_new) returned of a dataset with a link at `place`.
    /// Followers do, and the leader after it told them.
    fn apply_new(&self, _changes: &[u8], _place: &LinkLocation, _dataset: Token) -> Result<()> {
        Ok(())
    }

    /// Returns whether links to datasets that were made lately are missing in what this process sees.
    fn lacks_links(&self) -> bool {
        false
    }

    /// Returns whether this is a dataset that was made lately, which the leader told of by itself.
    fn is_unlinked(&self, _dataset: Token) -> bool {
        false
    }

    /// Adds the links that [are missing](Replica::lacks_links), for this process alone.
    fn link_new(&self) -> Result<()> {
        Ok(())
    }

    /// Returns where elements lie.
    ///
    /// # Errors
    /// Returns `Unsupported` where they do not lie in the file as they are.
    fn place(&self, op: &OpPlacement) -> Result<Placement>;

    /// Gives space to elements that have none, with the fill value. Only the leader does.
    fn allocate(&self, op: &OpPlacement) -> Result<()>;

    /// Returns the chunks of a dataset with filters, each of which one process can write; `None` for other datasets.
    fn filtered(&self, dataset: Token) -> Result<Option<ChunkGrid>>;

    /// Returns the elements of a chunk without its filters: the fill value where nothing is stored.
    fn load_chunk(&self, dataset: Token, chunk_coords: &[u64]) -> Result<Vec<u8>>;

    /// Returns a chunk after its filters, and the mask of those that were not applied.
    fn encode_chunk(&self, dataset: Token, chunk_coords: &[u64], chunk: Vec<u8>) -> Result<(Vec<u8>, u32)>;

    /// Gives space to chunks and returns where each lies in the file. Who calls this writes them there. Only the
    /// leader does.
    fn allocate_chunks(&self, dataset: Token, chunks: &[NewChunk]) -> Result<Vec<u64>>;

    /// From now on elements are written where they lie, also over those of the last commit: all of them count as
    /// [fresh](Replica::fresh), unless others wait for the next commit there.
    fn write_in_place(&self);

    /// Returns what of a range of the file this process may [write](Replica::write), in order: nothing that the last
    /// commit has lies there, or this is the leader.
    fn fresh(&self, range: Range<u64>) -> Vec<Range<u64>>;

    /// Reads bytes of a range that [is fresh](Replica::fresh) from the file, past all caches: those that any process wrote
    /// and [ended](Replica::end_write).
    fn read(&self, at: u64, into: &mut [u8]) -> Result<()>;

    /// Writes bytes to ranges that [are fresh](Replica::fresh).
    fn write(&self, pieces: &[(u64, &[u8])]) -> Result<()>;

    /// Writes bytes anywhere in space of elements, as part of the next commit: the leader at once, while a follower
    /// keeps them until [`take_kept`](Replica::take_kept), and reads them meanwhile.
    fn keep(&self, pieces: &[(u64, &[u8])]) -> Result<()>;

    /// Returns how many bytes a follower keeps.
    fn kept_bytes(&self) -> u64;

    /// Returns what a follower kept, for the leader to write.
    fn take_kept(&self) -> Vec<LeaderBytes>;

    /// Ends writes of this process: from now on others read what it wrote.
    fn end_write(&self) -> Result<()>;

    /// Forgets what is cached of elements: others wrote some.
    fn elements_changed(&self) -> Result<()>;

    /// Forgets what is cached of the elements of these datasets: others wrote some.
    fn elements_changed_of(&self, _datasets: &[Token]) -> Result<()> {
        self.elements_changed()
    }

    /// Makes durable what this process wrote.
    fn sync(&self) -> Result<()>;
}
