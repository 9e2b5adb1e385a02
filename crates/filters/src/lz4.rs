//! LZ4 (32004): bare LZ4 blocks in a frame of HDF5's own.
//!
//! Values: block size. Frame, all big-endian: total size u64, block size u32, then for each block its stored
//! size u32 and bytes. A block whose stored size is its size is not compressed.

use crate::codec::lz4;
use crate::error::{Error, Origin};
use crate::input::Input;
use crate::{Filter, FilterId, Params, Size};

const AT: Origin = Origin(32004);
const BLOCK_BYTES_DEFAULT: usize = 1 << 30;
const BLOCK_BYTES_MAX: usize = 0x7e00_0000;

/// The LZ4 filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lz4;

impl Filter for Lz4 {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn name(&self) -> &'static str {
        "lz4"
    }

    fn decode(&self, _params: &Params<'_>, input: &[u8], size: Size) -> Result<Vec<u8>, Error> {
        let mut input = Input::new(AT, input);
        let total = AT.within(input.u64_be()?, size.max)?;
        let block_bytes = (input.u32_be()? as usize).min(total);
        if block_bytes == 0 && total > 0 {
            return Err(AT.corrupt("block size is zero"));
        }
        let mut out = AT.zeroed(total)?;
        for block in out.chunks_mut(block_bytes.max(1)) {
            let stored_bytes = input.u32_be()? as usize;
            decode_block(input.take(stored_bytes)?, block)?;
        }
        Ok(out)
    }

    fn encode(&self, params: &Params<'_>, input: &[u8]) -> Result<Vec<u8>, Error> {
        let block_bytes = match params.get(0) {
            None | Some(0) => BLOCK_BYTES_DEFAULT,
            Some(bytes) => bytes as usize,
        };
        if block_bytes > BLOCK_BYTES_MAX {
            return Err(AT.invalid(format!("block size {block_bytes} is above {BLOCK_BYTES_MAX}")));
        }
        let block_bytes = block_bytes.min(input.len());
        let mut out = AT.reserve(input.len() + 64)?;
        out.extend_from_slice(&(input.len() as u64).to_be_bytes());
        out.extend_from_slice(&(block_bytes as u32).to_be_bytes());
        for block in input.chunks(block_bytes.max(1)) {
            let packed = lz4::encode(AT, block)?;
            let stored = if packed.len() < block.len() { &packed } else { block };
            out.extend_from_slice(&(stored.len() as u32).to_be_bytes());
            out.extend_from_slice(stored);
        }
        Ok(out)
    }
}

fn decode_block(stored: &[u8], block: &mut [u8]) -> Result<(), Error> {
    if stored.len() == block.len() {
        block.copy_from_slice(stored);
        return Ok(());
    }
    match lz4::decode_into(AT, stored, block)? {
        written if written == block.len() => Ok(()),
        written => Err(AT.corrupt(format!("block has {written} bytes, not {}", block.len()))),
    }
}
