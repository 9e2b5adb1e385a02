//! Global values that other libraries overwrite.
//!
//! Plugins of the `hdf5plugin` wheel have variables with the names of libhdf5's, and set them to what they find in the copy of
//! libhdf5 that h5py brought along. Where this library is loaded before them, those variables are ours. Macros of the headers
//! call `H5open` before they read one, so that is where wrong values are put right.

use std::sync::atomic::Ordering;

use crate::codes::Major;
use crate::ffi::{GlobalId, hid_t};
use crate::h5p::class::Kind;

type Global = (&'static GlobalId, hid_t);

fn all() -> impl Iterator<Item = &'static Global> {
    let codes = crate::codes::GLOBALS.iter();
    codes.chain(crate::h5p::class::GLOBALS).chain(crate::h5t::predefined::GLOBALS)
}

fn is_right((global, id): &Global) -> bool {
    global.load(Ordering::Relaxed) == *id
}

/// Returns the values that every such plugin overwrites: if they are right, so are the others.
fn canaries() -> [Option<&'static Global>; 2] {
    let of = |globals: &'static [Global], id: hid_t| globals.iter().find(|(_, known)| *known == id);
    [
        of(crate::h5p::class::GLOBALS, Kind::DatasetCreate.class_id()),
        of(crate::codes::GLOBALS, Major::ARGS.id()),
    ]
}

/// Puts global values right, if another library changed them.
pub(crate) fn restore() {
    if canaries().into_iter().flatten().all(is_right) {
        return;
    }
    for (global, id) in all() {
        global.store(*id, Ordering::Relaxed);
    }
    crate::h5e::H5E_ERR_CLS_g.store(crate::h5e::H5E_ERR_CLS, Ordering::Relaxed);
    crate::h5::H5_libinit_g.store(true, Ordering::Relaxed);
}
