//! Driver information: the block of superblocks 0 and 1 and the message of the others (format spec II.B).

use files::DriverBlock;
use model::Result;

use super::Encoder;

/// Most bytes of driver data in a block.
const DATA_BYTES_MAX: usize = 1024;

/// Returns the block of superblocks 0 and 1, which follows the superblock.
pub(crate) fn block(driver: &DriverBlock) -> Result<Vec<u8>> {
    let mut e = Encoder::plain("driver information block");
    e.require(driver.data.len() <= DATA_BYTES_MAX, "size of driver data");
    e.u8(0).zeros(3).count(driver.data.len(), 4).raw(&driver.id).raw(&driver.data).finish()
}

/// Returns the message of superblocks 2 and 3.
pub(crate) fn message(driver: &DriverBlock) -> Result<Vec<u8>> {
    let mut e = Encoder::plain("driver information message");
    e.require(!driver.data.is_empty(), "no driver data");
    e.u8(0).raw(&driver.id).count(driver.data.len(), 2).raw(&driver.data).finish()
}
