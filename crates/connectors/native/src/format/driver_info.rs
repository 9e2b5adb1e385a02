//! Driver information: what a virtual file driver stores of itself (format spec II.B). Its bytes are the driver's own.

use files::DriverBlock;
use model::Result;
use model::bytes::Cursor;

use super::SizedFields;

/// Bytes before the driver's own in the block of superblocks 0 and 1.
pub(crate) const BLOCK_HEAD_BYTES: u64 = 16;

/// Returns the size of the driver's data, from the block's head.
pub(crate) fn block_data_bytes(head: &[u8]) -> Result<u64> {
    let mut c = Cursor::new(head, "driver information block");
    c.version(0..=0)?;
    c.skip(3)?;
    Ok(u64::from(c.u32()?))
}

/// Returns the block of superblocks 0 and 1.
pub(crate) fn block(bytes: &[u8]) -> Result<DriverBlock> {
    let mut c = Cursor::new(bytes, "driver information block");
    c.skip(8)?;
    Ok(DriverBlock { id: c.array()?, data: c.rest().to_vec() })
}

/// Returns the message of superblocks 2 and 3.
pub(crate) fn message(body: &[u8]) -> Result<DriverBlock> {
    let mut c = Cursor::new(body, "driver information message");
    c.version(0..=0)?;
    let id = c.array()?;
    let bytes = usize::from(c.u16()?);
    Ok(DriverBlock { id, data: c.take(bytes)?.to_vec() })
}
