//! Elements of a program's buffer: iterate, fill, gather, scatter, reclaim.

use std::ffi::{c_uint, c_void};

use hyperslab::vol::model::convert::Plan;
use hyperslab::vol::model::{Datatype, Heap};

use crate::api;
use crate::arguments::{Bytes, Out};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5P_DEFAULT, herr_t, hid_t, hsize_t};
use crate::h5p;
use crate::handles::{self, Space};
use crate::listing::{Data, check_answer};
use crate::memory::{self, Allocator};

type Operator =
    Option<unsafe extern "C" fn(*mut c_void, hid_t, c_uint, *const hsize_t, *mut c_void) -> herr_t>;
type ScatterFunction = Option<unsafe extern "C" fn(*mut *const c_void, *mut usize, *mut c_void) -> herr_t>;
type GatherFunction = Option<unsafe extern "C" fn(*const c_void, usize, *mut c_void) -> herr_t>;

/// The selected elements of a buffer, as runs: the number of the first one, and how many.
struct Selected {
    dims: Vec<u64>,
    runs: Vec<(u64, u64)>,
    /// Elements of the whole extent.
    extent: u64,
}

impl Selected {
    fn of(space: &Space) -> Fallible<Self> {
        let dims = space.extent.dims().to_vec();
        let selection = space.moved_selection()?;
        selection
            .validate(&dims)
            .map_err(|_| Failure::argument("dataspace selection is not within the extent"))?;
        let extent = space.extent.element_count()?;
        let runs = match extent {
            // All of a null dataspace is nothing.
            0 => Vec::new(),
            _ => selection.runs(&dims)?.map(|run| (run.offset, run.len)).collect(),
        };
        Ok(Selected { runs, extent, dims })
    }

    fn of_id(id: hid_t) -> Fallible<Self> {
        Self::of(&handles::space(id)?.get())
    }

    fn count(&self) -> u64 {
        self.runs.iter().map(|(_, len)| len).sum()
    }

    /// Returns the bytes of the buffer up to the last selected element.
    fn bytes(&self, each: usize) -> Fallible<usize> {
        let end = self.runs.iter().map(|(start, len)| start + len).max().unwrap_or(0).min(self.extent);
        let bytes = usize::try_from(end).ok().and_then(|end| end.checked_mul(each));
        bytes.ok_or_else(|| Failure::argument("the extent is too large"))
    }

    /// Returns the numbers of the selected elements, one by one.
    fn elements(&self) -> impl Iterator<Item = u64> {
        self.runs.iter().flat_map(|(start, len)| *start..start + len)
    }

    /// Stores the coordinates of an element in `point`.
    fn coordinates(&self, mut number: u64, point: &mut [hsize_t]) {
        for (at, dim) in point.iter_mut().zip(&self.dims).rev() {
            *at = number % dim;
            number /= dim;
        }
    }
}

fn fill(
    value: *const c_void,
    value_type: hid_t,
    buffer: Bytes,
    buffer_type: hid_t,
    space: hid_t,
) -> Fallible<()> {
    let selected = Selected::of_id(space)?;
    let to = handles::datatype(buffer_type)?.datatype();
    let each = to.size() as usize;
    let target = buffer.write(selected.bytes(each)?, "buffer")?;
    let mut element = vec![0; each];
    if !value.is_null() {
        let from = handles::datatype(value_type)?.datatype();
        if from.has_descriptors() || to.has_descriptors() {
            let (from, to) = (handles::memory_type(value_type)?, handles::memory_type(buffer_type)?);
            let value = Bytes(value.cast_mut()).read(from.size() as usize, "fill value")?;
            return fill_values(value, &from, &to, target, &selected);
        }
        let bytes = Bytes(value.cast_mut()).read(from.size() as usize, "fill value")?;
        let conversions = crate::h5t::conversions(&h5p::transfer(H5P_DEFAULT)?)?;
        Plan::compile(&from, &to, &conversions)?.run(bytes, &mut element, 1, &mut Heap::new())?;
    }
    for (start, len) in &selected.runs {
        let range = *start as usize * each..(start + len) as usize * each;
        target[range].chunks_exact_mut(each).for_each(|place| place.copy_from_slice(&element));
    }
    Ok(())
}

/// Fills with a value of variable length, of which every element gets a copy of its own.
fn fill_values(
    value: &[u8],
    from: &Datatype,
    to: &Datatype,
    target: &mut [u8],
    selected: &Selected,
) -> Fallible<()> {
    let (values, mut heap) = (h5p::transfer(H5P_DEFAULT)?, Heap::new());
    let packed = memory::from_c(from, value, None, &mut heap)?;
    let (in_library, each) = (to.memory_type(), to.size() as usize);
    let mut converted = memory::zeroed(1, in_library.size())?;
    let conversions = crate::h5t::conversions(&values)?;
    Plan::compile(&from.memory_type(), &in_library, &conversions)?.run(
        &packed,
        &mut converted,
        1,
        &mut heap,
    )?;
    let allocator = Allocator::of(&values);
    for number in selected.elements() {
        let place = &mut target[number as usize * each..][..each];
        memory::write_values(to, &converted, &heap, None, &allocator, place)?;
    }
    Ok(())
}

fn iterate(buffer: Bytes, datatype: hid_t, space: hid_t, operator: Operator, data: Data) -> Fallible<herr_t> {
    let operator = operator.ok_or_else(|| Failure::argument("invalid operator"))?;
    let selected = Selected::of_id(space)?;
    let each = handles::datatype(datatype)?.datatype().size() as usize;
    let elements = buffer.write(selected.bytes(each)?, "buffer")?;
    let rank = selected.dims.len() as c_uint;
    let mut point = vec![0; selected.dims.len()];
    for number in selected.elements() {
        selected.coordinates(number, &mut point);
        let element = elements[number as usize * each..].as_mut_ptr();
        // SAFETY: the element lies in the program's buffer; the program gave function and data together.
        let answer = unsafe { operator(element.cast(), datatype, rank, point.as_ptr(), data) };
        if let Some(stop) = check_answer(answer)? {
            return Ok(stop);
        }
    }
    Ok(0)
}

/// Takes elements from the program's function as they come, and puts each to the next selected place.
fn scatter(
    function: ScatterFunction,
    data: Data,
    datatype: hid_t,
    space: hid_t,
    buffer: Bytes,
) -> Fallible<()> {
    let function = function.ok_or_else(|| Failure::argument("invalid callback function pointer"))?;
    let selected = Selected::of_id(space)?;
    let each = handles::datatype(datatype)?.datatype().size() as usize;
    let target = buffer.write(selected.bytes(each)?, "destination buffer")?;
    let mut places = selected.elements();
    let mut left = selected.count();
    while left > 0 {
        let (mut source, mut bytes) = (std::ptr::null(), 0usize);
        // SAFETY: the program gave function and data together.
        if unsafe { function(&raw mut source, &raw mut bytes, data) } < 0 {
            return Err(Failure::callback("callback operator returned failure"));
        }
        let count = (bytes / each) as u64;
        if source.is_null() || bytes == 0 || bytes % each != 0 || count > left {
            return Err(Failure::new(
                Major::DATASET,
                Minor::BADVALUE,
                "callback returned a wrong amount of data",
            ));
        }
        let part = Bytes(source.cast_mut()).read(bytes, "source buffer")?;
        for (element, place) in part.chunks_exact(each).zip(places.by_ref()) {
            target[place as usize * each..][..each].copy_from_slice(element);
        }
        left -= count;
    }
    Ok(())
}

/// Packs selected elements into a buffer, and hands it to the program's function whenever it is full.
fn gather(
    space: hid_t,
    source: *const c_void,
    datatype: hid_t,
    (size, buffer): (usize, Bytes),
    function: GatherFunction,
    data: Data,
) -> Fallible<()> {
    let selected = Selected::of_id(space)?;
    let each = handles::datatype(datatype)?.datatype().size() as usize;
    let capacity = size / each.max(1);
    if capacity == 0 {
        return Err(Failure::argument("destination buffer is not large enough to hold one element"));
    }
    let count = selected.count();
    if function.is_none() && count > capacity as u64 {
        return Err(Failure::argument("no callback supplied and destination buffer too small"));
    }
    let from = Bytes(source.cast_mut()).read(selected.bytes(each)?, "source buffer")?;
    let target = buffer.write(capacity * each, "destination buffer")?;
    let mut places = selected.elements().peekable();
    while places.peek().is_some() {
        let mut packed = 0;
        for (place, into) in places.by_ref().take(capacity).zip(target.chunks_exact_mut(each)) {
            into.copy_from_slice(&from[place as usize * each..][..each]);
            packed += each;
        }
        if let Some(function) = function {
            // SAFETY: the buffer is the program's; it gave function and data together.
            if unsafe { function(target.as_ptr().cast(), packed, data) } < 0 {
                return Err(Failure::callback("callback operator returned failure"));
            }
        }
    }
    Ok(())
}

/// Frees the values of variable length that a program's buffer holds.
pub(crate) fn reclaim(datatype: hid_t, space: hid_t, dxpl: hid_t, buffer: Bytes) -> Fallible<()> {
    let datatype = handles::datatype(datatype)?.datatype();
    let selected = Selected::of_id(space)?;
    let allocator = Allocator::of(&h5p::transfer(dxpl)?);
    let each = datatype.size() as usize;
    let elements = buffer.write(selected.bytes(each)?, "buffer")?;
    for (start, len) in &selected.runs {
        let range = *start as usize * each..(start + len) as usize * each;
        memory::reclaim(&datatype, &mut elements[range], *len as usize, &allocator)?;
    }
    Ok(())
}

api! { DATASET:
    /// Calls a function for each selected element of a buffer.
    fn H5Diterate(buffer: Bytes, datatype: hid_t, space: hid_t, operator: Operator, data: Data) -> herr_t {
        iterate(buffer, datatype, space, operator, data)
    }

    /// Fills the selected elements of a buffer with a value.
    fn H5Dfill(value: *const c_void, value_type: hid_t, buffer: Bytes, buffer_type: hid_t, space: hid_t) -> herr_t {
        fill(value, value_type, buffer, buffer_type, space)
    }

    /// Puts elements that a function returns to the selected places of a buffer.
    fn H5Dscatter(function: ScatterFunction, data: Data, datatype: hid_t, space: hid_t, buffer: Bytes) -> herr_t {
        scatter(function, data, datatype, space, buffer)
    }

    /// Packs the selected elements of a buffer.
    fn H5Dgather(space: hid_t, source: *const c_void, datatype: hid_t, size: usize, buffer: Bytes, function: GatherFunction, data: Data) -> herr_t {
        gather(space, source, datatype, (size, buffer), function, data)
    }

    /// Frees the values of variable length in a buffer.
    fn H5Dvlen_reclaim(datatype: hid_t, space: hid_t, dxpl: hid_t, buffer: Bytes) -> herr_t {
        reclaim(datatype, space, dxpl, buffer)
    }

    /// Returns the bytes that the values of variable length of selected elements take in memory.
    fn H5Dvlen_get_buf_size(id: hid_t, datatype: hid_t, space: hid_t, size: Out<hsize_t>) -> herr_t {
        let dataset = handles::dataset(id)?;
        size.check("size")?;
        size.put(super::transfer::value_bytes(&dataset, datatype, space)?);
        Ok(())
    }
}
