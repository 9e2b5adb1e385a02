//! Data layout message (format spec IV.A.2.i), versions 1 to 5.

use model::Result;
use model::bytes::Cursor;

use super::global_heap::HeapId;
use super::{Address, SizedFields, Sizes};

/// Where a dataset's elements are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Layout {
    Compact { data: Vec<u8> },
    Contiguous { address: Option<Address>, bytes: Option<u64> },
    Chunked(Chunked),
    Virtual { map: Option<HeapId> },
}

/// A chunked layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunked {
    pub(crate) version: u8,
    /// Chunk shape, slowest first, without the element size.
    pub(crate) shape: Vec<u64>,
    pub(crate) element_bytes: u64,
    pub(crate) edge_chunks_unfiltered: bool,
    pub(crate) index: Index,
    /// Parameters of the index as stored; its own header has them too, and that is the one read.
    pub(crate) parameters: Vec<u8>,
    pub(crate) address: Option<Address>,
}

/// How chunks are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Index {
    BTree1,
    /// Stored size and filter mask where the chunk is filtered.
    Single {
        filtered: Option<(u64, u32)>,
    },
    Implicit,
    FixedArray,
    ExtensibleArray,
    BTree2,
}

const DIMENSIONS_MAX: u8 = 33;

impl Layout {
    pub(crate) fn decode(body: &[u8], sizes: Sizes) -> Result<Self> {
        let mut c = Cursor::new(body, "data layout");
        match c.version(1..=5)? {
            version @ (1 | 2) => old(&mut c, version, sizes),
            version => new(&mut c, version, sizes),
        }
    }
}

fn dimensions(c: &mut Cursor<'_>) -> Result<usize> {
    match c.u8()? {
        n @ 1..=DIMENSIONS_MAX => Ok(usize::from(n)),
        n => Err(c.corrupt(format!("{n} dimensions"))),
    }
}

/// Returns the shape and element size from the stored list, which holds both.
fn split_shape(c: &Cursor<'_>, mut dims: Vec<u64>) -> Result<(Vec<u64>, u64)> {
    let element_bytes = dims.pop().unwrap_or(0);
    if dims.is_empty() || element_bytes == 0 || dims.contains(&0) {
        return Err(c.corrupt("chunk dimension is zero or missing"));
    }
    Ok((dims, element_bytes))
}

fn old(c: &mut Cursor<'_>, version: u8, sizes: Sizes) -> Result<Layout> {
    let ndims = dimensions(c)?;
    let class = c.u8()?;
    c.skip(5)?;
    let address = if class == 0 { None } else { c.address(sizes)? };
    let dims = (0..ndims).map(|_| c.u32().map(u64::from)).collect::<Result<Vec<_>>>()?;
    match class {
        0 => {
            let bytes = c.u32()? as usize;
            Ok(Layout::Compact { data: c.take(bytes)?.to_vec() })
        }
        // Their 32-bit dimensions may be cut off: the dataspace says how many bytes there are.
        1 => Ok(Layout::Contiguous { address, bytes: None }),
        2 => in_btree1(c, version, dims, address),
        n => Err(c.corrupt(format!("layout class {n}"))),
    }
}

fn new(c: &mut Cursor<'_>, version: u8, sizes: Sizes) -> Result<Layout> {
    match c.u8()? {
        0 => {
            let bytes = usize::from(c.u16()?);
            Ok(Layout::Compact { data: c.take(bytes)?.to_vec() })
        }
        1 => Ok(Layout::Contiguous { address: c.address(sizes)?, bytes: Some(c.length(sizes)?) }),
        2 if version == 3 => chunked_3(c, sizes),
        2 => chunked_4(c, version, sizes),
        3 if version >= 4 => Ok(Layout::Virtual { map: HeapId::decode(c, sizes)? }),
        n => Err(c.corrupt(format!("layout class {n}"))),
    }
}

/// Versions 1 to 3 have one index.
fn in_btree1(c: &Cursor<'_>, version: u8, dims: Vec<u64>, address: Option<Address>) -> Result<Layout> {
    let (shape, element_bytes) = split_shape(c, dims)?;
    Ok(Layout::Chunked(Chunked {
        version,
        shape,
        element_bytes,
        edge_chunks_unfiltered: false,
        index: Index::BTree1,
        parameters: Vec::new(),
        address,
    }))
}

fn chunked_3(c: &mut Cursor<'_>, sizes: Sizes) -> Result<Layout> {
    let ndims = dimensions(c)?;
    let address = c.address(sizes)?;
    let dims = (0..ndims).map(|_| c.u32().map(u64::from)).collect::<Result<Vec<_>>>()?;
    in_btree1(c, 3, dims, address)
}

fn chunked_4(c: &mut Cursor<'_>, version: u8, sizes: Sizes) -> Result<Layout> {
    let flags = c.u8()?;
    if flags > 3 {
        return Err(c.corrupt(format!("chunk flags {flags:#x}")));
    }
    let (ndims, width) = (dimensions(c)?, usize::from(c.u8()?));
    if !(1..=8).contains(&width) {
        return Err(c.corrupt(format!("dimensions of {width} bytes")));
    }
    let dims = (0..ndims).map(|_| c.uint(width)).collect::<Result<Vec<_>>>()?;
    let (shape, element_bytes) = split_shape(c, dims)?;
    let (index, parameters) = index(c, flags & 2 != 0, sizes)?;
    let address = c.address(sizes)?;
    Ok(Layout::Chunked(Chunked {
        version,
        shape,
        element_bytes,
        edge_chunks_unfiltered: flags & 1 != 0,
        index,
        parameters,
        address,
    }))
}

fn index(c: &mut Cursor<'_>, filtered: bool, sizes: Sizes) -> Result<(Index, Vec<u8>)> {
    let (index, parameter_bytes) = match c.u8()? {
        1 if filtered => (Index::Single { filtered: Some((c.length(sizes)?, c.u32()?)) }, 0),
        1 => (Index::Single { filtered: None }, 0),
        2 => (Index::Implicit, 0),
        3 => (Index::FixedArray, 1),
        4 => (Index::ExtensibleArray, 5),
        5 => (Index::BTree2, 6),
        n => return Err(c.corrupt(format!("chunk index type {n}"))),
    };
    Ok((index, c.take(parameter_bytes)?.to_vec()))
}
