//! Clients that read and write elements in the file themselves (`docs/serve.md`): what they may, and who waits for them.

use std::sync::Arc;
use std::time::Duration;

use model::{LinkTarget, ObjectKind, Result, Selection, Token};
use protocol::Id;
use vol::{Container, Layer, OpObjectCopy, OpPlacement, OpRead, OpWrite, Placement};

use crate::locks::{Ending, Exclusive, Locks, Reading, WHOLE};

/// A container of which clients have parts under locks, as one session has it.
pub(crate) struct Direct {
    inner: Arc<dyn Container>,
    locks: Arc<Locks>,
    session: Id,
    lease: Duration,
    patience: Duration,
}

impl Direct {
    pub(crate) fn new(
        inner: Arc<dyn Container>,
        locks: Arc<Locks>,
        session: Id,
        (lease, patience): (Duration, Duration),
    ) -> Self {
        Direct { inner, locks, session, lease, patience }
    }

    pub(crate) fn lease(&self) -> Duration {
        self.lease
    }

    /// Takes shared locks, and says where the elements lie. On an error there is no lock.
    pub(crate) fn lock(&self, number: u64, ops: &[OpPlacement], write: bool) -> Result<Vec<Placement>> {
        let times = (self.lease, self.patience);
        self.locks.share((self.session, number), ops, write, times, &|ending| self.lock_ended(ending))?;
        let place = |op| if write { self.inner.elements_place(op) } else { self.inner.elements_find(op) };
        let placed = ops.iter().map(place).collect::<Result<Vec<_>>>();
        if placed.is_err() {
            self.unlock(number);
        }
        placed
    }

    pub(crate) fn renew(&self, number: u64) -> Result<()> {
        self.locks.renew((self.session, number), self.lease)
    }

    pub(crate) fn unlock(&self, number: u64) {
        self.locks.unshare((self.session, number), &|ending| self.lock_ended(ending));
    }

    /// Gives back what ran out.
    pub(crate) fn expire(&self) {
        self.locks.expire(&|ending| self.lock_ended(ending));
    }

    /// The session is over. A client that only vanished may still write, for as long as its locks are good.
    pub(crate) fn end(&self, in_good_order: bool) {
        match in_good_order {
            true => self.locks.end(self.session, &|ending| self.lock_ended(ending)),
            false => self.expire(),
        }
    }

    fn lock_ended(&self, ending: &Ending) {
        if ending.is_expired && !ending.writes.is_empty() {
            tracing::warn!(dataset = %ending.writes[0].dataset, "a lock ran out that was not given back");
        }
        self.refresh(&ending.writes);
    }

    /// Forgets elements that were cached and that clients wrote.
    fn refresh(&self, writes: &[OpPlacement]) {
        for op in writes {
            // Of a dataset that is gone nothing is kept.
            let _ = self.inner.elements_changed(op);
        }
    }

    /// Returns what may go when an object goes: a dataset alone, a group with whatever is in it.
    fn goes_with(&self, object: Token) -> Token {
        match self.inner.object_kinds(&[object]).as_deref() {
            Ok([ObjectKind::Dataset]) => object,
            _ => WHOLE,
        }
    }

    /// Takes the lock to read these elements here, and forgets what was kept of elements that clients may be writing.
    fn reading(&self, ops: &[OpPlacement]) -> Result<Reading<'_>> {
        let reading = self.locks.read(ops, self.patience, &|ending| self.lock_ended(ending))?;
        ops.iter().for_each(|op| self.refresh(&self.locks.writes(Some(op.dataset))));
        Ok(reading)
    }

    fn exclusive(&self, datasets: impl IntoIterator<Item = Token>) -> Result<Exclusive<'_>> {
        let mut datasets: Vec<Token> = datasets.into_iter().collect();
        datasets.sort_unstable();
        datasets.dedup();
        self.locks.exclusive(datasets, self.patience, &|ending| self.lock_ended(ending))
    }
}

impl Layer for Direct {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    /// Closes the container. Locks that another connection gives back take effect only while it is open.
    fn close(&self) -> Result<()> {
        self.locks.wait_for(self.session, &|ending| self.lock_ended(ending));
        self.inner.close()
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let _alone = self.exclusive(writes.iter().map(|write| write.dataset))?;
        self.inner.dataset_write(writes)
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        let _alone = self.exclusive([dataset])?;
        self.inner.dataset_resize(dataset, dims)
    }

    fn chunk_write(&self, dataset: Token, offset: &[u64], filter_mask: u32, data: &[u8]) -> Result<()> {
        let _alone = self.exclusive([dataset])?;
        self.inner.chunk_write(dataset, offset, filter_mask, data)
    }

    fn link_delete(&self, group: Token, name: &str) -> Result<()> {
        let _alone = match self.inner.link_get(group, name)?.map(|link| link.target) {
            Some(LinkTarget::Hard(token)) => Some(self.exclusive([self.goes_with(token)])?),
            _ => None,
        };
        self.inner.link_delete(group, name)
    }

    fn object_adjust_references(&self, object: Token, by: i32) -> Result<u32> {
        let _alone = self.exclusive([self.goes_with(object)])?;
        self.inner.object_adjust_references(object, by)
    }

    /// The last handle of an object without a link takes the object with it.
    fn release(&self, object: Token) -> Result<()> {
        if self.locks.is_empty() {
            return self.inner.release(object);
        }
        let is_last = || self.inner.object_info(object).is_ok_and(|info| info.references == 0);
        let _alone = match self.locks.is_shared(self.goes_with(object)) && is_last() {
            true => Some(self.exclusive([self.goes_with(object)])?),
            false => None,
        };
        self.inner.release(object)
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        let ops: Vec<OpPlacement> = reads
            .iter()
            .map(|read| OpPlacement { dataset: read.dataset, selection: read.selection.clone() })
            .collect();
        let _reading = self.reading(&ops)?;
        self.inner.dataset_read(reads)
    }

    fn chunk_read(&self, dataset: Token, offset: &[u64]) -> Result<(u32, Vec<u8>)> {
        let _reading = self.reading(&[OpPlacement { dataset, selection: Selection::All }])?;
        self.inner.chunk_read(dataset, offset)
    }

    fn object_copy(&self, op: &OpObjectCopy) -> Result<Token> {
        self.refresh(&self.locks.writes(None));
        self.inner.object_copy(op)
    }
}
