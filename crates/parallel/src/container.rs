//! The container that a rank holds.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::properties::{AllocTime, Layout};
use model::{Result, Token};
use protocol::wire::Client;
use vol::{
    Collective, Container, ContainerInfo, DatasetInfo, Durability, Layer, OpDatasetCreate, OpRead, OpWrite,
    Operation,
};

use crate::group::{Group, Sharing};
use crate::ranks::{Call, hash_of, of_first};
use crate::structure::Structure;

/// A container that several processes have open.
pub(crate) struct ParallelContainer {
    pub(crate) group: Arc<Group>,
    structure: Client<Structure>,
}

impl ParallelContainer {
    pub(crate) fn new(group: Arc<Group>) -> Self {
        ParallelContainer { structure: Client::new(Structure(group.clone())), group }
    }

    /// Every rank makes durable what it wrote; only then may a commit lead there.
    fn sync(&self, durability: Durability) -> Result<()> {
        let is_needed = match self.group.sharing {
            Sharing::Led => durability != Durability::None,
            Sharing::Served => false,
            Sharing::Concurrent => true,
        };
        if !is_needed || !self.group.is_writable {
            return Ok(());
        }
        self.group.ranks.end(0, self.group.replica.sync()).map(drop)
    }
}

/// Space is allocated when a dataset is created, so that every rank can write to it by itself: as in libhdf5. Chunks
/// with filters get theirs when their size is known.
fn allocated_early(op: &OpDatasetCreate) -> OpDatasetCreate {
    let mut op = op.clone();
    let is_plain = op.create.filters.is_empty() && !op.datatype.has_descriptors();
    if is_plain && matches!(op.create.layout, Layout::Contiguous | Layout::Chunked { .. }) {
        op.create.alloc_time = AllocTime::Early;
    }
    op
}

impl Layer for ParallelContainer {
    fn inner(&self) -> &dyn Container {
        &self.structure
    }

    fn info(&self) -> Result<Arc<ContainerInfo>> {
        self.group.check()?;
        let info = self.group.container().info()?;
        match info.writable == self.group.is_writable {
            true => Ok(info),
            false => Ok(Arc::new(ContainerInfo {
                writable: self.group.is_writable,
                ..ContainerInfo::clone(&info)
            })),
        }
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        match self.group.is_shared() {
            true => self.structure.dataset_create(op),
            false => self.group.create_dataset(&allocated_early(op)),
        }
    }

    /// As [`Structure`] does, without the way through bytes: every new dataset is opened next.
    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        if self.group.options.collective_metadata {
            return self.structure.dataset_info(dataset);
        }
        let _reading = self.group.read_structure(|| !self.group.replica.is_unlinked(dataset))?;
        self.group.check()?;
        self.group.container().dataset_info(dataset)
    }

    fn retain(&self, object: Token) -> Result<()> {
        let _reading = self.group.turn.read();
        self.group.check()?;
        self.group.container().retain(object)
    }

    fn release(&self, object: Token) -> Result<()> {
        let _reading = self.group.turn.read();
        self.group.check()?;
        self.group.container().release(object)
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        let _reading = self.group.read_structure(|| self.group.reads_links(reads))?;
        self.group.check()?;
        self.group.before_read()?;
        self.group.container().dataset_read(reads)
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let _reading = self.group.turn.read();
        self.group.check()?;
        self.group.write_alone(writes)?;
        self.group.after_write()
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        let _turn = self.group.turn.write();
        let hash = hash_of(durability as u32);
        let handed = self.group.begin(Call::Operation(Operation::commit), hash, Ok(()))?;
        self.sync(durability)?;
        let commit = |container: &dyn Container| {
            handed?;
            of_first(container.commit(durability)).map(|()| Vec::new())
        };
        self.group.lead(commit).map(drop)
    }

    fn close(&self) -> Result<()> {
        let _turn = self.group.turn.write();
        let handed = self.group.begin(Call::Operation(Operation::close), 0, Ok(()))?;
        self.sync(Durability::Full)?;
        let ranks = &self.group.ranks;
        if self.group.is_writable {
            ranks.first_does(|| {
                handed?;
                of_first(self.group.container().close()).map(|()| Vec::new())
            })?;
        }
        self.group.is_closed.store(true, Ordering::Release);
        let is_leader = self.group.is_writable && ranks.is_first();
        if is_leader { Ok(()) } else { self.group.container().close() }
    }

    fn collective(&self) -> Option<&dyn Collective> {
        Some(&*self.group)
    }
}
