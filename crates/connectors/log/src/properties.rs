//! The properties of a dataset that its scalar anchor cannot have, as bytes: layout, filters, allocation time.

use model::bytes::Cursor;
use model::properties::{AllocTime, ChunkIndexKind, DatasetCreate, FilterSpec, Layout};
use model::{Result, text};

const COMPACT: u8 = 0;
const CONTIGUOUS: u8 = 1;
const CHUNKED: u8 = 2;
const ALLOCATIONS: [AllocTime; 4] =
    [AllocTime::Default, AllocTime::Early, AllocTime::Late, AllocTime::Incremental];
const INDEXES: [Option<ChunkIndexKind>; 7] = [
    None,
    Some(ChunkIndexKind::BTree1),
    Some(ChunkIndexKind::Single),
    Some(ChunkIndexKind::Implicit),
    Some(ChunkIndexKind::FixedArray),
    Some(ChunkIndexKind::ExtensibleArray),
    Some(ChunkIndexKind::BTree2),
];

fn number_of<T: PartialEq>(list: &[T], value: &T) -> u8 {
    list.iter().position(|other| other == value).unwrap_or(0) as u8
}

/// Layout, allocation time and filters; docs/log-layout.md has the table.
pub(crate) fn encode(create: &DatasetCreate) -> Vec<u8> {
    let mut out = Vec::new();
    match &create.layout {
        Layout::Chunked { shape, edge_chunks_unfiltered, index } => {
            out.extend([CHUNKED, number_of(&INDEXES, index), u8::from(*edge_chunks_unfiltered)]);
            out.push(shape.len() as u8);
            shape.iter().for_each(|len| out.extend(len.to_le_bytes()));
        }
        Layout::Compact => out.push(COMPACT),
        _ => out.push(CONTIGUOUS),
    }
    out.push(number_of(&ALLOCATIONS, &create.alloc_time));
    out.push(create.filters.len() as u8);
    for filter in &create.filters {
        out.extend(filter.id.to_le_bytes());
        out.push(u8::from(filter.optional));
        let name = filter.name.as_deref().map(text::to_bytes).unwrap_or_default();
        out.extend((name.len() as u16).to_le_bytes());
        out.extend_from_slice(&name[..name.len().min(usize::from(u16::MAX))]);
        out.extend((filter.values.len() as u16).to_le_bytes());
        filter.values.iter().for_each(|value| out.extend(value.to_le_bytes()));
    }
    out
}

/// Decodes what [`encode`] encoded.
pub(crate) fn decode(bytes: &[u8], create: &mut DatasetCreate) -> Result<()> {
    let from = &mut Cursor::new(bytes, "properties of a logged dataset");
    create.layout = match from.u8()? {
        COMPACT => Layout::Compact,
        CONTIGUOUS => Layout::Contiguous,
        CHUNKED => {
            let index = from.u8()?;
            let index = *INDEXES.get(usize::from(index)).ok_or_else(|| from.corrupt("chunk index"))?;
            let edge_chunks_unfiltered = from.u8()? != 0;
            let rank = from.u8()?;
            let shape = (0..rank).map(|_| from.u64()).collect::<Result<Vec<_>>>()?;
            Layout::Chunked { shape, edge_chunks_unfiltered, index }
        }
        _ => return Err(from.corrupt("layout")),
    };
    let time = usize::from(from.u8()?);
    create.alloc_time = *ALLOCATIONS.get(time).ok_or_else(|| from.corrupt("allocation time"))?;
    let count = from.u8()?;
    create.filters = (0..count).map(|_| filter(from)).collect::<Result<_>>()?;
    Ok(())
}

fn filter(from: &mut Cursor<'_>) -> Result<FilterSpec> {
    let (id, optional) = (from.u16()?, from.u8()? != 0);
    let len = usize::from(from.u16()?);
    let name = from.take(len)?;
    let name = (!name.is_empty()).then(|| text::from_bytes(name).to_string());
    let count = from.u16()?;
    let values = (0..count).map(|_| from.u32()).collect::<Result<_>>()?;
    Ok(FilterSpec { id, name, optional, values })
}
