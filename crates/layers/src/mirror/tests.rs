//! Targets and primaries whose storage fails when a test says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memory::MemoryConnector;
use model::properties::{DatasetCreate, FileCreate};
use model::{CharacterSet, Dataspace, Datatype, Error, Kind, Result, Selection, Token};
use system::sync::Mutex;
use vol::*;

use crate::mirror::{MARK, MirrorLayer, resync, state};

/// Containers in memory whose storage can be broken, by path.
#[derive(Clone, Default)]
struct Fragile {
    memory: MemoryConnector,
    broken: Arc<Mutex<BTreeMap<String, Arc<AtomicBool>>>>,
}

impl Fragile {
    fn switch(&self, path: &str) -> Arc<AtomicBool> {
        self.broken.lock().entry(path.to_owned()).or_default().clone()
    }

    fn set_broken(&self, path: &str, broken: bool) {
        self.switch(path).store(broken, Ordering::SeqCst);
    }

    fn over(&self, path: &str, inner: Result<Arc<dyn Container>>) -> Result<Arc<dyn Container>> {
        let broken = self.switch(path);
        check(&broken)?;
        Ok(Arc::new(Breaking { inner: inner?, broken }))
    }
}

fn check(broken: &AtomicBool) -> Result<()> {
    let full = || Error::new(Kind::Io, "disk is full");
    if broken.load(Ordering::SeqCst) { Err(full()) } else { Ok(()) }
}

impl Connector for Fragile {
    fn info(&self) -> ConnectorInfo {
        ConnectorInfo { name: "fragile", value: 600, ..self.memory.info() }
    }

    fn create(&self, op: &ContainerCreate<'_>) -> Result<Arc<dyn Container>> {
        self.over(op.path, self.memory.create(op))
    }

    fn open(&self, op: &ContainerOpen<'_>) -> Result<Arc<dyn Container>> {
        self.over(op.path, self.memory.open(op))
    }

    fn delete(&self, op: &ContainerOpen<'_>) -> Result<()> {
        self.memory.delete(op)
    }

    fn is_accessible(&self, op: &ContainerOpen<'_>) -> Result<bool> {
        self.memory.is_accessible(op)
    }
}

struct Breaking {
    inner: Arc<dyn Container>,
    broken: Arc<AtomicBool>,
}

impl Layer for Breaking {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn dataset_write(&self, writes: &[OpWrite<'_>]) -> Result<()> {
        check(&self.broken)?;
        self.inner.dataset_write(writes)
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        check(&self.broken)?;
        self.inner.dataset_read(reads)
    }

    fn dataset_info(&self, dataset: Token) -> Result<Arc<DatasetInfo>> {
        check(&self.broken)?;
        self.inner.dataset_info(dataset)
    }

    fn commit(&self, durability: Durability) -> Result<()> {
        check(&self.broken)?;
        self.inner.commit(durability)
    }
}

struct Rig {
    storage: Fragile,
    registry: Registry,
}

const STOP: &str = "mirror{to=fragile:{}.b}";
const CONTINUE: &str = "mirror{to=fragile:{}.b, to=fragile:{}.c, on_failure=continue}";

impl Rig {
    fn new() -> Rig {
        let storage = Fragile::default();
        let mut registry = Registry::new();
        registry.register(Arc::new(storage.clone())).unwrap();
        registry.register_layer(Arc::new(MirrorLayer)).unwrap();
        Rig { storage, registry }
    }

    fn create(&self, stack: &str) -> Result<Arc<dyn Container>> {
        let access = FileAccess::write().with_stack(stack);
        self.registry.create("fragile:a", &FileCreate::default(), &access, false)
    }

    fn open(&self, stack: &str) -> Arc<dyn Container> {
        self.registry.open("fragile:a", &FileAccess::write().with_stack(stack)).unwrap()
    }

    /// The bytes of `/d` in one of the places, without the mirror.
    fn bytes(&self, location: &str) -> [u8; 4] {
        let container = self.registry.open(location, &FileAccess::read()).unwrap();
        let dataset = dataset(&*container);
        let bytes = read(&*container, dataset).unwrap();
        assert_eq!(container.attribute_info(container.info().unwrap().root, MARK).unwrap(), None);
        bytes
    }
}

fn make(container: &dyn Container) -> Token {
    let op = OpDatasetCreate {
        place: Some(LinkLocation::new(container.info().unwrap().root, "d")),
        datatype: Datatype::native_int(1),
        committed: None,
        space: Dataspace::simple(&[4]).unwrap(),
        create: DatasetCreate::default(),
    };
    container.dataset_create(&op).unwrap()
}

fn dataset(container: &dyn Container) -> Token {
    path::token(container, container.info().unwrap().root, "/d", 16).unwrap()
}

fn write(container: &dyn Container, dataset: Token, value: u8) -> Result<()> {
    container.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: &[value; 4] }])
}

fn read(container: &dyn Container, dataset: Token) -> Result<[u8; 4]> {
    let mut bytes = [0; 4];
    container.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut bytes }])?;
    Ok(bytes)
}

fn stale_count(container: &dyn Container) -> usize {
    state(container).unwrap().matches("\"state\": \"stale\"").count()
}

#[test]
fn changes_go_to_all_places_when_made_and_when_opened_again() {
    let rig = Rig::new();
    let container = rig.create(CONTINUE).unwrap();
    let data = make(&*container);
    write(&*container, data, 1).unwrap();
    container.close().unwrap();
    for place in ["fragile:a", "fragile:a.b", "fragile:a.c"] {
        assert_eq!(rig.bytes(place), [1; 4]);
    }
    let container = rig.open(CONTINUE);
    write(&*container, dataset(&*container), 2).unwrap();
    assert_eq!(stale_count(&*container), 0);
    container.close().unwrap();
    for place in ["fragile:a", "fragile:a.b", "fragile:a.c"] {
        assert_eq!(rig.bytes(place), [2; 4]);
    }
}

#[test]
fn a_target_that_fails_stops_the_mirror_until_it_is_resynchronised() {
    let rig = Rig::new();
    let container = rig.create(STOP).unwrap();
    let data = make(&*container);
    write(&*container, data, 1).unwrap();
    container.commit(Durability::Full).unwrap();
    rig.storage.set_broken("a.b", true);
    let error = write(&*container, data, 2).unwrap_err();
    assert!(error.kind() == Kind::Io && error.to_string().contains("mirror fragile:a.b"), "{error}");
    let error = write(&*container, data, 3).unwrap_err();
    assert!(error.kind() == Kind::Denied && error.to_string().contains("fragile:a.b"), "{error}");
    // The primary is intact and says so.
    assert_eq!(read(&*container, data).unwrap(), [2; 4]);
    assert!(
        state(&*container).unwrap().contains("\"state\": \"stale\", \"problem\": \"dataset_write in mirror")
    );
    container.close().unwrap();
    rig.storage.set_broken("a.b", false);
    let container = rig.open(STOP);
    let data = dataset(&*container);
    assert_eq!(write(&*container, data, 3).unwrap_err().kind(), Kind::Denied);
    resync(&*container).unwrap();
    write(&*container, data, 4).unwrap();
    container.close().unwrap();
    assert_eq!((rig.bytes("fragile:a"), rig.bytes("fragile:a.b")), ([4; 4], [4; 4]));
}

#[test]
fn a_target_that_fails_is_left_out_and_known_as_stale_later() {
    let rig = Rig::new();
    let container = rig.create(CONTINUE).unwrap();
    let data = make(&*container);
    write(&*container, data, 1).unwrap();
    rig.storage.set_broken("a.b", true);
    write(&*container, data, 2).unwrap();
    rig.storage.set_broken("a.b", false);
    write(&*container, data, 3).unwrap();
    assert_eq!(stale_count(&*container), 1);
    assert!(container.info().unwrap().warnings[0].starts_with("mirror fragile:a.b is stale: dataset_write"));
    container.close().unwrap();
    // Changes that follow go to the others.
    let container = rig.open(CONTINUE);
    assert_eq!(stale_count(&*container), 1);
    write(&*container, dataset(&*container), 4).unwrap();
    container.close().unwrap();
    let container = rig.open(CONTINUE);
    assert!(state(&*container).unwrap().contains("missed changes before"));
    resync(&*container).unwrap();
    assert_eq!(stale_count(&*container), 0);
    container.close().unwrap();
    for place in ["fragile:a", "fragile:a.b", "fragile:a.c"] {
        assert_eq!(rig.bytes(place), [4; 4]);
    }
}

#[test]
fn targets_of_a_program_that_died_are_not_trusted() {
    let rig = Rig::new();
    let container = rig.create(CONTINUE).unwrap();
    let data = make(&*container);
    container.commit(Durability::Full).unwrap();
    write(&*container, data, 1).unwrap();
    // A thread that unwinds closes nothing.
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _container = container;
        panic!("the program dies");
    }));
    assert!(died.is_err());
    let container = rig.open(CONTINUE);
    assert_eq!(stale_count(&*container), 2);
    assert!(state(&*container).unwrap().contains("without closing"));
    resync(&*container).unwrap();
    container.close().unwrap();
    assert_eq!(rig.bytes("fragile:a"), rig.bytes("fragile:a.c"));
}

#[test]
fn a_commit_that_a_target_lacks_makes_it_stale() {
    let rig = Rig::new();
    let container = rig.create(STOP).unwrap();
    make(&*container);
    rig.storage.set_broken("a.b", true);
    let error = container.commit(Durability::Full).unwrap_err();
    assert!(error.to_string().contains("commit in mirror fragile:a.b"), "{error}");
    assert_eq!(stale_count(&*container), 1);
}

#[test]
fn values_are_read_elsewhere_when_the_primary_fails() {
    let rig = Rig::new();
    let container = rig.create(STOP).unwrap();
    let data = make(&*container);
    write(&*container, data, 7).unwrap();
    container.close().unwrap();
    let container = rig.open(STOP);
    let data = dataset(&*container);
    rig.storage.set_broken("a", true);
    assert_eq!(read(&*container, data).unwrap(), [7; 4]);
    assert_eq!(container.dataset_info(data).unwrap().space.dims(), [4]);
    assert!(state(&*container).unwrap().contains("\"reads\": 2"));
    rig.storage.set_broken("a.b", true);
    assert_eq!(read(&*container, data).unwrap_err().kind(), Kind::Io);
}

#[test]
fn the_mark_is_hidden_and_its_name_reserved() {
    let rig = Rig::new();
    let container = rig.create(STOP).unwrap();
    let root = container.info().unwrap().root;
    attribute(&*container, root, "mine").unwrap();
    container.commit(Durability::Full).unwrap();
    let inner = rig.registry.open("fragile:a", &FileAccess::read()).unwrap();
    assert!(inner.attribute_info(root, MARK).unwrap().is_some());
    assert_eq!(container.object_info(root).unwrap().attributes, 1);
    assert_eq!(container.attribute_info(root, MARK).unwrap(), None);
    let names = |op: &OpList| {
        let page = container.attribute_list(root, op).unwrap();
        (page.entries.into_iter().map(|info| info.name).collect::<Vec<_>>(), page.more)
    };
    assert_eq!(names(&OpList::default()), (vec!["mine".to_owned()], false));
    assert_eq!(names(&OpList { skip: 1, ..OpList::default() }), (vec![], false));
    for refused in [
        attribute(&*container, root, MARK),
        container.attribute_read(root, &[MARK]).map(|_| ()),
        container.attribute_delete(root, MARK),
        container.attribute_rename(root, "mine", MARK),
    ] {
        assert_eq!(refused.unwrap_err().kind(), Kind::NotFound);
    }
}

fn attribute(container: &dyn Container, object: Token, name: &str) -> Result<()> {
    let (datatype, space) = (Datatype::native_int(1), Dataspace::Scalar);
    let (name, charset) = (name.to_owned(), CharacterSet::Ascii);
    container.attribute_create(&OpAttributeCreate { object, name, charset, datatype, committed: None, space })
}

#[test]
fn objects_are_found_in_targets_though_they_moved() {
    let rig = Rig::new();
    let container = rig.create(STOP).unwrap();
    make(&*container);
    container.close().unwrap();
    let container = rig.open(STOP);
    let root = container.info().unwrap().root;
    let data = dataset(&*container);
    let to = LinkLocation::new(root, "e");
    container.link_move(&OpLinkMove { from: root, name: "d".into(), to, copy: false }).unwrap();
    make(&*container);
    write(&*container, data, 9).unwrap();
    container.close().unwrap();
    assert_eq!((rig.bytes("fragile:a"), rig.bytes("fragile:a.b")), ([0; 4], [0; 4]));
    for place in ["fragile:a", "fragile:a.b"] {
        let container = rig.registry.open(place, &FileAccess::read()).unwrap();
        let moved = path::token(&*container, container.info().unwrap().root, "/e", 16).unwrap();
        assert_eq!(read(&*container, moved).unwrap(), [9; 4]);
    }
}

#[test]
fn what_is_there_already_is_not_replaced() {
    let rig = Rig::new();
    let access = &FileAccess::write();
    drop(rig.registry.create("fragile:a.b", &FileCreate::default(), access, false).unwrap());
    for stack in [STOP, CONTINUE] {
        assert_eq!(rig.create(stack).map(|_| ()).unwrap_err().kind(), Kind::Exists);
        // And nothing stays of what could not be mirrored.
        assert!(!rig.storage.is_accessible(&ContainerOpen::new("a", access)).unwrap());
        assert!(rig.storage.is_accessible(&ContainerOpen::new("a.b", access)).unwrap());
    }
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let rig = Rig::new();
    for stack in [
        "mirror",
        "mirror{to=fragile:a}",
        "mirror{to=fragile:b, to=fragile:b}",
        "mirror{to=fragile:b, on_failure=panic}",
    ] {
        assert_eq!(rig.create(stack).map(|_| ()).unwrap_err().kind(), Kind::Invalid, "{stack}");
        let removed = rig.storage.delete(&ContainerOpen::new("a", &FileAccess::write()));
        assert_eq!(removed.unwrap_err().kind(), Kind::NotFound, "nothing was made");
    }
}
