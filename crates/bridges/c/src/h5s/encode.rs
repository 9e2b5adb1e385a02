//! Dataspaces as bytes.

use std::ffi::c_void;

use hyperslab::Limits;
use hyperslab::vol::LibVersion;
use hyperslab::vol::model::selection::{SelectionVersion, decode_space, encode_space};

use super::space;
use crate::api;
use crate::arguments::{Bytes, Out, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::h5t::Announced;
use crate::handles::{Space, SpaceHandle};

fn version(oldest: LibVersion) -> SelectionVersion {
    match oldest {
        old if old < LibVersion::V110 => SelectionVersion::V18,
        LibVersion::V110 => SelectionVersion::V110,
        _ => SelectionVersion::V112,
    }
}

fn encode(id: hid_t, buffer: Bytes, size: Out<usize>, version: SelectionVersion) -> Fallible<()> {
    let space = space(id)?;
    let have = size.get().ok_or_else(|| Failure::argument("NULL pointer for buffer size"))?;
    let bytes = encode_space(&space.extent, &space.selection, version)
        .map_err(|error| Failure::from(error).as_major(Major::DATASPACE).as_minor(Minor::CANTENCODE))?;
    if !buffer.0.is_null() && have >= bytes.len() {
        buffer.write(bytes.len(), "buf")?.copy_from_slice(&bytes);
    } else {
        size.put(bytes.len());
    }
    Ok(())
}

fn broken() -> Failure {
    Failure::new(Major::DATASPACE, Minor::CANTDECODE, "can't decode object")
}

/// Returns the bytes of an encoded dataspace, which say how many they are.
fn encoded_space<'a>(bytes: Values<u8>) -> Fallible<&'a [u8]> {
    let mut announced = Announced::new(bytes);
    announced.take(3)?;
    let extent = announced.number(4)?;
    announced.skip(extent, 1)?;
    skip_selection(&mut announced)?;
    announced.all()
}

/// Passes over a serialized selection (format spec VIII.A).
fn skip_selection(announced: &mut Announced) -> Fallible<()> {
    let (class, version) = (announced.number(4)?, announced.number(4)?);
    match (class, version) {
        (0 | 3, _) => announced.skip(8, 1),
        (1, 1) | (2, 1) => {
            announced.skip(8, 1)?;
            let (rank, count) = (announced.number(4)?, announced.number(4)?);
            announced.skip(count, 4 * class * rank)
        }
        (1, 2) => {
            let width = width(announced)?;
            let rank = announced.number(4)?;
            let count = announced.number(width)?;
            announced.skip(count, rank * width as u64)
        }
        (2, 2) => {
            announced.skip(5, 1)?;
            let rank = announced.number(4)?;
            announced.skip(rank, 32)
        }
        (2, 3) => {
            let is_regular = announced.number(1)? & 1 != 0;
            let width = width(announced)?;
            let rank = announced.number(4)?;
            let count = if is_regular { 2 } else { announced.number(width)? };
            announced.skip(count, 2 * rank * width as u64)
        }
        _ => Err(broken()),
    }
}

fn width(announced: &mut Announced) -> Fallible<usize> {
    match announced.number(1)? {
        width @ (2 | 4 | 8) => Ok(width as usize),
        _ => Err(broken()),
    }
}

api! { DATASPACE:
    /// Encodes a dataspace in the form of the oldest version that the file access list allows, or returns the size it needs.
    fn H5Sencode2(id: hid_t, buffer: *mut c_void, size: Out<usize>, access: hid_t) -> herr_t {
        let oldest = crate::h5p::file_access(access)?.version_low;
        encode(id, Bytes(buffer), size, version(oldest))
    }

    /// Encodes a dataspace in the oldest form that holds it, or returns the size it needs.
    fn H5Sencode1(id: hid_t, buffer: *mut c_void, size: Out<usize>) -> herr_t {
        encode(id, Bytes(buffer), size, SelectionVersion::V18)
    }

    /// Encodes a dataspace, by the name that programs built for 1.10 import.
    fn H5Sencode(id: hid_t, buffer: *mut c_void, size: Out<usize>) -> herr_t {
        encode(id, Bytes(buffer), size, SelectionVersion::V18)
    }

    /// Decodes a dataspace with its selection.
    fn H5Sdecode(buffer: *const c_void) -> hid_t {
        if buffer.is_null() {
            return Err(Failure::argument("empty buffer"));
        }
        let bytes = encoded_space(Values(buffer.cast()))?;
        let (extent, selection, _) = decode_space(bytes, &Limits::default()).map_err(|error| {
            Failure::from(error).as_major(Major::DATASPACE).as_minor(Minor::CANTDECODE)
        })?;
        Ok(SpaceHandle::register(Space { extent, selection, offset: Vec::new() }))
    }
}
