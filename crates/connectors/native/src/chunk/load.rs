//! One chunk from the file: its bytes as stored, and its elements.

use std::sync::Arc;

use model::{Charge, Context, Error, Limits, Result, Within, budget};

use super::index::{ChunkAt, Chunks};
use crate::object::dataset::Dataset;
use crate::reader::Reader;
use crate::work::Work;

/// Reads a chunk as it is stored.
pub(crate) fn raw(file: &Reader, chunks: &Chunks<'_>, at: ChunkAt, into: &mut Vec<u8>) -> Result<()> {
    let bytes = if chunks.filtered { at.bytes } else { chunks.chunk_bytes };
    // What is larger than the file is not worth an allocation.
    let len = bytes.within(file.store.limits.chunk_bytes_max.min(file.store.end()), "stored chunk")?;
    into.resize(len, 0);
    file.store.read(at.address, into, "chunk")
}

/// A large chunk must have something to show for it: few stored bytes that claim to be many are a bomb. What is refused when
/// it is read is refused when it is written.
pub(crate) fn check_expansion(limits: &Limits, chunk_bytes: u64, stored_bytes: u64) -> Result<()> {
    if chunk_bytes <= limits.chunk_expansion_free_bytes
        || stored_bytes.saturating_mul(limits.chunk_expansion_max) >= chunk_bytes
    {
        return Ok(());
    }
    let error = Error::limit("expand chunk").with("bytes", chunk_bytes).with("stored bytes", stored_bytes);
    Err(error.with("help", "use smaller chunks, or raise Limits::chunk_expansion_max"))
}

/// Returns an error where a chunk that went through filters could not be read again.
pub(crate) fn check_stored(limits: &Limits, chunk_bytes: u64, stored_bytes: u64) -> Result<()> {
    stored_bytes.within(limits.chunk_bytes_max, "stored chunk")?;
    check_expansion(limits, chunk_bytes, stored_bytes)
}

/// The elements of a chunk, charged to the file's account while they are in use; the cache has a limit of its own.
pub(crate) struct Decoded {
    bytes: Arc<Vec<u8>>,
    _charge: Option<Charge>,
}

impl std::ops::Deref for Decoded {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Chunks of one dataset that went through filters.
pub(crate) struct Filtered<'a> {
    pub(crate) file: &'a Reader,
    pub(crate) dataset: &'a Dataset,
    pub(crate) chunks: &'a Chunks<'a>,
}

impl Filtered<'_> {
    /// Returns the elements of a chunk, which stay in the cache for later.
    pub(crate) fn load(&self, chunk_coords: &[u64], at: ChunkAt, work: &mut Work) -> Result<Decoded> {
        if let Some(bytes) = self.cached(at) {
            return Ok(Decoded { bytes, _charge: None });
        }
        self.check_expansion(at)?;
        let charge = self.file.store.budget.charge(self.chunks.chunk_bytes, "chunk")?;
        let mut chunk = budget::zeroed(self.chunks.chunk_bytes as usize, "chunk")?;
        self.decode(chunk_coords, at, &mut chunk, work)?;
        let bytes = Arc::new(chunk);
        self.file.chunks.put(self.dataset.address, at.address, &bytes);
        Ok(Decoded { bytes, _charge: Some(charge) })
    }

    /// Calls `take` with the elements of a chunk, which are not cached: they stand in a buffer that is used again.
    pub(crate) fn with_elements(
        &self,
        chunk_coords: &[u64],
        at: ChunkAt,
        work: &mut Work,
        take: impl FnOnce(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if let Some(bytes) = self.cached(at) {
            return take(&bytes);
        }
        self.check_expansion(at)?;
        let _charge = self.file.store.budget.charge(self.chunks.chunk_bytes, "chunk")?;
        let (mut chunk, len) = (std::mem::take(&mut work.plain), self.chunks.chunk_bytes as usize);
        budget::lengthen(&mut chunk, len, "chunk")?;
        let elements = &mut chunk[..len];
        let done = self.decode(chunk_coords, at, elements, work).and_then(|()| take(elements));
        work.plain = chunk;
        done
    }

    /// Returns the number of bytes that decoding takes besides the elements: the chunk as it is stored, and what lies between two filters.
    fn decoding_bytes(&self, at: ChunkAt) -> u64 {
        let between = if self.dataset.filters().len() > 1 { self.chunks.chunk_bytes } else { 0 };
        at.bytes.saturating_add(between)
    }

    fn check_expansion(&self, at: ChunkAt) -> Result<()> {
        check_expansion(&self.file.store.limits, self.chunks.chunk_bytes, at.bytes)
    }

    pub(crate) fn cached(&self, at: ChunkAt) -> Option<Arc<Vec<u8>>> {
        self.file.chunks.get(self.dataset.address, at.address)
    }

    /// Decodes a chunk into a buffer of exactly its size.
    pub(crate) fn decode(
        &self,
        chunk_coords: &[u64],
        at: ChunkAt,
        into: &mut [u8],
        work: &mut Work,
    ) -> Result<()> {
        self.decode_here(chunk_coords, at, into, work).during_at("read chunk", at.address.0)
    }

    fn decode_here(&self, chunk_coords: &[u64], at: ChunkAt, into: &mut [u8], work: &mut Work) -> Result<()> {
        self.check_expansion(at)?;
        let _charge = self.file.store.budget.charge(self.decoding_bytes(at), "chunk while it is decoded")?;
        raw(self.file, self.chunks, at, &mut work.raw)?;
        if self.chunks.layout.edge_chunks_unfiltered && self.chunks.is_edge(chunk_coords) {
            let fits = work.raw.len() == into.len();
            let wrong = || Error::corrupt("decode chunk").with("bytes", work.raw.len());
            into.copy_from_slice(fits.then_some(&work.raw).ok_or_else(wrong)?);
            return Ok(());
        }
        self.file.unfilter_into(self.dataset.filters(), at.filter_mask, into, work)
    }
}
