//! Filters of chunks: their values at creation, and what `H5Pencode` does not say about them.

use filters::setup::{self, Coding, Number, Scale, Type};
use filters::{Registry, Scratch, Stage};
use model::bytes::{Cursor, Put};
use model::datatype::{Bits, ByteOrder, VarLenKind};
use model::properties::{ChunkIndexKind, DatasetCreate, FillValue, FilterSpec, Layout};
use model::{Datatype, Error, Result, text};
use std::sync::LazyLock;

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
/// Values that scale-offset has once they are complete.
const SCALE_OFFSET_VALUES: usize = 20;

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::default);

/// The values of a filter that depend on type and chunk, as libhdf5 sets them at creation.
pub(crate) fn complete(create: &mut DatasetCreate, datatype: &Datatype) -> Result<()> {
    let Layout::Chunked { shape, .. } = &create.layout else { return Ok(()) };
    let elements = shape.iter().fold(1u64, |n, &d| n.saturating_mul(d));
    let bytes = elements.saturating_mul(u64::from(datatype.size()));
    let small =
        |n: u64| u32::try_from(n).map_err(|_| Error::limit("set up filter").with("chunk bytes", bytes));
    let fill = create.fill.value.clone();
    for filter in &mut create.filters {
        filter.values = match (filter.id, filter.values.as_slice()) {
            (DEFLATE, []) => vec![DEFLATE_LEVEL],
            (SHUFFLE, _) => setup::shuffle(datatype.size()).to_vec(),
            (NBIT, []) => setup::nbit(&describe(datatype), small(elements)?).map_err(|e| refused(&e))?,
            (SCALE_OFFSET, given) if given.len() < SCALE_OFFSET_VALUES => {
                scale_offset(given, &fill, datatype, small(elements)?)?
            }
            (SZIP, &[mask, pixels]) => {
                let is_near = mask & SZIP_NEAREST_NEIGHBOUR != 0;
                let coding = if is_near { Coding::NearestNeighbour } else { Coding::Entropy };
                let number = number(datatype).ok_or_else(|| unfit(datatype))?;
                setup::szip(coding, pixels, &number, shape).map_err(|e| refused(&e))?.to_vec()
            }
            (LZF, []) => setup::lzf(small(bytes)?).to_vec(),
            _ => continue,
        };
    }
    Ok(())
}

fn refused(error: &filters::Error) -> Error {
    Error::invalid("set up filter").with("problem", error)
}

fn unfit(datatype: &Datatype) -> Error {
    let problem = "it takes integers and floats";
    Error::invalid("set up filter").with("problem", problem).with("class", datatype.class())
}

/// What a user gives: how to scale, and the factor.
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

fn stages(filters: &[FilterSpec]) -> Vec<Stage<'_>> {
    filters.iter().map(|f| Stage { id: f.id, optional: f.optional, values: &f.values }).collect()
}

/// An error where a filter that must be applied is not in this build.
pub(crate) fn check(filters: &[FilterSpec]) -> Result<()> {
    let mut needed = filters.iter().filter(|filter| !filter.optional);
    needed.try_for_each(|filter| {
        REGISTRY.get(filter.id).map(drop).map_err(|error| failed("apply filters", &error))
    })
}

/// The mask of a chunk that went through none of these filters.
pub(crate) fn mask_of_none(filters: &[FilterSpec]) -> u32 {
    ((1u64 << filters.len().min(32)) - 1) as u32
}

/// A chunk through its filters, and the mask of those that were left out.
pub(crate) fn apply(filters: &[FilterSpec], chunk: &[u8]) -> Result<(Vec<u8>, u32)> {
    let (mut scratch, mut out) = (Scratch::new(), Vec::new());
    let done = REGISTRY.encode_into(&stages(filters), chunk, &mut scratch, &mut out);
    let (len, mask) = done.map_err(|error| failed("apply filters", &error))?;
    out.truncate(len);
    Ok((out, mask))
}

/// A chunk from what its filters made of it.
pub(crate) fn undo(filters: &[FilterSpec], mask: u32, stored: &[u8], chunk: &mut [u8]) -> Result<()> {
    // Between stages the data may be longer than the chunk: a checksum or a codec's frame around it.
    let bytes_max = chunk.len().saturating_add(chunk.len() / 2).saturating_add(4096);
    let done = REGISTRY.decode_into(&stages(filters), mask, stored, chunk, bytes_max, &mut Scratch::new());
    done.map_err(|error| failed("undo filters", &error))
}

fn failed(operation: &str, error: &filters::Error) -> Error {
    let base = match error.kind() {
        filters::ErrorKind::Unsupported => Error::unsupported(operation),
        filters::ErrorKind::Limit => Error::limit(operation),
        _ => Error::corrupt(operation),
    };
    base.with("problem", error)
}

/// Bytes of a filter's name that `H5Pencode` keeps.
const NAME_BYTES: usize = 12;
const EDGES_UNFILTERED: u8 = 1;

const INDEXES: [ChunkIndexKind; 6] = [
    ChunkIndexKind::BTree1,
    ChunkIndexKind::Single,
    ChunkIndexKind::Implicit,
    ChunkIndexKind::FixedArray,
    ChunkIndexKind::ExtensibleArray,
    ChunkIndexKind::BTree2,
];

/// What `H5Pencode` does not say: `None` where it says all.
pub(crate) fn other(create: &DatasetCreate) -> Result<Option<Vec<u8>>> {
    let (edges, index) = match create.layout {
        Layout::Chunked { edge_chunks_unfiltered, index, .. } => (edge_chunks_unfiltered, index),
        _ => (false, None),
    };
    let names: Vec<_> = create.filters.iter().map(|f| f.name.as_deref().map(text::to_bytes)).collect();
    let has_long = names.iter().flatten().any(|name| name.len() > NAME_BYTES);
    if !edges && index.is_none() && !has_long {
        return Ok(None);
    }
    let number = index.and_then(|index| INDEXES.iter().position(|known| *known == index));
    let mut out = vec![if edges { EDGES_UNFILTERED } else { 0 }];
    out.push(number.map_or(0, |number| number as u8 + 1));
    for name in names.iter().map(|name| name.as_deref().unwrap_or_default()) {
        let len = u16::try_from(name.len()).map_err(|_| Error::limit("keep name of filter"))?;
        out.put_uint(len.into(), 2);
        out.extend(name);
    }
    Ok(Some(out))
}

/// The inverse of [`other`], into properties that were decoded already.
pub(crate) fn take_other(bytes: &[u8], create: &mut DatasetCreate) -> Result<()> {
    let mut cursor = Cursor::new(bytes, "other properties");
    let [flags, number] = cursor.array()?;
    if let Layout::Chunked { edge_chunks_unfiltered, index, .. } = &mut create.layout {
        *edge_chunks_unfiltered = flags & EDGES_UNFILTERED != 0;
        *index = usize::from(number).checked_sub(1).and_then(|number| INDEXES.get(number).copied());
    }
    for filter in &mut create.filters {
        let len = cursor.u16()?;
        let name = cursor.take(len.into())?;
        if !name.is_empty() {
            filter.name = Some(text::from_bytes(name));
        }
    }
    Ok(())
}
