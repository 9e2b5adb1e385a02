//! A folder for one test, and short ways to say common things.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use algorithms::transfer;
use hyperslab_raw::RawConnector;
use memory::MemoryConnector;
use model::convert::Conversions;
use model::properties::FileCreate;
use model::{CharacterSet, Dataspace, Datatype, Heap, LinkTarget, Selection, Token};
use vol::*;

static NEXT: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    pub(crate) registry: Registry,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hyperslab-folder-{}-{number}", std::process::id());
        Self::at(&std::env::temp_dir().join(name))
    }

    pub(crate) fn at(path: &Path) -> Self {
        let mut registry = Registry::new();
        registry.register(Arc::new(MemoryConnector::new())).unwrap();
        registry.register(Arc::new(RawConnector::new())).unwrap();
        Folder { path: path.to_owned(), registry }
    }

    pub(crate) fn location(&self) -> String {
        format!("raw:{}", self.path.display())
    }

    pub(crate) fn create(&self) -> Arc<dyn Container> {
        self.registry.create(&self.location(), &FileCreate::default(), &FileAccess::write(), true).unwrap()
    }

    pub(crate) fn open(&self, access: &FileAccess) -> Result<Arc<dyn Container>> {
        self.registry.open(&self.location(), access)
    }

    pub(crate) fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.path.join(file)).unwrap()
    }

    /// Names in a folder, sorted.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path.join(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

pub(crate) fn group(c: &dyn Container, parent: Token, name: &str) -> Token {
    let place = Some(LinkLocation::new(parent, name));
    c.group_create(&OpGroupCreate { place, create: Default::default() }).unwrap()
}

pub(crate) fn dataset(
    c: &dyn Container,
    group: Token,
    name: &str,
    datatype: Datatype,
    dims: &[u64],
) -> Token {
    let (place, space) = (Some(LinkLocation::new(group, name)), Dataspace::simple(dims).unwrap());
    let create = Default::default();
    c.dataset_create(&OpDatasetCreate { place, datatype, committed: None, space, create }).unwrap()
}

pub(crate) fn ints(c: &dyn Container, group: Token, name: &str, dims: &[u64]) -> Token {
    dataset(c, group, name, Datatype::native_int(4), dims)
}

pub(crate) fn texts(c: &dyn Container, group: Token, name: &str, texts: &[&str]) -> Token {
    let memory = Datatype::var_string(CharacterSet::Utf8);
    let dataset = dataset(c, group, name, memory.clone(), &[texts.len() as u64]);
    let (mut heap, mut data) = (Heap::new(), vec![0; texts.len() * 16]);
    for (descriptor, text) in data.chunks_mut(16).zip(texts) {
        heap.push(text.as_bytes(), text.len() as u64).store(descriptor).unwrap();
    }
    let stored = memory.with_descriptors(&c.info().unwrap().descriptors);
    let from =
        &transfer::to_file_type(c, &memory, &data, &stored, &Conversions::default(), &mut heap).unwrap();
    c.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from }]).unwrap();
    dataset
}

pub(crate) fn put(c: &dyn Container, dataset: Token, values: &[i32]) {
    let from: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    c.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: &from }]).unwrap();
}

pub(crate) fn bytes(c: &dyn Container, dataset: Token) -> Vec<u8> {
    let info = c.dataset_info(dataset).unwrap();
    let count = info.space.element_count().unwrap() * u64::from(info.datatype.size());
    let mut into = vec![0; count as usize];
    c.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut into }]).unwrap();
    into
}

pub(crate) fn get(c: &dyn Container, dataset: Token) -> Vec<i32> {
    bytes(c, dataset).chunks(4).map(|b| i32::from_ne_bytes(b.try_into().unwrap())).collect()
}

pub(crate) fn link(c: &dyn Container, group: Token, name: &str, target: LinkTarget) {
    c.link_create(&OpLinkCreate { place: LinkLocation::new(group, name), target }).unwrap();
}

pub(crate) fn rename(c: &dyn Container, group: Token, from: &str, to: &str) {
    let to = LinkLocation::new(group, to);
    c.link_move(&OpLinkMove { from: group, name: from.into(), to, copy: false }).unwrap();
}

pub(crate) fn attribute(c: &dyn Container, object: Token, name: &str, value: i32) {
    let op = OpAttributeCreate {
        object,
        name: name.into(),
        charset: CharacterSet::Ascii,
        datatype: Datatype::native_int(4),
        committed: None,
        space: Dataspace::Scalar,
    };
    c.attribute_create(&op).unwrap();
    c.attribute_write(object, name, &value.to_ne_bytes()).unwrap();
}

pub(crate) fn names(c: &dyn Container, group: Token) -> Vec<String> {
    c.link_list(group, &OpList::default()).unwrap().entries.into_iter().map(|link| link.name).collect()
}
