//! Selected elements of a caller's buffer: packed in strips on their way to or from the dataset.

use model::heap::Heap;
use model::selection::Runs;
use model::{Error, Result};

use super::{Elements, Memory};

/// Bytes of packed elements at a time.
const PACKED_BYTES: u64 = 16 << 20;

/// The selected elements of a buffer as ranges of bytes, taken so many at a time.
#[derive(Clone)]
struct SelectedRanges {
    runs: Runs,
    each: usize,
    /// The rest of the last run: first element and elements.
    left: (usize, usize),
}

impl SelectedRanges {
    /// Calls `visit` with the bytes of the next `count` elements: where they are in the buffer, and among the packed ones.
    fn take(&mut self, count: usize, mut visit: impl FnMut(std::ops::Range<usize>, std::ops::Range<usize>)) {
        let (mut done, each) = (0, self.each);
        while done < count {
            if self.left.1 == 0 {
                let Some(run) = self.runs.next() else { return };
                self.left = (run.offset as usize, run.len as usize);
            }
            let (start, len) = (self.left.0, self.left.1.min(count - done));
            visit(start * each..(start + len) * each, done * each..(done + len) * each);
            self.left = (start + len, self.left.1 - len);
            done += len;
        }
    }

    /// Returns the bytes of the first run, if all `count` elements are in it.
    fn only(&mut self, count: u64) -> Option<std::ops::Range<usize>> {
        let run = self.runs.next()?;
        self.left = (run.offset as usize, run.len as usize);
        (run.len == count).then(|| self.left.0 * self.each..(self.left.0 + self.left.1) * self.each)
    }
}

impl Elements<'_> {
    /// Reads into the selected elements of a buffer.
    pub fn read_scattered(&self, memory: &Memory<'_>, into: &mut [u8], heap: &mut Heap) -> Result<()> {
        let count = self.count()?;
        let mut places = places(memory, into.len(), count)?;
        if let Some(range) = places.only(count) {
            return self.read(memory.datatype, &mut into[range], heap);
        }
        let mut packed = Vec::new();
        self.each_packed(memory, |part, count| {
            packed.resize(count * places.each, 0);
            if memory.datatype != self.file_type {
                // What a conversion does not define keeps its old value.
                let mut old = places.clone();
                old.take(count, |there, here| packed[here].copy_from_slice(&into[there]));
            }
            part.read(memory.datatype, &mut packed, heap)?;
            places.take(count, |there, here| into[there].copy_from_slice(&packed[here]));
            Ok(())
        })
    }

    /// Writes from the selected elements of a buffer.
    pub fn write_gathered(&self, memory: &Memory<'_>, from: &[u8], heap: &mut Heap) -> Result<()> {
        let count = self.count()?;
        let mut places = places(memory, from.len(), count)?;
        if let Some(range) = places.only(count) {
            return self.write(memory.datatype, &from[range], heap);
        }
        let mut packed = Vec::new();
        self.each_packed(memory, |part, count| {
            packed.clear();
            places.take(count, |there, _| packed.extend_from_slice(&from[there]));
            part.write(memory.datatype, &packed, heap)
        })
    }

    /// Calls `visit` with the elements in strips, and how many there are.
    fn each_packed(
        &self,
        memory: &Memory<'_>,
        mut visit: impl FnMut(&Elements<'_>, usize) -> Result<()>,
    ) -> Result<()> {
        if self.collective().is_some() {
            // All processes make one call, also those without elements.
            return visit(self, self.count()? as usize);
        }
        let nothing: &[u8] = &[];
        for piece in self.pieces(PACKED_BYTES, memory.datatype.size(), 0, nothing)? {
            let piece = piece?;
            visit(&Elements { selection: &piece.selection, ..*self }, piece.count)?;
        }
        Ok(())
    }
}

/// Returns the places of a memory selection, which is inside the buffer and has as many elements as the file's.
fn places(memory: &Memory<'_>, buffer_bytes: usize, count: u64) -> Result<SelectedRanges> {
    memory.selection.validate(memory.dims)?;
    let in_memory = memory.selection.element_count(memory.dims)?;
    if in_memory != count {
        return Err(Error::invalid("match selections").with("in memory", in_memory).with("in file", count));
    }
    let extent = memory.dims.iter().try_fold(u64::from(memory.datatype.size()), |n, &d| n.checked_mul(d));
    if extent.is_none_or(|bytes| bytes > buffer_bytes as u64) {
        return Err(Error::invalid("transfer elements").with("problem", "buffer is smaller than its extent"));
    }
    let runs = memory.selection.runs(memory.dims)?;
    Ok(SelectedRanges { runs, each: memory.datatype.size() as usize, left: (0, 0) })
}
