//! Properties of chunks and their filters that `H5Pencode` leaves out, for connectors that store properties in its
//! form.

use model::bytes::{Cursor, Put};
use model::properties::{ChunkIndexKind, DatasetCreate, Layout};
use model::{Error, Result, text};

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

/// Returns what `H5Pencode` does not say: `None` where it says all.
pub fn other(create: &DatasetCreate) -> Result<Option<Vec<u8>>> {
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

/// Decodes what [`other`] encoded, into properties that were decoded before.
pub fn take_other(bytes: &[u8], create: &mut DatasetCreate) -> Result<()> {
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
