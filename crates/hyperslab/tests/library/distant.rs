//! Files behind a distant server: every mix of operations, in event sets, as futures and from tokio, takes a
//! twentieth of the round trips that it takes one by one. Round trips are counted on the way and asserted; times are
//! printed.

#[path = "../../../server/tests/common/latency.rs"]
mod latency;

use std::time::{Duration, Instant};

use hyperslab::asynchronous::{EventSet, queued, wait_all};
use hyperslab::plist::FileCreate;
use hyperslab::{Dataset, Datatype, File, FileAccess, Kind, Map, Result, registry, s};
use hyperslab_server::{Auth, Config, Server};
use latency::Distance;

const LONG: Duration = Duration::from_secs(600);
/// Objects of each mix.
const COUNT: i32 = 1000;
/// Objects that go one by one, to see what one takes.
const FEW: i32 = 10;
/// The least factor between operations one by one and many at once.
const FACTOR: u64 = 20;

struct Rig {
    distance: Distance,
    file: File,
    _server: Server,
}

impl Rig {
    fn new(name: &str) -> Rig {
        let config = Config { auth: Auth::Off, root: None, ..Config::local(registry(), "") };
        let server = Server::start(&Config { stack: Some("memory:".into()), ..config }).unwrap();
        let distance = Distance::start(server.listen(), Duration::from_millis(5)).unwrap();
        let access = FileAccess::write().with_stack("async");
        let file =
            File::create_with(&distance.location(name), &FileCreate::default(), &access, true).unwrap();
        Rig { distance, file, _server: server }
    }

    fn trips(&self, run: impl FnOnce()) -> (u64, Duration) {
        let (before, begun) = (self.distance.trips(), Instant::now());
        run();
        (self.distance.trips() - before, begun.elapsed())
    }

    /// Runs a mix for a few objects one by one, and for many at once; the factor between them.
    fn compare(&self, name: &str, one_by_one: impl Fn(i32), at_once: impl FnOnce()) {
        let (few, slow) = self.trips(|| (COUNT..COUNT + FEW).for_each(one_by_one));
        let (many, quick) = self.trips(at_once);
        let (each, seconds) = (few as f64 / f64::from(FEW), slow.as_secs_f64() / f64::from(FEW));
        let (all, quick) = (each * f64::from(COUNT), quick.as_secs_f64());
        let factor = seconds * f64::from(COUNT) / quick;
        println!("{name}: one by one {each:.1} round trips, {:.1} ms; ", seconds * 1e3);
        println!("    {COUNT}: {many} round trips, {quick:.3} s; {factor:.0} times faster");
        assert!(many * FACTOR <= all as u64, "{name}: {many} of {all}");
    }

    /// The same for calls that are queued in an event set.
    fn scoped(&self, name: &str, mix: impl Fn(&File, i32) -> Result<()>) {
        let many = || {
            let events = EventSet::new();
            events.scope(|| (0..COUNT).try_for_each(|number| mix(&self.file, number))).unwrap();
            let progress = events.wait(LONG);
            assert_eq!((progress.failed, progress.is_final()), (0, true), "{name}: {:?}", events.errors());
        };
        self.compare(name, |number| mix(&self.file, number).unwrap(), many);
    }

    /// The same for calls that are awaited.
    fn awaited(
        &self,
        name: &str,
        mix: impl Fn(&File, i32) -> Result<()>,
        same: &impl AsyncFn(&File, i32) -> Result<()>,
    ) {
        let many = || {
            let all = wait_all((0..COUNT).map(|number| same(&self.file, number)));
            all.into_iter().for_each(Result::unwrap);
        };
        self.compare(name, |number| mix(&self.file, number).unwrap(), many);
    }
}

fn values(number: i32) -> Vec<i32> {
    (0..16).map(|at| number + at).collect()
}

fn dataset(file: &File, number: i32) -> Result<Dataset> {
    file.new_dataset::<i32>().shape([16]).max_shape([64]).create(&*format!("d{number}"))
}

/// Creates a dataset, writes it and an attribute of it, and closes it.
fn create(file: &File, number: i32) -> Result<()> {
    let data = dataset(file, number)?;
    data.write_raw(&values(number))?;
    data.set_attr("number", number)?;
    Ok(())
}

/// Creates what holds texts and lists, whose values are apart from the elements.
fn create_texts(file: &File, number: i32) -> Result<()> {
    let texts = file.new_dataset::<String>().shape([2]).create(&*format!("t{number}"))?;
    texts.write_raw(&[format!("first {number}"), "second".to_owned()])?;
    texts.set_attr("unit", "K")?;
    texts.set_attr("unit", format!("unit {number}"))?;
    let map = file.create_map::<String, Vec<String>>(&format!("m{number}"))?;
    map.put(&"key".to_owned(), &vec![number.to_string(), "more".to_owned()])
}

/// Creates a group with a map, a committed datatype, a dataset and a comment in it.
fn create_group(file: &File, number: i32) -> Result<()> {
    let group = file.create_group(&format!("g{number}"))?;
    let map = group.create_map::<i32, f64>("map")?;
    map.put(&number, &0.5)?;
    map.put(&-5, &f64::from(number))?;
    map.set_attr("unit", 7u8)?;
    group.commit_datatype("type", Datatype::native_int(4))?;
    group.new_dataset::<f32>().create("scalar")?.write_scalar(&1.5f32)?;
    group.set_comment(Some("made in the background"))
}

#[test]
fn all_that_creates_and_changes_is_queued_in_an_event_set() {
    let rig = Rig::new("changes");
    rig.scoped("create, write, attribute, close", create);
    rig.scoped("texts and lists", create_texts);
    rig.scoped("groups with maps and types", create_group);
    let open = open_all(&rig.file);
    rig.scoped("write, grow, write again", |_, number| {
        let data = &open[number as usize];
        data.write_raw(&[number; 16])?;
        data.resize([17])?;
        data.write_slice(&[7], 16..17)
    });
    rig.scoped("links made, moved and removed", |file, number| {
        let [soft, hard, moved] = ["soft", "hard", "moved"].map(|kind| format!("{kind}{number}"));
        file.link_soft(&format!("/d{number}"), &soft)?;
        file.link_object(&open[number as usize], &hard)?;
        file.relink(&soft, &moved)?;
        file.unlink(&hard)
    });
    rig.scoped("attributes replaced and removed", |_, number| {
        let data = &open[number as usize];
        data.delete_attr("number")?;
        data.new_attr::<i32>().create("again")?.write_scalar(&number)?;
        data.delete_attr("again")
    });
    drop(open);
    check_changed(&rig.file);
    rig.file.flush().unwrap();
}

/// Opens all datasets at once.
fn open_all(file: &File) -> Vec<Dataset> {
    let open = async |number: i32| file.dataset_async(&format!("d{number}")).await;
    wait_all((0..COUNT + FEW).map(open)).into_iter().map(Result::unwrap).collect()
}

fn check_changed(file: &File) {
    for number in [0, 1, COUNT / 2, COUNT - 1] {
        let data = file.dataset(&format!("moved{number}")).unwrap();
        assert_eq!(data.read_raw::<i32>().unwrap(), [vec![number; 16], vec![7]].concat());
        assert!(data.attr_names().unwrap().is_empty() && !file.link_exists(&format!("hard{number}")));
        let texts = file.dataset(&format!("t{number}")).unwrap();
        assert_eq!(texts.read_raw::<String>().unwrap(), [format!("first {number}"), "second".to_owned()]);
        assert_eq!(texts.attr("unit").unwrap().read_string().unwrap(), format!("unit {number}"));
        let lists = file.map(&format!("m{number}")).unwrap().get(&"key".to_owned()).unwrap();
        assert_eq!(lists, Some(vec![number.to_string(), "more".to_owned()]));
        let group = file.group(&format!("g{number}")).unwrap();
        let map = group.map("map").unwrap();
        assert_eq!(map.get::<_, f64>(&-5).unwrap(), Some(f64::from(number)));
        assert_eq!(group.dataset("scalar").unwrap().read_scalar::<f64>().unwrap(), 1.5);
    }
}

/// Opens a dataset, reads it, a part of it and its attribute, and closes it.
fn read(file: &File, number: i32) -> Result<()> {
    let data = file.dataset(&format!("d{number}"))?;
    assert_eq!(data.read_raw::<i32>()?, values(number));
    assert_eq!(data.read_slice_1d::<f64, _>(s![3..5])?.to_vec(), [3.0, 4.0].map(|n| n + f64::from(number)));
    assert_eq!(data.attr("number")?.read_scalar::<i32>()?, number);
    Ok(())
}

async fn read_async(file: &File, number: i32) -> Result<()> {
    let data = file.dataset_async(&format!("d{number}")).await?;
    assert_eq!(data.read_async::<i32>().await?, values(number));
    let part = data.read_slice_async::<f64, _, ndarray::Ix1>(s![3..5]).await?;
    assert_eq!(part.to_vec(), [3.0, 4.0].map(|n| n + f64::from(number)));
    assert_eq!(data.attr_async("number").await?.read_scalar_async::<i32>().await?, number);
    Ok(())
}

fn use_map(file: &File, number: i32) -> Result<()> {
    let group = file.group(&format!("g{number}"))?;
    let (map, named) = (group.map("map")?, group.named_datatype("type")?);
    assert_eq!((map.get::<_, f64>(&number)?, named.name().len() > 5), (Some(0.5), true));
    map.put(&-1, &2.5)?;
    assert!(map.delete(&number)? && !map.delete(&-2)?);
    assert!(map.keys::<i32>()?.contains(&-1));
    Ok(())
}

async fn use_map_async(file: &File, number: i32) -> Result<()> {
    let group = file.group_async(&format!("g{number}")).await?;
    let (map, named) = (group.map_async("map").await?, group.named_datatype_async("type").await?);
    assert_eq!((map.get_async::<_, f64>(&number).await?, named.name().len() > 5), (Some(0.5), true));
    map.put_async(&-1, &2.5).await?;
    assert!(map.delete_async(&number).await? && !map.delete_async(&-2).await?);
    assert!(map.keys_async::<i32>().await?.contains(&-1));
    Ok(())
}

/// Texts, whose values are apart from the elements.
fn write_texts(file: &File, number: i32) -> Result<()> {
    let (data, text) = (file.dataset(&format!("d{number}"))?, format!("text {number}"));
    data.set_attr("text", &text)?;
    assert_eq!(data.attr("text")?.read_string()?, text);
    data.write_slice(&[number, 2], 0..2)?;
    assert!(file.exists(&format!("d{number}"))? && file.link(&format!("d{number}")).is_ok());
    file.unlink(&format!("d{number}"))
}

async fn write_texts_async(file: &File, number: i32) -> Result<()> {
    let (data, text) = (file.dataset_async(&format!("d{number}")).await?, format!("text {number}"));
    data.set_attr_async("text", &text).await?;
    assert_eq!(data.attr_async("text").await?.read_string_async().await?, text);
    data.write_slice_async(&[number, 2], 0..2).await?;
    let name = format!("d{number}");
    assert!(file.exists_async(&name).await? && file.link_async(&name).await.is_ok());
    queued(|| file.unlink(&name)).await
}

#[test]
fn all_that_opens_and_reads_is_awaited_at_once() {
    let rig = Rig::new("reads");
    let events = EventSet::new();
    let fill = |number| create(&rig.file, number).and_then(|()| create_group(&rig.file, number));
    events.scope(|| (0..COUNT + FEW).try_for_each(fill)).unwrap();
    assert_eq!(events.wait(LONG).failed, 0, "{:?}", events.errors());
    rig.awaited("open, read, read attribute, close", read, &read_async);
    rig.awaited("maps and types", use_map, &use_map_async);
    rig.awaited("texts, parts, links, removal", write_texts, &write_texts_async);
    assert_eq!(rig.file.len().unwrap(), (COUNT + FEW) as u64);
    rig.file.flush().unwrap();
}

/// What a task of tokio does with a dataset of its own, from creation to removal.
async fn live(file: File, number: i32) -> Result<()> {
    let data = queued(|| dataset(&file, number)).await?;
    data.write_async(&values(number)).await?;
    data.set_attr_async("name", format!("number {number}")).await?;
    assert_eq!(data.read_async::<i64>().await?[1], i64::from(number) + 1);
    let again = queued(|| dataset(&file, number)).await;
    assert_eq!(again.unwrap_err().kind(), Kind::Exists);
    let read = file.dataset_async(&format!("/d{number}")).await?.attr_async("name").await?;
    assert_eq!(read.read_string_async().await?, format!("number {number}"));
    if number % 100 == 0 {
        data.flush_async().await?;
    }
    queued(|| file.unlink(&format!("d{number}"))).await
}

fn live_one_by_one(file: &File, number: i32) {
    let data = dataset(file, number).unwrap();
    data.write_raw(&values(number)).unwrap();
    data.set_attr("name", format!("number {number}")).unwrap();
    assert_eq!(data.read_raw::<i64>().unwrap()[1], i64::from(number) + 1);
    assert_eq!(dataset(file, number).unwrap_err().kind(), Kind::Exists);
    let read = file.dataset(&format!("/d{number}")).unwrap().attr("name").unwrap();
    assert_eq!(read.read_string().unwrap(), format!("number {number}"));
    file.unlink(&format!("d{number}")).unwrap();
}

#[test]
fn tasks_of_tokio_share_the_way() {
    let rig = Rig::new("tokio");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let many = || {
        let spawn = |number| runtime.spawn(live(rig.file.clone(), number));
        let tasks: Vec<_> = (0..COUNT).map(spawn).collect();
        tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap().unwrap());
    };
    rig.compare("tokio", |number| live_one_by_one(&rig.file, number), many);
    assert!(rig.file.is_empty().unwrap());
}

#[test]
fn a_failure_arrives_at_its_request_and_at_no_other() -> Result<()> {
    let rig = Rig::new("failures");
    let (file, events) = (&rig.file, EventSet::new());
    create_group(file, 1)?;
    let map: Map = file.group("g1")?.map("map")?;
    let data = dataset(file, 1)?;
    events.scope(|| {
        dataset(file, 1)?.write_raw(&values(1))?;
        data.write_raw(&values(2))?;
        dataset(file, 1)?.set_attr("text", "of nothing")?;
        file.unlink("missing")?;
        file.relink("absent", "anywhere")?;
        data.delete_attr("none")?;
        map.remove(&99)?;
        map.remove(&1)?;
        file.unlink("g1")
    })?;
    let progress = events.wait(LONG);
    let errors: Vec<String> = events.errors().iter().map(ToString::to_string).collect();
    let named = [
        "dataset_create of /d1",
        "dataset_write of /d1",
        "dataset_create of /d1",
        "attribute_create of /d1",
        "attribute_write of /d1",
        "link_delete of /missing",
        "link_move of /absent",
        "attribute_delete of",
    ];
    assert_eq!((progress.failed, errors.len()), (named.len(), named.len()), "{errors:?}");
    for (error, name) in errors.iter().zip(named) {
        assert!(error.contains(name), "{error}");
    }
    assert_eq!(data.read_raw::<i32>()?, values(2));
    assert!(map.get::<_, f64>(&1)?.is_none() && !file.link_exists("g1"), "a handle keeps the map");
    file.flush()
}
