//! Opens, reads and writes that their caller awaits: with and without the layer `async`, and from tokio behind a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyperslab::asynchronous::{wait, wait_all};
use hyperslab::plist::FileCreate;
use hyperslab::vol::{Container, Layer, OpRead};
use hyperslab::{
    Datatype, File, FileAccess, H5Type, Kind, LinkTarget, ObjectHandle, Result, Selection, registry,
};
use hyperslab_server::{Auth, Config, Server};

fn create(location: &str, stack: Option<&str>) -> Result<File> {
    let access = FileAccess { stack: stack.map(str::to_owned), ..FileAccess::write() };
    File::create_with(location, &FileCreate::default(), &access, true)
}

/// Two members of a struct that is stored.
#[derive(H5Type, Debug, Clone, PartialEq)]
#[repr(C)]
struct Pair {
    one: i32,
    two: f64,
}

/// The second member alone.
#[derive(H5Type, Debug, Clone, PartialEq)]
#[repr(C)]
struct Second {
    two: f64,
}

/// A dataset of ten numbers with an attribute, one of texts, one of lists, one of structs, a soft link, a map and a
/// type.
fn fill(file: &File) -> Result<()> {
    fill_objects(file)?;
    let numbers = file.new_dataset::<i32>().shape([10]).create("run/numbers")?;
    numbers.write_raw(&(0..10).collect::<Vec<i32>>())?;
    numbers.set_attr("unit", "K".to_owned())?;
    file.new_dataset::<String>().shape([2]).create("texts")?.write_raw(&["a", "b"].map(str::to_owned))?;
    file.link_soft("/run/numbers", "soft")?;
    file.flush()
}

fn fill_objects(file: &File) -> Result<()> {
    let lists = [vec!["a".to_owned()], vec![], vec!["b".to_owned(), "c".to_owned()]];
    file.new_dataset_builder().with_data(&lists).create("lists")?;
    let pairs: Vec<Pair> = (0..3).map(|one| Pair { one, two: 0.5 }).collect();
    file.new_dataset_builder().with_data(&pairs).create("pairs")?;
    let map = file.create_map::<String, String>("map")?;
    map.put_all([(&"x".to_owned(), &"ex".to_owned()), (&"y".to_owned(), &"why".to_owned())])?;
    file.commit_datatype("type", Datatype::native_int(4))?;
    let many = file.new_dataset::<String>().shape([9000]).create("many")?;
    many.write_raw(&(0..9000).map(|n| n.to_string()).collect::<Vec<_>>())
}

/// What is opened and read, besides the numbers.
async fn check_objects(file: &File) -> Result<()> {
    let lists = file.dataset_async("lists").await?.read_async::<Vec<String>>().await?;
    assert_eq!(lists.concat(), ["a", "b", "c"]);
    let map = file.map_async("map").await?;
    let keys = ["y", "none", "x"].map(str::to_owned);
    assert_eq!(map.get_all_async::<_, String>(&keys).await?, [Some("why".into()), None, Some("ex".into())]);
    assert_eq!(
        (map.keys_async::<String>().await?, map.len_async().await?),
        (vec!["x".into(), "y".into()], 2)
    );
    assert_eq!(file.named_datatype_async("type").await?.datatype()?, Datatype::native_int(4));
    let many = file.dataset_async("/many").await?;
    assert_eq!(
        many.read_async::<String>().await?[8999],
        "8999",
        "more than is converted where it is awaited"
    );
    assert_eq!(many.read_slice_async::<String, _, ndarray::Ix1>(77..79).await?.to_vec(), ["77", "78"]);
    let group = file.group_async("run").await?;
    assert_eq!((group.name(), group.member_names_async().await?), ("/run", vec!["numbers".to_owned()]));
    assert!(matches!(file.object_async("map").await?, ObjectHandle::Map(_)));
    assert!(matches!(file.object_async("type").await?, ObjectHandle::Datatype(_)));
    assert!(file.exists_async("run/numbers").await? && !file.exists_async("run/none").await?);
    for kind in [file.group_async("map").await.unwrap_err(), file.map_async("run").await.unwrap_err()] {
        assert_eq!(kind.kind(), Kind::Invalid);
    }
    assert_eq!(file.named_datatype_async("run").await.unwrap_err().kind(), Kind::Invalid);
    assert_eq!(file.object_async("none").await.unwrap_err().kind(), Kind::NotFound);
    Ok(())
}

async fn check(file: &File) -> Result<()> {
    check_objects(file).await?;
    let numbers = file.dataset_async("run/numbers").await?;
    assert_eq!((numbers.shape(), numbers.name()), (vec![10], "/run/numbers"));
    assert_eq!(numbers.read_async::<i32>().await?, (0..10).collect::<Vec<_>>());
    assert_eq!(numbers.read_async::<f64>().await?[9], 9.0, "they are converted");
    assert_eq!(numbers.attr_async("unit").await?.read_string_async().await?, "K");
    assert_eq!(numbers.read_slice_async::<i32, _, ndarray::Ix1>(2..4).await?.to_vec(), [2, 3]);
    assert!(numbers.read_selection_async::<u8>(&Selection::None).await?.is_empty());
    assert!(numbers.read_slice_async::<i32, _, ndarray::Ix1>(2..40).await.is_err());
    assert_eq!(file.dataset_async("soft").await?.read_async::<i32>().await?[3], 3);
    assert_eq!(file.dataset_async("texts").await?.read_async::<String>().await?, ["a", "b"]);
    assert_eq!(file.link_async("soft").await?.target, LinkTarget::Soft("/run/numbers".into()));
    assert_eq!(file.dataset_async("run").await.unwrap_err().kind(), Kind::Invalid);
    assert_eq!(file.dataset_async("none").await.unwrap_err().kind(), Kind::NotFound);
    assert_eq!(file.link_async("none").await.unwrap_err().kind(), Kind::NotFound);
    assert_eq!(numbers.attr_async("none").await.unwrap_err().kind(), Kind::NotFound);
    Ok(())
}

/// Writes, and reads what was written.
async fn change(file: &File) -> Result<()> {
    let numbers = file.dataset_async("run/numbers").await?;
    numbers.write_async(&[7i32; 10]).await?;
    assert_eq!(numbers.read_async::<i32>().await?, [7; 10]);
    numbers.write_async(&[8.0f64; 10]).await?;
    assert_eq!(numbers.read_async::<i32>().await?, [8; 10], "they are converted");
    assert_eq!(numbers.write_async(&[1i32; 3]).await.unwrap_err().kind(), Kind::Invalid);
    numbers.write_slice_async(&[1, 2], 3..5).await?;
    assert_eq!(numbers.read_async::<i32>().await?[2..6], [8, 1, 2, 8]);
    assert!(numbers.write_slice_async(&[1, 2], 3..6).await.is_err());
    change_objects(file).await?;
    let texts = file.dataset_async("texts").await?;
    texts.write_async(&["c", "d"].map(str::to_owned)).await?;
    assert_eq!(texts.read_async::<String>().await?, ["c", "d"]);
    Ok(())
}

async fn change_objects(file: &File) -> Result<()> {
    let map = file.map_async("map").await?;
    map.put_async(&"z".to_owned(), &"zed".to_owned()).await?;
    assert_eq!(map.get_async::<_, String>(&"z".to_owned()).await?.as_deref(), Some("zed"));
    assert!(map.delete_async(&"x".to_owned()).await? && !map.delete_async(&"x".to_owned()).await?);
    let twice = ["z", "z"].map(str::to_owned);
    map.put_all_async(&twice, &["first".to_owned(), "last".to_owned()]).await?;
    assert_eq!(map.get_async::<_, String>(&twice[0]).await?.as_deref(), Some("last"));
    let unit = map.set_attr_async("unit", "old").await?;
    map.set_attr_async("unit", "new").await?;
    assert_eq!(unit.read_string_async().await?, "new");
    map.set_attr_async("count", 3i64).await?.write_async(&[4i16]).await?;
    assert_eq!(map.attr_async("count").await?.read_scalar_async::<u8>().await?, 4);
    assert_eq!(unit.write_async(&["a", "b"].map(str::to_owned)).await.unwrap_err().kind(), Kind::Invalid);
    let pairs = file.dataset_async("pairs").await?;
    pairs.write_async(&[1.5, 2.5, 3.5].map(|two| Second { two })).await?;
    assert_eq!(pairs.read_async::<Pair>().await?[2], Pair { one: 2, two: 3.5 }, "other members stay");
    let many = file.dataset_async("many").await?;
    many.write_async(&vec!["same".to_owned(); 9000]).await?;
    assert_eq!(many.read_async::<String>().await?[4000..4002], ["same", "same"]);
    file.flush_async().await
}

#[test]
fn what_is_awaited_is_what_a_call_returns_with_and_without_the_layer() -> Result<()> {
    let folder = testkit::Folder::new("awaited");
    let native = |name: &str| folder.at(name);
    for stack in [Some("async"), None] {
        let kind = stack.unwrap_or("none");
        for name in [format!("memory:awaited {kind}"), native(&format!("{kind}.h5"))] {
            let file = create(&name, stack)?;
            fill(&file)?;
            wait(check(&file))?;
            wait(change(&file))?;
            file.close()?;
        }
    }
    Ok(())
}

#[test]
fn a_file_is_created_opened_and_closed_while_it_is_awaited() -> Result<()> {
    let folder = testkit::Folder::new("awaited files");
    let path = folder.at("a.h5");
    wait(async {
        let file = File::create_async(&path).await?;
        file.new_dataset::<i32>().create("x")?.write_async(&[5]).await?;
        file.close_async().await?;
        let file = File::open_rw_async(&path).await?;
        let data = file.dataset_async("x").await?;
        data.write_async(&[6]).await?;
        data.flush_async().await?;
        file.close_async().await?;
        let file = File::open_async(&path).await?;
        assert_eq!(file.dataset_async("x").await?.read_async::<i32>().await?, [6]);
        let missing = File::open_async(folder.at("none.h5")).await.unwrap_err();
        assert_eq!(missing.kind(), Kind::NotFound);
        file.close_async().await
    })
}

/// A container whose reads wait until they are let through.
struct Held {
    inner: Arc<dyn Container>,
    is_open: Arc<AtomicBool>,
}

impl Layer for Held {
    fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    fn dataset_read(&self, reads: &mut [OpRead<'_>]) -> Result<()> {
        while !self.is_open.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        self.inner.dataset_read(reads)
    }
}

#[test]
fn a_thread_of_the_executor_goes_on_while_the_storage_takes_its_time() -> Result<()> {
    let whole = create("memory:awaited slowly", None)?;
    fill(&whole)?;
    let is_open = Arc::new(AtomicBool::new(false));
    let held = Held { inner: whole.container().clone(), is_open: is_open.clone() };
    let file = File::from_container(Arc::new(held), "memory:held", &FileAccess::read())?;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (numbers, texts) = (file.dataset("run/numbers")?, file.dataset("texts")?);
    let reads = runtime.spawn(async move {
        assert_eq!(numbers.read_async::<f64>().await?.len(), 10);
        texts.read_async::<String>().await
    });
    runtime.block_on(async {
        // The read was polled, and this goes on.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        is_open.store(true, Ordering::SeqCst);
        assert_eq!(reads.await.unwrap()?, ["a", "b"]);
        Ok(())
    })
}

#[test]
fn a_write_that_fails_tells_the_one_who_awaits_it() -> Result<()> {
    let file = create("memory:awaited write", None)?;
    fill(&file)?;
    file.close()?;
    let access = FileAccess::write().with_stack("async | readonly");
    let file = File::open_with("memory:awaited write", &access)?;
    let numbers = wait(file.dataset_async("run/numbers"))?;
    assert_eq!(wait(numbers.write_async(&[1i32; 10])).unwrap_err().kind(), Kind::Denied);
    assert_eq!(wait(numbers.read_async::<i32>())?, (0..10).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn many_are_awaited_at_once() -> Result<()> {
    let file = create("memory:awaited together", Some("async"))?;
    for number in 0..50 {
        file.new_dataset::<i32>().shape([4]).create(&number.to_string())?;
    }
    let one = async |number: i32| {
        let data = file.dataset_async(&number.to_string()).await?;
        data.write_async(&[number; 4]).await?;
        data.read_async::<i32>().await
    };
    for (number, read) in (0..50).zip(wait_all((0..50).map(one))) {
        assert_eq!(read?, [number; 4]);
    }
    let whole = file.dataset("7")?;
    whole.write_selection(&Selection::block(&[1], &[1])?, &[0])?;
    assert_eq!(wait(whole.read_async::<i32>())?, [7, 0, 7, 7], "a read comes after the write before it");
    Ok(())
}

#[test]
fn files_behind_a_server_are_awaited_in_tokio() -> Result<()> {
    let config = Config {
        stack: Some("memory:".into()),
        root: None,
        auth: Auth::Off,
        ..Config::local(registry(), "")
    };
    let server = Server::start(&config)?;
    let file = create(&server.location("awaited"), Some("async"))?;
    fill(&file)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        check(&file).await?;
        change(&file).await
    })?;
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let file = file.clone();
            runtime.spawn(async move { file.dataset_async("run/numbers").await?.read_async::<i32>().await })
        })
        .collect();
    for task in tasks {
        assert_eq!(runtime.block_on(task).unwrap()?[2..6], [8, 1, 2, 8]);
    }
    file.close()
}
