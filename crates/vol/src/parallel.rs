//! Containers that several processes have open together.
//!
//! One process leads: it alone changes the structure. The others follow: they see the same container through changes that
//! the leader sends them, and write elements where the storage has space for them. A connector that supports this
//! implements [`Connector::replicas`](crate::Connector::replicas); `parallel` makes one container of the replicas of all
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

/// The direction of a transfer of elements.
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
    ///
    /// # Errors
    /// Returns the errors of [`Container::dataset_read`] in any process.
    fn read_all(&self, reads: &mut [OpRead<'_>]) -> Result<()>;

    /// Writes elements, as [`Container::dataset_write`] does. Where selections of several processes overlap, the
    /// elements are those of any of them.
    ///
    /// # Errors
    /// Returns the errors of [`Container::dataset_write`] in any process.
    fn write_all(&self, writes: &[OpWrite<'_>]) -> Result<()>;

    /// Writes elements with values of variable length or references, in the memory datatype of the dataset's type;
    /// `heap` has the values.
    ///
    /// # Errors
    /// Returns the errors of [`Container::dataset_write`] and of converting and storing the values in any process.
    fn write_values_all(
        &self,
        dataset: Token,
        selection: &Selection,
        values: &[u8],
        heap: &Heap,
    ) -> Result<()>;

    /// Tells the other processes that this one cannot take part in a transfer of a dataset: all of them get an error,
    /// instead of waiting. Returns the error that they get.
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

/// Bytes of a file that only the leader may write, because the last commit uses them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderBytes {
    /// The address in the file.
    pub at: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Creates and opens the containers of processes that have one open together.
pub trait Replicas: Send + Sync {
    /// Creates a container, in the process that leads.
    ///
    /// # Errors
    /// Returns the errors of [`Connector::create`](crate::Connector::create), and `Unsupported` for a file that
    /// several processes cannot write.
    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Replica>>;

    /// Opens a container for writing, in the process that leads.
    ///
    /// # Errors
    /// Returns the errors of [`Connector::open`](crate::Connector::open), and `Unsupported` for a file that several
    /// processes cannot write.
    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Replica>>;

    /// Opens a container that another process leads; `changes` is what its [`Replica::changes`] returned first.
    ///
    /// # Errors
    /// Returns the error of opening the file, and `Corrupt` if `changes` cannot be decoded.
    fn follow(&self, op: &ContainerOpen<'_>, changes: &[u8]) -> Result<Arc<dyn Replica>>;
}

/// The container of one process among several. The caller makes sure that no one changes or reads it while its
/// structure changes.
pub trait Replica: Send + Sync {
    /// Returns the container as this process sees it. That of a follower can only be read.
    fn container(&self) -> &Arc<dyn Container>;

    /// Returns, as bytes, the changes since the last call that followers cannot read from the storage. Only the leader
    /// may call it.
    ///
    /// # Errors
    /// Returns `Invalid` in a follower, and otherwise the error of the container.
    fn changes(&self) -> Result<Vec<u8>>;

    /// Returns, as bytes, the description of a dataset that was just created with a link to it, or `None` if followers
    /// need all [`changes`](Replica::changes). The description is shorter: followers add the link themselves when they
    /// look for it ([`link_new`](Replica::link_new)), and the next `changes` include it. Only the leader may call it.
    ///
    /// # Errors
    /// Returns `Invalid` in a follower, and otherwise the error of the container.
    fn changes_of_new(&self, dataset: Token) -> Result<Option<Vec<u8>>>;

    /// Applies the leader's `changes`. Only followers call it.
    ///
    /// # Errors
    /// Returns `Corrupt` if the bytes cannot be decoded, and otherwise the error of the storage.
    fn apply(&self, changes: &[u8]) -> Result<()>;

    /// Applies the leader's [`changes_of_new`](Replica::changes_of_new) for a dataset with a link at `place`.
    /// Followers call it, and the leader after it sent them.
    ///
    /// # Errors
    /// Returns `Corrupt` if the bytes cannot be decoded.
    fn apply_new(&self, _changes: &[u8], _place: &LinkLocation, _dataset: Token) -> Result<()> {
        Ok(())
    }

    /// Returns whether this process does not yet see links to datasets that were created recently.
    fn lacks_links(&self) -> bool {
        false
    }

    /// Returns whether this is a dataset that was created recently, whose description the leader sent alone.
    fn is_unlinked(&self, _dataset: Token) -> bool {
        false
    }

    /// Adds the links that [are missing](Replica::lacks_links), for this process alone.
    ///
    /// # Errors
    /// Returns the error of changing the group.
    fn link_new(&self) -> Result<()> {
        Ok(())
    }

    /// Returns where elements lie in the file.
    ///
    /// # Errors
    /// Returns `Unsupported` where they do not lie in the file as they are.
    fn place(&self, op: &OpPlacement) -> Result<Placement>;

    /// Allocates space for elements that have none, filled with the fill value. Only the leader may call it.
    ///
    /// # Errors
    /// Returns `Invalid` in a follower, and otherwise the error of the storage.
    fn allocate(&self, op: &OpPlacement) -> Result<()>;

    /// Returns the chunks of a dataset with filters, each of which one process can write, or `None` for other
    /// datasets.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such dataset, and otherwise the error of reading its header.
    fn filtered(&self, dataset: Token) -> Result<Option<ChunkGrid>>;

    /// Returns the elements of a chunk without its filters. They are the fill value if the chunk is not stored.
    ///
    /// # Errors
    /// Returns the error of reading or decoding the chunk.
    fn load_chunk(&self, dataset: Token, chunk_coords: &[u64]) -> Result<Vec<u8>>;

    /// Returns a chunk after its filters, and the mask of those that were not applied.
    ///
    /// # Errors
    /// Returns the error of a filter that must be applied.
    fn encode_chunk(&self, dataset: Token, chunk_coords: &[u64], chunk: Vec<u8>) -> Result<(Vec<u8>, u32)>;

    /// Allocates space for chunks and returns the address of each in the file, where the caller writes it. Only the
    /// leader may call it.
    ///
    /// # Errors
    /// Returns `Invalid` in a follower, and otherwise the error of the storage.
    fn allocate_chunks(&self, dataset: Token, chunks: &[NewChunk]) -> Result<Vec<u64>>;

    /// Allows elements to be written where they lie, also over those of the last commit. From now on all of them count
    /// as [fresh](Replica::fresh), unless others wait for the next commit there.
    fn write_in_place(&self);

    /// Returns the parts of a range of the file that this process may [write](Replica::write), in order: the last
    /// commit uses none of them, or this process leads.
    fn fresh(&self, range: Range<u64>) -> Vec<Range<u64>>;

    /// Reads bytes of a range that [is fresh](Replica::fresh) from the file, past all caches: those that any process wrote
    /// and [ended](Replica::end_write).
    ///
    /// # Errors
    /// Returns the error of reading the file.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<()>;

    /// Writes bytes to ranges that [are fresh](Replica::fresh).
    ///
    /// # Errors
    /// Returns the error of writing the file.
    fn write(&self, pieces: &[(u64, &[u8])]) -> Result<()>;

    /// Writes bytes anywhere in space of elements, as part of the next commit. The leader writes them at once. A
    /// follower buffers them until [`take_buffered`](Replica::take_buffered), and its reads see them.
    ///
    /// # Errors
    /// Returns the error of the storage.
    fn write_for_commit(&self, pieces: &[(u64, &[u8])]) -> Result<()>;

    /// Returns the number of bytes that a follower buffers.
    fn buffered_bytes(&self) -> u64;

    /// Returns what a follower buffered, for the leader to write, and empties the buffer.
    fn take_buffered(&self) -> Vec<LeaderBytes>;

    /// Ends writes of this process: other processes can read from now on what it wrote.
    ///
    /// # Errors
    /// Returns the error of the storage.
    fn end_write(&self) -> Result<()>;

    /// Forgets cached elements, because another process wrote some.
    ///
    /// # Errors
    /// Returns the error of the container.
    fn elements_changed(&self) -> Result<()>;

    /// Forgets cached elements of these datasets, because another process wrote some.
    ///
    /// # Errors
    /// Returns the error of the container.
    fn elements_changed_of(&self, _datasets: &[Token]) -> Result<()> {
        self.elements_changed()
    }

    /// Makes the writes of this process durable.
    ///
    /// # Errors
    /// Returns the error of the storage.
    fn sync(&self) -> Result<()>;
}
