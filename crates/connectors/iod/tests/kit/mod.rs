//! What several tests need.
#![allow(dead_code, reason = "each test uses some of it")]

use std::path::Path;
use std::sync::Arc;

use hyperslab_iod::IodConnector;
use iod_storage::{Mode, Service};
use model::properties::{DatasetCreate, FileCreate, Layout};
use model::{Dataspace, Datatype, Result, Selection, Token};
use vol::{
    Connector, Container, ContainerCreate, ContainerOpen, FileAccess, OpDatasetCreate, OpWrite, Place,
};

/// A new container in a folder.
pub(crate) fn create(folder: &Path, create: &FileCreate) -> Result<Arc<dyn Container>> {
    let access = FileAccess::write();
    let path = folder.display().to_string();
    IodConnector::new().create(&ContainerCreate::new(&path, create, &access))
}

/// The container in a folder.
pub(crate) fn open(folder: &Path, access: &FileAccess) -> Result<Arc<dyn Container>> {
    IodConnector::new().open(&ContainerOpen::new(&folder.display().to_string(), access))
}

/// 32-bit integers, little-endian.
pub(crate) fn int() -> Datatype {
    Datatype::integer(4, true, model::ByteOrder::Little)
}

/// A dataset of integers in chunks.
pub(crate) fn dataset(c: &dyn Container, place: Place, dims: &[u64], shape: &[u64]) -> Result<Token> {
    let create = DatasetCreate { layout: Layout::chunked(shape), ..DatasetCreate::default() };
    let space = Dataspace::simple(dims)?;
    c.dataset_create(&OpDatasetCreate { place: Some(place), datatype: int(), committed: None, space, create })
}

/// Writes a whole dataset.
pub(crate) fn write(c: &dyn Container, dataset: Token, values: &[i32]) -> Result<()> {
    let from: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    c.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: &from }])
}

/// Reads a whole dataset.
pub(crate) fn read(c: &dyn Container, dataset: Token) -> Result<Vec<i32>> {
    let count = c.dataset_info(dataset)?.space.element_count()?;
    let mut into = vec![0; count as usize * 4];
    c.dataset_read(&mut [vol::OpRead { dataset, selection: &Selection::All, into: &mut into }])?;
    Ok(into.as_chunks::<4>().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect())
}

/// The storage beneath a container that is closed.
pub(crate) fn storage(folder: &Path, mode: Mode) -> iod_storage::Container {
    let name = folder.file_name().unwrap().to_str().unwrap();
    Service::folder(folder.parent().unwrap()).open(name, mode).unwrap()
}

/// What is wrong with what is stored, a line each.
pub(crate) fn problems(c: &dyn Container) -> Result<Vec<String>> {
    lines(c.optional("storage.check", b"")?)
}

/// The same, mended.
pub(crate) fn mend(c: &dyn Container) -> Result<Vec<String>> {
    lines(c.optional("storage.check", b"repair")?)
}

fn lines(bytes: Vec<u8>) -> Result<Vec<String>> {
    let text = String::from_utf8(bytes).map_err(|_| model::Error::corrupt("read findings"))?;
    Ok(text.lines().map(str::to_owned).collect())
}
