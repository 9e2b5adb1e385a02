//! Operations that are started behind a distant server: how many round trips they take, that they come in order, and that
//! failures arrive at the right request. Times are printed, counts are asserted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyperslab_server::Server;
use layers::asynchronous::{Answer, EventSet, queued, start, wait_all};
use model::datatype::ByteOrder;
use model::properties::{DatasetCreate, FileCreate};
use model::{CharacterSet, Dataspace, Datatype, Kind, LinkTarget, Result, Selection, Token};
use vol::{
    Container, Durability, FileAccess, LinkLocation, Lookup, OpAttributeCreate, OpDatasetCreate,
    OpLinkCreate, OpLookup, OpRead, OpWrite,
};

use crate::common::{clients, group, in_memory};
use crate::latency::Distance;
use crate::proxy::{Proxy, Trouble};

const LONG: Duration = Duration::from_secs(600);
/// Datasets of each mix.
const COUNT: u64 = 1000;
const BYTES: usize = 256;

struct Rig {
    distance: Distance,
    container: Arc<dyn Container>,
    root: Token,
    _server: Server,
}

impl Rig {
    fn new(stack: &str) -> Rig {
        let server = Server::start(&in_memory()).unwrap();
        let distance = Distance::start(server.listen(), Duration::from_millis(5)).unwrap();
        let access = FileAccess::write().with_stack(stack);
        let location = distance.location("a");
        let container = clients().create(&location, &FileCreate::default(), &access, false).unwrap();
        let root = container.info().unwrap().root;
        Rig { distance, container, root, _server: server }
    }

    /// Runs a mix; the round trips that it took.
    fn trips(&self, name: &str, run: impl FnOnce(&dyn Container)) -> u64 {
        let (before, begun) = (self.distance.trips(), Instant::now());
        run(&*self.container);
        let trips = self.distance.trips() - before;
        println!("{name}: {trips} round trips, {:.3} s", begun.elapsed().as_secs_f64());
        trips
    }

    fn scoped(&self, name: &str, run: impl FnOnce(&dyn Container) -> Result<()>) -> u64 {
        self.trips(name, |container| {
            let events = EventSet::new();
            events.scope(|| run(container)).unwrap();
            let progress = events.wait(LONG);
            assert_eq!((progress.failed, progress.is_final()), (0, true), "{:?}", events.errors());
        })
    }

    fn attribute(&self, object: Token, name: &str) -> OpAttributeCreate {
        let (name, charset, datatype) = (name.to_owned(), CharacterSet::Ascii, Datatype::native_int(1));
        OpAttributeCreate { object, name, charset, datatype, committed: None, space: Dataspace::Scalar }
    }
}

fn name(number: u64) -> String {
    format!("d{number:04}")
}

fn values(number: u64) -> Vec<u8> {
    (0..BYTES).map(|at| (number as usize + at) as u8).collect()
}

/// A dataset of bytes; nothing is asked of the container.
fn dataset(container: &dyn Container, root: Token, number: u64) -> Result<Token> {
    container.dataset_create(&OpDatasetCreate {
        place: Some(LinkLocation::new(root, name(number))),
        datatype: Datatype::integer(1, false, ByteOrder::Little),
        committed: None,
        space: Dataspace::simple(&[BYTES as u64])?,
        create: DatasetCreate::default(),
    })
}

fn write(container: &dyn Container, dataset: Token, from: &[u8]) -> Result<()> {
    container.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from }])
}

fn create_and_write(container: &dyn Container, root: Token) -> Result<()> {
    (0..COUNT).try_for_each(|number| {
        let dataset = dataset(container, root, number)?;
        container.retain(dataset)?;
        write(container, dataset, &values(number))?;
        container.release(dataset)
    })
}

fn lookup(container: &dyn Container, from: Token, path: String) -> Answer<Lookup> {
    let op = OpLookup { from, path, traversals_max: 16 };
    start(container, move |container| container.lookup(&op))
}

fn read(container: &dyn Container, dataset: Token) -> Answer<Vec<u8>> {
    let mut bytes = vec![0; BYTES];
    start(container, move |container| {
        let read = OpRead { dataset, selection: &Selection::All, into: &mut bytes };
        container.dataset_read(&mut [read])?;
        Ok(bytes.clone())
    })
}

async fn open_and_read(container: &dyn Container, root: Token, number: u64) -> Result<()> {
    let Lookup::Object(dataset) = lookup(container, root, name(number)).await? else { panic!("elsewhere") };
    queued(|| container.retain(dataset)).await?;
    let info = start(container, move |container| container.dataset_info(dataset)).await?;
    assert_eq!(info.space.dims(), [BYTES as u64]);
    assert_eq!(read(container, dataset).await?, values(number));
    container.release(dataset)
}

/// The least factor between operations one by one and started ones.
const FACTOR: u64 = 20;

#[test]
fn a_thousand_datasets_take_few_round_trips_in_every_mix() {
    let rig = Rig::new("async");
    let root = rig.root;
    // One by one: create, retain, write and release are one round trip each.
    let trips = rig.scoped("create, write, close", |container| create_and_write(container, root));
    assert!(trips * FACTOR <= 4 * COUNT, "{trips}");
    let trips = rig.trips("open, read, close", |container| {
        let all = wait_all((0..COUNT).map(|number| open_and_read(container, root, number)));
        all.into_iter().for_each(Result::unwrap);
    });
    assert!(trips * FACTOR <= 5 * COUNT, "{trips}");
    let trips = rig.scoped("attributes", |container| {
        (0..COUNT).try_for_each(|number| {
            let name = format!("a{number}");
            container.attribute_create(&rig.attribute(root, &name))?;
            container.attribute_write(root, &name, &[number as u8])
        })
    });
    assert!(trips * FACTOR <= 2 * COUNT, "{trips}");
    let trips = rig.trips("read attributes", |container| {
        let value = |number: u64| {
            let name = format!("a{number}");
            start(container, move |container| container.attribute_read(root, &[&name]))
        };
        let all = wait_all((0..COUNT).map(value));
        all.into_iter().enumerate().for_each(|(n, value)| assert_eq!(value.unwrap(), [[n as u8]]));
    });
    assert!(trips * FACTOR <= COUNT, "{trips}");
    let trips = rig.scoped("links", |container| {
        (0..COUNT).try_for_each(|number| {
            let (place, target) = (LinkLocation::new(root, format!("l{number}")), name(number));
            container.link_create(&OpLinkCreate { place, target: LinkTarget::Soft(target) })
        })
    });
    assert!(trips * FACTOR <= COUNT, "{trips}");
    let trips = rig.trips("read links", |container| {
        let link = |number: u64| {
            let name = format!("l{number}");
            start(container, move |container| container.link_get(root, &name))
        };
        let all = wait_all((0..COUNT).map(link));
        assert!(all.into_iter().all(|link| link.unwrap().is_some()));
    });
    assert!(trips * FACTOR <= COUNT, "{trips}");
    let trips = rig.scoped("groups in groups", |container| {
        let mut parent = root;
        (0..COUNT / 10).try_for_each(|_| {
            parent = container.group_create(&group(parent, "g"))?;
            Ok(())
        })
    });
    assert!(trips * FACTOR <= COUNT / 10, "{trips}");
    rig.container.close().unwrap();
}

#[test]
fn one_by_one_every_operation_is_a_round_trip() {
    let rig = Rig::new("async");
    let trips = rig.trips("one by one", |container| {
        for number in 0..20 {
            let dataset = dataset(container, rig.root, number).unwrap();
            container.object_info(dataset).unwrap();
        }
    });
    assert!((40..=41).contains(&trips), "{trips}");
}

#[test]
fn a_failed_creation_fails_what_builds_on_it_with_its_cause_and_nothing_else() {
    let rig = Rig::new("async");
    let (container, root) = (&*rig.container, rig.root);
    container.group_create(&group(root, "x")).unwrap();
    let events = EventSet::new();
    events.scope(|| {
        let failed = container.group_create(&group(root, "x")).unwrap();
        let below = container.group_create(&group(failed, "below")).unwrap();
        container.attribute_create(&rig.attribute(below, "a")).unwrap();
        let fine = container.group_create(&group(root, "fine")).unwrap();
        container.attribute_create(&rig.attribute(fine, "a")).unwrap();
    });
    let progress = events.wait(LONG);
    assert_eq!((progress.done, progress.failed), (2, 3));
    let errors = events.errors();
    assert!(errors.iter().all(|error| error.kind() == Kind::Exists), "{errors:?}");
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert!(texts[0].contains("group_create of /x"), "{texts:?}");
    assert!(texts[1].contains("group_create of /x/below"), "{texts:?}");
    assert!(texts[2].contains("attribute_create of /x/below"), "{texts:?}");
    container.commit(Durability::Full).unwrap();
    assert!(container.link_get(root, "fine").unwrap().is_some());
}

#[test]
fn a_read_sees_the_write_before_it_and_not_the_one_after() {
    let rig = Rig::new("async");
    let container = &*rig.container;
    let dataset = dataset(container, rig.root, 0).unwrap();
    let reads: Vec<Answer<Vec<u8>>> = (1..=50)
        .map(|number| {
            write(container, dataset, &values(number)).unwrap();
            read(container, dataset)
        })
        .collect();
    for (number, read) in (1..).zip(wait_all(reads)) {
        assert_eq!(read.unwrap(), values(number), "{number}");
    }
}

#[test]
fn broken_connections_lose_and_repeat_nothing() {
    let server = Server::start(&in_memory()).unwrap();
    for trouble in [Trouble::Cut { bytes: 700 }, Trouble::Truncate { bytes: 500 }] {
        let proxy = Proxy::start(server.listen(), trouble).unwrap();
        let location = proxy.location(if matches!(trouble, Trouble::Cut { .. }) { "cut" } else { "short" });
        let access = FileAccess::write().with_stack("async");
        let container = clients().create(&location, &FileCreate::default(), &access, false).unwrap();
        let (root, events) = (container.info().unwrap().root, EventSet::new());
        // A group that is created twice would fail.
        let create = |n: u64| container.group_create(&group(root, &name(n))).map(|_| ());
        events.scope(|| (0..500).try_for_each(create)).unwrap();
        assert_eq!(events.wait(LONG).done, 500, "{:?}", events.errors());
        assert_eq!(container.group_info(root).unwrap().links, 500);
        assert!(proxy.broken() > 0);
        container.close().unwrap();
    }
}

#[test]
fn requests_are_awaited_in_tokio() {
    let rig = Rig::new("async");
    let (container, root) = (rig.container.clone(), rig.root);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let trips = rig.trips("tokio", |_| {
        let one = |number: u64, container: Arc<dyn Container>| async move {
            let dataset = queued(|| {
                let dataset = dataset(&*container, root, number)?;
                write(&*container, dataset, &values(number))?;
                Ok(dataset)
            })
            .await?;
            assert_eq!(read(&*container, dataset).await?, values(number));
            let again = queued(|| container.group_create(&group(root, &name(number)))).await;
            assert_eq!(again.unwrap_err().kind(), Kind::Exists);
            Ok::<(), model::Error>(())
        };
        let tasks: Vec<_> = (0..COUNT).map(|n| runtime.spawn(one(n, container.clone()))).collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap().unwrap();
            }
        });
    });
    assert!(trips * FACTOR <= 4 * COUNT, "{trips}");
    rig.container.commit(Durability::Full).unwrap();
}
