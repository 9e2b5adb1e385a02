//! Values as libhdf5 hands them to others: what `H5Tencode`, `H5Sencode` and `H5Pencode` make.
//!
//! Connectors that do not write HDF5 files store these bytes, so that any of them can read what another wrote.
//! All bytes that are decoded here may come from anybody.

mod file;
mod group;
mod layout;
mod list;
mod object;

mod dataset;
#[cfg(test)]
mod golden;

use crate::bytes::{Cursor, Put, uint_width};
use crate::selection::{SelectionVersion, decode_space, encode_space};
use crate::{Dataspace, Datatype, Limits, Result, Selection};

pub use dataset::{dataset_create, decode_dataset_create};
pub use file::{decode_file_create, file_create};
pub use group::{decode_group_create, group_create};
pub use layout::{decode_external_files, decode_layout, external_files, layout};
pub use list::property_hash;
pub use object::{
    ObjectClass, attribute_create, decode_attribute_create, decode_filters, decode_object_create, filters,
    object_create,
};

const DATATYPE_MESSAGE: u8 = 3;
const ENCODE_VERSION: u8 = 0;

/// Returns a datatype as `H5Tencode` makes it: two bytes, and the oldest message that can hold it.
pub fn datatype(datatype: &Datatype) -> Result<Vec<u8>> {
    let mut out = vec![DATATYPE_MESSAGE, ENCODE_VERSION];
    out.extend(datatype.encode(1)?);
    Ok(out)
}

/// Decodes the bytes of [`datatype`] or `H5Tencode`.
pub fn decode_datatype(bytes: &[u8], limits: &Limits) -> Result<Datatype> {
    let mut cursor = Cursor::new(bytes, "encoded datatype");
    let [message, version] = cursor.array()?;
    if (message, version) != (DATATYPE_MESSAGE, ENCODE_VERSION) {
        return Err(cursor.corrupt(format!("message {message} version {version}")));
    }
    let datatype = Datatype::decode(cursor.rest(), limits)?;
    datatype.validate(limits)?;
    Ok(datatype)
}

/// Returns an extent as `H5Sencode` makes it, all of it selected.
pub fn space(space: &Dataspace) -> Result<Vec<u8>> {
    encode_space(space, &Selection::All, SelectionVersion::V18)
}

/// Decodes the bytes of [`space`] or `H5Sencode`; the selection does not matter.
pub fn decode_space_of(bytes: &[u8], limits: &Limits) -> Result<Dataspace> {
    Ok(decode_space(bytes, limits)?.0)
}

/// A number and before it how many bytes it takes.
fn put_sized(out: &mut Vec<u8>, value: u64) {
    let width = uint_width(value);
    out.push(width as u8);
    out.put_uint(value, width);
}

fn sized(cursor: &mut Cursor<'_>) -> Result<u64> {
    let width = cursor.u8()?;
    cursor.uint(width.into())
}

/// A C `unsigned`, which says its own size.
fn put_unsigned(out: &mut Vec<u8>, values: &[u32]) {
    out.push(4);
    values.iter().for_each(|&value| out.put_uint(value.into(), 4));
}

fn unsigned<const N: usize>(cursor: &mut Cursor<'_>) -> Result<[u32; N]> {
    match cursor.u8()? {
        4 => {}
        width => return Err(cursor.corrupt(format!("unsigned numbers of {width} bytes"))),
    }
    let mut values = [0; N];
    for value in &mut values {
        *value = cursor.u32()?;
    }
    Ok(values)
}
