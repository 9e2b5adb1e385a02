//! Filters of new datasets: the values that depend on type and chunk, as libhdf5 sets them at creation.

use filters::setup::{self, Coding, Number, Scale, Type};
use model::datatype::{Bits, ByteOrder, VarLenKind};
use model::properties::{FillValue, FilterSpec, Layout};
use model::{Datatype, Error, Result};
use vol::OpDatasetCreate;

use crate::file::File;

const DEFLATE: u16 = 1;
const SHUFFLE: u16 = 2;
const SZIP: u16 = 4;
const NBIT: u16 = 5;
const SCALE_OFFSET: u16 = 6;
const LZF: u16 = 32000;

/// The level of deflate where nobody chose one.
const DEFLATE_LEVEL: u32 = 6;
/// The bit that asks szip for differences of neighbours.
const SZIP_NEAREST_NEIGHBOUR: u32 = 32;
/// Bytes of the values that scale-offset has once they are complete.
const SCALE_OFFSET_VALUES: usize = 20;

/// The first number that is not a filter of libhdf5's own.
const FOREIGN_MIN: u16 = 256;

/// A filter with all its values. One that is not built in always has a name: libhdf5 adds the name that it knows
/// when it writes the message again, in the room of before.
pub(crate) fn with_values(
    file: &File,
    filter: &FilterSpec,
    op: &OpDatasetCreate,
    datatype: &Datatype,
) -> Result<FilterSpec> {
    let mut filter = filter.clone();
    if filter.id >= FOREIGN_MIN && filter.name.is_none() {
        filter.name = Some(file.filter_name(filter.id));
    }
    let Layout::Chunked { shape, .. } = &op.create.layout else { return Ok(filter) };
    let elements = shape.iter().fold(1u64, |n, &d| n.saturating_mul(d));
    let bytes = elements.saturating_mul(u64::from(datatype.size()));
    let small =
        |n: u64| u32::try_from(n).map_err(|_| Error::limit("set up filter").with("chunk bytes", bytes));
    let values = match (filter.id, filter.values.as_slice()) {
        (DEFLATE, []) => vec![DEFLATE_LEVEL],
        (SHUFFLE, _) => setup::shuffle(datatype.size()).to_vec(),
        (NBIT, []) => setup::nbit(&describe(datatype), small(elements)?).map_err(|e| refused(&e))?,
        (SCALE_OFFSET, given) if given.len() < SCALE_OFFSET_VALUES => {
            scale_offset(given, op, datatype, small(elements)?)?
        }
        (SZIP, &[mask, pixels]) => {
            let coding =
                if mask & SZIP_NEAREST_NEIGHBOUR != 0 { Coding::NearestNeighbour } else { Coding::Entropy };
            let number = number(datatype).ok_or_else(|| unfit(datatype))?;
            setup::szip(coding, pixels, &number, shape).map_err(|e| refused(&e))?.to_vec()
        }
        (LZF, []) => setup::lzf(small(bytes)?).to_vec(),
        _ => return Ok(filter),
    };
    filter.values = values;
    Ok(filter)
}

fn refused(error: &filters::Error) -> Error {
    Error::invalid("set up filter").with("problem", error)
}

fn unfit(datatype: &Datatype) -> Error {
    Error::invalid("set up filter")
        .with("problem", "it takes integers and floats")
        .with("class", datatype.class())
}

/// What a user gives: how to scale (0: digits of floats, 2: bits of integers), and the factor.
fn scale_offset(given: &[u32], op: &OpDatasetCreate, datatype: &Datatype, elements: u32) -> Result<Vec<u32>> {
    let number = number(datatype).ok_or_else(|| unfit(datatype))?;
    let factor = given.get(1).copied().unwrap_or(0);
    let scale = match datatype {
        Datatype::Float(_) => Scale::Float { digits: factor as i32 },
        Datatype::Integer(i) => Scale::Integer { signed: i.signed, bits: factor },
        _ => return Err(unfit(datatype)),
    };
    let zero = vec![0; datatype.size() as usize];
    let fill = match &op.create.fill.value {
        FillValue::Undefined => None,
        FillValue::Default => Some(zero.as_slice()),
        FillValue::Value(value) => Some(value.as_slice()),
    };
    setup::scale_offset(scale, &number, elements, fill).map_err(|e| refused(&e))
}

fn bits(bits: &Bits, size: u32) -> Number {
    Number {
        size,
        big_endian: bits.order == ByteOrder::Big,
        precision: u32::from(bits.precision),
        bit_offset: u32::from(bits.offset),
    }
}

fn number(datatype: &Datatype) -> Option<Number> {
    match datatype {
        Datatype::Integer(i) => Some(bits(&i.bits, datatype.size())),
        Datatype::Float(f) => Some(bits(&f.bits, datatype.size())),
        Datatype::Enum(e) => number(&e.base),
        Datatype::Bitfield(b) => Some(bits(b, datatype.size())),
        _ => None,
    }
}

/// A type as n-bit sees it.
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
