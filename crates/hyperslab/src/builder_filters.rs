//! Filters of new datasets.

use model::Result;
use model::properties::FilterSpec;

use crate::DatasetBuilder;
use crate::filters::{Blosc, BloscShuffle, Filter, SZip, ScaleOffset};

impl<V> DatasetBuilder<V> {
    /// Adds a filter of this build, or of the registry that the file was opened with, after the filters added before.
    /// Values that depend on datatype and chunks are set when the dataset is created, which fails if there is no such
    /// filter. Chunks that a filter cannot shrink are stored without it.
    #[must_use]
    pub fn filter(self, id: u16, values: &[u32]) -> Self {
        let optional = self.group.session.registered.filters.get(id).is_ok();
        self.push_filter(Ok(FilterSpec { id, name: None, optional, values: values.to_vec() }))
    }

    /// Adds a filter, as [`DatasetBuilder::filter`] does.
    #[must_use]
    pub fn add_filter(self, id: u16, values: &[u32]) -> Self {
        self.filter(id, values)
    }

    /// Adds a filter by its name: `"ZSTD=3"`, `"BLOSC=lz4:5:shuffle"`, `"BITSHUFFLE"`; see
    /// [`named_filter`](crate::named_filter).
    ///
    /// ```
    /// # fn main() -> hyperslab::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("named-{}.h5", std::process::id()));
    /// let file = hyperslab::File::create(&path)?;
    /// let new = file.new_dataset::<f32>().shape([100, 100]).chunk([100, 100]);
    /// let data = new.named_filter("BLOSC=lz4:5:shuffle").create("data")?;
    /// assert_eq!(data.filters()[0].values, [2, 2, 4, 40000, 5, 1, 1]);
    /// # file.close()?;
    /// # std::fs::remove_file(&path).ok();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn named_filter(self, text: &str) -> Self {
        self.push_filter(filters::pipeline::named(text))
    }

    fn push_filter(mut self, filter: Result<FilterSpec>) -> Self {
        match filter.and_then(|filter| filters::pipeline::check_level(&filter).map(|()| filter)) {
            Ok(filter) => self.create.filters.push(filter),
            Err(error) => self.problem = self.problem.or(Some(error)),
        }
        self
    }

    /// Replaces all filters.
    #[must_use]
    pub fn set_filters(mut self, filters: &[Filter]) -> Self {
        self.create.filters.clear();
        filters.iter().fold(self, |builder, filter| builder.push_filter(Ok(filter.to_spec())))
    }

    /// Removes all filters.
    #[must_use]
    pub fn clear_filters(mut self) -> Self {
        self.create.filters.clear();
        self
    }

    /// Adds deflate (gzip), level 0 to 9.
    #[must_use]
    pub fn deflate(self, level: u8) -> Self {
        self.push_filter(Ok(Filter::Deflate(level).to_spec()))
    }

    /// Adds the shuffle filter, which groups the bytes of elements by their position, so that they compress better.
    #[must_use]
    pub fn shuffle(self) -> Self {
        self.push_filter(Ok(Filter::Shuffle.to_spec()))
    }

    /// Adds a checksum of every chunk.
    #[must_use]
    pub fn fletcher32(self) -> Self {
        self.push_filter(Ok(Filter::Fletcher32.to_spec()))
    }

    /// Adds Szip.
    #[must_use]
    pub fn szip(self, coding: SZip, px_per_block: u8) -> Self {
        self.push_filter(Ok(Filter::SZip(coding, px_per_block).to_spec()))
    }

    /// Adds N-bit, which stores only the significant bits of numbers.
    #[must_use]
    pub fn nbit(self) -> Self {
        self.push_filter(Ok(Filter::NBit.to_spec()))
    }

    /// Adds scale-offset, which stores differences to the smallest number of a chunk.
    #[must_use]
    pub fn scale_offset(self, mode: ScaleOffset) -> Self {
        self.push_filter(Ok(Filter::ScaleOffset(mode).to_spec()))
    }

    /// Adds LZF, h5py's fast compression filter.
    #[must_use]
    pub fn lzf(self) -> Self {
        self.push_filter(Ok(Filter::LZF.to_spec()))
    }

    /// Adds Blosc with any of its compressors, level 0 to 9.
    #[must_use]
    pub fn blosc(self, complib: Blosc, clevel: u8, shuffle: impl Into<BloscShuffle>) -> Self {
        self.push_filter(Ok(Filter::Blosc(complib, clevel, shuffle.into()).to_spec()))
    }

    /// Adds Blosc with BloscLZ.
    #[must_use]
    pub fn blosc_blosclz(self, clevel: u8, shuffle: impl Into<BloscShuffle>) -> Self {
        self.blosc(Blosc::BloscLZ, clevel, shuffle)
    }

    /// Adds Blosc with LZ4.
    #[must_use]
    pub fn blosc_lz4(self, clevel: u8, shuffle: impl Into<BloscShuffle>) -> Self {
        self.blosc(Blosc::LZ4, clevel, shuffle)
    }

    /// Adds Blosc with LZ4HC.
    #[must_use]
    pub fn blosc_lz4hc(self, clevel: u8, shuffle: impl Into<BloscShuffle>) -> Self {
        self.blosc(Blosc::LZ4HC, clevel, shuffle)
    }

    /// Adds Blosc with Snappy.
    #[must_use]
    pub fn blosc_snappy(self, clevel: u8, shuffle: impl Into<BloscShuffle>) -> Self {
        self.blosc(Blosc::Snappy, clevel, shuffle)
    }

    /// Adds Blosc with zlib.
    #[must_use]
    pub fn blosc_zlib(self, clevel: u8, shuffle: impl Into<BloscShuffle>) -> Self {
        self.blosc(Blosc::ZLib, clevel, shuffle)
    }

    /// Adds Blosc with Zstandard.
    #[must_use]
    pub fn blosc_zstd(self, clevel: u8, shuffle: impl Into<BloscShuffle>) -> Self {
        self.blosc(Blosc::ZStd, clevel, shuffle)
    }
}
