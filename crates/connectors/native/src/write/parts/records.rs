//! Records of the version 2 B-trees of links and attributes.

use model::{Error, Link, Result, text};

use super::attributes::{AttributeEntry, stored_order};
use super::dense::Records;
use crate::format::attribute as format;
use crate::format::header::flag;
use crate::format::{checksum, link};

/// Bytes of heap IDs of links and of attributes, as libhdf5 has them.
const LINK_ID_BYTES: usize = 7;
const ATTRIBUTE_ID_BYTES: usize = 8;

/// Records of the trees of links: hash and heap ID; creation order and heap ID.
pub(super) struct LinkRecords;

impl Records for LinkRecords {
    fn by_name(&self, id: &[u8], hash: u32, _: u64) -> Vec<u8> {
        [&hash.to_le_bytes(), id].concat()
    }

    fn by_order(&self, id: &[u8], order: u64) -> Vec<u8> {
        [&order.to_le_bytes(), id].concat()
    }

    fn of_name<'r>(&self, record: &'r [u8]) -> Result<(u32, &'r [u8])> {
        let split = record.split_first_chunk::<4>().ok_or_else(|| Error::corrupt("read link record"));
        split.map(|(hash, id)| (u32::from_le_bytes(*hash), id))
    }

    fn order_of(&self, record: &[u8]) -> Result<u64> {
        let first = record.first_chunk().ok_or_else(|| Error::corrupt("read link record"));
        first.map(|order| u64::from_le_bytes(*order))
    }

    fn name<'m>(&self, message: &'m [u8]) -> Result<&'m [u8]> {
        link::name(message)
    }
}

/// Returns the fields of a record, which fill it.
fn joined<const FIELDS: usize, const BYTES: usize>(fields: [&[u8]; FIELDS]) -> [u8; BYTES] {
    let mut record = [0; BYTES];
    record.iter_mut().zip(fields.into_iter().flatten()).for_each(|(to, from)| *to = *from);
    record
}

/// Records of the name tree: hash and ID, sorted by hash, then name, which links come sorted by.
pub(super) fn name_records(links: &[&Link], ids: &[[u8; LINK_ID_BYTES]]) -> Vec<[u8; 4 + LINK_ID_BYTES]> {
    let hash = |link: &&Link| checksum::lookup3(&text::as_bytes(&link.name), 0);
    let mut records: Vec<(u32, usize)> = links.iter().map(hash).zip(0..).collect();
    records.sort_unstable();
    records.into_iter().map(|(hash, n)| joined([&hash.to_le_bytes(), &ids[n]])).collect()
}

pub(super) fn order_records(links: &[&Link], ids: &[[u8; LINK_ID_BYTES]]) -> Vec<[u8; 8 + LINK_ID_BYTES]> {
    let order = |l: &&Link| l.creation_order.unwrap_or(0);
    let mut records: Vec<(i64, &[u8; LINK_ID_BYTES])> = links.iter().map(order).zip(ids).collect();
    records.sort_unstable();
    records.into_iter().map(|(order, id)| joined([&order.to_le_bytes(), id])).collect()
}

/// Records of the trees of attributes: heap ID, flags and creation order; in the name tree the hash besides.
pub(super) struct AttributeRecords;

fn wrong() -> Error {
    Error::corrupt("read attribute record")
}

impl Records for AttributeRecords {
    fn by_name(&self, id: &[u8], hash: u32, order: u64) -> Vec<u8> {
        [&self.by_order(id, order)[..], &hash.to_le_bytes()].concat()
    }

    fn by_order(&self, id: &[u8], order: u64) -> Vec<u8> {
        [id, &[0], &(order as u32).to_le_bytes()].concat()
    }

    fn of_name<'r>(&self, record: &'r [u8]) -> Result<(u32, &'r [u8])> {
        let (id, rest) = record.split_at_checked(ATTRIBUTE_ID_BYTES).ok_or_else(wrong)?;
        let (flags, hash) = (rest.first().ok_or_else(wrong)?, rest.last_chunk().ok_or_else(wrong)?);
        match flags & flag::SHARED {
            0 => Ok((u32::from_le_bytes(*hash), id)),
            // Its message is in the heap of shared messages.
            _ => Err(Error::unsupported("change attributes").with("problem", "shared message")),
        }
    }

    fn order_of(&self, record: &[u8]) -> Result<u64> {
        let order =
            record.get(ATTRIBUTE_ID_BYTES + 1..).and_then(|rest| rest.first_chunk()).ok_or_else(wrong)?;
        Ok(u64::from(u32::from_le_bytes(*order)))
    }

    fn name<'m>(&self, message: &'m [u8]) -> Result<&'m [u8]> {
        format::name(message)
    }
}

/// Records of both trees of all attributes.
pub(super) fn attribute_records(
    list: &[&AttributeEntry],
    ids: &[[u8; ATTRIBUTE_ID_BYTES]],
) -> (Vec<[u8; ATTRIBUTE_ID_BYTES + 9]>, Vec<[u8; ATTRIBUTE_ID_BYTES + 5]>) {
    let mut names = Vec::new();
    let mut orders = Vec::new();
    for (entry, id) in list.iter().zip(ids) {
        let name = text::as_bytes(&entry.raw.name);
        let (hash, order) = (checksum::lookup3(&name, 0), stored_order(entry.order) as u32);
        let record: [u8; ATTRIBUTE_ID_BYTES + 5] = joined([id, &[0], &order.to_le_bytes()]);
        orders.push((order, record));
        names.push((hash, name, joined([&record, &hash.to_le_bytes()])));
    }
    names.sort_unstable();
    orders.sort_unstable();
    (names.into_iter().map(|(_, _, r)| r).collect(), orders.into_iter().map(|(_, r)| r).collect())
}
