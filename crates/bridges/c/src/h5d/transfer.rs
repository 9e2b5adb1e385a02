//! Reading and writing elements.
//!
//! Elements without variable-length values and references go between the program's buffer and the container as they are.
//! Others pass through the library's memory datatype (`memory`).

use std::borrow::Cow;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

use hyperslab::vol::algorithms::transfer::{Elements, Memory};
use hyperslab::vol::model::Heap;
use hyperslab::vol::model::convert::Conversions;
use hyperslab::vol::{Container, DatasetInfo, Direction};
use hyperslab::{Dataspace, Error, Kind, Selection};

use super::tolerant::Tolerant;
use crate::arguments::Bytes;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5S_ALL, hid_t};
use crate::h5p::values::TransferValues;
use crate::handles::{self, MemoryType, ObjectHandle, Space};
use crate::memory::{self, Allocator};

/// The memory is one run of elements, as many as are selected in the file.
const H5S_BLOCK: hid_t = 1;
/// The file selection stands in the transfer list.
const H5S_PLIST: hid_t = 2;

/// What a transfer goes between: a dataset's elements and a program's buffer.
pub(super) struct Transfer {
    dataset: Arc<ObjectHandle>,
    pub(super) info: Arc<DatasetInfo>,
    memory_type: MemoryType,
    selections: Selections,
    values: TransferValues,
    conversions: Conversions,
    /// What reads of damaged chunks go through.
    tolerant: Option<Tolerant>,
}

/// The identifiers that a program passes.
#[derive(Debug, Clone, Copy)]
pub(super) struct TransferIds {
    pub(super) dataset: hid_t,
    pub(super) memory_type: hid_t,
    pub(super) memory_space: hid_t,
    pub(super) file_space: hid_t,
}

fn mismatch(text: &'static str) -> Failure {
    Failure::new(Major::ARGS, Minor::BADVALUE, text)
}

/// What is selected in the file and in memory.
struct Selections {
    file: Selection,
    memory: Selection,
    /// Extent of the program's buffer, no longer than the selection needs it.
    memory_dims: Vec<u64>,
    count: u64,
}

impl Selections {
    fn new(ids: TransferIds, values: &TransferValues, extent: &Dataspace) -> Fallible<Self> {
        match (ids.file_space, ids.memory_space, extent) {
            (H5S_ALL, H5S_ALL, Dataspace::Scalar | Dataspace::Simple(_)) => Ok(Selections {
                file: Selection::All,
                memory: Selection::All,
                memory_dims: extent.dims().to_vec(),
                count: extent.element_count()?,
            }),
            _ => Self::of_spaces(ids, values, extent),
        }
    }

    fn of_spaces(ids: TransferIds, values: &TransferValues, extent: &Dataspace) -> Fallible<Self> {
        let file = match ids.file_space {
            H5S_ALL => Space::all(extent.clone()),
            H5S_PLIST => {
                values.plist_selection.clone().ok_or_else(|| mismatch("no selection in the transfer list"))?
            }
            id => handles::space(id)?.get(),
        };
        let file = file_selection(&file, extent)?;
        let count = match extent {
            Dataspace::Null => 0,
            space => file.element_count(space.dims())?,
        };
        let memory = match ids.memory_space {
            // As in the file: the same extent, the same selection.
            H5S_ALL => Space { extent: extent.clone(), selection: file.clone(), offset: Vec::new() },
            H5S_BLOCK => Space::all(Dataspace::simple(&[count])?),
            H5S_PLIST => return Err(mismatch("H5S_PLIST is not a memory dataspace")),
            id => handles::space(id)?.get(),
        };
        let (memory_dims, selection) = memory_part(&memory)?;
        let in_memory = match memory.extent {
            Dataspace::Null => 0,
            _ => selection.element_count(&memory_dims)?,
        };
        if in_memory != count {
            return Err(mismatch("src and dest dataspaces have different number of elements selected"));
        }
        Ok(Selections { file, memory: selection, memory_dims, count })
    }
}

impl Transfer {
    pub(super) fn new(ids: TransferIds, values: TransferValues) -> Fallible<Self> {
        let dataset = handles::dataset(ids.dataset)?;
        let info = dataset.container().dataset_info(dataset.token)?;
        let memory_type = handles::memory_type(ids.memory_type)?;
        let selections = Selections::new(ids, &values, &info.space)?;
        let conversions = crate::h5t::conversions(&values)?;
        let tolerant = Tolerant::of(dataset.container(), &values);
        Ok(Transfer { dataset, info, memory_type, selections, values, conversions, tolerant })
    }

    /// Returns a failure of this process before a collective transfer, which all get instead of waiting for it.
    fn refused(&self, direction: Direction, failure: Failure) -> Failure {
        match self.way() {
            hyperslab::Transfer::Collective => refused(&self.dataset, direction, failure),
            hyperslab::Transfer::Independent => failure,
        }
    }

    fn container(&self) -> &dyn Container {
        match &self.tolerant {
            Some(tolerant) => tolerant,
            None => &**self.dataset.container(),
        }
    }

    fn elements(&self) -> Elements<'_> {
        Elements {
            container: self.container(),
            dataset: self.dataset.token,
            file_type: &self.info.datatype,
            space: &self.info.space,
            selection: &self.selections.file,
            conversions: &self.conversions,
            transfer: self.way(),
        }
    }

    /// Returns whether many processes have the file open together.
    pub(super) fn is_parallel(&self) -> bool {
        self.dataset.file.shared.is_parallel
    }

    /// Returns how chunks are transferred by many processes, as the transfer list says.
    pub(super) fn chunk_opt(&self) -> c_int {
        self.values.chunk_opt
    }

    /// Returns whether all processes that have the file open make this transfer.
    pub(super) fn way(&self) -> hyperslab::Transfer {
        match self.values.is_collective && self.is_parallel() {
            true => hyperslab::Transfer::Collective,
            false => hyperslab::Transfer::Independent,
        }
    }

    /// Returns whether there is nothing to do: a process without elements takes part in what all do together.
    fn is_nothing(&self) -> bool {
        self.selections.count == 0 && self.way() == hyperslab::Transfer::Independent
    }

    fn memory(&self) -> Memory<'_> {
        Memory {
            datatype: &self.memory_type,
            dims: &self.selections.memory_dims,
            selection: &self.selections.memory,
        }
    }

    /// Returns the bytes of the buffer that the selection lies in.
    fn buffer_bytes(&self) -> Fallible<usize> {
        let elements = self.selections.memory_dims.iter().try_fold(1u64, |n, dim| n.checked_mul(*dim));
        let elements = elements.ok_or_else(|| mismatch("memory extent is too large"))?;
        memory::buffer_bytes(elements, &self.memory_type)
    }

    pub(super) fn read(&self, buffer: *mut c_void) -> Fallible<()> {
        if self.is_nothing() {
            return Ok(());
        }
        let into = self.buffer_bytes().and_then(|bytes| Bytes(buffer).write(bytes, "output buffer"));
        let into = into.map_err(|failure| self.refused(Direction::Read, failure))?;
        if !self.memory_type.has_descriptors() {
            let mut heap = Heap::new();
            self.elements().read_scattered(&self.memory(), into, &mut heap).map_err(unread)?;
        } else {
            self.read_values(into)?;
        }
        match &self.values.transform {
            Some(expression) => {
                super::transform::apply(expression, &self.memory_type, into, &self.memory_runs()?)
            }
            None => Ok(()),
        }
    }

    /// Reads elements with variable-length values or references.
    fn read_values(&self, into: &mut [u8]) -> Fallible<()> {
        let runs = self.memory_runs()?;
        if runs.is_empty() {
            return Ok(());
        }
        if let [(start, len)] = runs[..] {
            return self.read_packed(&mut into[start..start + len]);
        }
        let count = usize::try_from(self.selections.count).map_err(|_| mismatch("too many elements"))?;
        let mut elements = memory::zeroed(count, self.memory_type.size())?;
        self.read_packed(&mut elements)?;
        let mut done = 0;
        for (start, len) in runs {
            into[start..start + len].copy_from_slice(&elements[done..done + len]);
            done += len;
        }
        Ok(())
    }

    /// Reads elements with variable-length values or references, one after another. What was allocated for them is freed if
    /// not all can be read.
    fn read_packed(&self, into: &mut [u8]) -> Fallible<()> {
        let in_library = self.memory_type.memory_type();
        let (from_bytes, into_bytes) = (in_library.size() as usize, self.memory_type.size() as usize);
        let (allocator, file) = (Allocator::of(&self.values), &self.dataset.file);
        let mut done = 0;
        let read = self.elements().read_strips(&in_library, |packed, heap| {
            let len = packed.len() / from_bytes * into_bytes;
            memory::to_c(&self.memory_type, packed, heap, file, &allocator, &mut into[done..done + len])?;
            done += len;
            Ok(())
        });
        if read.is_err() {
            memory::reclaim(&self.memory_type, &mut into[..done], done / into_bytes, &allocator)?;
        }
        read
    }

    /// Returns the selected parts of the buffer: first byte and length of each.
    fn memory_runs(&self) -> Fallible<Vec<(usize, usize)>> {
        let each = self.memory_type.size() as usize;
        let runs = self.selections.memory.runs(&self.selections.memory_dims)?;
        Ok(runs.map(|run| (run.offset as usize * each, run.len as usize * each)).collect())
    }

    pub(super) fn write(&self, buffer: *const c_void) -> Fallible<()> {
        self.dataset.file.check_writable()?;
        if self.is_nothing() {
            return Ok(());
        }
        let from = self.source(buffer).map_err(|failure| self.refused(Direction::Write, failure))?;
        if self.memory_type.has_descriptors() {
            return self.write_values(&from);
        }
        let mut heap = Heap::new();
        let done = self.elements().write_gathered(&self.memory(), &from, &mut heap);
        done.map_err(|error| Failure::from(error).as_major(Major::DATASET))
    }

    /// Returns the program's buffer, after its data transform.
    fn source(&self, buffer: *const c_void) -> Fallible<Cow<'_, [u8]>> {
        let from = Bytes(buffer.cast_mut()).read(self.buffer_bytes()?, "input buffer")?;
        let Some(expression) = &self.values.transform else { return Ok(Cow::Borrowed(from)) };
        let mut copy = from.to_vec();
        super::transform::apply(expression, &self.memory_type, &mut copy, &self.memory_runs()?)?;
        Ok(Cow::Owned(copy))
    }

    /// Writes elements with variable-length values or references.
    fn write_values(&self, from: &[u8]) -> Fallible<()> {
        let runs = self.memory_runs()?;
        let gathered;
        let elements = match runs[..] {
            [(start, len)] => &from[start..start + len],
            _ => {
                gathered = runs
                    .iter()
                    .flat_map(|(start, len)| &from[*start..start + len])
                    .copied()
                    .collect::<Vec<_>>();
                &gathered[..]
            }
        };
        let mut heap = Heap::new();
        let packed = memory::from_c(&self.memory_type, elements, Some(&self.dataset.file), &mut heap);
        let packed = packed.map_err(|failure| self.refused(Direction::Write, failure))?;
        let in_library = self.memory_type.memory_type();
        Ok(self.elements().write(&in_library, &packed, &mut heap)?)
    }
}

/// Tells the processes that have a file open together that this one fails where all make a transfer. Returns the failure.
fn refused(dataset: &ObjectHandle, direction: Direction, failure: Failure) -> Failure {
    if let Some(collective) = dataset.container().collective() {
        let error = Error::invalid("take part in a transfer").with("problem", &failure.text);
        // The failure itself says more than what the others get.
        collective.refuse(direction, dataset.token, error);
    }
    failure
}

/// Refuses a collective transfer that could not begin, for all processes, and returns the failure.
pub(super) fn refuse(
    ids: TransferIds,
    values: &TransferValues,
    direction: Direction,
    failure: Failure,
) -> Failure {
    match handles::dataset(ids.dataset) {
        Ok(dataset) if values.is_collective && dataset.file.shared.is_parallel => {
            refused(&dataset, direction, failure)
        }
        _ => failure,
    }
}

/// Returns the selection in the file. Its extent must be that of the dataset, or larger than what is selected.
fn file_selection(space: &Space, extent: &Dataspace) -> Fallible<Selection> {
    let selection = space.moved_selection()?;
    if matches!(extent, Dataspace::Null) {
        return Ok(Selection::None);
    }
    match selection {
        Selection::All if space.extent.dims() != extent.dims() => {
            let dims = space.extent.dims();
            let whole = Selection::block(&vec![0; dims.len()], dims)?;
            whole.validate(extent.dims()).map_err(|_| out_of_bounds("file"))?;
            Ok(whole)
        }
        selection => {
            selection.validate(extent.dims()).map_err(|_| out_of_bounds("file"))?;
            Ok(selection)
        }
    }
}

/// Returns the failure to read elements.
fn unread(error: Error) -> Failure {
    let is_damage = matches!(error.kind(), Kind::Corrupt | Kind::Io);
    let failure = Failure::from(error).as_major(Major::DATASET);
    if is_damage { failure.as_minor(Minor::READERROR) } else { failure }
}

fn out_of_bounds(what: &str) -> Failure {
    Failure::new(Major::ARGS, Minor::BADRANGE, format!("{what} selection+offset not within extent"))
}

/// Returns the extent of a buffer up to the last row that is selected, and the selection: a program may pass a buffer
/// that ends there.
fn memory_part(space: &Space) -> Fallible<(Vec<u64>, Selection)> {
    let selection = space.moved_selection()?;
    let mut dims = space.extent.dims().to_vec();
    if matches!(space.extent, Dataspace::Null) {
        return Ok((vec![0], Selection::None));
    }
    selection.validate(&dims).map_err(|_| out_of_bounds("memory"))?;
    if !matches!(selection, Selection::All)
        && let Some(first) = dims.first_mut()
    {
        let bounds = selection.bounds(space.extent.dims())?;
        *first = bounds.and_then(|(_, high)| high.first().map(|last| last + 1)).unwrap_or(0);
    }
    Ok((dims, selection))
}

/// Returns the bytes that the values of variable length of selected elements take in memory.
pub(super) fn value_bytes(dataset: &Arc<ObjectHandle>, datatype: hid_t, space: hid_t) -> Fallible<u64> {
    let info = dataset.container().dataset_info(dataset.token)?;
    let memory_type = handles::datatype(datatype)?.datatype();
    let in_library = memory_type.memory_type();
    let space = match space {
        H5S_ALL => Space::all(info.space.clone()),
        id => handles::space(id)?.get(),
    };
    let selection = file_selection(&space, &info.space)?;
    let elements = Elements {
        container: &**dataset.container(),
        dataset: dataset.token,
        file_type: &info.datatype,
        space: &info.space,
        selection: &selection,
        conversions: &Conversions::default(),
        transfer: hyperslab::Transfer::Independent,
    };
    let count = usize::try_from(elements.count()?).map_err(|_| mismatch("too many elements"))?;
    let mut packed = memory::zeroed(count, in_library.size())?;
    let mut heap = Heap::new();
    heap.charge_to(&dataset.container().budget())?;
    elements.read(&in_library, &mut packed, &mut heap)?;
    memory::value_bytes(&memory_type, &packed, &heap)
}
