//! Files and filters that only one thread may use: no worker of the layer does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use memory::MemoryConnector;
use model::properties::{DatasetCreate, FileCreate, FilterSpec, Layout};
use model::{Dataspace, Datatype, Result, Selection, Token};
use vol::*;

use crate::asynchronous::{AsyncLayer, requests};

/// Filters of datasets, and if `is_file` the file too, that belong to the thread that made it.
struct Own {
    inner: Arc<dyn Container>,
    thread: std::thread::ThreadId,
    is_file: bool,
    changes: AtomicUsize,
}

impl Own {
    fn over_memory(is_file: bool) -> (Arc<Own>, Arc<dyn Container>) {
        let (create, access) = (FileCreate::default(), FileAccess::write());
        let inner = MemoryConnector::new().create(&ContainerCreate::new("own", &create, &access)).unwrap();
        let (thread, changes) = (std::thread::current().id(), AtomicUsize::new(0));
        let own = Arc::new(Own { inner, thread, is_file, changes });
        let parameters = &Stack::parse("async").unwrap().0.remove(0).parameters;
        let (inner, registry): (Arc<dyn Container>, _) = (own.clone(), Registry::none());
        let op = Wrap { inner, location: "own", parameters, made: None, access: &access, registry };
        (own, AsyncLayer.wrap(&op).unwrap())
    }

    fn note(&self) {
        assert_eq!(std::thread::current().id(), self.thread, "another thread uses it");
        self.changes.fetch_add(1, Ordering::SeqCst);
    }
}

impl Layer for Own {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn is_serial(&self, dataset: Token) -> bool {
        let has_filters = |info: Arc<DatasetInfo>| !info.create.filters.is_empty();
        self.is_file || self.inner.dataset_info(dataset).is_ok_and(has_filters)
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let is_own = writes.iter().any(|write| Layer::is_serial(self, write.dataset));
        if is_own || self.changes.load(Ordering::SeqCst) > 0 {
            self.note();
        }
        self.inner.dataset_write(writes)
    }

    fn dataset_resize(&self, dataset: Token, dims: &[u64]) -> Result<()> {
        self.note();
        self.inner.dataset_resize(dataset, dims)
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        self.note();
        self.inner.commit(durability)
    }
}

/// A dataset of eight bytes, with a filter or without.
fn bytes_with(container: &dyn Container, is_filtered: bool) -> Token {
    let filter = FilterSpec { id: 2, optional: false, name: None, values: vec![1] };
    let filters = if is_filtered { vec![filter] } else { Vec::new() };
    let create = DatasetCreate { layout: Layout::chunked(&[8]), filters, ..DatasetCreate::default() };
    let space = Dataspace::resizable(&[8], &[64]).unwrap();
    let datatype = Datatype::native_int(1);
    container
        .dataset_create(&OpDatasetCreate { place: None, datatype, committed: None, space, create })
        .unwrap()
}

fn write_all(container: &dyn Container, dataset: Token) {
    let write = OpWrite { dataset, selection: &Selection::All, from: &[1; 8] };
    container.dataset_write(&[write]).unwrap();
}

#[test]
fn a_file_of_one_thread_is_used_by_that_thread_only() {
    let (own, container) = Own::over_memory(true);
    let dataset = bytes_with(&*container, false);
    let (done, queued) = requests(|| {
        write_all(&*container, dataset);
        container.dataset_resize(dataset, &[16]).and_then(|()| container.commit(Durability::None))
    });
    done.unwrap();
    assert_eq!((queued.len(), own.changes.load(Ordering::SeqCst)), (0, 3));
}

#[test]
fn a_dataset_whose_filter_belongs_to_one_thread_ends_the_queueing() {
    let (own, container) = Own::over_memory(false);
    let (plain, filtered) = (bytes_with(&*container, false), bytes_with(&*container, true));
    let (_, queued) = requests(|| write_all(&*container, plain));
    assert_eq!(queued.len(), 1);
    let (done, queued) = requests(|| {
        write_all(&*container, filtered);
        // What is to be written of the filtered dataset may be written with anything that comes later.
        write_all(&*container, plain);
        container.dataset_resize(filtered, &[16])?;
        container.commit(Durability::None)
    });
    done.unwrap();
    assert_eq!((queued.len(), own.changes.load(Ordering::SeqCst)), (0, 4));
    container.close().unwrap();
}
