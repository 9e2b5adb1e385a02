//! The same chunks in a Zarr array, by `zarrs`: a folder with one file a chunk.

use std::sync::Arc;

use unsafe_cell_slice::UnsafeCellSlice;
use zarrs::array::codec::{
    BloscCodec, BloscCompressor, BloscShuffleMode, ShuffleCodec, ZlibCodec, ZstdCodec,
};
use zarrs::array::{
    Array, ArrayBuilder, ArrayBytesFixedDisjointView, ArraySubset, BytesToBytesCodecTraits, data_type,
};
use zarrs::filesystem::FilesystemStore;

use crate::Outcome;
use crate::data;
use crate::harness::timed;

pub(crate) const NAME: &str = "zarrs";

/// What a chunk goes through before it is stored.
type Codecs = Vec<Arc<dyn BytesToBytesCodecTraits>>;

/// The filters of our side, as Zarr names them.
#[derive(Clone, Copy)]
pub(crate) enum Filters {
    None,
    ShuffleDeflate(u32),
    Zstd(i32),
    BloscLz4(u8),
}

impl Filters {
    fn codecs(self) -> Outcome<Codecs> {
        Ok(match self {
            Filters::None => Vec::new(),
            Filters::ShuffleDeflate(level) => {
                let level = level.try_into().map_err(|_| "no such level")?;
                vec![Arc::new(ShuffleCodec::new(size_of::<f32>())), Arc::new(ZlibCodec::new(level))]
            }
            Filters::Zstd(level) => vec![Arc::new(ZstdCodec::new(level, false))],
            Filters::BloscLz4(level) => {
                let level = level.try_into().map_err(|_| "no such level")?;
                let (lz4, shuffle) = (BloscCompressor::LZ4, BloscShuffleMode::Shuffle);
                vec![Arc::new(BloscCodec::new(lz4, level, None, shuffle, Some(size_of::<f32>()))?)]
            }
        })
    }
}

/// Writes all values in one call; the folder must not hold an array yet.
pub(crate) fn write(
    folder: &str,
    filters: Filters,
    [shape, chunk]: [[usize; 2]; 2],
    values: &[f32],
) -> Outcome<f64> {
    std::fs::remove_dir_all(folder).ok();
    let (shape, chunk) = (shape.map(|n| n as u64), chunk.map(|n| n as u64));
    let codecs = filters.codecs()?;
    timed(|| {
        let store = Arc::new(FilesystemStore::new(folder)?);
        let mut builder = ArrayBuilder::new(shape, chunk, data_type::float32(), 0f32);
        let array = builder.bytes_to_bytes_codecs(codecs).build(store, "/x")?;
        array.store_metadata()?;
        let chunks = ArraySubset::new_with_shape(array.chunk_grid_shape().to_vec());
        Ok(array.store_chunks(&chunks, values)?)
    })
}

/// Reads all values into a buffer that is there already, as the others do.
pub(crate) fn read(folder: &str, into: &mut [f32]) -> Outcome<f64> {
    timed(|| {
        let array = Array::open(Arc::new(FilesystemStore::new(folder)?), "/x")?;
        let (shape, all) = (array.shape().to_vec(), array.subset_all());
        let bytes = UnsafeCellSlice::new(data::bytes_of_mut(into));
        // SAFETY: there is no other view of these bytes.
        let mut view =
            unsafe { ArrayBytesFixedDisjointView::new(bytes, size_of::<f32>(), &shape, all.clone())? };
        Ok(array.retrieve_array_subset_into(&all, (&mut view).into())?)
    })
}
