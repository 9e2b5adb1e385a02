//! The way in which processes transferred elements, as transfer lists report it afterwards.

use hyperslab::vol::model::properties::Layout;
use hyperslab::{Dataspace, Transfer as Way};

use super::transfer::Transfer;
use crate::ffi::hid_t;
use crate::h5p;
use crate::h5p::values::Outcome;

/// `H5D_mpio_no_collective_cause_t`
mod causes {
    pub(super) const SET_INDEPENDENT: u32 = 1;
    pub(super) const NOT_SIMPLE_OR_SCALAR: u32 = 0x10;
    pub(super) const NOT_CONTIGUOUS_OR_CHUNKED: u32 = 0x20;
}

/// `H5D_MPIO_CHUNK_COLLECTIVE`
const CHUNKS: i32 = 2;
/// `H5D_MPIO_CONTIGUOUS_COLLECTIVE`
const CONTIGUOUS: i32 = 4;
/// `H5D_MPIO_LINK_CHUNK`: all chunks are transferred at once.
const LINK_CHUNK: i32 = 1;
/// `H5D_MPIO_MULTI_CHUNK`: chunks are transferred one by one, as programs see it that ask for it.
const MULTI_CHUNK: i32 = 2;
/// `H5FD_MPIO_CHUNK_MULTI_IO`
const ONE_BY_ONE: i32 = 2;

/// Returns how the elements of one dataset were transferred: as libhdf5 says it.
fn outcome(transfer: &Transfer) -> Outcome {
    let none = |cause| Outcome { cause, ..Outcome::default() };
    let together = |io_mode, chunk_opt| Outcome { io_mode, chunk_opt, cause: 0 };
    let of_chunks = if transfer.chunk_opt() == ONE_BY_ONE { MULTI_CHUNK } else { LINK_CHUNK };
    match (transfer.way(), &transfer.info.space, &transfer.info.create.layout) {
        (Way::Independent, ..) => none(causes::SET_INDEPENDENT),
        (_, Dataspace::Null, _) => none(causes::NOT_SIMPLE_OR_SCALAR),
        (_, _, Layout::Contiguous) => together(CONTIGUOUS, LINK_CHUNK),
        (_, _, Layout::Chunked { .. }) => together(CHUNKS, of_chunks),
        _ => none(causes::NOT_CONTIGUOUS_OR_CHUNKED),
    }
}

/// Says in a transfer list how the elements of some datasets were transferred, if many processes have their files open.
pub(super) fn note(dxpl: hid_t, transfers: &[Transfer]) {
    let parallel = transfers.iter().filter(|transfer| transfer.is_parallel());
    let join = |a: Outcome, b: Outcome| Outcome {
        io_mode: a.io_mode | b.io_mode,
        chunk_opt: a.chunk_opt.max(b.chunk_opt),
        cause: a.cause | b.cause,
    };
    if let Some(outcome) = parallel.map(outcome).reduce(join) {
        h5p::note_outcome(dxpl, outcome);
    }
}
