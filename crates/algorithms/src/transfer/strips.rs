//! Splitting a transfer into strips of a size that suits the dataset's layout.

use model::convert::Plan;
use model::properties::Layout;
use model::selection::Strips;
use model::{Error, Result, Selection};

use super::Elements;
use crate::workers;

/// Where values of variable length are fetched: a strip is a batch of them.
pub(super) const SLOTTED_BYTES: u64 = 16 << 20;
/// Where a strip is handed on before the next one is read: it stays in the cache with its values.
const VALUES_BYTES: u64 = 128 << 10;
/// Strips that are worth a second thread.
const SHARED_STRIPS_MIN: u64 = 4;
/// More threads than this gain little: one takes what they read, and strips that wait take memory.
const READERS_MAX: u64 = 2;
/// One run of bytes: a strip stays in the cache, and handing it from thread to thread costs little next to it
/// (1 MiB takes a fifth more time of the processor when writing).
const CONTIGUOUS_BYTES: u64 = 4 << 20;
/// Chunks: whole rows of them as far as they fit, since a chunk in two strips is decoded twice.
const CHUNKED_BYTES: u64 = 16 << 20;
const CHUNKED_BYTES_MAX: u64 = 32 << 20;
/// Strips in flight, all together.
const FLIGHT_BYTES: u64 = 96 << 20;
/// Below this, starting a thread costs more than it saves.
const PARALLEL_BYTES_MIN: u64 = 2 << 20;

/// A caller's bytes, given out strip by strip.
pub(super) trait Bytes: Default + Send {
    fn split(self, at: usize) -> (Self, Self);
}

impl Bytes for &[u8] {
    fn split(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl Bytes for &mut [u8] {
    fn split(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

/// A strip: which elements of the dataset, how many, and the caller's bytes of them.
pub(super) struct StripPart<B> {
    pub(super) selection: Selection,
    pub(super) count: usize,
    pub(super) bytes: B,
}

/// Strips in order.
pub(super) struct StripParts<'a, B> {
    strips: Strips,
    dims: &'a [u64],
    each: usize,
    rest: B,
}

impl<B: Bytes> Iterator for StripParts<'_, B> {
    type Item = Result<StripPart<B>>;

    fn next(&mut self) -> Option<Self::Item> {
        let selection = self.strips.next()?;
        Some(self.piece(selection))
    }
}

impl<B: Bytes> StripParts<'_, B> {
    fn piece(&mut self, selection: Selection) -> Result<StripPart<B>> {
        let elements = selection.element_count(self.dims)?;
        let limit = || Error::limit("transfer elements").with("count", elements);
        let count = usize::try_from(elements).map_err(|_| limit())?;
        let len = count.checked_mul(self.each).ok_or_else(limit)?;
        let (bytes, rest) = std::mem::take(&mut self.rest).split(len);
        self.rest = rest;
        Ok(StripPart { selection, count, bytes })
    }
}

/// The cuts of one transfer.
pub(super) struct StripLayout {
    /// Bytes of a strip, in the larger of its two forms.
    bytes: u64,
    /// Bytes of an element, in the same form.
    each: u64,
    /// Cuts fall between chunks of this shape where they can.
    chunk: Option<Vec<u64>>,
}

impl StripLayout {
    fn elements_max(&self) -> u64 {
        (self.bytes / self.each.max(1)).max(1)
    }

    /// Returns how many threads share a transfer of so many bytes.
    pub(super) fn workers(&self, bytes: usize) -> usize {
        let strip = self.bytes.max(1);
        let most = (bytes as u64).div_ceil(strip).min(FLIGHT_BYTES / strip);
        workers::threads(bytes as u64, PARALLEL_BYTES_MIN).min(most as usize).max(1)
    }
}

impl Elements<'_> {
    /// Strips of at most `strip_bytes`, for elements that take `largest` bytes in one form and `each` of the caller's.
    pub(super) fn pieces<B: Bytes>(
        &self,
        strip_bytes: u64,
        largest: u32,
        each: u32,
        rest: B,
    ) -> Result<StripParts<'_, B>> {
        let layout = StripLayout { bytes: strip_bytes, each: u64::from(largest), chunk: None };
        self.aligned_pieces(&layout, each as usize, rest)
    }

    pub(super) fn aligned_pieces<B: Bytes>(
        &self,
        layout: &StripLayout,
        each: usize,
        rest: B,
    ) -> Result<StripParts<'_, B>> {
        let dims = self.space.dims();
        let strips = self.selection.strips(dims, layout.elements_max())?;
        let strips = match &layout.chunk {
            Some(shape) => strips.between_chunks(shape)?,
            None => strips,
        };
        Ok(StripParts { strips, dims, each, rest })
    }

    pub(super) fn strip_layout(&self, plan: &Plan) -> Result<StripLayout> {
        let each = plan.from_bytes().max(plan.to_bytes()) as u64;
        let info = self.container.dataset_info(self.dataset)?;
        Ok(match &info.create.layout {
            Layout::Contiguous => StripLayout { bytes: CONTIGUOUS_BYTES, each, chunk: None },
            Layout::Chunked { shape, .. } if shape.len() == self.space.rank() => {
                let row_bytes = self.chunk_row_bytes(shape, each)?;
                let bytes = if row_bytes <= CHUNKED_BYTES_MAX { row_bytes } else { 0 };
                StripLayout { bytes: bytes.max(CHUNKED_BYTES), each, chunk: Some(shape.clone()) }
            }
            _ => StripLayout { bytes: CHUNKED_BYTES, each, chunk: None },
        })
    }

    /// Returns how many threads read strips of `strip_bytes` that the caller takes one by one. Elements have `each` bytes.
    pub(super) fn strip_threads(&self, strip_bytes: u64, each: u32, plan: &Plan) -> Result<usize> {
        let bytes = self.count()?.saturating_mul(u64::from(each));
        if !plan.is_parallel() {
            return Ok(1);
        }
        let most = (bytes / strip_bytes).min(FLIGHT_BYTES / strip_bytes).clamp(1, READERS_MAX);
        let threads = workers::threads(bytes, SHARED_STRIPS_MIN.saturating_mul(strip_bytes));
        Ok(self.shared_by(threads.min(most as usize)))
    }

    /// Returns the bytes of strips that are handed on one by one. Where that would cut chunks, they are larger.
    pub(super) fn values_bytes(&self) -> Result<u64> {
        let info = self.container.dataset_info(self.dataset)?;
        Ok(match &info.create.layout {
            Layout::Contiguous | Layout::Compact => VALUES_BYTES,
            _ => SLOTTED_BYTES,
        })
    }

    /// Returns the number of bytes of the selected elements in one row of chunks, if they are spread evenly.
    fn chunk_row_bytes(&self, shape: &[u64], each: u64) -> Result<u64> {
        let bounds = self.selection.bounds(self.space.dims())?;
        let rows = bounds.and_then(|(low, high)| high.first()?.checked_sub(*low.first()?));
        let rows = rows.map_or(1, |last| last.saturating_add(1));
        let row_elements = self.count()?.div_ceil(rows.max(1));
        let height = shape.first().copied().unwrap_or(1);
        Ok(row_elements.saturating_mul(height).saturating_mul(each))
    }
}
