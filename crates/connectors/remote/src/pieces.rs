//! Large transfers in pieces.

use model::properties::Layout;
use model::selection::Strips;
use model::{Error, Result, Selection};
use vol::DatasetInfo;

/// Pieces of transfers: large enough that a round trip is nothing next to them, small enough for the caches.
const PIECE_BYTES: u64 = 1 << 20;
/// Chunks that lie in two pieces are decoded twice.
const CHUNKED_PIECE_BYTES: u64 = 16 << 20;

/// Bytes that are given out piece by piece.
pub(crate) trait Bytes: Default {
    fn len(&self) -> usize;
    fn split(self, at: usize) -> (Self, Self);
}

impl Bytes for &[u8] {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn split(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl Bytes for &mut [u8] {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn split(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

/// A transfer, and how it may be cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut<'a> {
    pub(crate) dims: &'a [u64],
    pub(crate) element_bytes: u64,
    /// Elements of a chunk; such pieces lie between chunks.
    pub(crate) chunk: Option<&'a [u64]>,
}

impl<'a> Cut<'a> {
    /// That of a dataset.
    pub(crate) fn of(info: &'a DatasetInfo) -> Self {
        let dims = info.space.dims();
        let chunk = match &info.create.layout {
            Layout::Chunked { shape, .. } if shape.len() == dims.len() => Some(&shape[..]),
            _ => None,
        };
        Cut { dims, element_bytes: u64::from(info.datatype.size()).max(1), chunk }
    }
}

/// The pieces of a transfer, in order.
pub(crate) struct TransferParts<B> {
    strips: Strips,
    dims: Vec<u64>,
    each: u64,
    rest: B,
}

impl<B: Bytes> TransferParts<B> {
    pub(crate) fn new(cut: Cut<'_>, selection: &Selection, rest: B) -> Result<Self> {
        let bytes = if cut.chunk.is_some() { CHUNKED_PIECE_BYTES } else { PIECE_BYTES };
        TransferParts::of(cut, bytes, selection, rest)
    }

    /// Pieces of about so many bytes.
    pub(crate) fn of(cut: Cut<'_>, bytes: u64, selection: &Selection, rest: B) -> Result<Self> {
        let Cut { dims, element_bytes: each, chunk } = cut;
        if selection.element_count(dims)?.checked_mul(each) != Some(rest.len() as u64) {
            let error = Error::invalid("transfer elements").with("buffer bytes", rest.len());
            return Err(error.with("problem", "not as many as are selected"));
        }
        let strips = selection.strips(dims, (bytes / each).max(1))?;
        let strips = match chunk {
            Some(shape) => strips.between_chunks(shape)?,
            None => strips,
        };
        Ok(TransferParts { strips, dims: dims.to_vec(), each, rest })
    }

    fn piece(&mut self, selection: Selection) -> Result<(Selection, B)> {
        let bytes = selection.element_count(&self.dims)?.checked_mul(self.each);
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).filter(|&n| n <= self.rest.len());
        let bytes =
            bytes.ok_or_else(|| Error::invalid("transfer elements").with("problem", "cut wrongly"))?;
        let (piece, rest) = std::mem::take(&mut self.rest).split(bytes);
        self.rest = rest;
        Ok((selection, piece))
    }
}

impl<B: Bytes> Iterator for TransferParts<B> {
    type Item = Result<(Selection, B)>;

    fn next(&mut self) -> Option<Self::Item> {
        let selection = self.strips.next()?;
        Some(self.piece(selection))
    }
}
