//! Chunks that share bytes of a file. No writer stores them, but a forged index can name the same bytes any number of times.

use model::{Charge, Error, Result, Token};
use vol::{ChunkInfo, Container};

/// Chunks listed at a time.
const CHUNKS_PER_PAGE: u64 = 4096;

/// Returns an error if chunks of a dataset overlap in their file.
pub(super) fn check_overlap(container: &dyn Container, dataset: Token) -> Result<()> {
    let mut found = ChunkAddresses { places: Vec::new(), charge: container.budget().empty_charge() };
    let (mut listed, mut more) = (0, true);
    while more {
        let page = container.chunk_list(dataset, listed, CHUNKS_PER_PAGE)?;
        listed += page.entries.len() as u64;
        more = page.more && !page.entries.is_empty();
        page.entries.iter().try_for_each(|chunk| found.push(chunk))?;
    }
    found.check()
}

/// Addresses and lengths of chunks.
struct ChunkAddresses {
    places: Vec<(u64, u64)>,
    charge: Charge,
}

impl ChunkAddresses {
    fn push(&mut self, chunk: &ChunkInfo) -> Result<()> {
        let Some(address) = chunk.address.filter(|_| chunk.bytes > 0) else { return Ok(()) };
        if self.places.len() == self.places.capacity() {
            let capacity = (self.places.len() * 2).max(64);
            let bytes = capacity * size_of::<(u64, u64)>();
            self.charge.resize(bytes as u64, "list of chunks")?;
            self.places.reserve_exact(capacity - self.places.len());
        }
        self.places.push((address, chunk.bytes));
        Ok(())
    }

    fn check(mut self) -> Result<()> {
        self.places.sort_unstable();
        let overlap = |pair: &&[(u64, u64)]| pair[0].0.saturating_add(pair[0].1) > pair[1].0;
        match self.places.windows(2).find(overlap) {
            None => Ok(()),
            Some(pair) => Err(Error::corrupt("check chunks")
                .with("problem", "two chunks lie at the same place")
                .with("address", pair[1].0)
                .with("bytes", pair[0].1)),
        }
    }
}
