//! `H5Pencode` and `H5Pdecode`: lists as bytes, those of libhdf5.

use std::ffi::c_void;

use hyperslab::vol::model::bytes::Cursor;
use hyperslab::vol::model::{Error, Result};

use super::class::{self, Kind};
use super::list::{self, OwnProperty, PropertyList, Seen, missing};
use crate::api;
use crate::arguments::{Bytes, Out, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};

const VERSION: u8 = 0;

/// More than any list has: the length of the bytes that are decoded is not known.
const ENCODED_BYTES_MAX: usize = 1 << 30;

/// Returns a list as bytes. Properties of programs have no encoding.
pub fn encode_list(list: &PropertyList) -> Result<Vec<u8>> {
    let mut values = list.state.read().values.clone();
    let mut out = vec![VERSION, list.class.kind as u8];
    for property in list.properties() {
        let Seen::Row(row) = property else { continue };
        if let Some(bytes) = row.encode(&mut values)? {
            out.extend(row.name.as_bytes());
            out.push(0);
            out.extend(bytes);
        }
    }
    out.push(0);
    Ok(out)
}

/// Returns the list that bytes describe.
pub fn decode_list(bytes: &[u8]) -> Result<PropertyList> {
    decode(bytes).map_err(|failure| match failure.cause {
        Some(error) => *error,
        None => Error::corrupt("decode property list").with("problem", failure.text),
    })
}

fn decode(bytes: &[u8]) -> Fallible<PropertyList> {
    let mut cursor = Cursor::new(bytes, "property list");
    let [version, number] = cursor.array()?;
    if version != VERSION {
        let text = format!("bad version # of encoded information, expected {VERSION}, got {version}");
        return Err(Failure::new(Major::PLIST, Minor::VERSION, text));
    }
    let kind = Kind::from_number(number.into()).ok_or_else(|| {
        let text = format!("bad type of encoded information: {number}");
        Failure::new(Major::PLIST, Minor::BADRANGE, text)
    })?;
    let list = PropertyList::new(class::built_in(kind));
    loop {
        let name = cursor.until_nul()?;
        if name.is_empty() {
            return Ok(list);
        }
        let name = std::str::from_utf8(name).map_err(|_| missing())?;
        let Some(Seen::Row(row)) = list.find(name) else { return Err(missing()) };
        let mut state = list.state.write();
        row.decode(&mut state.values, &mut cursor)?;
        state.put(name, OwnProperty::Row(row));
    }
}

fn encode_to(id: hid_t, buffer: Bytes, size: Out<usize>) -> Fallible<()> {
    let list = list::list(id)?;
    let available = size
        .get()
        .ok_or_else(|| Failure::new(Major::PLIST, Minor::BADVALUE, "bad allocation size pointer"))?;
    let bytes = encode_list(&list)?;
    if !buffer.0.is_null() && available >= bytes.len() {
        buffer.write(bytes.len(), "buffer")?.copy_from_slice(&bytes);
    }
    size.put(bytes.len());
    Ok(())
}

api! { PLIST:
    /// Encodes a list; without a buffer only the size is returned.
    fn H5Pencode2(plist_id: hid_t, buf: *mut c_void, nalloc: Out<usize>, fapl_id: hid_t) -> herr_t {
        super::list_for(fapl_id, Kind::FileAccess)?;
        encode_to(plist_id, Bytes(buf), nalloc)
    }

    /// Encodes a list; without a buffer only the size is returned.
    fn H5Pencode1(plist_id: hid_t, buf: *mut c_void, nalloc: Out<usize>) -> herr_t {
        encode_to(plist_id, Bytes(buf), nalloc)
    }

    /// Encodes a list: the name of [`H5Pencode1`] in programs for 1.10.
    fn H5Pencode(plist_id: hid_t, buf: *mut c_void, nalloc: Out<usize>) -> herr_t {
        encode_to(plist_id, Bytes(buf), nalloc)
    }

    /// Decodes a list.
    fn H5Pdecode(buf: Values<u8>) -> hid_t {
        // The bytes end with an empty name, and nothing after it is read.
        let bytes = buf.optional(ENCODED_BYTES_MAX);
        let bytes = bytes.ok_or_else(|| Failure::new(Major::PLIST, Minor::BADVALUE, "decode buffer is NULL"))?;
        Ok(list::register(decode(bytes)?))
    }
}
