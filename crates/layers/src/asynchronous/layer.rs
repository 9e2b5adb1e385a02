//! The layer: what is queued, and what waits for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::properties::Layout;
use model::{Dataspace, Error, Kind, ObjectKind, Result, Selection, Token};
use system::sync::{Mutex, MutexGuard};
use vol::{
    Call, Capability, ConnectorInfo, Container, DatasetInfo, Durability, Layer, LayerFactory, Observed,
    Observer, OpRead, OpWrite, Operation, Parameters, Wrap, WrapCheck,
};

use crate::asynchronous::queue::{Queue, Work};

/// Threads unless a parameter says otherwise.
const THREADS: usize = 2;
/// Bytes that may wait unless a parameter says otherwise.
const BYTES_MAX: usize = 64 << 20;
/// More threads than this are a mistake.
const THREADS_MAX: usize = 256;

/// Puts queues over containers.
#[derive(Debug, Clone, Copy, Default)]
pub struct AsyncLayer;

impl LayerFactory for AsyncLayer {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: "async",
            value: 525,
            version: 1,
            capability: Capability::default(),
            about: "changes go on in the background",
        }
    }

    fn check(&self, op: &WrapCheck<'_>) -> Result<()> {
        settings(op.parameters).map(drop)
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        let (threads, bytes) = settings(op.parameters)?;
        let is_writable = op.inner.info()?.writable;
        let queue = Queue::new(op.inner.clone(), threads, bytes);
        let waits = Waits(queue.clone());
        let (inner, handles, has_no_handles) = (op.inner.clone(), Mutex::default(), AtomicBool::new(false));
        let queued = Queued { inner, queue, is_writable, handles, has_no_handles };
        Ok(Arc::new(Observed::new(Arc::new(queued), waits)))
    }
}

/// Threads, and bytes that may wait.
fn settings(parameters: &Parameters) -> Result<(usize, usize)> {
    parameters.only(&["threads", "memory"])?;
    let threads = parameters.parsed("threads", THREADS)?;
    if threads == 0 || threads > THREADS_MAX {
        let error = Error::invalid("read parameter").with("threads", threads);
        return Err(error.with("maximum", THREADS_MAX));
    }
    Ok((threads, parameters.parsed("memory", BYTES_MAX)?))
}

/// Lets every call wait for what it depends on.
struct Waits(Arc<Queue>);

impl Observer for Waits {
    type Begun = ();

    fn begin(&self, call: &Call) -> Result<()> {
        use Operation as O;
        if self.0.is_empty() {
            return Ok(());
        }
        match call.operation {
            // Nothing that is queued changes their answers, or they look for themselves.
            O::info
            | O::retain
            | O::release
            | O::dataset_info
            | O::dataset_read
            | O::dataset_write
            | O::dataset_resize
            | O::attribute_info
            | O::attribute_list
            | O::attribute_write
            | O::blob_put
            | O::blob_get
            | O::blob_pin
            | O::blob_unpin
            | O::reference_put
            | O::reference_get => {}
            // They may reach any object, or remove it.
            O::commit
            | O::close
            | O::optional
            | O::object_copy
            | O::object_adjust_references
            | O::link_delete
            | O::attribute_delete
            | O::blob_delete => self.0.wait_for_all(),
            _ => call.object.into_iter().for_each(|object| self.0.wait_for(object)),
        }
        Ok(())
    }

    fn end(&self, _call: &Call, _begun: (), _error: Option<&Error>) -> Result<()> {
        Ok(())
    }
}

struct Queued {
    inner: Arc<dyn Container>,
    queue: Arc<Queue>,
    is_writable: bool,
    /// How often objects are retained.
    handles: Mutex<HashMap<Token, u64>>,
    /// The inner container does not count handles: letting go of one removes nothing.
    has_no_handles: AtomicBool,
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.queue.stop();
    }
}

/// Elements may lie in other datasets or in files that other datasets share.
fn is_elsewhere(info: &DatasetInfo) -> bool {
    matches!(info.create.layout, Layout::Virtual(_) | Layout::External(_))
}

/// Returns whether a write of these bytes can only fail in the storage.
fn is_sound(info: &DatasetInfo, selection: &Selection, bytes: usize) -> bool {
    let Dataspace::Simple(_) = info.space else {
        return info.space == Dataspace::Scalar && fits(info, 1, bytes);
    };
    let dims = info.space.dims();
    selection.validate(dims).is_ok()
        && selection.element_count(dims).is_ok_and(|count| fits(info, count, bytes))
}

fn fits(info: &DatasetInfo, count: u64, bytes: usize) -> bool {
    count.checked_mul(info.datatype.size().into()) == Some(bytes as u64)
}

impl Queued {
    fn handles(&self) -> MutexGuard<'_, HashMap<Token, u64>> {
        self.handles.lock()
    }

    /// Returns the dataset as it will be when what is queued is done.
    fn future(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        self.queue.future_info(dataset).map_or_else(|| self.inner.dataset_info(dataset), Ok)
    }

    fn is_queueable(&self, write: &OpWrite<'_>) -> bool {
        let Ok(info) = self.future(write.dataset) else { return false };
        let is_plain = !is_elsewhere(&info) && !info.datatype.has_descriptors();
        let bytes = write.from.len();
        is_plain && is_sound(&info, write.selection, bytes) && self.queue.has_space_for(bytes)
    }

    /// Returns the dataset after it was resized, if that can be queued.
    fn resized(&self, dataset: Token, dims: &[u64]) -> Option<Arc<DatasetInfo>> {
        let info = self.future(dataset).ok().filter(|_| self.is_writable)?;
        let is_chunked = matches!(info.create.layout, Layout::Chunked { .. });
        if !is_chunked || dims.is_empty() || dims.len() != info.space.rank() {
            return None;
        }
        let space = info.space.resized(dims).ok()?;
        space.element_count().ok()?.checked_mul(info.datatype.size().into())?;
        Some(Arc::new(DatasetInfo { space, ..(*info).clone() }))
    }

    /// Returns whether a value can be queued.
    fn is_queueable_attribute(&self, object: Token, name: &str, bytes: usize) -> bool {
        let Ok(Some(info)) = self.inner.attribute_info(object, name) else { return false };
        let count = info.space.element_count().unwrap_or(u64::MAX);
        let wanted = count.checked_mul(info.datatype.size().into());
        let is_sound = wanted == Some(bytes as u64) && !info.datatype.has_descriptors();
        self.is_writable && is_sound && self.queue.has_space_for(bytes)
    }

    /// Returns whether releasing an object now could remove others that have something queued.
    fn may_remove_others(&self, object: Token) -> bool {
        let info = self.inner.object_info(object);
        info.map_or(true, |info| info.kind == ObjectKind::Group && info.references == 0)
    }

    fn forget_handle(&self, object: Token) {
        let mut handles = self.handles();
        if let Some(times) = handles.get_mut(&object) {
            *times -= 1;
            if *times == 0 {
                handles.remove(&object);
            }
        }
    }
}

impl Layer for Queued {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        self.queue.finish()?;
        self.inner.commit(durability)
    }

    fn close(&self) -> Result<()> {
        let finished = self.queue.finish();
        let closed = self.inner.close();
        self.queue.stop();
        finished.and(closed)
    }

    fn retain(&self, object: Token) -> Result<()> {
        self.queue.wait_for_releases(object);
        self.inner.retain(object).inspect_err(|error| {
            if error.kind() == Kind::Unsupported {
                self.has_no_handles.store(true, Ordering::Relaxed);
            }
        })?;
        *self.handles().entry(object).or_insert(0) += 1;
        Ok(())
    }

    fn release(&self, object: Token) -> Result<()> {
        let is_retained = self.handles().contains_key(&object);
        if is_retained && self.queue.is_busy(object) {
            self.forget_handle(object);
            self.queue.push(object, Work::Release);
            return Ok(());
        }
        if self.has_no_handles.load(Ordering::Relaxed) {
            return self.inner.release(object);
        }
        // A handle too many is refused only after those that are queued.
        self.queue.wait_for(object);
        if !self.queue.is_empty() && self.may_remove_others(object) {
            self.queue.wait_for_all();
        }
        self.inner.release(object)?;
        self.forget_handle(object);
        Ok(())
    }

    fn attribute_write(&self, object: Token, name: &str, data: &[u8]) -> Result<()> {
        if self.is_queueable_attribute(object, name, data.len()) {
            let work = Work::Attribute { name: name.to_owned(), data: self.queue.copy(data) };
            self.queue.push(object, work);
            return Ok(());
        }
        self.queue.wait_for(object);
        self.inner.attribute_write(object, name, data)
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        self.future(dataset)
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
            let work = Work::Write { selection: write.selection.clone(), data: self.queue.copy(write.from) };
            self.queue.push(write.dataset, work);
        }
        Ok(())
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        if let Some(after) = self.resized(dataset, dims) {
            self.queue.push(dataset, Work::Resize { dims: dims.to_vec(), after });
            return Ok(());
        }
        self.queue.wait_for(dataset);
        self.inner.dataset_resize(dataset, dims)
    }
}
