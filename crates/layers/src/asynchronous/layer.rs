//! The layer: what is queued, and what waits for it.

mod factory;
mod queueing;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::datatype::DescriptorSizes;
use model::properties::Layout;
use model::{Kind, LinkTarget, ObjectKind, Result, Token};
use vol::{
    AttributeInfo, Container, DatasetInfo, Durability, Layer, LinkLocation, OpAttributeCreate,
    OpDatasetCreate, OpDatatypeCommit, OpGroupCreate, OpLinkCreate, OpLinkMove, OpMapCreate, OpRead, OpWrite,
    Operation,
};

use crate::asynchronous::graph::{Foreseen, Reach};
use crate::asynchronous::queue::{Queue, Queueing};
use crate::asynchronous::request::is_collecting;
use crate::asynchronous::work::{Call, Work};
pub use factory::AsyncLayer;
use queueing::is_elsewhere;

struct QueuedContainer {
    inner: Arc<dyn Container>,
    queue: Arc<Queue>,
    is_writable: bool,
    descriptors: DescriptorSizes,
}

impl Drop for QueuedContainer {
    fn drop(&mut self) {
        self.queue.stop();
    }
}

impl QueuedContainer {
    /// Returns the dataset as it will be when what is queued is done.
    fn future(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        self.queue.future_info(dataset).map_or_else(
            || {
                self.queue.wait_for_creation(dataset);
                self.inner.dataset_info(dataset)
            },
            Ok,
        )
    }

    /// Returns the dataset after it was resized, if that can be queued.
    fn resized(&self, dataset: Token, dims: &[u64]) -> Option<Arc<DatasetInfo>> {
        let info = self.expected(dataset).map_or_else(|| self.future(dataset), Ok);
        let info = info.ok().filter(|_| self.is_writable)?;
        let is_chunked = matches!(info.create.layout, Layout::Chunked { .. });
        if self.is_serial(dataset, &info) || !is_chunked || dims.is_empty() || dims.len() != info.space.rank()
        {
            return None;
        }
        let space = info.space.resized(dims).ok()?;
        space.element_count().ok()?.checked_mul(info.datatype.size().into())?;
        Some(Arc::new(DatasetInfo { space, ..(*info).clone() }))
    }

    /// Returns whether a value can be queued.
    fn is_queueable_attribute(&self, object: Token, name: &str, bytes: usize) -> bool {
        let Ok(Some(info)) = Layer::attribute_info(self, object, name) else { return false };
        let count = info.space.element_count().unwrap_or(u64::MAX);
        let wanted = count.checked_mul(info.datatype.size().into());
        let is_sound = wanted == Some(bytes as u64) && !info.datatype.has_descriptors();
        let is_serial = self.queue.is_serial.load(Ordering::SeqCst);
        self.is_writable && !is_serial && is_sound && self.queue.has_space_for(bytes)
    }

    /// Returns whether releasing an object now could remove others that have something queued.
    fn may_remove_others(&self, object: Token) -> bool {
        let info = self.inner.object_info(object);
        info.map_or(true, |info| info.kind == ObjectKind::Group && info.references == 0)
    }
}

impl Layer for QueuedContainer {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        if self.queues() {
            let queue = Arc::downgrade(&self.queue);
            let call: Call = Box::new(move |container| {
                queue.upgrade().map_or(Ok(()), |queue| queue.unseen_failures())?;
                container.commit(durability)
            });
            self.push(Operation::commit, Reach::change_all(), None, call);
            return Ok(());
        }
        self.queue.finish()?;
        self.inner.commit(durability)
    }

    fn optional(&self, name: &str, request: &[u8]) -> Result<Vec<u8>> {
        self.queue.forget_attributes(None);
        self.inner.optional(name, request)
    }

    fn close(&self) -> Result<()> {
        let finished = self.queue.finish();
        let closed = self.inner.close();
        self.queue.stop();
        finished.and(closed)
    }

    fn retain(&self, object: Token) -> Result<()> {
        if self.queue.is_pipelined() && is_collecting() {
            let outcome = self.queue.handle_outcome();
            let call: Call = Box::new(move |container| outcome(container.retain(object)));
            let reach = Reach { is_retain: true, ..Reach::change(object) };
            self.push_unseen(Operation::retain, reach, call);
            self.queue.retained(object);
            return Ok(());
        }
        self.queue.wait_for_releases(Some(object));
        self.queue.wait_for_creation(object);
        self.queue.wait_for_removal(object);
        self.inner.retain(object).inspect_err(|error| {
            if error.kind() == Kind::Unsupported {
                self.queue.needs_no_handles();
            }
        })?;
        self.queue.retained(object);
        Ok(())
    }

    fn release(&self, object: Token) -> Result<()> {
        let is_retained = self.queue.is_retained(object);
        if is_retained && (self.queue.is_pipelined() || self.queue.is_busy(object)) {
            self.queue.released(object);
            let outcome = self.queue.handle_outcome();
            let call: Call = Box::new(move |container| outcome(container.release(object)));
            let reach = Reach { is_release: true, ..Reach::change(object) };
            self.push_unseen(Operation::release, reach, call);
            return Ok(());
        }
        if self.queue.has_no_handles() {
            return self.inner.release(object);
        }
        // A handle too many is refused only after those that are queued.
        self.queue.wait_for(object);
        if !self.queue.is_empty() && self.may_remove_others(object) {
            self.queue.wait_for_all();
        }
        self.inner.release(object)?;
        self.queue.released(object);
        Ok(())
    }

    fn object_set_comment(&self, object: Token, comment: Option<&str>) -> Result<()> {
        if !self.queues() {
            return self.inner.object_set_comment(object, comment);
        }
        let comment = comment.map(str::to_owned);
        let call: Call = Box::new(move |container| container.object_set_comment(object, comment.as_deref()));
        self.push(Operation::object_set_comment, Reach::change(object), None, call);
        Ok(())
    }

    fn group_create(&self, op: &OpGroupCreate) -> Result<Token> {
        let (place, op) = (op.place.as_ref(), op.clone());
        self.create(Operation::group_create, place, Foreseen::Nothing, move |c| c.group_create(&op))
    }

    fn dataset_create(&self, op: &OpDatasetCreate) -> Result<Token> {
        let info = DatasetInfo {
            datatype: op.datatype.with_descriptors(&self.descriptors),
            committed: op.committed,
            space: op.space.clone(),
            create: op.create.clone(),
        };
        let foreseen = Foreseen::Dataset(Token::from_u64(0), Arc::new(info));
        let (place, op) = (op.place.as_ref(), op.clone());
        self.create(Operation::dataset_create, place, foreseen, move |c| c.dataset_create(&op))
    }

    fn datatype_commit(&self, op: &OpDatatypeCommit) -> Result<Token> {
        let (place, op) = (op.place.as_ref(), op.clone());
        self.create(Operation::datatype_commit, place, Foreseen::Nothing, move |c| c.datatype_commit(&op))
    }

    fn map_create(&self, op: &OpMapCreate) -> Result<Token> {
        let (place, op) = (op.place.as_ref(), op.clone());
        self.create(Operation::map_create, place, Foreseen::Nothing, move |c| c.map_create(&op))
    }

    fn link_create(&self, op: &OpLinkCreate) -> Result<()> {
        if !self.queues() {
            return self.inner.link_create(op);
        }
        let mut reach = Reach::structure(op.place.group).of_link(&op.place.name);
        if let LinkTarget::Hard(target) = op.target {
            reach.objects.push(target);
        }
        let (path, op) = (self.path(&op.place), op.clone());
        self.push(Operation::link_create, reach, path, Box::new(move |c| c.link_create(&op)));
        Ok(())
    }

    fn link_delete(&self, group: Token, name: &str) -> Result<()> {
        if !self.queues() {
            return self.inner.link_delete(group, name);
        }
        let reach = Reach::unlinking(group).of_link(name);
        let (path, name) = (self.path(&LinkLocation::new(group, name)), name.to_owned());
        let call: Call = Box::new(move |container| container.link_delete(group, &name));
        self.push(Operation::link_delete, reach, path, call);
        Ok(())
    }

    fn link_move(&self, op: &OpLinkMove) -> Result<()> {
        if !self.queues() {
            return self.inner.link_move(op);
        }
        let (path, op) = (self.path(&LinkLocation::new(op.from, &*op.name)), op.clone());
        // A copy is one more link to an object that is not known.
        let mut reach = if op.copy { Reach::unlinking(op.from) } else { Reach::structure(op.from) };
        reach.objects.push(op.to.group);
        self.push(Operation::link_move, reach, path, Box::new(move |c| c.link_move(&op)));
        Ok(())
    }

    fn attribute_create(&self, op: &OpAttributeCreate) -> Result<()> {
        if !self.queues() {
            self.queue.forget_attributes(Some(op.object));
            return self.inner.attribute_create(op);
        }
        let info = AttributeInfo {
            name: op.name.clone(),
            charset: op.charset,
            creation_order: None,
            datatype: op.datatype.with_descriptors(&self.descriptors),
            committed: op.committed,
            space: op.space.clone(),
        };
        let (object, op) = (op.object, op.clone());
        let foreseen = Foreseen::Attribute(Box::new(info));
        let work = Work::Call(Box::new(move |container| container.attribute_create(&op)));
        let (operation, bytes) = (Operation::attribute_create, self.queue.reserve(0));
        let (reach, moved, path, is_shown) = (Reach::attributes(object), 0, None, true);
        self.queue.push(Queueing { operation, reach, foreseen, work, bytes, moved, path, is_shown });
        Ok(())
    }

    fn attribute_info(&self, object: Token, name: &str) -> Result<Option<AttributeInfo>> {
        if let Some(info) = self.queue.known_attribute(object, name).filter(|_| is_collecting()) {
            return Ok(info);
        }
        if let Some(info) = self.queue.future_attribute(object, name) {
            return Ok(info);
        }
        self.queue.wait_for_attributes(object);
        self.inner.attribute_info(object, name)
    }

    fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        let fits = self.queues() && self.queue.has_space_for(data.len());
        if fits || self.is_queueable_attribute(object, name, data.len()) {
            let (name, data) = (name.to_owned(), self.queue.copy(data));
            let bytes = data.len();
            let work = Work::Call(Box::new(move |container| container.attribute_write(object, &name, &data)));
            self.push_work(Operation::attribute_write, Reach::change(object), work, bytes);
            return Ok(());
        }
        self.queue.wait_for(object);
        self.inner.attribute_write(object, name, data)
    }

    fn attribute_delete(&self, object: Token, name: &str) -> Result<()> {
        if !self.queues() {
            self.queue.forget_attributes(Some(object));
            return self.inner.attribute_delete(object, name);
        }
        let (name, foreseen) = (name.to_owned(), Foreseen::NoAttribute(name.to_owned()));
        let work = Work::Call(Box::new(move |container| container.attribute_delete(object, &name)));
        let (operation, bytes) = (Operation::attribute_delete, self.queue.reserve(0));
        let (reach, moved, path, is_shown) = (Reach::attributes(object), 0, None, true);
        self.queue.push(Queueing { operation, reach, foreseen, work, bytes, moved, path, is_shown });
        Ok(())
    }

    fn attribute_rename(&self, object: Token, from: &str, to: &str) -> Result<()> {
        if !self.queues() {
            self.queue.forget_attributes(Some(object));
            return self.inner.attribute_rename(object, from, to);
        }
        let (from, to) = (from.to_owned(), to.to_owned());
        let call: Call = Box::new(move |container| container.attribute_rename(object, &from, &to));
        self.push(Operation::attribute_rename, Reach::attributes(object), None, call);
        Ok(())
    }

    fn map_put(&self, map: Token, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        let moved = pairs.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        if !self.queues() || !self.queue.has_space_for(moved) {
            self.queue.wait_for(map);
            return self.inner.map_put(map, pairs);
        }
        let bytes = self.queue.reserve(moved);
        let owned: Vec<(Vec<u8>, Vec<u8>)> = pairs.iter().map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
        let work = Work::Call(Box::new(move |container| {
            let pairs: Vec<(&[u8], &[u8])> = owned.iter().map(|(k, v)| (&k[..], &v[..])).collect();
            container.map_put(map, &pairs)
        }));
        self.push_work(Operation::map_put, Reach::change(map), work, bytes);
        Ok(())
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        self.future(dataset).inspect(|info| self.queue.know_dataset(dataset, info))
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        if !self.queue.is_empty() {
            for read in reads.iter() {
                match self.future(read.dataset).is_ok_and(|info| is_elsewhere(&info)) {
                    true => self.queue.wait_for_all(),
                    false => self.queue.wait_for(read.dataset),
                }
            }
        }
        self.inner.dataset_read(reads)
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        if !self.is_writable || !writes.iter().all(|write| self.is_queueable(write)) {
            // External elements may be part of any dataset.
            self.queue.wait_for_all();
            return self.inner.dataset_write(writes);
        }
        for write in writes {
            let (dataset, selection) = (write.dataset, write.selection.clone());
            let work = Work::Write { dataset, selection, data: self.queue.copy(write.from) };
            self.push_work(Operation::dataset_write, Reach::change(dataset), work, write.from.len());
        }
        Ok(())
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        if let Some(after) = self.resized(dataset, dims) {
            let dims = dims.to_vec();
            let work = Work::Call(Box::new(move |container| container.dataset_resize(dataset, &dims)));
            let (operation, bytes) = (Operation::dataset_resize, self.queue.reserve(0));
            let (reach, foreseen) = (Reach::change(dataset), Foreseen::Dataset(dataset, after));
            let (moved, path, is_shown) = (0, None, true);
            self.queue.push(Queueing { operation, reach, foreseen, work, bytes, moved, path, is_shown });
            return Ok(());
        }
        self.queue.wait_for(dataset);
        self.inner.dataset_resize(dataset, dims)
    }
}
