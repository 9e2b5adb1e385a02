//! What tests of logs share: folders, numbers, datasets, a model of elements.
#![allow(dead_code, reason = "every test uses some of it")]

pub(crate) mod programs;
pub(crate) mod scattered;

use std::sync::Arc;

use hyperslab_log::{LogConnector, LogContainer};
use model::properties::{DatasetCreate, FileCreate, Layout};
use model::{Dataspace, Datatype, Selection, Token, UNLIMITED};
use native::NativeConnector;
pub(crate) use testkit::Folder;
use vol::{
    Container, ContainerCreate, ContainerOpen, FileAccess, LinkLocation, OpDatasetCreate, OpRead, OpWrite,
};

pub(crate) fn connector() -> LogConnector {
    LogConnector::new(Arc::new(NativeConnector))
}

pub(crate) fn create(path: &str, access: &FileAccess) -> Arc<LogContainer> {
    connector().create_log(&ContainerCreate::new(path, &FileCreate::default(), access)).unwrap()
}

pub(crate) fn open(path: &str, access: &FileAccess) -> vol::Result<Arc<LogContainer>> {
    connector().open_log(&ContainerOpen::new(path, access))
}

/// Numbers that look random.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % n.max(1)
    }
}

pub(crate) fn op(c: &dyn Container, name: &str, space: Dataspace, create: DatasetCreate) -> OpDatasetCreate {
    let place = Some(LinkLocation::new(c.info().unwrap().root, name));
    OpDatasetCreate { place, datatype: Datatype::native_int(4), committed: None, space, create }
}

/// A dataset of 32-bit integers that keeps its size.
pub(crate) fn ints(c: &dyn Container, name: &str, dims: &[u64]) -> Token {
    c.dataset_create(&op(c, name, Dataspace::simple(dims).unwrap(), DatasetCreate::default())).unwrap()
}

/// One that may grow in every dimension.
pub(crate) fn growing(c: &dyn Container, name: &str, dims: &[u64]) -> Token {
    let space = Dataspace::resizable(dims, &vec![UNLIMITED; dims.len()]).unwrap();
    let layout = Layout::chunked(&vec![4; dims.len()]);
    c.dataset_create(&op(c, name, space, DatasetCreate { layout, ..DatasetCreate::default() })).unwrap()
}

pub(crate) fn to_bytes(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(crate) fn to_ints(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect()
}

pub(crate) fn put(
    c: &dyn Container,
    dataset: Token,
    selection: &Selection,
    values: &[i32],
) -> vol::Result<()> {
    c.dataset_write(&[OpWrite { dataset, selection, from: &to_bytes(values) }])
}

pub(crate) fn get(c: &dyn Container, dataset: Token, selection: &Selection) -> vol::Result<Vec<i32>> {
    let info = c.dataset_info(dataset)?;
    let mut bytes = vec![0; selection.element_count(info.space.dims())? as usize * 4];
    c.dataset_read(&mut [OpRead { dataset, selection, into: &mut bytes }])?;
    Ok(to_ints(&bytes))
}

/// The object that a path leads to.
pub(crate) fn find(c: &dyn Container, path: &str) -> Token {
    vol::path::token(c, c.info().unwrap().root, path, 16).unwrap()
}

/// Elements of a dataset in memory.
#[derive(Clone)]
pub(crate) struct Array {
    pub(crate) dims: Vec<u64>,
    pub(crate) values: Vec<i32>,
}

impl Array {
    pub(crate) fn new(dims: &[u64]) -> Self {
        Array { dims: dims.to_vec(), values: vec![0; dims.iter().product::<u64>() as usize] }
    }

    pub(crate) fn put(&mut self, selection: &Selection, values: &[i32]) {
        let mut values = values.iter();
        for run in selection.runs(&self.dims).unwrap() {
            for at in run.offset..run.offset + run.len {
                self.values[at as usize] = *values.next().unwrap();
            }
        }
    }

    pub(crate) fn get(&self, selection: &Selection) -> Vec<i32> {
        let runs = selection.runs(&self.dims).unwrap();
        runs.flat_map(|run| &self.values[run.offset as usize..][..run.len as usize]).copied().collect()
    }

    pub(crate) fn resize(&mut self, dims: &[u64]) {
        let mut other = Array::new(dims);
        let both: Vec<u64> = self.dims.iter().zip(dims).map(|(a, b)| *a.min(b)).collect();
        if !both.contains(&0) {
            let block = Selection::block(&vec![0; both.len()], &both).unwrap();
            other.put(&block, &self.get(&block));
        }
        *self = other;
    }
}

/// Some elements of an extent: a block, a comb, points, or all.
pub(crate) fn selection(random: &mut Random, dims: &[u64]) -> Selection {
    if dims.contains(&0) {
        return Selection::None;
    }
    match random.below(8) {
        0 => Selection::All,
        1 | 2 => {
            let count = 1 + random.below(9);
            let coords = (0..count).flat_map(|_| dims.to_vec()).collect::<Vec<_>>();
            let coords = coords.into_iter().map(|dim| random.below(dim)).collect();
            Selection::points(dims.len(), coords).unwrap()
        }
        kind => {
            let (mut start, mut stride, mut count, mut block) = (vec![], vec![], vec![], vec![]);
            for &dim in dims {
                let from = random.below(dim);
                let left = dim - from;
                let len = 1 + random.below(left.min(if kind < 5 { 3 } else { left }));
                let step = len + random.below(3);
                start.push(from);
                block.push(len);
                stride.push(step);
                count.push(if kind < 5 { 1 + random.below((left - len) / step + 1) } else { 1 });
            }
            Selection::hyperslab(&start, &stride, &count, &block).unwrap()
        }
    }
}
