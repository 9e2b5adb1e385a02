//! Filter pipeline message (format spec IV.A.2.l), versions 1 and 2.

use model::bytes::Cursor;
use model::properties::FilterSpec;
use model::{Result, text};

use super::SizedFields;

const FILTERS_MAX: u8 = 32;

pub(crate) fn decode(body: &[u8]) -> Result<Vec<FilterSpec>> {
    let mut c = Cursor::new(body, "filter pipeline");
    let version = c.version(1..=2)?;
    let count = c.u8()?;
    if count > FILTERS_MAX {
        return Err(c.corrupt(format!("{count} filters")));
    }
    if version == 1 {
        c.skip(6)?;
    }
    (0..count).map(|_| filter(&mut c, version)).collect()
}

fn filter(c: &mut Cursor<'_>, version: u8) -> Result<FilterSpec> {
    let id = c.u16()?;
    let name_bytes = if version == 1 || id >= 256 { usize::from(c.u16()?) } else { 0 };
    let flags = c.u16()?;
    let count = usize::from(c.u16()?);
    let stored = if version == 1 { name_bytes.next_multiple_of(8) } else { name_bytes };
    let name = c.take(stored)?;
    let name = &name[..name.iter().position(|&b| b == 0).unwrap_or(stored)];
    let values = (0..count).map(|_| c.u32()).collect::<Result<_>>()?;
    if version == 1 && count % 2 == 1 {
        c.skip(4)?;
    }
    let name = (!name.is_empty()).then(|| text::from_bytes(name));
    Ok(FilterSpec { id, name, optional: flags & 1 != 0, values })
}
