//! Moving elements between memory and a container: written once, for every connector.
//!
//! A connector sees packed elements of the *file* datatype. Here they are converted, given or stripped of
//! their slots, and scattered into or gathered from the caller's selection. Where memory already has the
//! file's shape and type, the caller's buffer goes down as it is and nothing is copied.

use model::convert::{Conversions, Plan};
use model::heap::Heap;
use model::properties::FillValue;
use model::{Dataspace, Datatype, Error, Kind, Result, Selection, Token};

use crate::slots::SlotPlan;
use crate::{Container, OpRead, OpWrite};

/// Bytes of elements converted at a time. Large enough that a strip holds whole rows of chunks of common
/// sizes, small enough that file and memory form of it stay in a few tens of megabytes.
const STRIP_BYTES: u64 = 16 << 20;

/// Elements of a dataset.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    /// The container.
    pub container: &'a dyn Container,
    /// The dataset.
    pub dataset: Token,
    /// Its type, in file form.
    pub file_type: &'a Datatype,
    /// Its extent.
    pub space: &'a Dataspace,
    /// Which elements.
    pub selection: &'a Selection,
    /// Users' own conversions.
    pub conversions: &'a Conversions,
}

impl std::fmt::Debug for Elements<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Elements").field("dataset", &self.dataset).finish_non_exhaustive()
    }
}

/// A caller's buffer: its type, its extent, and the elements of it that take part.
#[derive(Debug, Clone, Copy)]
pub struct Memory<'a> {
    /// Type of an element, in memory form.
    pub datatype: &'a Datatype,
    /// Extent of the buffer.
    pub dims: &'a [u64],
    /// Elements that take part.
    pub selection: &'a Selection,
}

impl Elements<'_> {
    /// How many elements there are.
    pub fn count(&self) -> Result<u64> {
        match self.space {
            Dataspace::Null => Ok(0),
            space => self.selection.element_count(space.dims()),
        }
    }

    fn strips(&self, element_bytes: u64) -> Result<impl Iterator<Item = Selection>> {
        let elements_max = (STRIP_BYTES / element_bytes.max(1)).max(1);
        self.selection.strips(self.space.dims(), elements_max)
    }

    fn strip_count(&self, strip: &Selection) -> Result<usize> {
        let count = strip.element_count(self.space.dims())?;
        usize::try_from(count).map_err(|_| Error::limit("transfer elements").with("count", count))
    }

    /// Reads into a packed buffer of elements of `memory` type (in memory form).
    pub fn read(&self, memory: &Datatype, into: &mut [u8], heap: &mut Heap) -> Result<()> {
        check_room(self.count()?, memory, into.len())?;
        if into.is_empty() {
            return Ok(());
        }
        if memory == self.file_type && !memory.has_slots() {
            let read = OpRead { dataset: self.dataset, selection: self.selection, into };
            return self.container.dataset_read(&mut [read]);
        }
        let unslotted = self.file_type.memory_form();
        let plan = Plan::compile(&unslotted, memory, self.conversions)?;
        let (file_bytes, memory_bytes) = (self.file_type.size() as usize, memory.size() as usize);
        let mut rest = into;
        for strip in self.strips(file_bytes.max(memory_bytes) as u64)? {
            let count = self.strip_count(&strip)?;
            let (now, later) = rest.split_at_mut(count * memory_bytes);
            self.read_strip(&strip, count, &unslotted, &plan, now, heap)?;
            rest = later;
        }
        Ok(())
    }

    fn read_strip(
        &self,
        strip: &Selection,
        count: usize,
        unslotted: &Datatype,
        plan: &Plan,
        into: &mut [u8],
        heap: &mut Heap,
    ) -> Result<()> {
        let mut raw = vec![0; count * self.file_type.size() as usize];
        self.container.dataset_read(&mut [OpRead {
            dataset: self.dataset,
            selection: strip,
            into: &mut raw,
        }])?;
        if self.file_type.has_slots() {
            raw = SlotPlan::new(self.file_type, unslotted).detach(self.container, &raw, heap)?;
        }
        plan.run(&raw, into, count, heap)
    }

    /// Reads into the selected elements of a buffer.
    pub fn read_scattered(&self, memory: &Memory<'_>, into: &mut [u8], heap: &mut Heap) -> Result<()> {
        let bytes = memory.datatype.size() as usize;
        let runs = checked_runs(memory, into.len(), self.count()?)?;
        if let [(start, len)] = runs[..] {
            return self.read(memory.datatype, &mut into[start * bytes..(start + len) * bytes], heap);
        }
        let mut packed = vec![0; runs.iter().map(|r| r.1).sum::<usize>() * bytes];
        self.read(memory.datatype, &mut packed, heap)?;
        let mut rest = &packed[..];
        for (start, len) in runs {
            let (now, later) = rest.split_at(len * bytes);
            into[start * bytes..(start + len) * bytes].copy_from_slice(now);
            rest = later;
        }
        Ok(())
    }

    /// Writes from a packed buffer of elements of `memory` type (in memory form).
    pub fn write(&self, memory: &Datatype, from: &[u8], heap: &mut Heap) -> Result<()> {
        check_room(self.count()?, memory, from.len())?;
        if from.is_empty() {
            return Ok(());
        }
        if memory == self.file_type && !memory.has_slots() {
            let write = OpWrite { dataset: self.dataset, selection: self.selection, from };
            return self.container.dataset_write(&[write]);
        }
        let unslotted = self.file_type.memory_form();
        let plan = Plan::compile(memory, &unslotted, self.conversions)?;
        let (file_bytes, memory_bytes) = (self.file_type.size() as usize, memory.size() as usize);
        let mut rest = from;
        for strip in self.strips(file_bytes.max(memory_bytes) as u64)? {
            let count = self.strip_count(&strip)?;
            let (now, later) = rest.split_at(count * memory_bytes);
            self.write_strip(&strip, count, &unslotted, &plan, now, heap)?;
            rest = later;
        }
        Ok(())
    }

    fn write_strip(
        &self,
        strip: &Selection,
        count: usize,
        unslotted: &Datatype,
        plan: &Plan,
        from: &[u8],
        heap: &mut Heap,
    ) -> Result<()> {
        let slots = SlotPlan::new(self.file_type, unslotted);
        let mut values = vec![0; count * unslotted.size() as usize];
        let mut old = Vec::new();
        if plan.needs_background() || self.file_type.has_slots() {
            old = vec![0; count * self.file_type.size() as usize];
            self.container.dataset_read(&mut [OpRead {
                dataset: self.dataset,
                selection: strip,
                into: &mut old,
            }])?;
        }
        if plan.needs_background() {
            values = slots.detach(self.container, &old, heap)?;
        }
        plan.run(from, &mut values, count, heap)?;
        if self.file_type.has_slots() {
            values = slots.attach(self.container, &values, heap)?;
        }
        let write = OpWrite { dataset: self.dataset, selection: strip, from: &values };
        self.container.dataset_write(&[write])?;
        if self.file_type.has_slots() { self.give_up(&slots, &old) } else { Ok(()) }
    }

    /// Deletes the values that elements in file form had before they were overwritten.
    fn give_up(&self, slots: &SlotPlan<'_>, old: &[u8]) -> Result<()> {
        // Elements that nobody wrote show the fill value, which is not theirs to delete.
        if matches!(self.container.dataset_info(self.dataset)?.create.fill.value, FillValue::Value(_)) {
            return Ok(());
        }
        match slots.give_up(self.container, old) {
            Err(error) if matches!(error.kind(), Kind::Io | Kind::Denied) => Err(error),
            _ => Ok(()),
        }
    }

    /// Writes from the selected elements of a buffer.
    pub fn write_gathered(&self, memory: &Memory<'_>, from: &[u8], heap: &mut Heap) -> Result<()> {
        let bytes = memory.datatype.size() as usize;
        let runs = checked_runs(memory, from.len(), self.count()?)?;
        if let [(start, len)] = runs[..] {
            return self.write(memory.datatype, &from[start * bytes..(start + len) * bytes], heap);
        }
        let mut packed = Vec::with_capacity(runs.iter().map(|r| r.1).sum::<usize>() * bytes);
        for (start, len) in runs {
            packed.extend_from_slice(&from[start * bytes..(start + len) * bytes]);
        }
        self.write(memory.datatype, &packed, heap)
    }
}

fn check_room(count: u64, datatype: &Datatype, len: usize) -> Result<()> {
    if count.checked_mul(u64::from(datatype.size())) == Some(len as u64) {
        return Ok(());
    }
    let element_bytes = datatype.size();
    Err(Error::invalid("transfer elements")
        .with("elements", count)
        .with("element bytes", element_bytes)
        .with("buffer bytes", len))
}

/// The runs of a memory selection as (first element, elements), inside the buffer and as many as in the file.
fn checked_runs(memory: &Memory<'_>, buffer_bytes: usize, count: u64) -> Result<Vec<(usize, usize)>> {
    memory.selection.validate(memory.dims)?;
    let in_memory = memory.selection.element_count(memory.dims)?;
    if in_memory != count {
        return Err(Error::invalid("match selections").with("in memory", in_memory).with("in file", count));
    }
    let extent = memory.dims.iter().try_fold(u64::from(memory.datatype.size()), |n, &d| n.checked_mul(d));
    if extent.is_none_or(|bytes| bytes > buffer_bytes as u64) {
        return Err(Error::invalid("transfer elements").with("problem", "buffer is smaller than its extent"));
    }
    Ok(memory.selection.runs(memory.dims)?.map(|run| (run.offset as usize, run.len as usize)).collect())
}

/// Whole values (attributes, map values) in memory form, converted to `memory` type.
pub fn from_file_form(
    container: &dyn Container,
    file_type: &Datatype,
    raw: &[u8],
    memory: &Datatype,
    conversions: &Conversions,
    heap: &mut Heap,
) -> Result<Vec<u8>> {
    let count = raw.len() / file_type.size().max(1) as usize;
    let unslotted = file_type.memory_form();
    let detached;
    let values = if file_type.has_slots() {
        detached = SlotPlan::new(file_type, &unslotted).detach(container, raw, heap)?;
        &detached[..]
    } else {
        raw
    };
    let mut out = vec![0; count * memory.size() as usize];
    Plan::compile(&unslotted, memory, conversions)?.run(values, &mut out, count, heap)?;
    Ok(out)
}

/// The opposite of [`from_file_form`].
pub fn to_file_form(
    container: &dyn Container,
    memory: &Datatype,
    data: &[u8],
    file_type: &Datatype,
    conversions: &Conversions,
    heap: &mut Heap,
) -> Result<Vec<u8>> {
    let count = data.len() / memory.size().max(1) as usize;
    let unslotted = file_type.memory_form();
    let mut values = vec![0; count * unslotted.size() as usize];
    Plan::compile(memory, &unslotted, conversions)?.run(data, &mut values, count, heap)?;
    match file_type.has_slots() {
        true => SlotPlan::new(file_type, &unslotted).attach(container, &values, heap),
        false => Ok(values),
    }
}
