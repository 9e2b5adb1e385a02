//! Contiguous and chunked datasets by the other crates that know HDF5 without C.

use crate::Outcome;
use crate::harness::timed;

/// How a dataset lies in its file.
#[derive(Clone, Copy)]
pub(crate) struct Layout<'a> {
    pub(crate) shape: &'a [usize],
    pub(crate) chunk: Option<&'a [usize]>,
    /// Shuffle and deflate of this level.
    pub(crate) deflate: Option<u32>,
}

/// `rust-hdf5`, with its threads.
pub(crate) mod rust_hdf5 {
    use ::rust_hdf5::H5File;

    use super::{Layout, Outcome, timed};

    pub(crate) const NAME: &str = "rust-hdf5";

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
}

/// `hdf5-pure`, which takes a copy of what it writes and gives a new vector for what it reads.
pub(crate) mod hdf5_pure {
    use ::hdf5_pure::{File, FileBuilder};

    use super::{Layout, Outcome, timed};

    pub(crate) const NAME: &str = "hdf5-pure";

    pub(crate) fn write(path: &str, layout: Layout<'_>, values: &[f32]) -> Outcome<f64> {
        std::fs::remove_file(path).ok();
        let wide = |sizes: &[usize]| sizes.iter().map(|&n| n as u64).collect::<Vec<u64>>();
        timed(|| {
            let mut file = FileBuilder::new();
            let builder = file.create_dataset("x").with_f32_data(values).with_shape(&wide(layout.shape));
            if let Some(chunk) = layout.chunk {
                builder.with_chunks(&wide(chunk));
            }
            if let Some(level) = layout.deflate {
                builder.with_shuffle().with_deflate(level);
            }
            Ok(file.write(path)?)
        })
    }

    pub(crate) fn read(path: &str, into: &mut Vec<f32>) -> Outcome<f64> {
        timed(|| {
            *into = File::open(path)?.dataset("x")?.read_f32()?;
            Ok(())
        })
    }
}
