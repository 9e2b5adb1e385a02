//! Calls that their caller awaits: opens, reads, writes, attributes, maps, links and commits.
//!
//! With the `async` layer the operations of a call are started, so that many calls go on at once and none needs a
//! thread. What cannot be started runs on threads of the library that may wait: calls without the layer, elements in
//! other files and datasets, large values that are converted or have a variable length. No call blocks the executor's
//! thread, except where a file or filter may be used by the calling thread only.

mod attributes;
mod descriptors;
mod elements;
mod files;
mod maps;
mod opens;

use std::sync::Arc;

use algorithms::transfer::{from_file_type, to_file_type};
use layers::asynchronous::{background, is_queued, resolved};
use model::{Datatype, Heap, Result};
use vol::Container;

use crate::H5Type;
use crate::element::{load_all, store_all};
use crate::session::Session;

/// Bytes that are converted where they are awaited. More go to a thread that may wait.
const HERE_BYTES_MAX: usize = 64 << 10;

impl Session {
    /// Returns whether operations are started and go on without a thread of the caller.
    fn is_started(&self) -> bool {
        is_queued(&*self.container)
    }

    /// Returns whether only the calling thread may use the file, or all processes that have it open take part.
    fn belongs_to_caller(&self) -> bool {
        self.container.is_serial(self.root) || self.container.collective().is_some()
    }

    /// Calls `f` on a thread that may wait.
    async fn aside<T: Send + 'static>(&self, f: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        match self.belongs_to_caller() {
            true => f(),
            false => background(f).await,
        }
    }
}

/// Returns the values of packed elements in the file datatype.
async fn loaded<T: H5Type + 'static>(
    session: &Arc<Session>,
    file_type: &Datatype,
    raw: Vec<u8>,
) -> Result<Vec<T>> {
    if let Some(values) = plain(file_type, &raw) {
        return Ok(values);
    }
    if raw.len() > HERE_BYTES_MAX {
        let (ours, file_type) = (session.clone(), file_type.clone());
        return session.aside(move || converted(&ours, &*ours.container, &file_type, &raw)).await;
    }
    resolved(&*session.container, |container| converted(session, container, file_type, &raw)).await
}

/// Returns values that are in memory as they are in the file; `None` where they are not.
fn plain<T: H5Type>(file_type: &Datatype, raw: &[u8]) -> Option<Vec<T>> {
    T::bytes(&[]).filter(|_| T::datatype() == *file_type)?;
    let mut values = T::zeroed(raw.len() / file_type.size().max(1) as usize)?;
    let bytes = T::bytes_mut(&mut values).filter(|bytes| bytes.len() == raw.len())?;
    bytes.copy_from_slice(raw);
    Some(values)
}

fn converted<T: H5Type>(
    session: &Session,
    container: &dyn Container,
    file_type: &Datatype,
    raw: &[u8],
) -> Result<Vec<T>> {
    let (memory, mut heap) = (T::datatype(), Heap::new());
    let conversions = &session.registered.conversions;
    let elements = from_file_type(container, file_type, raw, &memory, conversions, &mut heap)?;
    load_all(&elements, &heap)
}

/// Returns values as packed elements in the file datatype.
async fn stored<T: H5Type>(session: &Arc<Session>, file_type: &Datatype, values: &[T]) -> Result<Vec<u8>> {
    let memory = T::datatype();
    if let Some(bytes) = T::bytes(values).filter(|_| memory == *file_type) {
        return Ok(bytes.to_vec());
    }
    if values.len().saturating_mul(memory.size() as usize) > HERE_BYTES_MAX {
        let mut heap = Heap::new();
        let (elements, ours, file_type) = (store_all(values, &mut heap)?, session.clone(), file_type.clone());
        let convert = move || {
            let conversions = &ours.registered.conversions;
            to_file_type(&*ours.container, &memory, &elements, &file_type, conversions, &mut heap)
        };
        return session.aside(convert).await;
    }
    resolved(&*session.container, |container| {
        let (mut heap, conversions) = (Heap::new(), &session.registered.conversions);
        let elements = store_all(values, &mut heap)?;
        to_file_type(container, &memory, &elements, file_type, conversions, &mut heap)
    })
    .await
}
