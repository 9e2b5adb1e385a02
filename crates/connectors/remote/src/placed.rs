//! Elements in the file itself: from a placement to positioned reads and writes.

use std::collections::HashMap;
use std::fs::File;

use algorithms::{placement, workers};
use model::selection::PointIndex;
use model::{Error, Result, Selection};
use vol::{Placement, PlacementParts};

use crate::direct::Lease;
use crate::pieces::{Cut, TransferParts};

/// Transfers up to this many bytes are not worth a second thread.
const ALONE_BYTES_MAX: usize = 4 << 20;
/// Runs of more bytes go by themselves.
const LARGE_BYTES: usize = 64 << 10;
/// Smaller ones go together up to so many bytes.
const TOGETHER_BYTES_MAX: usize = 256 << 10;
/// Bytes between two runs that are read together.
const GAP_BYTES_MAX: u64 = 4 << 10;

/// A run of elements, in bytes: where in the file, and where in the buffer.
#[derive(Debug, Clone, Copy)]
struct Run {
    at: u64,
    from: usize,
    len: usize,
}

/// The elements of one dataset that a lock is held for.
pub(crate) struct Placed<'a> {
    file: &'a File,
    placement: &'a Placement,
    lease: &'a Lease<'a>,
    /// Offsets of chunks.
    chunks: HashMap<Vec<u64>, Option<u64>>,
}

/// A range of one piece of a transfer.
enum PlacedRange<'r> {
    /// In the file.
    Runs(&'r mut dyn Iterator<Item = Run>),
    /// Nowhere: the fill value.
    Missing(&'r mut dyn Iterator<Item = Run>),
}

impl<'a> Placed<'a> {
    pub(crate) fn new(
        file: &'a File,
        placement: &'a Placement,
        selection: &Selection,
        lease: &'a Lease<'a>,
    ) -> Result<Self> {
        let mut chunks = HashMap::new();
        if let PlacementParts::Chunks { shape, offsets } = &placement.parts {
            let found = placement::chunks(selection, &placement.dims, shape)?;
            if found.len() != offsets.len() {
                return Err(broken("as many chunks as are selected"));
            }
            chunks.extend(found.into_iter().zip(offsets.iter().copied()));
        }
        Ok(Placed { file, placement, lease, chunks })
    }

    fn element_bytes(&self) -> usize {
        self.placement.element_bytes.max(1) as usize
    }

    fn cut(&self) -> Cut<'a> {
        let chunk = match &self.placement.parts {
            PlacementParts::Chunks { shape, .. } => Some(&shape[..]),
            PlacementParts::Contiguous { .. } => None,
        };
        Cut { dims: &self.placement.dims, element_bytes: self.element_bytes() as u64, chunk }
    }

    fn threads(bytes: usize) -> usize {
        workers::threads(bytes as u64, ALONE_BYTES_MAX as u64 + 1)
    }

    /// Reads the elements of a selection, on all cores where it pays.
    pub(crate) fn read(&self, selection: &Selection, into: &mut [u8]) -> Result<()> {
        let threads = Self::threads(into.len());
        let pieces = TransferParts::new(self.cut(), selection, into)?;
        workers::each(pieces, threads, |(selection, into), buffer| {
            self.stretches(&selection, |stretch| match stretch {
                PlacedRange::Runs(runs) => self.read_runs(runs, into, buffer),
                PlacedRange::Missing(runs) => {
                    for run in runs {
                        self.fill(part_mut(into, run)?);
                    }
                    Ok(())
                }
            })
        })
    }

    /// Writes the elements of a selection.
    pub(crate) fn write(&self, selection: &Selection, from: &[u8]) -> Result<()> {
        let pieces = TransferParts::new(self.cut(), selection, from)?;
        workers::each(pieces, Self::threads(from.len()), |(selection, from), buffer| {
            self.stretches(&selection, |stretch| match stretch {
                PlacedRange::Runs(runs) => self.write_runs(runs, from, buffer),
                PlacedRange::Missing(_) => Err(broken("space for what is written")),
            })
        })
    }

    fn fill(&self, buffer: &mut [u8]) {
        match self.placement.fill.as_deref().filter(|fill| !fill.is_empty()) {
            None => buffer.fill(0),
            Some(fill) => buffer
                .chunks_mut(fill.len())
                .for_each(|element| element.copy_from_slice(&fill[..element.len()])),
        }
    }

    /// Calls `f` with what of a selection lies together.
    fn stretches(
        &self,
        selection: &Selection,
        mut f: impl FnMut(PlacedRange<'_>) -> Result<()>,
    ) -> Result<()> {
        let bytes = self.element_bytes();
        let run = |base: u64, at: u64, from: u64, len: u64| Run {
            at: base.saturating_add(at.saturating_mul(bytes as u64)),
            from: (from as usize).saturating_mul(bytes),
            len: (len as usize).saturating_mul(bytes),
        };
        match &self.placement.parts {
            PlacementParts::Contiguous { offset } => {
                let mut from = 0;
                let mut runs = selection.runs(&self.placement.dims)?.map(|found| {
                    let before = from;
                    from += found.len;
                    run(offset.unwrap_or(0), found.offset, before, found.len)
                });
                f(if offset.is_some() {
                    PlacedRange::Runs(&mut runs)
                } else {
                    PlacedRange::Missing(&mut runs)
                })
            }
            PlacementParts::Chunks { shape, .. } => {
                let points = match selection {
                    Selection::Points(points) => Some(PointIndex::new(points, shape)?),
                    _ => None,
                };
                for chunk_coords in placement::chunks(selection, &self.placement.dims, shape)? {
                    let offset = self.chunks.get(&chunk_coords).copied();
                    let offset = offset.ok_or_else(|| broken("all chunks that are selected"))?;
                    let start: Vec<u64> = chunk_coords.iter().zip(shape).map(|(s, c)| s * c).collect();
                    let found = match &points {
                        Some(points) => points.chunk_runs(&chunk_coords)?,
                        None => selection.chunk_runs(&self.placement.dims, &start, shape)?,
                    };
                    let base = offset.unwrap_or(0);
                    let mut runs = found.map(|r| run(base, r.chunk_offset, r.selection_offset, r.len));
                    f(if offset.is_some() {
                        PlacedRange::Runs(&mut runs)
                    } else {
                        PlacedRange::Missing(&mut runs)
                    })?;
                }
                Ok(())
            }
        }
    }

    /// Runs that follow each other in the file are written together.
    fn write_runs(
        &self,
        runs: &mut dyn Iterator<Item = Run>,
        from: &[u8],
        buffer: &mut Vec<u8>,
    ) -> Result<()> {
        buffer.clear();
        let mut start = 0;
        for run in runs {
            let bytes = part(from, run)?;
            let follows = run.at == start + buffer.len() as u64;
            if !buffer.is_empty() && (!follows || buffer.len() + bytes.len() > TOGETHER_BYTES_MAX) {
                self.put(start, buffer)?;
                buffer.clear();
            }
            if bytes.len() >= LARGE_BYTES && buffer.is_empty() {
                self.put(run.at, bytes)?;
                continue;
            }
            if buffer.is_empty() {
                start = run.at;
            }
            buffer.extend_from_slice(bytes);
        }
        if buffer.is_empty() { Ok(()) } else { self.put(start, buffer) }
    }

    fn put(&self, at: u64, bytes: &[u8]) -> Result<()> {
        // Not a byte is written when the lock may have run out.
        self.lease.check()?;
        system::file::write_all_at(self.file, bytes, at).map_err(|e| Error::io("write to file", &e))
    }

    /// Small runs that are near each other are read together.
    fn read_runs(
        &self,
        runs: &mut dyn Iterator<Item = Run>,
        into: &mut [u8],
        buffer: &mut Vec<u8>,
    ) -> Result<()> {
        let mut together: Vec<Run> = Vec::new();
        for run in runs {
            let is_near = together.first().zip(together.last()).is_some_and(|(first, last)| {
                let (end, stop) = (last.at + last.len as u64, run.at + run.len as u64);
                run.at >= end && run.at - end <= GAP_BYTES_MAX && stop - first.at <= TOGETHER_BYTES_MAX as u64
            });
            if !is_near {
                self.get_together(&together, into, buffer)?;
                together.clear();
            }
            match run.len >= LARGE_BYTES && together.is_empty() {
                true => self.get(run.at, part_mut(into, run)?)?,
                false => together.push(run),
            }
        }
        self.get_together(&together, into, buffer)
    }

    fn get_together(&self, runs: &[Run], into: &mut [u8], buffer: &mut Vec<u8>) -> Result<()> {
        match runs {
            [] => Ok(()),
            [run] => self.get(run.at, part_mut(into, *run)?),
            [first, .., last] => {
                buffer.clear();
                buffer.resize((last.at - first.at) as usize + last.len, 0);
                self.get(first.at, buffer)?;
                for run in runs {
                    let start = (run.at - first.at) as usize;
                    part_mut(into, *run)?.copy_from_slice(&buffer[start..start + run.len]);
                }
                Ok(())
            }
        }
    }

    /// Reads bytes. Space that was allocated and not written yet may lie beyond the end of the file.
    fn get(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.lease.check()?;
        let have = system::file::read_at(self.file, into, at).map_err(|e| Error::io("read file", &e))?;
        into[have..].fill(0);
        Ok(())
    }
}

fn broken(wanted: &str) -> Error {
    Error::corrupt("use file directly")
        .with("problem", "the answer of the server lacks it")
        .with("wanted", wanted)
}

fn part(bytes: &[u8], run: Run) -> Result<&[u8]> {
    let end = run.from.saturating_add(run.len);
    bytes.get(run.from..end).ok_or_else(|| broken("a selection of this size"))
}

fn part_mut(bytes: &mut [u8], run: Run) -> Result<&mut [u8]> {
    let end = run.from.saturating_add(run.len);
    bytes.get_mut(run.from..end).ok_or_else(|| broken("a selection of this size"))
}
