//! Elements that lie in the file as they are: from a placement to bytes at offsets.

use algorithms::placement;
use model::selection::PointIndex;
use model::{Error, Result, Selection};
use vol::{LeaderBytes, Placement, PlacementParts, Replica};

/// Runs of more bytes go by themselves.
const LARGE_BYTES: usize = 64 << 10;
/// Smaller ones that follow each other in the file go together up to so many bytes.
const TOGETHER_BYTES_MAX: usize = 256 << 10;

/// Returns whether some of the elements have no space yet.
pub(crate) fn has_missing(placement: &Placement) -> bool {
    match &placement.parts {
        PlacementParts::Contiguous { offset } => offset.is_none(),
        PlacementParts::Chunks { offsets, .. } => offsets.iter().any(Option::is_none),
    }
}

fn missing() -> Error {
    Error::invalid("write elements")
        .with("problem", "some have no space yet; a collective write gives them some")
}

/// Calls `visit` with every run of elements: where it is in the file, and which bytes of `from` it is.
pub(crate) fn each_run<'d>(
    placement: &Placement,
    selection: &Selection,
    from: &'d [u8],
    mut visit: impl FnMut(u64, &'d [u8]) -> Result<()>,
) -> Result<()> {
    let bytes = u64::from(placement.element_bytes.max(1));
    let mut put = |base: u64, at: u64, offset: u64, len: u64| {
        let (start, len) = ((offset * bytes) as usize, (len * bytes) as usize);
        let wrong = || Error::invalid("write elements").with("buffer bytes", from.len());
        let data = from.get(start..start.saturating_add(len)).ok_or_else(wrong)?;
        visit(base.saturating_add(at.saturating_mul(bytes)), data)
    };
    match &placement.parts {
        PlacementParts::Contiguous { offset } => {
            let (base, mut done) = (offset.ok_or_else(missing)?, 0);
            for run in selection.runs(&placement.dims)? {
                put(base, run.offset, done, run.len)?;
                done += run.len;
            }
            Ok(())
        }
        PlacementParts::Chunks { shape, offsets } => {
            let points = match selection {
                Selection::Points(points) => Some(PointIndex::new(points, shape)?),
                _ => None,
            };
            let chunks = placement::chunks(selection, &placement.dims, shape)?;
            for (chunk_coords, offset) in chunks.iter().zip(offsets) {
                let base = offset.ok_or_else(missing)?;
                let start: Vec<u64> = chunk_coords.iter().zip(shape).map(|(at, side)| at * side).collect();
                let mut runs = match &points {
                    Some(points) => points.chunk_runs(chunk_coords)?,
                    None => selection.chunk_runs(&placement.dims, &start, shape)?,
                };
                runs.try_for_each(|run| put(base, run.chunk_offset, run.selection_offset, run.len))?;
            }
            Ok(())
        }
    }
}

/// Writes elements where they lie. Returns bytes that only the leader may write.
pub(crate) fn write(
    replica: &dyn Replica,
    placement: &Placement,
    selection: &Selection,
    from: &[u8],
) -> Result<Vec<LeaderBytes>> {
    let mut writer = RunWriter::new(replica);
    each_run(placement, selection, from, |at, bytes| writer.add(at, bytes))?;
    writer.finish()
}

/// Small runs that follow each other go together.
pub(crate) struct RunWriter<'r> {
    replica: &'r dyn Replica,
    start: u64,
    buffer: Vec<u8>,
    for_leader: Vec<LeaderBytes>,
}

impl<'r> RunWriter<'r> {
    pub(crate) fn new(replica: &'r dyn Replica) -> Self {
        RunWriter { replica, start: 0, buffer: Vec::new(), for_leader: Vec::new() }
    }

    /// Writes what waits, and returns bytes that only the leader may write.
    pub(crate) fn finish(&mut self) -> Result<Vec<LeaderBytes>> {
        self.flush()?;
        Ok(std::mem::take(&mut self.for_leader))
    }

    pub(crate) fn add(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        let follows = at == self.start + self.buffer.len() as u64;
        if !follows || self.buffer.len() + bytes.len() > TOGETHER_BYTES_MAX {
            self.flush()?;
        }
        if bytes.len() >= LARGE_BYTES && self.buffer.is_empty() {
            return self.put(at, bytes);
        }
        if self.buffer.is_empty() {
            self.start = at;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let buffer = std::mem::take(&mut self.buffer);
        self.put(self.start, &buffer)?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    /// Writes what this rank may write, and leaves the rest to the leader.
    fn put(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        let end = at.saturating_add(bytes.len() as u64);
        let part = |from: u64, to: u64| &bytes[(from - at) as usize..(to - at) as usize];
        let mut done = at;
        for range in self.replica.fresh(at..end) {
            if done < range.start {
                self.for_leader.push(LeaderBytes { at: done, bytes: part(done, range.start).to_vec() });
            }
            self.replica.write(&[(range.start, part(range.start, range.end))])?;
            done = range.end;
        }
        if done < end {
            self.for_leader.push(LeaderBytes { at: done, bytes: part(done, end).to_vec() });
        }
        Ok(())
    }
}
