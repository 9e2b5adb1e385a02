//! Filters of new datasets: the values that depend on type and chunk, as libhdf5 sets them at creation.

use model::datatype::{Bits, ByteOrder, VarLenKind};
use model::properties::{DatasetCreate, FillValue, FilterSpec, Layout};
use model::{Datatype, Error, Result};

use super::run::check_new;
use crate::Registry;
use crate::names::id::{BITSHUFFLE, BLOSC, BLOSC2, DEFLATE, LZF, NBIT, SCALEOFFSET, SHUFFLE, SZIP};
use crate::registered::{self, Chunk};
use crate::setup::{self, Coding, Number, Scale, Type};

/// The level of deflate where no one chose one.
const DEFLATE_LEVEL: u32 = 6;
/// The bit that asks szip for differences of neighbours.
const SZIP_NEAREST_NEIGHBOUR: u32 = 32;
/// Values that scale-offset has once they are complete.
const SCALE_OFFSET_VALUES: usize = 20;

/// Gives all filters of a new dataset their values.
///
/// # Errors
/// Returns `Unsupported` for a filter that must be applied and is not in `registry` (see [`check_new`]), and `Invalid`
/// for values that a filter does not take.
pub fn complete(registry: &Registry, create: &mut DatasetCreate, datatype: &Datatype) -> Result<()> {
    check_new(registry, &create.filters)?;
    complete_values(create, datatype)
}

/// Completes values as [`complete`] does, for containers that store filters without applying them. Filters that this
/// build lacks are accepted.
pub fn complete_values(create: &mut DatasetCreate, datatype: &Datatype) -> Result<()> {
    let mut filters = std::mem::take(&mut create.filters);
    for filter in &mut filters {
        if let Some(values) = values(filter, create, datatype)? {
            filter.values = values;
        }
    }
    create.filters = filters;
    Ok(())
}

/// Returns the values of a filter for chunks of a new dataset; `None` where those that were given are all.
pub fn values(filter: &FilterSpec, create: &DatasetCreate, datatype: &Datatype) -> Result<Option<Vec<u32>>> {
    let Layout::Chunked { shape, .. } = &create.layout else { return Ok(None) };
    let elements = shape.iter().fold(1u64, |n, &d| n.saturating_mul(d));
    let bytes = elements.saturating_mul(u64::from(datatype.size()));
    let small =
        |n: u64| u32::try_from(n).map_err(|_| Error::limit("set up filter").with("chunk bytes", bytes));
    Ok(Some(match (filter.id, filter.values.as_slice()) {
        (DEFLATE, []) => vec![DEFLATE_LEVEL],
        (SHUFFLE, _) => setup::shuffle(datatype.size()).to_vec(),
        (NBIT, []) => setup::nbit(&describe(datatype), small(elements)?).map_err(|e| refused(&e))?,
        (SCALEOFFSET, given) if given.len() < SCALE_OFFSET_VALUES => {
            scale_offset(given, &create.fill.value, datatype, small(elements)?)?
        }
        (SZIP, &[mask, pixels]) => {
            let is_near = mask & SZIP_NEAREST_NEIGHBOUR != 0;
            let coding = if is_near { Coding::NearestNeighbour } else { Coding::Entropy };
            let number = number(datatype).ok_or_else(|| unfit(datatype))?;
            setup::szip(coding, pixels, &number, shape).map_err(|e| refused(&e))?.to_vec()
        }
        (LZF | BLOSC | BITSHUFFLE | BLOSC2, _) => {
            let chunk = Chunk {
                element_bytes: datatype.size(),
                base_bytes: base_bytes(datatype),
                shape,
                bytes: small(bytes)?,
            };
            registered_values(filter, &chunk)?
        }
        _ => return Ok(None),
    }))
}

fn registered_values(filter: &FilterSpec, chunk: &Chunk<'_>) -> Result<Vec<u32>> {
    let given = &filter.values;
    match filter.id {
        LZF => Ok(registered::lzf(given, chunk)),
        BLOSC => Ok(registered::blosc(given, chunk)),
        BLOSC2 => Ok(registered::blosc2(given, chunk)),
        // A filter that was stored has its name.
        _ => registered::bitshuffle(given, chunk, filter.name.is_some()).map_err(|e| refused(&e)),
    }
}

/// Returns the number of bytes of an element, or of one element of the array that it is.
fn base_bytes(datatype: &Datatype) -> u32 {
    match datatype {
        Datatype::Array(array) => array.base.size(),
        other => other.size(),
    }
}

fn refused(error: &crate::Error) -> Error {
    Error::invalid("set up filter").with("problem", error)
}

fn unfit(datatype: &Datatype) -> Error {
    let problem = "it takes integers and floats";
    Error::invalid("set up filter").with("problem", problem).with("class", datatype.class())
}

/// Returns what a user gives: how to scale (0: digits of floats, 2: bits of integers), and the factor.
fn scale_offset(given: &[u32], fill: &FillValue, datatype: &Datatype, elements: u32) -> Result<Vec<u32>> {
    let number = number(datatype).ok_or_else(|| unfit(datatype))?;
    let factor = given.get(1).copied().unwrap_or(0);
    let scale = match datatype {
        Datatype::Float(_) => Scale::Float { digits: factor as i32 },
        Datatype::Integer(i) => Scale::Integer { signed: i.signed, bits: factor },
        _ => return Err(unfit(datatype)),
    };
    let zero = vec![0; datatype.size() as usize];
    let fill = match fill {
        FillValue::Undefined => None,
        FillValue::Default => Some(zero.as_slice()),
        FillValue::Value(value) => Some(value.as_slice()),
    };
    setup::scale_offset(scale, &number, elements, fill).map_err(|e| refused(&e))
}

fn number(datatype: &Datatype) -> Option<Number> {
    let of = |bits: &Bits| Number {
        size: datatype.size(),
        big_endian: bits.order == ByteOrder::Big,
        precision: u32::from(bits.precision),
        bit_offset: u32::from(bits.offset),
    };
    match datatype {
        Datatype::Integer(i) => Some(of(&i.bits)),
        Datatype::Float(f) => Some(of(&f.bits)),
        Datatype::Bitfield(b) => Some(of(b)),
        Datatype::Enum(e) => number(&e.base),
        _ => None,
    }
}

/// Returns a type as n-bit sees it.
fn describe(datatype: &Datatype) -> Type {
    let size = datatype.size();
    match datatype {
        Datatype::Integer(_) | Datatype::Float(_) => {
            number(datatype).map_or(Type::Other { size }, Type::Number)
        }
        Datatype::Array(a) => Type::Array { size, base: Box::new(describe(&a.base)) },
        Datatype::Compound(c) => {
            let mut members: Vec<(u32, Type)> =
                c.members.iter().map(|m| (m.offset, describe(&m.datatype))).collect();
            members.sort_by_key(|m| m.0);
            Type::Compound { size, members }
        }
        Datatype::VarLen(v) if matches!(v.kind, VarLenKind::Sequence(_)) => Type::Sequence { size },
        _ => Type::Other { size },
    }
}
