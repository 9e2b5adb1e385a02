//! Opens, reads and writes that their caller awaits: with and without the layer `async`, and from tokio behind a server.

use hyperslab::asynchronous::{wait, wait_all};
use hyperslab::plist::FileCreate;
use hyperslab::{File, FileAccess, Kind, LinkTarget, Result, Selection, registry};
use hyperslab_server::{Auth, Config, Server};

fn create(location: &str, stack: Option<&str>) -> Result<File> {
    let access = FileAccess { stack: stack.map(str::to_owned), ..FileAccess::write() };
    File::create_with(location, &FileCreate::default(), &access, true)
}

/// A dataset of ten numbers with an attribute, one of texts, and a soft link.
fn fill(file: &File) -> Result<()> {
    let numbers = file.new_dataset::<i32>().shape([10]).create("run/numbers")?;
    numbers.write_raw(&(0..10).collect::<Vec<i32>>())?;
    numbers.set_attr("unit", "K".to_owned())?;
    file.new_dataset::<String>().shape([2]).create("texts")?.write_raw(&["a", "b"].map(str::to_owned))?;
    file.link_soft("/run/numbers", "soft")?;
    file.flush()
}

async fn check(file: &File) -> Result<()> {
    let numbers = file.dataset_async("run/numbers").await?;
    assert_eq!((numbers.shape(), numbers.name()), (vec![10], "/run/numbers"));
    assert_eq!(numbers.read_async::<i32>().await?, (0..10).collect::<Vec<_>>());
    assert_eq!(numbers.read_async::<f64>().await?[9], 9.0, "they are converted");
    assert_eq!(numbers.attr_async("unit").await?.read_string()?, "K");
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
    let texts = file.dataset_async("texts").await?;
    texts.write_async(&["c", "d"].map(str::to_owned)).await?;
    assert_eq!(texts.read_async::<String>().await?, ["c", "d"]);
    Ok(())
}

#[test]
fn what_is_awaited_is_what_a_call_returns_with_and_without_the_layer() -> Result<()> {
    for (name, stack) in [("memory:awaited", Some("async")), ("memory:waited for", None)] {
        let file = create(name, stack)?;
        fill(&file)?;
        wait(check(&file))?;
        wait(change(&file))?;
        file.close()?;
    }
    Ok(())
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
        assert_eq!(runtime.block_on(task).unwrap()?, [8; 10]);
    }
    file.close()
}
