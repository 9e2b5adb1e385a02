//! Fill value messages (format spec IV.A.2.e, IV.A.2.f).

use model::Result;
use model::bytes::Cursor;
use model::properties::{AllocTime, Fill, FillTime, FillValue};

use super::SizedFields;

/// A fill message: value, and when storage is allocated.
pub(crate) type Decoded = (Fill, AllocTime);

/// Returns the old message: a size and a value.
pub(crate) fn decode_old(body: &[u8]) -> Result<Decoded> {
    let mut c = Cursor::new(body, "fill value (old)");
    let size = c.u32()? as usize;
    let value = if size == 0 { FillValue::Undefined } else { FillValue::Value(c.take(size)?.to_vec()) };
    Ok((Fill { value, time: FillTime::IfSet }, AllocTime::Default))
}

/// Decodes versions 1 to 3.
pub(crate) fn decode(body: &[u8]) -> Result<Decoded> {
    let mut c = Cursor::new(body, "fill value");
    match c.version(1..=3)? {
        3 => version_3(&mut c),
        _ => version_1_2(&mut c),
    }
}

fn alloc_time(c: &Cursor<'_>, code: u8) -> Result<AllocTime> {
    match code {
        0 => Ok(AllocTime::Default),
        1 => Ok(AllocTime::Early),
        2 => Ok(AllocTime::Late),
        3 => Ok(AllocTime::Incremental),
        n => Err(c.corrupt(format!("allocation time {n}"))),
    }
}

fn fill_time(c: &Cursor<'_>, code: u8) -> Result<FillTime> {
    match code {
        0 => Ok(FillTime::Alloc),
        1 => Ok(FillTime::Never),
        2 => Ok(FillTime::IfSet),
        n => Err(c.corrupt(format!("fill time {n}"))),
    }
}

fn sized_value(c: &mut Cursor<'_>) -> Result<FillValue> {
    // A signed size: less than nothing says that the value is not defined.
    let size = c.u32()? as i32;
    match size {
        ..0 => Ok(FillValue::Undefined),
        0 => Ok(FillValue::Default),
        1.. => Ok(FillValue::Value(c.take(size as usize)?.to_vec())),
    }
}

fn version_1_2(c: &mut Cursor<'_>) -> Result<Decoded> {
    let [alloc, write, defined] = c.array()?;
    let (alloc, time) = (alloc_time(c, alloc)?, fill_time(c, write)?);
    let value = if defined == 0 { FillValue::Undefined } else { sized_value(c)? };
    Ok((Fill { value, time }, alloc))
}

fn version_3(c: &mut Cursor<'_>) -> Result<Decoded> {
    let flags = c.u8()?;
    let (alloc, time) = (alloc_time(c, flags & 3)?, fill_time(c, flags >> 2 & 3)?);
    let value = match (flags >> 4 & 1, flags >> 5 & 1) {
        (0, 0) => FillValue::Default,
        (1, 0) => FillValue::Undefined,
        (0, 1) => sized_value(c)?,
        _ => return Err(c.corrupt("fill value is undefined and given")),
    };
    Ok((Fill { value, time }, alloc))
}
