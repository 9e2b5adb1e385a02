//! Contiguous and chunked datasets by `rust-hdf5`, which knows HDF5 without C, with its threads.

use rust_hdf5::H5File;

use crate::Outcome;
use crate::harness::timed;

pub(crate) const NAME: &str = "rust-hdf5";

/// How a dataset lies in its file.
#[derive(Clone, Copy)]
pub(crate) struct Layout<'a> {
    pub(crate) shape: &'a [usize],
    pub(crate) chunk: Option<&'a [usize]>,
    /// Shuffle and deflate of this level.
    pub(crate) deflate: Option<u32>,
}

pub(crate) fn write(path: &str, layout: Layout<'_>, values: &[f32]) -> Outcome<f64> {
    std::fs::remove_file(path).ok();
    timed(|| {
        let file = H5File::create(path)?;
        let mut builder = file.new_dataset::<f32>().shape(layout.shape);
        if let Some(chunk) = layout.chunk {
            builder = builder.chunk(chunk);
        }
        if let Some(level) = layout.deflate {
            builder = builder.shuffle_deflate(level);
        }
        builder.create("x")?.write_raw(values)?;
        Ok(file.close()?)
    })
}

pub(crate) fn read(path: &str, into: &mut [f32]) -> Outcome<f64> {
    timed(|| Ok(H5File::open(path)?.dataset("x")?.read_raw_into(into)?))
}
