//! Data layout message, versions 3 to 5 (format spec IV.A.2.i).

use model::Result;
use model::bytes::uint_width;

use super::super::Sizes;
use super::super::layout::{Chunked, Index, Layout};
use super::Encoder;

/// Pages of an extensible array have two to the power of this many elements: 1 KiB. libhdf5 has 8 KiB. A chunk that is
/// added changes one page, and a commit reads, sums and writes it: with 8 KiB, commits took twice as long when the array
/// had 10⁴ elements.
const EXTENSIBLE_PAGE_BITS: u8 = 7;

impl Index {
    fn code(&self) -> u8 {
        match self {
            Index::BTree1 => 0,
            Index::Single { .. } => 1,
            Index::Implicit => 2,
            Index::FixedArray => 3,
            Index::ExtensibleArray => 4,
            Index::BTree2 => 5,
        }
    }

    /// Returns the parameters of a new index, as the message stores them: libhdf5's, but for the pages of an
    /// extensible array.
    pub(crate) fn default_parameters(&self) -> Vec<u8> {
        match self {
            Index::BTree1 | Index::Single { .. } | Index::Implicit => Vec::new(),
            Index::FixedArray => vec![10],
            Index::ExtensibleArray => vec![32, 4, 4, 16, EXTENSIBLE_PAGE_BITS],
            // Nodes of 2048 bytes, split at 100 %, merged at 40 %.
            Index::BTree2 => vec![0x00, 0x08, 0, 0, 100, 40],
        }
    }
}

impl Layout {
    /// Returns the version that libhdf5 gives to a new message.
    pub(crate) fn version(&self) -> u8 {
        match self {
            Layout::Compact { .. } | Layout::Contiguous { .. } => 3,
            Layout::Chunked(chunked) => chunked.version,
            Layout::Virtual { .. } => 4,
        }
    }

    /// Returns the message body as libhdf5 writes it for a new dataset.
    pub(crate) fn encode_new(&self, sizes: Sizes) -> Result<Vec<u8>> {
        self.encode(self.version(), sizes)
    }

    /// Returns the message body. `version` is [`Layout::version`], or for what is not chunked a higher one that the
    /// message had before: some libraries wrote version 4 for all layouts.
    pub(crate) fn encode(&self, version: u8, sizes: Sizes) -> Result<Vec<u8>> {
        let mut e = Encoder::new("data layout", sizes);
        let chunked = matches!(self, Layout::Chunked(_));
        let fits = if chunked { version == self.version() } else { (self.version()..=5).contains(&version) };
        e.require(fits, "version").u8(version);
        match self {
            Layout::Compact { data } => {
                e.u8(0).count(data.len(), 2).raw(data);
            }
            Layout::Contiguous { address, bytes } => {
                e.require(bytes.is_some(), "size is not known");
                e.u8(1).address(*address).length(bytes.unwrap_or(0));
            }
            Layout::Chunked(chunked) if chunked.version == 3 => version_3(&mut e, chunked),
            Layout::Chunked(chunked) => version_4(&mut e, chunked),
            Layout::Virtual { map } => {
                e.u8(3).address(map.map(|m| m.collection)).u32(map.map_or(0, |m| m.index));
            }
        }
        e.finish()
    }
}

fn check(e: &mut Encoder, chunked: &Chunked) {
    let rank_ok = (1..=32).contains(&chunked.shape.len());
    e.require(rank_ok && chunked.element_bytes > 0 && !chunked.shape.contains(&0), "shape of chunks");
}

fn dimensions(chunked: &Chunked) -> impl Iterator<Item = u64> + '_ {
    chunked.shape.iter().copied().chain([chunked.element_bytes])
}

fn version_3(e: &mut Encoder, chunked: &Chunked) {
    check(e, chunked);
    let says_all = chunked.index == Index::BTree1 && !chunked.edge_chunks_unfiltered;
    e.require(says_all, "version 3 has version 1 B-trees only");
    e.u8(2).count(chunked.shape.len() + 1, 1).address(chunked.address);
    for dimension in dimensions(chunked) {
        e.uint(dimension, 4);
    }
}

fn version_4(e: &mut Encoder, chunked: &Chunked) {
    check(e, chunked);
    e.require(matches!(chunked.version, 4 | 5), "version");
    e.require(chunked.index != Index::BTree1, "version 1 B-trees need version 3");
    let expected = chunked.index.default_parameters().len();
    e.require(chunked.parameters.len() == expected, "parameters of index");
    let filtered = match chunked.index {
        Index::Single { filtered } => filtered,
        _ => None,
    };
    e.u8(2);
    e.u8(u8::from(chunked.edge_chunks_unfiltered) | u8::from(filtered.is_some()) << 1);
    let width = dimensions(chunked).map(uint_width).max().unwrap_or(1);
    e.count(chunked.shape.len() + 1, 1).count(width, 1);
    for dimension in dimensions(chunked) {
        e.uint(dimension, width);
    }
    e.u8(chunked.index.code());
    if let Some((bytes, mask)) = filtered {
        e.length(bytes).u32(mask);
    }
    e.raw(&chunked.parameters).address(chunked.address);
}
