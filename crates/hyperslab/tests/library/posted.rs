//! Writes that wait in the buffers of their caller, through the public crate.

use hyperslab::plist::FileCreate;
use hyperslab::vol::WhenFull;
use hyperslab::{File, FileAccess, Kind, Result, Selection};
use testkit::Folder;

fn block(start: u64, len: u64) -> Selection {
    Selection::block(&[start], &[len]).unwrap()
}

fn create(location: &str, access: &FileAccess) -> Result<File> {
    File::create_with(location, &FileCreate::default(), access, true)
}

/// Posts what needs a conversion, what does not, what overlaps, and texts.
fn fill(file: &File) -> Result<()> {
    let (numbers, small) = (
        file.new_dataset::<f64>().shape([100]).create("numbers")?,
        file.new_dataset::<f32>().shape([100]).create("small")?,
    );
    let texts = file.new_dataset::<String>().shape([2]).create("texts")?;
    let (first, second, words) = ([1.0; 40], [2.0; 10], ["a", "b"].map(str::to_owned));
    numbers.write_selection(&block(90, 10), &[9.0; 10])?;
    let mut posting = file.posting();
    numbers.post(&mut posting, &block(0, 40), &first)?;
    numbers.post(&mut posting, &block(35, 10), &second)?;
    small.post(&mut posting, &block(10, 40), &first)?;
    texts.post(&mut posting, &Selection::All, &words)?;
    assert!(numbers.post(&mut posting, &block(0, 3), &second).is_err(), "ten values for three elements");
    posting.flush()
}

fn check(file: &File) -> Result<()> {
    let numbers = file.dataset("numbers")?.read_raw::<f64>()?;
    let wanted = |n: usize| match n {
        0..35 => 1.0,
        35..45 => 2.0,
        90.. => 9.0,
        _ => 0.0,
    };
    assert!(numbers.iter().enumerate().all(|(n, value)| *value == wanted(n)), "{numbers:?}");
    let small = file.dataset("small")?.read_raw::<f32>()?;
    assert_eq!((small[9], small[10], small[49], small[50]), (0.0, 1.0, 1.0, 0.0));
    assert_eq!(file.dataset("texts")?.read_raw::<String>()?, ["a", "b"]);
    Ok(())
}

#[test]
fn posted_writes_are_in_every_storage_after_the_flush() -> Result<()> {
    let folder = Folder::new("posted");
    let stacked = FileAccess::write().with_stack("stats | async");
    for (prefix, name, access) in [
        ("log:", "log.h5", FileAccess::write()),
        ("log+v1:", "old.h5", FileAccess::write()),
        ("log:", "layers.h5", stacked.clone()),
        ("", "file.h5", FileAccess::write()),
        ("object:", "store", FileAccess::write()),
        ("memory:", "posted", stacked),
    ] {
        let location = format!("{prefix}{}", folder.at(name));
        let file = create(&location, &access)?;
        assert_eq!(file.posting().waits(), prefix.starts_with("log") && access.stack.is_none(), "{location}");
        fill(&file)?;
        check(&file)?;
        file.close()?;
        if prefix != "memory:" {
            check(&File::open_with(&location, &FileAccess::read())?)?;
        }
    }
    Ok(())
}

#[test]
fn posted_writes_wait_and_are_forgotten_without_a_flush() -> Result<()> {
    let folder = Folder::new("posted");
    let file = create(&format!("log:{}", folder.at("log.h5")), &FileAccess::write())?;
    let data = file.new_dataset::<i32>().shape([10]).create("data")?;
    let values = [7; 10];
    let mut posting = file.posting();
    data.post(&mut posting, &Selection::All, &values)?;
    assert_eq!(data.read_raw::<i32>()?, [0; 10], "they wait");
    drop(posting);
    file.flush()?;
    assert_eq!(data.read_raw::<i32>()?, [0; 10]);
    let other = create("memory:posted elsewhere", &FileAccess::write())?;
    let refused = data.post(&mut other.posting(), &Selection::All, &values).unwrap_err();
    assert_eq!(refused.kind(), Kind::Invalid);
    let reader = File::open_with(&format!("log:{}", folder.at("log.h5")), &FileAccess::read())?;
    let refused = reader.dataset("data")?.post(&mut reader.posting(), &Selection::All, &values).unwrap_err();
    assert_eq!(refused.kind(), Kind::Denied);
    Ok(())
}

/// 4-byte writes: what says where they go is more than they are.
#[test]
fn what_a_posting_holds_itself_counts_towards_the_limit() -> Result<()> {
    let folder = Folder::new("posted");
    let limited = FileAccess { write_buffer_bytes: Some(10_000), ..FileAccess::write() };
    let failing = FileAccess { write_buffer_full: WhenFull::Fail, ..limited.clone() };
    let file = create(&format!("log:{}", folder.at("fail.h5")), &failing)?;
    let data = file.new_dataset::<i32>().shape([10_000]).create("data")?;
    let (value, large) = ([5], vec![6; 5000]);
    let mut posting = file.posting();
    let posted = (0..5000).take_while(|n| data.post(&mut posting, &block(n * 2, 1), &value).is_ok()).count();
    assert_eq!(posted, 10_000 / (4 + 32));
    assert_eq!(data.post(&mut posting, &block(0, 1), &value).unwrap_err().kind(), Kind::Limit);
    posting.flush()?;
    // Bytes that are borrowed are the caller's: only what notes them counts.
    let mut posting = file.posting();
    data.post(&mut posting, &block(0, 5000), &large)?;
    posting.flush()?;
    assert_eq!(data.read_raw::<i32>()?[4999..5002], [6, 0, 0]);
    // Where it may, it goes to the file by itself.
    let file = create(&format!("log:{}", folder.at("through.h5")), &limited)?;
    let data = file.new_dataset::<i32>().shape([10_000]).create("data")?;
    let mut posting = file.posting();
    (0..5000).try_for_each(|n| data.post(&mut posting, &block(n * 2, 1), &value))?;
    posting.flush()?;
    let found = data.read_raw::<i32>()?;
    assert!(found.chunks(2).all(|pair| pair == [5, 0]));
    Ok(())
}
