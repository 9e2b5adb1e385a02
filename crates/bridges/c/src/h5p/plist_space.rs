//! Selections that stand in transfer lists.

use std::ffi::c_int;

use hyperslab::Dataspace;
use hyperslab::vol::model::selection::SetOp;

use crate::failure::{Failure, Fallible};
use crate::handles::Space;

/// Combines two selections, as `H5S_seloper_t` numbers it.
pub(super) fn combine(op: c_int, old: &Space, new: Space) -> Fallible<Space> {
    if old.extent.rank() != new.extent.rank() {
        return Err(Failure::argument("different rank for previous and new selections"));
    }
    let op = match op {
        1 => SetOp::Or,
        2 => SetOp::And,
        3 => SetOp::Xor,
        4 => SetOp::NotB,
        5 => SetOp::NotA,
        _ => return Err(Failure::argument("invalid selection operation")),
    };
    let pairs = old.extent.dims().iter().zip(new.extent.dims());
    let dims: Vec<u64> = pairs.map(|(a, b)| *a.max(b)).collect();
    let selection = old.selection.combine(op, &new.selection, &dims)?;
    Ok(Space { extent: Dataspace::simple(&dims)?, selection, offset: Vec::new() })
}
