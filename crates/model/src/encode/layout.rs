//! Layouts in dataset creation properties.

use super::{put_sized, sized};
use crate::bytes::{Cursor, Put};
use crate::dataspace::RANK_MAX;
use crate::properties::{ExternalFile, Layout, VirtualMapping};
use crate::selection::{SelectionVersion, decode_space, encode_space};
use crate::{Dataspace, Error, Limits, Result, Selection, Within, text};

const COMPACT: u8 = 0;
const CONTIGUOUS: u8 = 1;
const CHUNKED: u8 = 2;
const VIRTUAL: u8 = 3;

/// In place of a class, where a chunk needs more than 32 bits: a version and the class follow.
const WIDE: u8 = 0xff;
const WIDE_VERSION: u8 = 1;

/// Encodes the layout of a dataset with this extent, which is one property of a creation list (`layout`).
///
/// # Errors
/// Returns `Invalid` if the layout has too many dimensions, or a selection does not fit the extent.
pub fn layout(layout: &Layout, space: &Dataspace) -> Result<Vec<u8>> {
    match layout {
        Layout::Compact => Ok(vec![COMPACT]),
        Layout::Contiguous | Layout::External(_) => Ok(vec![CONTIGUOUS]),
        Layout::Chunked { shape, .. } => encode_chunks(shape),
        Layout::Virtual(mappings) => encode_mappings(mappings, space),
    }
}

fn encode_chunks(shape: &[u64]) -> Result<Vec<u8>> {
    if shape.len() > RANK_MAX {
        return Err(Error::invalid("encode chunks").with("rank", shape.len()));
    }
    let is_wide = shape.iter().any(|&len| len > u64::from(u32::MAX));
    let mut out = if is_wide { vec![WIDE, WIDE_VERSION] } else { Vec::new() };
    out.extend([CHUNKED, shape.len() as u8]);
    shape.iter().for_each(|&len| out.put_uint(len, if is_wide { 8 } else { 4 }));
    Ok(out)
}

fn encode_mappings(mappings: &[VirtualMapping], space: &Dataspace) -> Result<Vec<u8>> {
    let mut out = vec![VIRTUAL];
    out.put_uint(mappings.len() as u64, 8);
    for mapping in mappings {
        for name in [&mapping.file, &mapping.dataset] {
            out.extend(text::to_bytes(name));
            out.push(0);
        }
        let source = source_space(&mapping.source)?;
        out.extend(encode_space(&source, &mapping.source, SelectionVersion::V18)?);
        out.extend(encode_space(space, &mapping.target, SelectionVersion::V18)?);
    }
    Ok(out)
}

/// The extent of a source is not known: the smallest that the selection fits in stands for it.
fn source_space(selection: &Selection) -> Result<Dataspace> {
    let Some(rank) = selection.rank() else { return Dataspace::simple(&[0]) };
    let bounds = match selection.is_unlimited() {
        true => None,
        false => selection.bounds(&vec![u64::MAX - 1; rank])?,
    };
    let dims = bounds.map_or(vec![0; rank], |(_, high)| high.iter().map(|at| at.saturating_add(1)).collect());
    Dataspace::resizable(&dims, &vec![crate::UNLIMITED; rank])
}

/// Decodes the bytes of [`layout`].
///
/// # Errors
/// Returns `Corrupt` if the bytes are no layout.
pub fn decode_layout(cursor: &mut Cursor<'_>, limits: &Limits) -> Result<Layout> {
    match cursor.u8()? {
        COMPACT => Ok(Layout::Compact),
        CONTIGUOUS => Ok(Layout::Contiguous),
        CHUNKED => decode_chunks(cursor, 4),
        VIRTUAL => decode_mappings(cursor, limits),
        WIDE => match (cursor.u8()?, cursor.u8()?) {
            (WIDE_VERSION, CHUNKED) => decode_chunks(cursor, 8),
            (version, class) => Err(cursor.corrupt(format!("layout {class} version {version}"))),
        },
        class => Err(cursor.corrupt(format!("layout {class}"))),
    }
}

fn decode_chunks(cursor: &mut Cursor<'_>, width: usize) -> Result<Layout> {
    let rank = usize::from(cursor.u8()?);
    if rank > RANK_MAX {
        return Err(cursor.corrupt(format!("chunks of rank {rank}")));
    }
    let shape = (0..rank).map(|_| cursor.uint(width)).collect::<Result<Vec<_>>>()?;
    Ok(Layout::chunked(&shape))
}

fn decode_mappings(cursor: &mut Cursor<'_>, limits: &Limits) -> Result<Layout> {
    let count = cursor.u64()?.within(limits.entries_max, "virtual mappings")?;
    let mut mappings = Vec::new();
    for _ in 0..count {
        let file = text::from_bytes(cursor.until_nul()?);
        let dataset = text::from_bytes(cursor.until_nul()?);
        let (_, source, used) = decode_space(cursor.rest(), limits)?;
        cursor.skip(used)?;
        let (_, target, used) = decode_space(cursor.rest(), limits)?;
        cursor.skip(used)?;
        mappings.push(VirtualMapping { file, dataset, source, target });
    }
    Ok(Layout::Virtual(mappings))
}

/// Returns the list of external files; other layouts have an empty one.
pub(super) fn encode_files(layout: &Layout) -> Vec<u8> {
    external_files(if let Layout::External(files) = layout { files } else { &[] })
}

/// Encodes a list of external files, which is one property of a creation list (`efl`).
pub fn external_files(files: &[ExternalFile]) -> Vec<u8> {
    let mut out = Vec::new();
    put_sized(&mut out, files.len() as u64);
    for file in files {
        let name = text::to_bytes(&file.name);
        put_sized(&mut out, name.len() as u64 + 1);
        out.extend(name);
        out.push(0);
        put_sized(&mut out, file.offset);
        put_sized(&mut out, file.size);
    }
    out
}

/// Decodes the bytes of [`external_files`].
///
/// # Errors
/// Returns `Corrupt` if the bytes are no list of external files.
pub fn decode_external_files(cursor: &mut Cursor<'_>, limits: &Limits) -> Result<Vec<ExternalFile>> {
    let count = sized(cursor)?.within(limits.entries_max, "external files")?;
    let mut files = Vec::new();
    for _ in 0..count {
        let len = sized(cursor)?.within(limits.metadata_bytes_max, "name of an external file")?;
        let name = text::from_bytes_to_nul(cursor.take(len)?);
        files.push(ExternalFile { name, offset: sized(cursor)?, size: sized(cursor)? });
    }
    Ok(files)
}
