//! Our side: the file that both start from, and what is added to it.

use hyperslab::vol::model::properties::AllocTime;
use hyperslab::{Dataset, File, FileAccess, Group, LibVersion, UNLIMITED_DIM, s};
use ndarray::{Array1, Array2};

use super::{CHUNK, CHUNK_TEXTS, Grid, Kind, any_chunk, attribute_name, chunks_max, link_name, text};
use crate::{Outcome, data};

/// A file with so many of them.
pub(super) fn make(path: &str, kind: Kind, low: LibVersion, count: usize) -> Outcome<()> {
    let file = data::create_as(path, low)?;
    let group = file.create_group("g")?;
    match kind {
        Kind::Link => (0..count).try_for_each(|n| group.link_soft("/target", &link_name(n)))?,
        Kind::Attribute => (0..count).try_for_each(|n| attribute(&group, n))?,
        Kind::Chunk(grid) => chunks(&group, grid, count)?,
        Kind::Text => {
            let builder = group.new_dataset::<String>().shape([count]).max_shape([UNLIMITED_DIM]);
            let texts: Vec<String> = (0..count).map(text).collect();
            builder.chunk([CHUNK_TEXTS]).create("x")?.write_raw(&texts)?;
        }
    }
    Ok(file.close()?)
}

fn attribute(group: &Group, n: usize) -> Outcome<()> {
    Ok(group.new_attr::<i64>().create(attribute_name(n).as_str())?.write_scalar(&(n as i64))?)
}

/// A dataset with so many chunks.
fn chunks(group: &Group, grid: Grid, count: usize) -> Outcome<()> {
    let builder = group.new_dataset::<f64>();
    let all = Array1::<f64>::zeros(count * CHUNK);
    match grid {
        Grid::Grows => {
            builder
                .shape([count * CHUNK])
                .max_shape([UNLIMITED_DIM])
                .chunk([CHUNK])
                .create("x")?
                .write(&all)?;
        }
        Grid::GrowsTwice => {
            let builder = builder.shape([count, CHUNK]).max_shape([UNLIMITED_DIM, UNLIMITED_DIM]);
            builder.chunk([1, CHUNK]).create("x")?.write(&Array2::<f64>::zeros((count, CHUNK)))?;
        }
        Grid::Fixed => {
            let dataset = builder.shape([chunks_max(count) * CHUNK]).chunk([CHUNK]).create("x")?;
            dataset.write_slice(&all, s![0..count * CHUNK])?;
        }
        Grid::Implicit => {
            let builder = builder.shape([count * CHUNK]).chunk([CHUNK]);
            builder.alloc_time(Some(AllocTime::Early)).create("x")?.write(&all)?;
        }
    }
    Ok(())
}

/// A file that grows.
pub(super) struct Adds {
    file: File,
    group: Group,
    dataset: Option<Dataset>,
    kind: Kind,
}

impl Adds {
    pub(super) fn open(path: &str, kind: Kind, low: LibVersion) -> Outcome<Adds> {
        let file = File::open_with(path, &FileAccess { version_low: low, ..FileAccess::write() })?;
        let group = file.group("g")?;
        let has_dataset = matches!(kind, Kind::Chunk(_) | Kind::Text);
        let dataset = if has_dataset { Some(group.dataset("x")?) } else { None };
        Ok(Adds { file, group, dataset, kind })
    }

    /// Adds number `n` to `count` that were there at first, and flushes.
    pub(super) fn add(&self, n: usize, count: usize) -> Outcome<()> {
        match (self.kind, &self.dataset) {
            (Kind::Link, _) => self.group.link_soft("/target", &link_name(n))?,
            (Kind::Attribute, _) => attribute(&self.group, n)?,
            (Kind::Chunk(grid), Some(dataset)) => add_chunk(dataset, grid, n, count)?,
            (Kind::Text, Some(dataset)) => dataset.append(0, &Array1::from_elem(1, text(n)))?,
            _ => return Err("no dataset".into()),
        }
        Ok(self.file.flush()?)
    }
}

fn add_chunk(dataset: &Dataset, grid: Grid, n: usize, count: usize) -> Outcome<()> {
    let chunk = Array1::from_elem(CHUNK, n as f64);
    let first = CHUNK * if grid == Grid::Implicit { any_chunk(n, count) } else { n };
    match grid {
        Grid::Grows => dataset.append(0, &chunk)?,
        Grid::GrowsTwice => dataset.append(0, &Array2::from_elem((1, CHUNK), n as f64))?,
        Grid::Fixed | Grid::Implicit => dataset.write_slice(&chunk, s![first..first + CHUNK])?,
    }
    Ok(())
}
