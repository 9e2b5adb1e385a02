//! LZ4 (32004): bare LZ4 blocks in a frame of HDF5's own.
//!
//! Values: block size. Frame, all big-endian: total size u64, block size u32, then for each block its stored
//! size u32 and bytes. A block whose stored size is its size is not compressed.

use crate::codec::{lz4, slack_bytes};
use crate::error::{Error, Origin};
use crate::input::Input;
use crate::names::id;
use crate::writer::Writer;
use crate::{Codecs, Done, Filter, FilterId, Output, Params};

const AT: Origin = Origin(id::LZ4);
const HEADER_BYTES: usize = 12;
const LENGTH_BYTES: usize = 4;
const BLOCK_BYTES_DEFAULT: usize = 1 << 30;
const BLOCK_BYTES_MAX: usize = 0x7e00_0000;

/// The LZ4 filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lz4;

impl Filter for Lz4 {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn decode_into(
        &self,
        _params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let mut input = Input::new(AT, input);
        let total = AT.within(input.u64_be()?, out.size().max)?;
        let block_bytes = (input.u32_be()? as usize).min(total);
        if block_bytes == 0 && total > 0 {
            return Err(AT.corrupt("block size is zero"));
        }
        for block in out.buffer(total)?.chunks_mut(block_bytes.max(1)) {
            let stored_bytes = input.u32_be()? as usize;
            decode_block(input.take(stored_bytes)?, block)?;
        }
        Ok(Done::Written)
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let block_bytes = block_bytes(params)?.min(input.len());
        let blocks = input.len().div_ceil(block_bytes.max(1));
        let lengths = blocks.saturating_mul(LENGTH_BYTES).saturating_add(HEADER_BYTES);
        let capacity = lengths.saturating_add(input.len()).saturating_add(slack_bytes(block_bytes));
        let mut to = Writer::new(AT, out.buffer(capacity)?);
        to.push(&(input.len() as u64).to_be_bytes())?;
        to.push(&(block_bytes as u32).to_be_bytes())?;
        for block in input.chunks(block_bytes.max(1)) {
            to.part(u32::to_be_bytes, block, |buffer| {
                Ok(Some(lz4::encode_into(AT, block, 1, buffer)?).filter(|len| *len < block.len()))
            })?;
        }
        let len = to.len();
        out.truncate(len);
        Ok(Done::Written)
    }
}

fn block_bytes(params: &Params<'_>) -> Result<usize, Error> {
    match params.get(0) {
        None | Some(0) => Ok(BLOCK_BYTES_DEFAULT),
        Some(bytes) if bytes as usize > BLOCK_BYTES_MAX => {
            Err(AT.invalid(format!("block size {bytes} is above {BLOCK_BYTES_MAX}")))
        }
        Some(bytes) => Ok(bytes as usize),
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
