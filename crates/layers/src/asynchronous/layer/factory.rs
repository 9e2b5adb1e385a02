//! Puts the layer over containers.

use std::sync::Arc;

use model::{Error, Result};
use vol::{Capability, ConnectorInfo, Container, LayerFactory, Observed, Parameters, Wrap, WrapCheck};

use super::QueuedContainer;
use crate::asynchronous::queue::Queue;
use crate::asynchronous::waits::Waits;

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
            about: "operations go on in the background",
        }
    }

    fn check(&self, op: &WrapCheck<'_>) -> Result<()> {
        settings(op.parameters).map(drop)
    }

    fn wrap(&self, op: &Wrap<'_>) -> Result<Arc<dyn Container>> {
        let (threads, bytes) = settings(op.parameters)?;
        let info = op.inner.info()?;
        if op.inner.is_serial(info.root) {
            // Its file may be used by threads of the caller only: there is nothing that another thread could do.
            return Ok(op.inner.clone());
        }
        let queue = Queue::new(op.inner.clone(), threads, bytes);
        queue.set_root(info.root);
        let waits = Waits { queue: queue.clone(), is_writable: info.writable };
        let queued = QueuedContainer {
            inner: op.inner.clone(),
            queue,
            is_writable: info.writable,
            descriptors: info.descriptors,
        };
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
