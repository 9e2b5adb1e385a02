//! Moving elements between memory and a container: written once, for every connector.
//!
//! A connector sees packed elements of the *file* datatype. Here they are converted, given or stripped of
//! their descriptors, and scattered into or gathered from the caller's selection. Where memory already has the
//! file's shape and type, the caller's buffer goes down as it is and nothing is copied.

use std::borrow::Cow;

use model::convert::{Conversions, Plan};
use model::heap::Heap;
use model::{Dataspace, Datatype, Error, Result, Selection, Token};
use vol::{Container, OpRead, OpWrite, Pin, Transfer};

use crate::descriptors::DescriptorPlan;
use crate::workers;

mod collective;
mod scatter;
mod strips;

use strips::StripPart;

/// Elements of a dataset.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    /// The container.
    pub container: &'a dyn Container,
    /// The dataset.
    pub dataset: Token,
    /// Its type, in the file datatype.
    pub file_type: &'a Datatype,
    /// Its extent.
    pub space: &'a Dataspace,
    /// Which elements.
    pub selection: &'a Selection,
    /// Users' own conversions.
    pub conversions: &'a Conversions,
    /// Whether all processes that have the container open take part.
    pub transfer: Transfer,
}

impl std::fmt::Debug for Elements<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Elements").field("dataset", &self.dataset).finish_non_exhaustive()
    }
}

/// A caller's buffer: its type, its extent, and the elements of it that take part.
#[derive(Debug, Clone, Copy)]
pub struct Memory<'a> {
    /// Type of an element, in the memory datatype.
    pub datatype: &'a Datatype,
    /// Extent of the buffer.
    pub dims: &'a [u64],
    /// Elements that take part.
    pub selection: &'a Selection,
}

/// A strip that was read, and the buffers of its reader.
#[derive(Default)]
struct ReadStrip {
    values: Vec<u8>,
    heap: Heap,
    raw: Vec<u8>,
}

impl Elements<'_> {
    /// Returns how many elements there are.
    pub fn count(&self) -> Result<u64> {
        match self.space {
            Dataspace::Null => Ok(0),
            space => self.selection.element_count(space.dims()),
        }
    }

    /// Reads into a packed buffer of elements of `memory` type (in the memory datatype).
    pub fn read(&self, memory: &Datatype, into: &mut [u8], heap: &mut Heap) -> Result<()> {
        check_space(self.count()?, memory, into.len())?;
        if let Some(collective) = self.collective() {
            return self.read_together(collective, memory, into, heap);
        }
        if into.is_empty() {
            return Ok(());
        }
        if memory == self.file_type && !memory.has_descriptors() {
            let read = OpRead { dataset: self.dataset, selection: self.selection, into };
            return self.container.dataset_read(&mut [read]);
        }
        let in_memory = self.file_type.memory_type();
        let plan = Plan::compile(&in_memory, memory, self.conversions)?;
        if plan.is_parallel() && !self.file_type.has_descriptors() {
            return self.read_plain(&plan, into);
        }
        let each = self.file_type.size().max(memory.size());
        let mut raw = Vec::new();
        for piece in self.pieces(strips::SLOTTED_BYTES, each, memory.size(), into)? {
            self.read_strip(&mut piece?, &in_memory, &plan, &mut raw, heap)?;
        }
        Ok(())
    }

    /// Reads packed elements of `memory` type (in the memory datatype) strip by strip, and calls `take` with each strip and the
    /// heap of its values: not all values need be in memory at once. `take` runs on the calling thread; where it pays, other
    /// threads read the next strips meanwhile.
    ///
    /// # Errors
    /// Returns the first error, of the container or of `take`.
    pub fn read_strips<E: From<Error>>(
        &self,
        memory: &Datatype,
        mut take: impl FnMut(&[u8], &Heap) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let in_memory = self.file_type.memory_type();
        let plan = Plan::compile(&in_memory, memory, self.conversions)?;
        let each = self.file_type.size().max(memory.size());
        let strip_bytes = self.values_bytes()?;
        let threads = self.strip_threads(strip_bytes, each, &plan)?;
        // What `take` makes of the values stays: few bytes in a file may stand for many.
        let (mut taken, mut charge) = (0u64, self.container.budget().empty_charge());
        let read = |strip: &StripPart<&[u8]>, into: &mut ReadStrip| {
            into.heap.clear();
            into.values.clear();
            into.values.resize(strip.count * memory.size() as usize, 0);
            let mut part = StripPart {
                selection: strip.selection.clone(),
                count: strip.count,
                bytes: &mut into.values[..],
            };
            self.read_strip(&mut part, &in_memory, &plan, &mut into.raw, &mut into.heap)
        };
        workers::in_order(self.pieces(strip_bytes, each, 0, &[] as &[u8])?, threads, read, |_, strip| {
            taken = taken.saturating_add(strip.heap.expanded());
            charge.resize(taken, "values of variable length")?;
            take(&strip.values, &strip.heap)
        })
    }

    /// Reads numbers and types of numbers. Every worker reads and converts strips of its own.
    fn read_plain(&self, plan: &Plan, into: &mut [u8]) -> Result<()> {
        let layout = self.strip_layout(plan)?;
        let bytes = into.len();
        let pieces = self.aligned_pieces(&layout, plan.to_bytes(), into)?;
        workers::each(pieces, self.shared_by(layout.workers(bytes)), |piece, raw| {
            self.fetch(&piece.selection, piece.count, raw)?;
            plan.run(raw, piece.bytes, piece.count, &mut Heap::new())
        })
    }

    /// Reads the elements of a strip, in the file datatype.
    fn fetch(&self, strip: &Selection, count: usize, raw: &mut Vec<u8>) -> Result<()> {
        raw.resize(count * self.file_type.size() as usize, 0);
        let read = OpRead { dataset: self.dataset, selection: strip, into: raw };
        self.container.dataset_read(&mut [read])
    }

    fn read_strip(
        &self,
        piece: &mut StripPart<&mut [u8]>,
        in_memory: &Datatype,
        plan: &Plan,
        raw: &mut Vec<u8>,
        heap: &mut Heap,
    ) -> Result<()> {
        // Who overwrites an element meanwhile does not take its values away.
        let _pin = Pin::of(self.container, self.file_type)?;
        self.fetch(&piece.selection, piece.count, raw)?;
        if self.file_type.has_descriptors() {
            let values = DescriptorPlan::new(self.file_type, in_memory).detach(self.container, raw, heap)?;
            return plan.run(&values, piece.bytes, piece.count, heap);
        }
        plan.run(raw, piece.bytes, piece.count, heap)
    }

    /// Writes from a packed buffer of elements of `memory` type (in the memory datatype).
    pub fn write(&self, memory: &Datatype, from: &[u8], heap: &mut Heap) -> Result<()> {
        check_space(self.count()?, memory, from.len())?;
        if let Some(collective) = self.collective() {
            return self.write_together(collective, memory, from, heap);
        }
        self.check_alone()?;
        if from.is_empty() {
            return Ok(());
        }
        if memory == self.file_type && !memory.has_descriptors() {
            let write = OpWrite { dataset: self.dataset, selection: self.selection, from };
            return self.container.dataset_write(&[write]);
        }
        let in_memory = self.file_type.memory_type();
        let plan = Plan::compile(memory, &in_memory, self.conversions)?;
        if plan.is_parallel() && !plan.needs_background() && !self.file_type.has_descriptors() {
            return self.write_plain(&plan, from);
        }
        let each = self.file_type.size().max(memory.size());
        for piece in self.pieces(strips::SLOTTED_BYTES, each, memory.size(), from)? {
            self.write_strip(&piece?, (memory, &in_memory), &plan, heap)?;
        }
        Ok(())
    }

    /// Writes numbers and types of numbers. Strips are converted ahead while others are written, in order.
    fn write_plain(&self, plan: &Plan, from: &[u8]) -> Result<()> {
        let layout = self.strip_layout(plan)?;
        let pieces = self.aligned_pieces(&layout, plan.from_bytes(), from)?;
        let convert = |piece: &StripPart<&[u8]>, values: &mut Vec<u8>| {
            values.resize(piece.count * plan.to_bytes(), 0);
            plan.run(piece.bytes, values, piece.count, &mut Heap::new())
        };
        let write = |piece: &StripPart<&[u8]>, values: &mut Vec<u8>| {
            let write = OpWrite { dataset: self.dataset, selection: &piece.selection, from: values };
            self.container.dataset_write(&[write])
        };
        workers::in_order(pieces, layout.workers(from.len()), convert, write)
    }

    /// Returns how many threads may use the container where `threads` would share the work.
    fn shared_by(&self, threads: usize) -> usize {
        if threads > 1 && self.container.is_serial(self.dataset) { 1 } else { threads }
    }

    fn write_strip(
        &self,
        piece: &StripPart<&[u8]>,
        (memory, in_memory): (&Datatype, &Datatype),
        plan: &Plan,
        heap: &mut Heap,
    ) -> Result<()> {
        let descriptors = DescriptorPlan::new(self.file_type, in_memory);
        let (strip, count) = (&piece.selection, piece.count);
        let converted = |heap: &mut Heap| {
            let mut values = match plan.needs_background() {
                true => {
                    let (_pin, mut old) = (Pin::of(self.container, self.file_type)?, Vec::new());
                    self.fetch(strip, count, &mut old)?;
                    descriptors.detach(self.container, &old, heap)?
                }
                false => vec![0; count * in_memory.size() as usize],
            };
            plan.run(piece.bytes, &mut values, count, heap).map(|()| values)
        };
        let mut values = match memory == in_memory {
            true => Cow::Borrowed(piece.bytes),
            false => Cow::Owned(converted(heap)?),
        };
        if self.file_type.has_descriptors() {
            values = Cow::Owned(descriptors.attach(self.container, &values, heap)?);
        }
        let write = OpWrite { dataset: self.dataset, selection: strip, from: &values };
        self.container.dataset_write(&[write])
    }
}

fn check_space(count: u64, datatype: &Datatype, len: usize) -> Result<()> {
    if count.checked_mul(u64::from(datatype.size())) == Some(len as u64) {
        return Ok(());
    }
    let element_bytes = datatype.size();
    Err(Error::invalid("transfer elements")
        .with("elements", count)
        .with("element bytes", element_bytes)
        .with("buffer bytes", len))
}

/// Converts whole values (of attributes and maps) from the file datatype to the `memory` type.
pub fn from_file_type(
    container: &dyn Container,
    file_type: &Datatype,
    raw: &[u8],
    memory: &Datatype,
    conversions: &Conversions,
    heap: &mut Heap,
) -> Result<Vec<u8>> {
    let count = raw.len() / file_type.size().max(1) as usize;
    let in_memory = file_type.memory_type();
    let detached;
    let values = if file_type.has_descriptors() {
        detached = DescriptorPlan::new(file_type, &in_memory).detach(container, raw, heap)?;
        &detached[..]
    } else {
        raw
    };
    let mut out = vec![0; count * memory.size() as usize];
    Plan::compile(&in_memory, memory, conversions)?.run(values, &mut out, count, heap)?;
    Ok(out)
}

/// Returns the opposite of [`from_file_type`].
pub fn to_file_type(
    container: &dyn Container,
    memory: &Datatype,
    data: &[u8],
    file_type: &Datatype,
    conversions: &Conversions,
    heap: &mut Heap,
) -> Result<Vec<u8>> {
    let count = data.len() / memory.size().max(1) as usize;
    let in_memory = file_type.memory_type();
    let mut values = vec![0; count * in_memory.size() as usize];
    Plan::compile(memory, &in_memory, conversions)?.run(data, &mut values, count, heap)?;
    match file_type.has_descriptors() {
        true => DescriptorPlan::new(file_type, &in_memory).attach(container, &values, heap),
        false => Ok(values),
    }
}
