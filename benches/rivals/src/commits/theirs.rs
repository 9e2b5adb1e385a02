//! The same with libhdf5.

use hdf5::types::VarLenUnicode;
use hdf5_sys::h5l::H5Lcreate_soft;
use hdf5_sys::h5p::H5P_DEFAULT;
use hyperslab::LibVersion;

use super::{CHUNK, Grid, Kind, any_chunk, attribute_name, link_name, text};
use crate::{Outcome, c};

/// A file that grows.
pub(super) struct Adds {
    file: hdf5::File,
    group: hdf5::Group,
    dataset: Option<hdf5::Dataset>,
    kind: Kind,
}

pub(super) fn open(path: &str, low: LibVersion) -> Outcome<hdf5::File> {
    let mut builder = hdf5::FileBuilder::new();
    builder.with_fapl(|p| match low {
        LibVersion::Earliest => p.libver_earliest(),
        LibVersion::V18 => p.libver_v18(),
        LibVersion::V110 => p.libver_v110(),
        _ => p.libver_latest(),
    });
    Ok(builder.open_rw(path)?)
}

impl Adds {
    pub(super) fn open(path: &str, kind: Kind, low: LibVersion) -> Outcome<Adds> {
        let file = open(path, low)?;
        let group = file.group("g")?;
        let has_dataset = matches!(kind, Kind::Chunk(_) | Kind::Text);
        let dataset = if has_dataset { Some(group.dataset("x")?) } else { None };
        Ok(Adds { file, group, dataset, kind })
    }

    /// Adds number `n` to `count` that were there at first, and flushes.
    pub(super) fn add(&self, n: usize, count: usize) -> Outcome<()> {
        match (self.kind, &self.dataset) {
            (Kind::Link, _) => soft_link(&self.group, n)?,
            (Kind::Attribute, _) => {
                let attribute = self.group.new_attr::<i64>().create(attribute_name(n).as_str())?;
                attribute.write_scalar(&(n as i64))?;
            }
            (Kind::Chunk(grid), Some(dataset)) => add_chunk(dataset, grid, n, count)?,
            (Kind::Text, Some(dataset)) => {
                dataset.resize(n + 1)?;
                write(dataset, &[n + 1], &[n], &[1], &[text(n).parse::<VarLenUnicode>()?])?;
            }
            _ => return Err("no dataset".into()),
        }
        Ok(self.file.flush()?)
    }
}

fn add_chunk(dataset: &hdf5::Dataset, grid: Grid, n: usize, count: usize) -> Outcome<()> {
    let chunk = [n as f64; CHUNK];
    let dims = dataset.shape();
    match grid {
        Grid::Grows => {
            dataset.resize((n + 1) * CHUNK)?;
            write(dataset, &[(n + 1) * CHUNK], &[n * CHUNK], &[CHUNK], &chunk)
        }
        Grid::GrowsTwice => {
            dataset.resize((n + 1, CHUNK))?;
            write(dataset, &[n + 1, CHUNK], &[n, 0], &[1, CHUNK], &chunk)
        }
        Grid::Fixed => write(dataset, &dims, &[n * CHUNK], &[CHUNK], &chunk),
        Grid::Implicit => write(dataset, &dims, &[any_chunk(n, count) * CHUNK], &[CHUNK], &chunk),
    }
}

/// Writes elements to a block of a dataset.
pub(super) fn write<T: hdf5::H5Type>(
    dataset: &hdf5::Dataset,
    dims: &[usize],
    start: &[usize],
    count: &[usize],
    from: &[T],
) -> Outcome<()> {
    let [dims, start, count] =
        [dims, start, count].map(|of| of.iter().map(|&n| n as u64).collect::<Vec<_>>());
    let space = c::Space::new(&dims);
    space.select(&start, &count)?;
    c::write(dataset, Some(&space), from)
}

fn soft_link(group: &hdf5::Group, n: usize) -> Outcome<()> {
    let (target, name) = (c"/target", std::ffi::CString::new(link_name(n))?);
    // SAFETY: both are texts that end with a zero.
    let done = hdf5::sync::sync(|| unsafe {
        H5Lcreate_soft(target.as_ptr(), group.id(), name.as_ptr(), H5P_DEFAULT, H5P_DEFAULT)
    });
    if done < 0 { Err("libhdf5 failed".into()) } else { Ok(()) }
}
