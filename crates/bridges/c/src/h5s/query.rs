//! Queries of selections.

use std::ffi::c_int;

use hyperslab::vol::model::selection::Regular;
use hyperslab::{Dataspace, Selection};

use super::{dataspace_failure, look, selected_count, space};
use crate::api;
use crate::arguments::Out;
use crate::codes::Minor;
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5S_UNLIMITED, herr_t, hid_t, hsize_t, hssize_t, htri_t};
use crate::handles::Space;

/// Returns the regular hyperslab of a dataspace, if it is one.
fn regular(space: &Space) -> Fallible<Option<Regular>> {
    match &space.selection {
        Selection::Regular(regular) => Ok(Some(regular.clone())),
        // Blocks that were united one by one may have become a regular hyperslab.
        Selection::Irregular(_) => match space.selection.combine(
            hyperslab::vol::model::selection::SetOp::Or,
            &Selection::None,
            space.extent.dims(),
        )? {
            Selection::Regular(regular) => Ok(Some(regular)),
            _ => Ok(None),
        },
        _ => Err(Failure::wrong_type("not a hyperslab selection")),
    }
}

fn block_count(space: &Space) -> Fallible<u64> {
    match regular(space)? {
        Some(regular) if regular.is_unlimited() => {
            Err(dataspace_failure(Minor::UNSUPPORTED, "cannot get number of blocks for unlimited selection"))
        }
        Some(regular) => Ok(regular.declared().iter().map(|axis| axis[2]).product()),
        None => Ok(space.selection.block_count(space.extent.dims())?),
    }
}

/// Calls `put` with blocks of a regular hyperslab as it was declared, in C order.
fn declared_blocks(regular: &Regular, start: u64, count: u64, mut put: impl FnMut(&[u64])) {
    let axes = regular.declared();
    let total: u64 = axes.iter().map(|axis| axis[2]).product();
    let mut corners = vec![0; 2 * axes.len()];
    for number in start..start.saturating_add(count).min(total) {
        let mut rest = number;
        for (d, [first, stride, blocks, block]) in axes.iter().enumerate().rev() {
            let low = first + rest % blocks * stride;
            (corners[d], corners[axes.len() + d]) = (low, low + block - 1);
            rest /= blocks;
        }
        put(&corners);
    }
}

/// Stores blocks: the corners of each, one after another.
fn block_list(space: &Space, start: u64, count: u64, into: Out<hsize_t>) -> Fallible<()> {
    let total = block_count(space)?;
    // As libhdf5: blocks that are not there are left out.
    let count = count.min(total.saturating_sub(start));
    let mut at = 0;
    let mut put = |corners: &[u64]| {
        Out(into.0.wrapping_add(at)).put_all(corners, corners.len());
        at += corners.len();
    };
    match regular(space)? {
        Some(regular) => declared_blocks(&regular, start, count, put),
        None => {
            let blocks = space.selection.blocks(space.extent.dims())?;
            for (low, high) in blocks.skip(start as usize).take(count as usize) {
                put(&[low, high].concat());
            }
        }
    }
    Ok(())
}

fn points(space: &Space) -> Fallible<&[u64]> {
    match &space.selection {
        Selection::Points(points) => Ok(points.coords()),
        _ => Err(Failure::wrong_type("not an element selection")),
    }
}

fn bounds(space: &Space) -> Fallible<(Vec<u64>, Vec<u64>)> {
    let dims = space.extent.dims();
    let failed = || dataspace_failure(Minor::CANTGET, "can't get selection bounds");
    match &space.selection {
        Selection::All => Ok((vec![0; dims.len()], dims.iter().map(|dim| dim.wrapping_sub(1)).collect())),
        Selection::Regular(regular) if regular.is_unlimited() => {
            let last = |[start, stride, count, block]: &[u64; 4]| match H5S_UNLIMITED {
                unlimited if *count == unlimited || *block == unlimited => H5S_UNLIMITED,
                _ => start + (count - 1) * stride + block - 1,
            };
            let axes = regular.declared();
            Ok((axes.iter().map(|axis| axis[0]).collect(), axes.iter().map(last).collect()))
        }
        _ => space.moved_selection().map_err(|_| failed())?.bounds(dims)?.ok_or_else(failed),
    }
}

fn is_valid(space: &Space) -> bool {
    if space.extent == Dataspace::Null {
        return matches!(space.selection, Selection::All | Selection::None);
    }
    // As libhdf5: a selection without end has elements outside of every extent.
    !space.selection.is_unlimited()
        && space.moved_selection().is_ok_and(|selection| selection.validate(space.extent.dims()).is_ok())
}

api! { DATASPACE:
    /// Returns what kind of selection a dataspace has.
    fn H5Sget_select_type(id: hid_t) -> c_int {
        look(id, |space| Ok(match space.selection {
            Selection::None => 0,
            Selection::Points(_) => 1,
            Selection::Regular(_) | Selection::Irregular(_) => 2,
            Selection::All => 3,
        }))
    }

    /// Returns the number of selected elements.
    fn H5Sget_select_npoints(id: hid_t) -> hssize_t {
        look(id, |space| Ok(selected_count(space)?.unwrap_or(H5S_UNLIMITED) as hssize_t))
    }

    /// Says whether the selection lies within the extent.
    fn H5Sselect_valid(id: hid_t) -> htri_t {
        look(id, |space| Ok(is_valid(space)))
    }

    /// Returns the corners of the smallest block around the selection.
    fn H5Sget_select_bounds(id: hid_t, start: Out<hsize_t>, end: Out<hsize_t>) -> herr_t {
        let space = space(id)?;
        start.check("start")?;
        end.check("end")?;
        let (low, high) = bounds(&space)?;
        start.put_all(&low, low.len());
        end.put_all(&high, high.len());
        Ok(())
    }

    /// Returns the number of selected points.
    fn H5Sget_select_elem_npoints(id: hid_t) -> hssize_t {
        let space = space(id)?;
        Ok((points(&space)?.len() / space.extent.rank().max(1)) as hssize_t)
    }

    /// Returns the coordinates of some of the selected points.
    fn H5Sget_select_elem_pointlist(id: hid_t, start: hsize_t, count: hsize_t, into: Out<hsize_t>) -> herr_t {
        into.check("pointer")?;
        let space = space(id)?;
        let (points, rank) = (points(&space)?, space.extent.rank().max(1));
        // As libhdf5: points that are not there are left out.
        let total = (points.len() / rank) as u64;
        let (first, last) = (start.min(total) as usize, start.saturating_add(count).min(total) as usize);
        into.put_all(&points[first * rank..last * rank], (last - first) * rank);
        Ok(())
    }

    /// Returns the number of blocks of a hyperslab selection.
    fn H5Sget_select_hyper_nblocks(id: hid_t) -> hssize_t {
        Ok(block_count(&space(id)?)? as hssize_t)
    }

    /// Returns the corners of some of the blocks of a hyperslab selection.
    fn H5Sget_select_hyper_blocklist(id: hid_t, start: hsize_t, count: hsize_t, into: Out<hsize_t>) -> herr_t {
        into.check("pointer")?;
        block_list(&space(id)?, start, count, into)
    }

    /// Says whether a hyperslab selection is regular.
    fn H5Sis_regular_hyperslab(id: hid_t) -> htri_t {
        Ok(regular(&space(id)?)?.is_some())
    }

    /// Returns start, stride, count and block of a regular hyperslab, as they were selected.
    fn H5Sget_regular_hyperslab(
        id: hid_t, start: Out<hsize_t>, stride: Out<hsize_t>, count: Out<hsize_t>, block: Out<hsize_t>,
    ) -> htri_t {
        let found = regular(&space(id)?)?.ok_or_else(|| Failure::argument("not a regular hyperslab selection"))?;
        let axes = found.declared();
        for (n, into) in [start, stride, count, block].into_iter().enumerate() {
            let column: Vec<hsize_t> = axes.iter().map(|axis| axis[n]).collect();
            into.put_all(&column, column.len());
        }
        // As libhdf5: success, not truth.
        Ok(false)
    }
}
