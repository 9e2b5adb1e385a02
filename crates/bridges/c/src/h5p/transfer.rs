//! Properties of transfers.

use std::ffi::{c_int, c_uint, c_void};

use hyperslab::Selection;

use super::class::Kind;
use super::link::{data, pointer};
use super::list;
use super::transform;
use super::values::{AllocateFunction, ExceptionFunction, FilterFunction, FreeFunction, TransferValues};
use crate::api;
use crate::arguments::{Out, Text, TextOut, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, hsize_t};
use crate::handles::Space;

const RANK_MAX: c_uint = 32;

pub(super) fn read<T>(id: hid_t, read: impl FnOnce(&TransferValues) -> T) -> Fallible<T> {
    list::get(id, Kind::Transfer, |values| values.transfer_ref().map(read))
}

pub(super) fn change<T>(
    id: hid_t,
    names: &[&str],
    change: impl FnOnce(&mut TransferValues) -> T,
) -> Fallible<T> {
    list::set(id, Kind::Transfer, names, |values| values.transfer().map(change))
}

/// Returns a hyperslab that `H5S_PLIST` will stand for. The extent is only known when it is used.
fn plist_selection(rank: c_uint, parts: [Values<hsize_t>; 4]) -> Fallible<Space> {
    if rank == 0 || rank > RANK_MAX {
        return Err(Failure::argument("invalid rank value"));
    }
    let rank = rank as usize;
    let [start, stride, count, block] = parts;
    let needed = |part: Values<hsize_t>, text: &'static str| {
        part.optional(rank).map(<[hsize_t]>::to_vec).ok_or_else(|| Failure::argument(text))
    };
    let or_ones = |part: Values<hsize_t>| part.optional(rank).map_or(vec![1; rank], <[hsize_t]>::to_vec);
    let start = needed(start, "'count' pointer is NULL")?;
    let count = needed(count, "'start' pointer is NULL")?;
    let selection = Selection::hyperslab(&start, &or_ones(stride), &count, &or_ones(block))?;
    let high = selection.bounds(&vec![u64::MAX - 1; rank])?.map_or(vec![0; rank], |(_, high)| high);
    let dims: Vec<u64> = high.iter().map(|at| at.saturating_add(1)).collect();
    Ok(Space { extent: hyperslab::Dataspace::simple(&dims)?, selection, offset: Vec::new() })
}

api! { PLIST:
    /// Sets the size of the conversion buffer, and the buffers where the program has some.
    fn H5Pset_buffer(plist_id: hid_t, size: usize, tconv: *mut c_void, bkg: *mut c_void) -> herr_t {
        if size == 0 {
            return Err(Failure::argument("buffer size must not be zero"));
        }
        change(plist_id, &["max_temp_buf", "tconv_buf", "bkgr_buf"], |transfer| {
            transfer.buffer_bytes = size;
            transfer.conversion_buffer = pointer(tconv);
            transfer.background_buffer = pointer(bkg);
        })
    }

    /// Returns the size of the conversion buffer, and the buffers.
    fn H5Pget_buffer(plist_id: hid_t, tconv: Out<*mut c_void>, bkg: Out<*mut c_void>) -> usize {
        let found = read(plist_id, |t| (t.buffer_bytes, t.conversion_buffer, t.background_buffer))?;
        tconv.put(data(found.1));
        bkg.put(data(found.2));
        Ok(found.0)
    }

    /// Sets whether members of compound elements that are not written keep their values.
    fn H5Pset_preserve(plist_id: hid_t, status: bool) -> herr_t {
        change(plist_id, &["bkgr_buf_type"], |transfer| transfer.preserve = status)
    }

    /// Returns whether members of compound elements that are not written keep their values.
    fn H5Pget_preserve(plist_id: hid_t) -> c_int {
        read(plist_id, |transfer| c_int::from(transfer.preserve))
    }

    /// Sets whether checksums are checked.
    fn H5Pset_edc_check(plist_id: hid_t, check: c_int) -> herr_t {
        if !(0..=1).contains(&check) {
            return Err(Failure::argument("not a valid value"));
        }
        change(plist_id, &["err_detect"], |transfer| transfer.edc_check = check)
    }

    /// Returns whether checksums are checked.
    fn H5Pget_edc_check(plist_id: hid_t) -> c_int {
        read(plist_id, |transfer| transfer.edc_check)
    }

    /// Sets a function that is called when a filter fails.
    fn H5Pset_filter_callback(plist_id: hid_t, func: FilterFunction, op_data: *mut c_void) -> herr_t {
        change(plist_id, &["filter_cb"], |transfer| transfer.filter_callback = (func, pointer(op_data)))
    }

    /// Sets a function that is called when a value cannot be converted.
    fn H5Pset_type_conv_cb(dxpl_id: hid_t, op: ExceptionFunction, operate_data: *mut c_void) -> herr_t {
        change(dxpl_id, &["type_conv_cb"], |transfer| transfer.exception = (op, pointer(operate_data)))
    }

    /// Returns the function that is called when a value cannot be converted.
    fn H5Pget_type_conv_cb(dxpl_id: hid_t, op: Out<ExceptionFunction>, operate_data: Out<*mut c_void>) -> herr_t {
        let found = read(dxpl_id, |transfer| transfer.exception)?;
        op.put(found.0);
        operate_data.put(data(found.1));
        Ok(())
    }

    /// Sets the ratios at which nodes of B-trees are split.
    fn H5Pset_btree_ratios(plist_id: hid_t, left: f64, middle: f64, right: f64) -> herr_t {
        let ratios = [left, middle, right];
        if !ratios.iter().all(|ratio| (0.0..=1.0).contains(ratio)) {
            return Err(Failure::argument("split ratio must satisfy 0.0 <= X <= 1.0"));
        }
        change(plist_id, &["btree_split_ratio"], |transfer| transfer.btree_ratios = ratios)
    }

    /// Returns the ratios at which nodes of B-trees are split.
    fn H5Pget_btree_ratios(plist_id: hid_t, left: Out<f64>, middle: Out<f64>, right: Out<f64>) -> herr_t {
        let ratios = read(plist_id, |transfer| transfer.btree_ratios)?;
        [left, middle, right].into_iter().zip(ratios).for_each(|(out, ratio)| out.put(ratio));
        Ok(())
    }

    /// Sets functions for the memory of variable-length values.
    fn H5Pset_vlen_mem_manager(plist_id: hid_t, alloc_func: AllocateFunction, alloc_info: *mut c_void, free_func: FreeFunction, free_info: *mut c_void) -> herr_t {
        change(plist_id, &["vlen_alloc", "vlen_alloc_info", "vlen_free", "vlen_free_info"], |transfer| {
            transfer.allocate = (alloc_func, pointer(alloc_info));
            transfer.free = (free_func, pointer(free_info));
        })
    }

    /// Returns functions for the memory of variable-length values.
    fn H5Pget_vlen_mem_manager(plist_id: hid_t, alloc_func: Out<AllocateFunction>, alloc_info: Out<*mut c_void>, free_func: Out<FreeFunction>, free_info: Out<*mut c_void>) -> herr_t {
        let (allocate, free) = read(plist_id, |transfer| (transfer.allocate, transfer.free))?;
        alloc_func.put(allocate.0);
        alloc_info.put(data(allocate.1));
        free_func.put(free.0);
        free_info.put(data(free.1));
        Ok(())
    }

    /// Sets the number of pieces that are read at once.
    fn H5Pset_hyper_vector_size(plist_id: hid_t, size: usize) -> herr_t {
        if size < 1 {
            return Err(Failure::argument("vector size too small"));
        }
        change(plist_id, &["vec_size"], |transfer| transfer.hyper_vector_size = size)
    }

    /// Returns the number of pieces that are read at once.
    fn H5Pget_hyper_vector_size(plist_id: hid_t, size: Out<usize>) -> herr_t {
        size.put(read(plist_id, |transfer| transfer.hyper_vector_size)?);
        Ok(())
    }

    /// Sets an expression that is applied to every element.
    fn H5Pset_data_transform(plist_id: hid_t, expression: Text) -> herr_t {
        let text = expression.optional().ok_or_else(|| Failure::argument("expression cannot be NULL"))?;
        list::list_of(plist_id, Kind::Transfer)?;
        transform::check(&text)?;
        change(plist_id, &["data_transform"], |transfer| transfer.transform = Some(text))
    }

    /// Returns the expression that is applied to every element.
    fn H5Pget_data_transform(plist_id: hid_t, expression: TextOut, size: usize) -> isize {
        let text = read(plist_id, |transfer| transfer.transform.clone())?;
        let text = text.ok_or_else(|| {
            Failure::new(Major::PLIST, Minor::BADVALUE, "data transform has not been set")
        })?;
        Ok(expression.put_text(size, &text))
    }

    /// Sets the selection that `H5S_PLIST` stands for.
    fn H5Pset_dataset_io_hyperslab_selection(
        plist_id: hid_t, rank: c_uint, op: c_int, start: Values<hsize_t>, stride: Values<hsize_t>,
        count: Values<hsize_t>, block: Values<hsize_t>,
    ) -> herr_t {
        let new = plist_selection(rank, [start, stride, count, block])?;
        // `H5S_SELECT_SET`; others combine with what was set before, in one extent.
        let space = match (op, read(plist_id, |transfer| transfer.plist_selection.clone())?) {
            (0, _) | (_, None) => new,
            (op, Some(old)) => crate::h5p::plist_space::combine(op, &old, new)?,
        };
        change(plist_id, &["dset_io_selection"], |transfer| transfer.plist_selection = Some(space))
    }

    /// Sets whether selections are handed to drivers as they are.
    fn H5Pset_selection_io(plist_id: hid_t, selection_io_mode: c_int) -> herr_t {
        change(plist_id, &["selection_io_mode"], |transfer| transfer.selection_io = selection_io_mode)
    }

    /// Returns whether selections are handed to drivers as they are.
    fn H5Pget_selection_io(plist_id: hid_t, selection_io_mode: Out<c_int>) -> herr_t {
        selection_io_mode.put(read(plist_id, |transfer| transfer.selection_io)?);
        Ok(())
    }

    /// Returns why selections were not handed to drivers as they are: no reason, as there was nothing to hand.
    fn H5Pget_no_selection_io_cause(plist_id: hid_t, cause: Out<u32>) -> herr_t {
        list::list_of(plist_id, Kind::Transfer)?;
        cause.put(0);
        Ok(())
    }

    /// Returns how selections were handed to drivers: not at all.
    fn H5Pget_actual_selection_io_mode(plist_id: hid_t, mode: Out<u32>) -> herr_t {
        list::list_of(plist_id, Kind::Transfer)?;
        mode.put(0);
        Ok(())
    }

    /// Sets whether a write may change the program's buffer.
    fn H5Pset_modify_write_buf(plist_id: hid_t, modify_write_buf: bool) -> herr_t {
        change(plist_id, &["modify_write_buf"], |transfer| transfer.modify_write_buffer = modify_write_buf)
    }

    /// Returns whether a write may change the program's buffer.
    fn H5Pget_modify_write_buf(plist_id: hid_t, modify_write_buf: Out<bool>) -> herr_t {
        modify_write_buf.put(read(plist_id, |transfer| transfer.modify_write_buffer)?);
        Ok(())
    }
}
