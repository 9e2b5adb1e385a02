//! A storage whose writes wait at a gate, and the layer over it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use memory::MemoryConnector;
use model::properties::{DatasetCreate, FileCreate, Layout};
use model::{Dataspace, Datatype, Error, Kind, Result, Selection, Token};
use system::sync::{Condvar, Mutex};
use vol::*;

use crate::asynchronous::AsyncLayer;

/// Writes of this value panic, and of [`FAILS`] fail.
pub(super) const PANICS: u8 = 0xEE;
pub(super) const FAILS: u8 = 0xFF;

pub(super) struct Gate {
    inner: Arc<dyn Container>,
    is_open: Mutex<bool>,
    changed: Condvar,
    pub(super) entered: AtomicUsize,
    pub(super) left: AtomicUsize,
    pub(super) reads: AtomicUsize,
    holds_links: AtomicBool,
}

impl Gate {
    pub(super) fn open(&self) {
        *self.is_open.lock() = true;
        self.changed.notify_all();
    }

    /// Lets queries of links wait too.
    pub(super) fn hold_links(&self) {
        self.holds_links.store(true, Ordering::SeqCst);
    }

    pub(super) fn wait_entered(&self, times: usize) {
        let is_open = self.is_open.lock();
        drop(self.changed.wait_while(is_open, |_| self.entered.load(Ordering::SeqCst) < times));
    }
}

impl Layer for Gate {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.inner.dataset_read(reads)
    }

    fn link_get(&self, group: Token, name: &str) -> Result<Option<model::Link>> {
        if self.holds_links.load(Ordering::SeqCst) {
            let is_open = self.is_open.lock();
            drop(self.changed.wait_while(is_open, |is_open| !*is_open));
        }
        self.inner.link_get(group, name)
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        let is_open = self.is_open.lock();
        self.entered.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_all();
        drop(self.changed.wait_while(is_open, |is_open| !*is_open));
        let has = |value: u8| writes.iter().any(|write| write.from[0] == value);
        let done = match () {
            () if has(FAILS) => Err(Error::new(Kind::Io, "disk is full")),
            () if has(PANICS) => panic!("the storage is broken"),
            () => self.inner.dataset_write(writes),
        };
        self.left.fetch_add(writes.len(), Ordering::SeqCst);
        done
    }
}

pub(super) struct Rig {
    pub(super) gate: Arc<Gate>,
    pub(super) container: Arc<dyn Container>,
}

impl Drop for Rig {
    /// A test that fails ends all the same.
    fn drop(&mut self) {
        self.gate.open();
    }
}

impl Rig {
    pub(super) fn new(parameters: &str) -> Rig {
        let (create, access) = (FileCreate::default(), FileAccess::write());
        let inner = MemoryConnector::new().create(&ContainerCreate::new("x", &create, &access)).unwrap();
        let (is_open, changed) = (Mutex::new(false), Condvar::new());
        let [entered, left, reads] = [(); 3].map(|()| AtomicUsize::new(0));
        let holds_links = AtomicBool::new(false);
        let gate = Arc::new(Gate { inner, is_open, changed, entered, left, reads, holds_links });
        let parameters = &Stack::parse(&format!("async{{{parameters}}}")).unwrap().0.remove(0).parameters;
        let (inner, registry): (Arc<dyn Container>, _) = (gate.clone(), Registry::none());
        let op = Wrap { inner, location: "x", parameters, made: None, access: &access, registry };
        Rig { gate, container: AsyncLayer.wrap(&op).unwrap() }
    }

    /// A dataset of eight bytes without a link.
    pub(super) fn dataset(&self) -> Token {
        let create = DatasetCreate { layout: Layout::chunked(&[8]), ..DatasetCreate::default() };
        let space = Dataspace::resizable(&[8], &[64]).unwrap();
        let datatype = Datatype::native_int(1);
        let op = OpDatasetCreate { place: None, datatype, committed: None, space, create };
        self.container.dataset_create(&op).unwrap()
    }

    pub(super) fn write(&self, dataset: Token, value: u8) -> Result<()> {
        self.container.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: &[value; 8] }])
    }

    pub(super) fn read(&self, dataset: Token) -> u8 {
        let mut bytes = [0; 8];
        let read = OpRead { dataset, selection: &Selection::All, into: &mut bytes };
        self.container.dataset_read(&mut [read]).unwrap();
        assert_eq!(bytes, [bytes[0]; 8]);
        bytes[0]
    }
}
