//! An extent with its selection in one piece, as `H5Sencode` writes it.

use super::{Selection, SelectionVersion};
use crate::bytes::{Cursor, Put};
use crate::dataspace::{Dataspace, Format, Version};
use crate::{Error, Limits, Result, Within};

const DATASPACE_MESSAGE: u8 = 1;
const ENCODE_VERSION: u8 = 0;

/// Returns the extent and the selection in it, as `H5Sencode` writes them.
pub fn encode_space(space: &Dataspace, selection: &Selection, version: SelectionVersion) -> Result<Vec<u8>> {
    if selection.rank().is_some_and(|rank| rank != space.rank()) {
        return Err(
            Error::invalid("encode dataspace").with("problem", "ranks of extent and selection differ")
        );
    }
    let format = Format::default();
    let extent = space.encode(Version::V1, &format)?;
    let mut out = vec![DATASPACE_MESSAGE, ENCODE_VERSION, format.length_bytes];
    out.put_uint(extent.len() as u64, 4);
    out.extend(extent);
    out.extend(selection.encode(version)?);
    Ok(out)
}

/// Decodes the bytes of [`encode_space`] or `H5Sencode`, and returns how many there were.
pub fn decode_space(bytes: &[u8], limits: &Limits) -> Result<(Dataspace, Selection, usize)> {
    let mut cursor = Cursor::new(bytes, "encoded dataspace");
    let [message, version, length_bytes] = cursor.array()?;
    if (message, version) != (DATASPACE_MESSAGE, ENCODE_VERSION) {
        return Err(cursor.corrupt(format!("message {message} version {version}")));
    }
    let extent_len = u64::from(cursor.u32()?).within(limits.metadata_bytes_max, "dataspace")?;
    let space = Dataspace::decode(cursor.take(extent_len)?, &Format { length_bytes })?;
    let (selection, used) = Selection::decode(cursor.rest(), None, limits)?;
    cursor.skip(used)?;
    if selection.rank().is_some_and(|rank| rank != space.rank()) {
        return Err(cursor.corrupt("ranks of extent and selection differ"));
    }
    Ok((space, selection, cursor.position()))
}
