//! Lists of shared messages and their records, both ways (format spec II.C, "Shared Message Record List").

use model::bytes::Cursor;
use model::{Error, Result};

use super::encode::Encoder;
use super::{Address, SizedFields, Sizes, checksum};

/// A shared message, in a list or in a B-tree (record type 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SharedRecord {
    /// lookup3 of the encoded message, started with its type.
    pub(crate) hash: u32,
    pub(crate) place: MessageLocation,
}

/// Where the message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageLocation {
    /// In the heap of its index.
    Heap { references: u32, id: [u8; 8] },
    /// Still in the header of the first object that has it.
    Header { message_type: u8, message_index: u16, header: Address },
}

/// Returns the hash of an encoded message.
pub(crate) fn hash(message_type: u16, body: &[u8]) -> u32 {
    checksum::lookup3(body, u32::from(message_type))
}

impl SharedRecord {
    /// Returns the number of bytes of a record.
    pub(crate) fn bytes(sizes: Sizes) -> usize {
        5 + (4 + sizes.offset).max(12)
    }

    pub(crate) fn decode(record: &[u8], sizes: Sizes) -> Result<Self> {
        let mut c = Cursor::new(record, "shared message record");
        let (location, hash) = (c.u8()?, c.u32()?);
        let place = match location {
            0 => MessageLocation::Heap { references: c.u32()?, id: c.array()? },
            1 => {
                c.skip(1)?;
                let (message_type, message_index) = (c.u8()?, c.u16()?);
                MessageLocation::Header { message_type, message_index, header: c.defined_address(sizes)? }
            }
            n => return Err(c.corrupt(format!("location {n}"))),
        };
        Ok(SharedRecord { hash, place })
    }

    pub(crate) fn encode(&self, sizes: Sizes) -> Result<Vec<u8>> {
        let mut e = Encoder::new("shared message record", sizes);
        match self.place {
            MessageLocation::Heap { references, id } => e.u8(0).u32(self.hash).u32(references).raw(&id),
            MessageLocation::Header { message_type, message_index, header } => {
                e.u8(1).u32(self.hash).zeros(1).u8(message_type).u16(message_index).defined(header)
            }
        };
        e.finish_in(Self::bytes(sizes) as u64)
    }
}

/// Returns the number of bytes of a list that has space for `records_max` records.
pub(crate) fn list_bytes(records_max: u16, sizes: Sizes) -> u64 {
    8 + u64::from(records_max) * SharedRecord::bytes(sizes) as u64
}

/// Returns the records of a list; the table says how many.
pub(crate) fn decode_list(bytes: &[u8], count: u16, sizes: Sizes) -> Result<Vec<SharedRecord>> {
    let one = SharedRecord::bytes(sizes);
    let used = 8 + usize::from(count) * one;
    let short = || Error::corrupt("decode shared message list").with("records", count);
    checksum::verify(bytes.get(..used).ok_or_else(short)?, "shared message list")?;
    let mut c = Cursor::new(bytes, "shared message list");
    c.signature(b"SMLI")?;
    (0..count).map(|_| SharedRecord::decode(c.take(one)?, sizes)).collect()
}

/// Returns a list with space for `records_max` records; its checksum follows those there are.
pub(crate) fn encode_list(records: &[SharedRecord], records_max: u16, sizes: Sizes) -> Result<Vec<u8>> {
    let mut e = Encoder::new("shared message list", sizes);
    e.raw(b"SMLI");
    for record in records {
        e.raw(&record.encode(sizes)?);
    }
    e.checksum().finish_in(list_bytes(records_max, sizes))
}
