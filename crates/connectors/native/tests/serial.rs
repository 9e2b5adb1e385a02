//! Files and filters that only threads of the caller may use: no thread of the library's pool ever calls them.

use std::io;
use std::sync::Arc;
use std::thread::ThreadId;

use files::{Handle, Lock, Memory};
use filters::{Codecs, Done, Error, Filter, FilterId, Output, Params};
use hyperslab::vol::Transfer;
use hyperslab::vol::algorithms::transfer::Elements;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::{File, FileAccess, Result, Selection, registry};
use hyperslab_native::{create_handle, open_handle};

const ELEMENTS: usize = 1 << 21;
const FILTER: FilterId = 300;

/// A file that panics when another thread than its own calls it.
#[derive(Debug)]
struct Own {
    inner: Arc<Memory>,
    thread: ThreadId,
}

impl Own {
    fn handle(inner: Arc<Memory>) -> Handle {
        Arc::new(Own { inner, thread: std::thread::current().id() })
    }

    fn inner(&self) -> &Memory {
        assert_eq!(std::thread::current().id(), self.thread, "another thread uses the file");
        &self.inner
    }
}

impl files::File for Own {
    fn len(&self) -> io::Result<u64> {
        self.inner().len()
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.inner().read_at(offset, buf)
    }
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner().write_at(offset, data)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner().set_len(len)
    }
    fn sync(&self, sync: files::Sync) -> io::Result<()> {
        self.inner().sync(sync)
    }
    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.inner().lock(lock)
    }
    fn is_serial(&self) -> bool {
        true
    }
}

/// Turns every bit around, and panics on another thread than its own.
struct Inverted(ThreadId);

impl Filter for Inverted {
    fn id(&self) -> FilterId {
        FILTER
    }
    fn decode_into(
        &self,
        _: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _: &mut Codecs,
    ) -> std::result::Result<Done, Error> {
        assert_eq!(std::thread::current().id(), self.0, "another thread uses the filter");
        out.put(input.iter().map(|byte| !byte).collect())
    }
    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        codecs: &mut Codecs,
    ) -> std::result::Result<Done, Error> {
        self.decode_into(params, input, out, codecs)
    }
    fn is_serial(&self) -> bool {
        true
    }
}

fn numbers() -> Vec<i32> {
    (0..ELEMENTS as i32).collect()
}

/// Writes and reads enough for several threads: chunks with and without filters, contiguous elements, many links.
fn fill(file: &File) -> Result<()> {
    let group = file.create_group("many")?;
    (0..600).try_for_each(|n| group.create_group(&format!("g{n}")).map(drop))?;
    for (name, builder) in [
        ("plain", file.new_dataset::<i32>().shape(ELEMENTS)),
        ("chunked", file.new_dataset::<i32>().shape(ELEMENTS).chunk(1 << 15)),
        ("deflated", file.new_dataset::<i32>().shape(ELEMENTS).chunk(1 << 15).deflate(1)),
    ] {
        builder.create(name)?.write_raw(&numbers())?;
    }
    file.new_dataset_builder().with_data(&texts()).create("texts").map(drop)
}

fn texts() -> Vec<String> {
    (0..200_000).map(|n| format!("text {n}")).collect()
}

/// Reads elements as another type, scattered ones, and strings.
fn check_parts(file: &File) -> Result<()> {
    for name in ["plain", "chunked"] {
        let dataset = file.dataset(name)?;
        assert_eq!(dataset.read_raw::<f64>()?.len(), ELEMENTS);
        let some = dataset.read_slice_1d::<i32, _>(hyperslab::s![..;97])?;
        assert!(some.iter().copied().eq((0..ELEMENTS as i32).step_by(97)), "{name}");
    }
    let texts = file.dataset("texts")?;
    assert!(texts.read_strings()? == self::texts());
    let (info, all) = (file.container().dataset_info(texts.token())?, Selection::All);
    let elements = Elements {
        container: file.container().as_ref(),
        dataset: texts.token(),
        file_type: &info.datatype,
        space: &info.space,
        selection: &all,
        conversions: &Conversions::default(),
        transfer: Transfer::Independent,
    };
    let (mut count, memory) = (0, info.datatype.memory_type());
    elements.read_strips(&memory, |strip, _| {
        count += strip.len() / memory.size() as usize;
        Ok::<(), hyperslab::Error>(())
    })?;
    assert_eq!(count, self::texts().len());
    Ok(())
}

#[test]
fn a_serial_file_is_used_by_the_thread_of_the_caller_only() {
    let memory = Arc::new(Memory::new());
    let access = FileAccess::write();
    let container =
        create_handle(Own::handle(memory.clone()), "serial", &Default::default(), &access).unwrap();
    let file = File::from_container(container, "serial", &access).unwrap();
    fill(&file).unwrap();
    file.close().unwrap();
    let container = open_handle(Own::handle(memory), "serial", &FileAccess::read()).unwrap();
    let file = File::from_container(container, "serial", &FileAccess::read()).unwrap();
    for name in ["plain", "chunked", "deflated"] {
        assert!(file.dataset(name).unwrap().read_raw::<i32>().unwrap() == numbers(), "{name}");
    }
    check_parts(&file).unwrap();
    assert_eq!(file.group("many").unwrap().member_names().unwrap().len(), 600);
}

#[test]
fn a_serial_filter_is_used_by_the_thread_of_the_caller_only() {
    let mut ours = registry();
    ours.register_filter(Arc::new(Inverted(std::thread::current().id()))).unwrap();
    let folder = std::env::temp_dir().join(format!("hyperslab-serial-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("serial.h5").to_string_lossy().into_owned();
    let file = File::create_in(&ours, &path, &Default::default(), &FileAccess::write(), true).unwrap();
    let builder = file.new_dataset::<i32>().shape(ELEMENTS).chunk(1 << 15).filter(FILTER, &[]);
    builder.create("data").unwrap().write_raw(&numbers()).unwrap();
    file.close().unwrap();
    let file = File::open_in(&ours, &path, &FileAccess::read()).unwrap();
    assert!(file.dataset("data").unwrap().read_raw::<i32>().unwrap() == numbers());
    assert_eq!(file.dataset("data").unwrap().read_raw::<f64>().unwrap().len(), ELEMENTS);
    drop(file);
    std::fs::remove_dir_all(folder).unwrap();
}
