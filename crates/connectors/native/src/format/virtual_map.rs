//! The map of a virtual dataset, an object in the global heap (format spec III.E, "Virtual Dataset").

use model::bytes::Cursor;
use model::properties::VirtualMapping;
use model::{Limits, Result, Selection, text};

use super::{SizedFields, Sizes, checksum};

pub(crate) fn decode(
    bytes: &[u8],
    rank: usize,
    sizes: Sizes,
    limits: &Limits,
) -> Result<Vec<VirtualMapping>> {
    checksum::verify(bytes, "virtual dataset map")?;
    let mut c = Cursor::new(&bytes[..bytes.len() - 4], "virtual dataset map");
    let version = c.version(0..=1)?;
    let count = c.length(sizes)?;
    // An entry has two selections of 16 bytes at least.
    if count > (c.remaining() / 32) as u64 + 1 {
        return Err(c.corrupt(format!("{count} mappings in {} bytes", c.remaining())));
    }
    let mut mappings: Vec<VirtualMapping> = Vec::new();
    for _ in 0..count {
        let mapping = entry(&mut c, version, &mappings, rank, sizes, limits)?;
        mappings.push(mapping);
    }
    Ok(mappings)
}

fn entry(
    c: &mut Cursor<'_>,
    version: u8,
    before: &[VirtualMapping],
    rank: usize,
    sizes: Sizes,
    limits: &Limits,
) -> Result<VirtualMapping> {
    let flags = if version == 1 { c.u8()? } else { 0 };
    if flags > 7 {
        return Err(c.corrupt(format!("mapping flags {flags:#x}")));
    }
    let file = match (flags & 4 != 0, flags & 1 != 0) {
        (true, _) => ".".to_owned(),
        (_, true) => earlier(c, before, sizes)?.file.clone(),
        _ => text::from_bytes(c.until_nul()?),
    };
    let dataset = if flags & 2 != 0 {
        earlier(c, before, sizes)?.dataset.clone()
    } else {
        text::from_bytes(c.until_nul()?)
    };
    let source = selection(c, None, limits)?;
    let target = selection(c, Some(rank), limits)?;
    Ok(VirtualMapping { file, dataset, source, target })
}

fn earlier<'a>(c: &mut Cursor<'_>, before: &'a [VirtualMapping], sizes: Sizes) -> Result<&'a VirtualMapping> {
    let index = c.length(sizes)?;
    let found = usize::try_from(index).ok().and_then(|i| before.get(i));
    found.ok_or_else(|| c.corrupt(format!("name shared with mapping {index}")))
}

fn selection(c: &mut Cursor<'_>, rank: Option<usize>, limits: &Limits) -> Result<Selection> {
    let (selection, used) = Selection::decode(c.rest(), rank, limits)?;
    c.skip(used)?;
    Ok(selection)
}
