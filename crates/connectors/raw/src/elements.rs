//! Elements of a dataset in a plain file: packed, in C order. What the file lacks reads as the fill value.

use std::fs::File;

use model::selection::Run;
use model::{Error, Result, Selection};
use system::file::{read_at, write_all_at};

/// Runs closer than this are read and written together: a system call costs more than a few pages.
const GAP_BYTES_MAX: u64 = 8 << 10;
/// Bytes that runs read together may span.
const SPAN_BYTES_MAX: u64 = 1 << 20;

/// The properties of a dataset's elements.
#[derive(Debug, Clone)]
pub(crate) struct Elements {
    /// Bytes of one.
    pub(crate) size: u64,
    /// One that no one wrote; `None` is zeros.
    pub(crate) fill: Option<Vec<u8>>,
}

/// Runs near each other, in ascending order.
struct Span {
    start: u64,
    end: u64,
    /// Offset in the span and bytes of each run.
    runs: Vec<(u64, usize)>,
}

/// Calls `visit` with the spans of a selection, one after another.
fn spans(
    selection: &Selection,
    dims: &[u64],
    size: u64,
    mut visit: impl FnMut(&Span) -> Result<()>,
) -> Result<()> {
    let mut span: Option<Span> = None;
    for Run { offset, len } in selection.runs(dims)? {
        let (start, end) = (offset * size, (offset + len) * size);
        match &mut span {
            Some(near)
                if start >= near.end
                    && start - near.end <= GAP_BYTES_MAX
                    && end - near.start <= SPAN_BYTES_MAX =>
            {
                near.runs.push((start - near.start, (end - start) as usize));
                near.end = end;
            }
            _ => {
                let new = Span { start, end, runs: vec![(0, (end - start) as usize)] };
                if let Some(done) = span.replace(new) {
                    visit(&done)?;
                }
            }
        }
    }
    span.map_or(Ok(()), |span| visit(&span))
}

impl Elements {
    /// Fills bytes that belong at `at` of the file as if no one had written there.
    fn fill_bytes(&self, out: &mut [u8], at: u64) {
        let Some(fill) = &self.fill else { return out.fill(0) };
        let phase = (at % self.size) as usize;
        let head = ((fill.len() - phase) % fill.len()).min(out.len());
        let (first, rest) = out.split_at_mut(head);
        first.copy_from_slice(&fill[phase..][..head]);
        rest.chunks_mut(fill.len()).for_each(|part| part.copy_from_slice(&fill[..part.len()]));
    }

    /// Bytes of the file, or of the fill value where it ends.
    fn fetch(&self, file: Option<&File>, into: &mut [u8], at: u64) -> Result<()> {
        let have = match file {
            Some(file) => read_at(file, into, at).map_err(|e| Error::io("read elements", &e).at(at))?,
            None => 0,
        };
        self.fill_bytes(&mut into[have..], at + have as u64);
        Ok(())
    }

    /// Reads selected elements, packed.
    pub(crate) fn read(
        &self,
        file: Option<&File>,
        selection: &Selection,
        dims: &[u64],
        into: &mut [u8],
    ) -> Result<()> {
        let (mut left, mut buffer) = (into, Vec::new());
        spans(selection, dims, self.size, |span| {
            if let [(_, len)] = span.runs[..] {
                let (run, rest) = std::mem::take(&mut left).split_at_mut(len);
                left = rest;
                return self.fetch(file, run, span.start);
            }
            buffer.resize((span.end - span.start) as usize, 0);
            self.fetch(file, &mut buffer, span.start)?;
            for &(at, len) in &span.runs {
                let (run, rest) = std::mem::take(&mut left).split_at_mut(len);
                run.copy_from_slice(&buffer[at as usize..][..len]);
                left = rest;
            }
            Ok(())
        })
    }

    /// Writes selected elements, packed. What lies between the old end of the file and them gets the fill value.
    pub(crate) fn write(&self, file: &File, selection: &Selection, dims: &[u64], from: &[u8]) -> Result<()> {
        let (mut left, mut buffer) = (from, Vec::new());
        let mut end = file.metadata().map_err(|e| Error::io("look at elements", &e))?.len();
        spans(selection, dims, self.size, |span| {
            self.extend(file, end, span.start)?;
            if let [(_, len)] = span.runs[..] {
                let (run, rest) = left.split_at(len);
                left = rest;
                put(file, run, span.start)?;
            } else {
                buffer.resize((span.end - span.start) as usize, 0);
                self.fetch(Some(file), &mut buffer, span.start)?;
                for &(at, len) in &span.runs {
                    let (run, rest) = left.split_at(len);
                    buffer[at as usize..][..len].copy_from_slice(run);
                    left = rest;
                }
                put(file, &buffer, span.start)?;
            }
            end = end.max(span.end);
            Ok(())
        })
    }

    /// Writes the fill value from the end of a file to `to`; zeros need not be written.
    fn extend(&self, file: &File, end: u64, to: u64) -> Result<()> {
        if self.fill.is_none() || end >= to {
            return Ok(());
        }
        let mut buffer = vec![0; (to - end).min(SPAN_BYTES_MAX) as usize];
        let mut at = end;
        while at < to {
            let len = buffer.len().min((to - at) as usize);
            self.fill_bytes(&mut buffer[..len], at);
            put(file, &buffer[..len], at)?;
            at += len as u64;
        }
        Ok(())
    }

    /// Copies what both extents have from one file to another that is empty.
    pub(crate) fn relay(&self, from: &File, old: &[u64], to: &File, new: &[u64]) -> Result<()> {
        let shape: Vec<u64> = old.iter().zip(new).map(|(a, b)| *a.min(b)).collect();
        if shape.contains(&0) {
            return Ok(());
        }
        let have = from.metadata().map_err(|e| Error::io("look at elements", &e))?.len();
        let both = Selection::block(&vec![0; shape.len()], &shape)?;
        let elements_max = (SPAN_BYTES_MAX / self.size.max(1)).max(1);
        let mut buffer = Vec::new();
        for strip in both.strips(old, elements_max)? {
            let count = strip.element_count(old)?;
            // Beyond the old end there is nothing but fill values, which the new file's end means as well.
            let starts = strip.runs(old)?.next().map_or(0, |run| run.offset * self.size);
            if starts >= have {
                break;
            }
            buffer.resize((count * self.size) as usize, 0);
            self.read(Some(from), &strip, old, &mut buffer)?;
            // Zeros that need not be written stay holes.
            if self.fill.is_some() || buffer.iter().any(|&byte| byte != 0) {
                self.write(to, &strip, new, &buffer)?;
            }
        }
        Ok(())
    }
}

fn put(file: &File, from: &[u8], at: u64) -> Result<()> {
    write_all_at(file, from, at).map_err(|e| Error::io("write elements", &e).at(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fill_value_keeps_its_phase() {
        let elements = Elements { size: 3, fill: Some(vec![1, 2, 3]) };
        for at in 0..7u64 {
            let mut out = [0; 8];
            elements.fill_bytes(&mut out, at);
            let wanted: Vec<u8> = (at..at + 8).map(|n| (n % 3) as u8 + 1).collect();
            assert_eq!(out.to_vec(), wanted);
        }
    }

    #[test]
    fn near_runs_are_one_span_and_far_runs_are_not() {
        let near = Selection::hyperslab(&[0], &[4], &[100], &[1]).unwrap();
        let far = Selection::hyperslab(&[0], &[100_000], &[3], &[1]).unwrap();
        for (selection, wanted) in [(near, 1), (far, 3)] {
            let mut count = 0;
            spans(&selection, &[400_000], 4, |_| {
                count += 1;
                Ok(())
            })
            .unwrap();
            assert_eq!(count, wanted);
        }
    }
}
