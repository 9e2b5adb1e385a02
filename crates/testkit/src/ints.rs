//! Small datasets of integers, and what a check of storage finds: what several tests of connectors need.

use model::properties::{DatasetCreate, Layout};
use model::{Dataspace, Datatype, Result, Selection, Token};
use vol::{Container, LinkLocation, OpDatasetCreate, OpRead, OpWrite, StorageFinding};

/// 32-bit integers, little-endian.
pub fn int() -> Datatype {
    Datatype::integer(4, true, model::ByteOrder::Little)
}

/// Returns a dataset of integers in chunks.
pub fn dataset(c: &dyn Container, place: LinkLocation, dims: &[u64], shape: &[u64]) -> Result<Token> {
    let create = DatasetCreate { layout: Layout::chunked(shape), ..DatasetCreate::default() };
    let space = Dataspace::simple(dims)?;
    c.dataset_create(&OpDatasetCreate { place: Some(place), datatype: int(), committed: None, space, create })
}

/// Writes a whole dataset.
pub fn write(c: &dyn Container, dataset: Token, values: &[i32]) -> Result<()> {
    let from: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    c.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: &from }])
}

/// Reads a whole dataset.
pub fn read(c: &dyn Container, dataset: Token) -> Result<Vec<i32>> {
    let count = c.dataset_info(dataset)?.space.element_count()?;
    let mut into = vec![0; count as usize * 4];
    c.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut into }])?;
    Ok(into.as_chunks::<4>().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect())
}

/// Verifies the storage of a container and returns its problems, one line each.
pub fn problems(c: &dyn Container) -> Result<Vec<String>> {
    c.storage_check().map(lines)
}

/// Repairs the storage of a container and returns its problems, one line each.
pub fn repair(c: &dyn Container) -> Result<Vec<String>> {
    c.storage_repair().map(lines)
}

fn lines(findings: Vec<StorageFinding>) -> Vec<String> {
    let line = |finding: StorageFinding| {
        let StorageFinding { path, part, problem, is_repaired } = finding;
        format!("{path}\t{part}\t{problem}\t{}", if is_repaired { "repaired" } else { "" })
    };
    findings.into_iter().map(line).collect()
}
