//! Conversion of elements in C's form, in place.

use std::ffi::c_void;
use std::sync::LazyLock;

use hyperslab::vol::model::Heap;
use hyperslab::vol::model::convert::{Conversions, Plan};
use hyperslab::vol::model::datatype::{Compound, Datatype, Member, VarLen, VarLenKind};

use super::registry::{self, ConvertFunction, H5T_cdata_t, background, command};
use super::{conversions, same, view};
use crate::api;
use crate::arguments::{Bytes, Out};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::h5p::values::TransferValues;
use crate::handles::{self, NOTHING};
use crate::memory::{self, Allocator};

/// What elements are converted with.
struct Converter<'a> {
    conversions: &'a Conversions,
    allocator: Allocator,
    list: hid_t,
}

/// Some elements of a type, one after another.
#[derive(Clone, Copy)]
struct Elements<'a> {
    datatype: &'a Datatype,
    bytes: &'a [u8],
    count: usize,
}

fn no_path() -> Failure {
    Failure::new(Major::DATATYPE, Minor::CANTINIT, "unable to convert between src and dst datatypes")
}

fn too_large() -> Failure {
    Failure::argument("buffer of elements is too large")
}

fn bytes_of(count: usize, datatype: &Datatype) -> Fallible<usize> {
    count.checked_mul(datatype.size() as usize).ok_or_else(too_large)
}

/// Converts `count` elements in `buffer`, which has space for the larger of both types. `old` are elements of the target, for
/// what the source does not define.
pub(crate) fn convert(
    (source, target): (&Datatype, &Datatype),
    count: usize,
    buffer: &mut [u8],
    old: Option<&[u8]>,
    (values, list): (&TransferValues, hid_t),
) -> Fallible<()> {
    if same(source, target) {
        return Ok(());
    }
    if let Some(path) = registry::find(source, target) {
        // In the program's own buffer: most of these calls are for a whole dataset.
        let mut old = match (path.needs_background(), old) {
            (false, _) => Vec::new(),
            (true, Some(old)) => old[..bytes_of(count, target)?].to_vec(),
            (true, None) => vec![0; bytes_of(count, target)?],
        };
        return path.run((source, target), buffer, &mut old, count, list);
    }
    let conversions = conversions(values)?;
    let converter = Converter { conversions: &conversions, allocator: Allocator::of(values), list };
    let elements = Elements { datatype: source, bytes: &buffer[..bytes_of(count, source)?], count };
    let old = match old {
        Some(old) => old[..bytes_of(count, target)?].to_vec(),
        None => vec![0; bytes_of(count, target)?],
    };
    let converted = converter.run(elements, target, old)?;
    buffer[..converted.len()].copy_from_slice(&converted);
    Ok(())
}

/// Returns whether a program's function converts these types or types inside of them.
fn is_by_program(source: &Datatype, target: &Datatype) -> bool {
    if registry::is_empty() || same(source, target) {
        return false;
    }
    registry::find(source, target).is_some()
        || match (source, target) {
            (Datatype::Compound(a), Datatype::Compound(b)) => {
                pairs(a, b).any(|(a, b)| is_by_program(&a.datatype, &b.datatype))
            }
            (Datatype::Array(a), Datatype::Array(b)) => is_by_program(&a.base, &b.base),
            (
                Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(a), .. }),
                Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(b), .. }),
            ) => is_by_program(a, b),
            _ => false,
        }
}

/// Returns the members of both compounds that have the same name.
fn pairs<'a>(a: &'a Compound, b: &'a Compound) -> impl Iterator<Item = (&'a Member, &'a Member)> {
    b.members.iter().filter_map(|target| Some((a.member(&target.name)?, target)))
}

impl Converter<'_> {
    /// Returns the elements as `target`; `old` is what they replace.
    fn run(&self, from: Elements<'_>, target: &Datatype, old: Vec<u8>) -> Fallible<Vec<u8>> {
        if same(from.datatype, target) {
            return Ok(from.bytes.to_vec());
        }
        if let Some(path) = registry::find(from.datatype, target) {
            let (mut buffer, mut old, bytes) = (from.bytes.to_vec(), old, bytes_of(from.count, target)?);
            buffer.resize(bytes.max(buffer.len()), 0);
            path.run((from.datatype, target), &mut buffer, &mut old, from.count, self.list)?;
            buffer.truncate(bytes);
            return Ok(buffer);
        }
        match is_by_program(from.datatype, target) {
            true => self.parts(from, target, old),
            false => self.library(from, target, old),
        }
    }

    /// Converts types that programs' functions convert parts of.
    fn parts(&self, from: Elements<'_>, target: &Datatype, old: Vec<u8>) -> Fallible<Vec<u8>> {
        match (from.datatype, target) {
            (Datatype::Compound(a), Datatype::Compound(b)) => self.members(from, (a, b), old),
            (Datatype::Array(a), Datatype::Array(b)) if a.dims == b.dims => {
                let times: usize = a.dims.iter().map(|dim| *dim as usize).product();
                let count = from.count.checked_mul(times).ok_or_else(too_large)?;
                self.run(Elements { datatype: &a.base, bytes: from.bytes, count }, &b.base, old)
            }
            (
                Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(a), .. }),
                Datatype::VarLen(VarLen { kind: VarLenKind::Sequence(b), .. }),
            ) => self.sequences(from, (a, b)),
            _ => Err(no_path()),
        }
    }

    fn members(&self, from: Elements<'_>, (a, b): (&Compound, &Compound), old: Vec<u8>) -> Fallible<Vec<u8>> {
        let mut into = old;
        for (source, target) in pairs(a, b) {
            let column = gather(from.bytes, a.size, source);
            let old = gather(&into, b.size, target);
            let elements = Elements { datatype: &source.datatype, bytes: &column, count: from.count };
            let converted = self.run(elements, &target.datatype, old)?;
            let bytes = target.datatype.size() as usize;
            let elements = into.chunks_exact_mut(b.size as usize).zip(converted.chunks_exact(bytes));
            elements.for_each(|(into, from)| into[target.offset as usize..][..bytes].copy_from_slice(from));
        }
        Ok(into)
    }

    fn sequences(&self, from: Elements<'_>, (a, b): (&Datatype, &Datatype)) -> Fallible<Vec<u8>> {
        let mut into = vec![0; from.bytes.len()];
        let size = from.datatype.size() as usize;
        for (from, into) in from.bytes.chunks_exact(size).zip(into.chunks_exact_mut(size)) {
            let (count, bytes) = memory::sequence(from, a)?;
            let old = vec![0; bytes_of(count, b)?];
            let converted = self.run(Elements { datatype: a, bytes, count }, b, old)?;
            memory::put_sequence(into, count, &converted, &self.allocator)?;
        }
        Ok(into)
    }

    /// Converts by the library's own rules.
    fn library(&self, from: Elements<'_>, target: &Datatype, old: Vec<u8>) -> Fallible<Vec<u8>> {
        let (source, into_type) = (from.datatype.memory_type(), target.memory_type());
        let plan = Plan::compile(&source, &into_type, self.conversions).map_err(|_| no_path())?;
        let mut heap = Heap::new();
        let run = |elements: &[u8], into: &mut [u8], heap: &mut Heap| {
            let done = plan.run(elements, into, from.count, heap);
            done.map_err(|error| Failure::from(error).as_major(Major::DATATYPE).as_minor(Minor::CANTCONVERT))
        };
        if !from.datatype.has_descriptors() && !target.has_descriptors() {
            let mut into = old;
            run(from.bytes, &mut into, &mut heap)?;
            return Ok(into);
        }
        let elements = memory::from_c(from.datatype, from.bytes, None, &mut heap)?;
        let mut values = match plan.needs_background() {
            true => memory::from_c(target, &old, None, &mut heap)?,
            false => vec![0; bytes_of(from.count, &into_type)?],
        };
        run(&elements, &mut values, &mut heap)?;
        let mut into = old;
        memory::write_values(target, &values, &heap, None, &self.allocator, &mut into)?;
        Ok(into)
    }
}

/// Returns a member of every element.
fn gather(bytes: &[u8], stride: u32, member: &Member) -> Vec<u8> {
    let (start, len) = (member.offset as usize, member.datatype.size() as usize);
    bytes.chunks_exact(stride as usize).flat_map(|element| &element[start..start + len]).copied().collect()
}

/// Returns an error if there is no conversion.
pub(super) fn check_path(source: &Datatype, target: &Datatype) -> Fallible<()> {
    if same(source, target) || is_by_program(source, target) {
        return Ok(());
    }
    let plan = Plan::compile(&source.memory_type(), &target.memory_type(), &Conversions::default());
    plan.map(drop).map_err(|_| no_path())
}

/// Says what old elements the library's own conversion of a pair of types needs (`H5T_bkg_t`).
fn background_of(source: &Datatype, target: &Datatype) -> std::ffi::c_int {
    let plan = Plan::compile(&source.memory_type(), &target.memory_type(), &Conversions::default());
    match (source, target) {
        _ if same(source, target) => background::NO,
        (Datatype::Array(a), Datatype::Array(b)) => background_of(&a.base, &b.base),
        (Datatype::Compound(_), Datatype::Compound(_)) => match plan {
            Ok(plan) if !plan.needs_background() => background::TEMP,
            _ => background::YES,
        },
        _ => background::NO,
    }
}

/// What `H5Tfind` says of the library's own conversions, for each need of old elements.
static LIBRARY_DATA: LazyLock<[Box<system::sync::Mutex<H5T_cdata_t>>; 3]> = LazyLock::new(|| {
    [background::NO, background::TEMP, background::YES].map(|need_bkg| {
        let data = H5T_cdata_t { command: command::CONV, need_bkg, recalc: false, private: NOTHING };
        Box::new(system::sync::Mutex::new(data))
    })
});

/// Converts elements in place, for programs that call what `H5Tfind` returned.
unsafe extern "C" fn library_conversion(
    source: hid_t,
    target: hid_t,
    data: *mut H5T_cdata_t,
    count: usize,
    stride: usize,
    _background_stride: usize,
    buffer: *mut c_void,
    old: *mut c_void,
    list: hid_t,
) -> herr_t {
    let converted = || {
        let command = Out(data).get().map_or(command::CONV, |data| data.command);
        match (command, stride) {
            (command::CONV, 0) => convert_buffer((source, target), count, Bytes(buffer), Bytes(old), list),
            (command::CONV, _) => Err(Failure::unsupported("conversion of elements with a stride")),
            _ => Ok(()),
        }
    };
    crate::entry::enter("H5Tconvert", Major::DATATYPE, crate::entry::Clearing::Keep, -1, converted)
}

fn convert_buffer(
    (source, target): (hid_t, hid_t),
    count: usize,
    buffer: Bytes,
    old: Bytes,
    list: hid_t,
) -> Fallible<()> {
    let (source, target) = (view(source)?, view(target)?);
    let values = crate::h5p::transfer(list)?;
    check_path(&source, &target)?;
    if count == 0 {
        return Ok(());
    }
    let bytes = bytes_of(count, &source)?.max(bytes_of(count, &target)?);
    let buffer = buffer.write(bytes, "buf")?;
    let old = match old.0.is_null() {
        true => None,
        false => Some(old.read(bytes_of(count, &target)?, "background")?),
    };
    convert((&source, &target), count, buffer, old, (&values, list))
}

fn reclaim(datatype: hid_t, space: hid_t, list: hid_t, buffer: *mut c_void) -> Fallible<()> {
    if buffer.is_null() {
        return Err(Failure::argument("invalid argument"));
    }
    let (datatype, space) = (view(datatype)?, handles::space(space)?.get());
    let allocator = Allocator::of(&crate::h5p::transfer(list)?);
    let size = datatype.size() as usize;
    for run in crate::h5s::runs(&space)? {
        let (offset, count) = (usize::try_from(run.offset), usize::try_from(run.len));
        let (Ok(offset), Ok(count)) = (offset, count) else { return Err(too_large()) };
        let start = offset.checked_mul(size).ok_or_else(too_large)?;
        let elements = Bytes(buffer.wrapping_byte_add(start)).write(bytes_of(count, &datatype)?, "buf")?;
        memory::reclaim(&datatype, elements, count, &allocator)?;
    }
    Ok(())
}

api! { DATATYPE:
    /// Converts elements in place.
    fn H5Tconvert(
        source: hid_t, target: hid_t, count: usize, buffer: *mut c_void, old: *mut c_void, list: hid_t,
    ) -> herr_t {
        convert_buffer((source, target), count, Bytes(buffer), Bytes(old), list)
    }

    /// Returns the function that converts a pair of datatypes.
    fn H5Tfind(source: hid_t, target: hid_t, data: Out<*mut H5T_cdata_t>) -> ConvertFunction {
        let (source, target) = (view(source)?, view(target)?);
        data.check("no address to receive cdata pointer")?;
        check_path(&source, &target)?;
        if let Some(path) = registry::find(&source, &target) {
            data.put(&raw mut *path.data.lock());
            return Ok(path.function);
        }
        data.put(&raw mut *LIBRARY_DATA[background_of(&source, &target) as usize].lock());
        Ok(Some(library_conversion))
    }

    /// Frees the values of variable length, and the references, of elements in memory.
    fn H5Treclaim(datatype: hid_t, space: hid_t, list: hid_t, buffer: *mut c_void) -> herr_t {
        reclaim(datatype, space, list, buffer)
    }
}
