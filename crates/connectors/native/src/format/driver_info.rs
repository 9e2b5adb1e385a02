//! Driver information: which files a multi-file container is made of (format spec II.B).

use model::Result;
use model::bytes::Cursor;

use super::SizedFields;

/// What the driver of a file left in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DriverInfo {
    /// One address space cut into files of this size.
    Family { member_bytes: u64 },
    /// Files by kind of data: start address and name template of each.
    Multi { members: Vec<(u64, String)> },
    /// Something else.
    Other(String),
}

/// Bytes before the driver's own in the block of superblocks 0 and 1.
pub(crate) const BLOCK_HEAD_BYTES: u64 = 16;

/// The size of the driver's data, from the block's head.
pub(crate) fn block_data_bytes(head: &[u8]) -> Result<u64> {
    let mut c = Cursor::new(head, "driver information block");
    c.version(0..=0)?;
    c.skip(3)?;
    Ok(u64::from(c.u32()?))
}

/// The block of superblocks 0 and 1.
pub(crate) fn block(bytes: &[u8]) -> Result<DriverInfo> {
    let mut c = Cursor::new(bytes, "driver information block");
    c.skip(8)?;
    let id: [u8; 8] = c.array()?;
    decode(id, c.rest())
}

/// The message of superblocks 2 and 3.
pub(crate) fn message(body: &[u8]) -> Result<DriverInfo> {
    let mut c = Cursor::new(body, "driver information message");
    c.version(0..=0)?;
    let id: [u8; 8] = c.array()?;
    let bytes = usize::from(c.u16()?);
    decode(id, c.take(bytes)?)
}

fn decode(id: [u8; 8], data: &[u8]) -> Result<DriverInfo> {
    let mut c = Cursor::new(data, "driver information");
    match &id {
        b"NCSAfami" => Ok(DriverInfo::Family { member_bytes: c.u64()? }),
        b"NCSAmult" => multi(&mut c),
        _ => Ok(DriverInfo::Other(String::from_utf8_lossy(&id).into_owned())),
    }
}

fn multi(c: &mut Cursor<'_>) -> Result<DriverInfo> {
    let map: [u8; 8] = c.array()?;
    let mut distinct: Vec<u8> = Vec::new();
    for &member in &map[..6] {
        if !distinct.contains(&member) {
            distinct.push(member);
        }
    }
    let mut members = Vec::new();
    for _ in &distinct {
        members.push((c.u64()?, String::new()));
        c.u64()?;
    }
    for member in &mut members {
        let start = c.position();
        member.1 = model::text::from_bytes(c.until_nul()?);
        let used = c.position() - start;
        c.skip((used.next_multiple_of(8) - used).min(c.remaining()))?;
    }
    Ok(DriverInfo::Multi { members })
}
