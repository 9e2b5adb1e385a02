//! Properties of transfers by the processes of an MPI job. Hints are stored, and change nothing.

use std::ffi::{c_int, c_uint};

use super::class::Kind;
use super::list;
use super::object::out_of_range;
use super::transfer::{change, read};
use crate::api;
use crate::arguments::Out;
use crate::failure::Failure;
use crate::ffi::{herr_t, hid_t};

fn no_access() -> Failure {
    Failure::argument("property list is not an access plist")
}

api! { PLIST:
    /// Sets whether processes transfer together.
    fn H5Pset_dxpl_mpio(dxpl_id: hid_t, xfer_mode: c_int) -> herr_t {
        if !(0..=1).contains(&xfer_mode) {
            return Err(Failure::argument("incorrect xfer_mode"));
        }
        change(dxpl_id, &["io_xfer_mode"], |transfer| transfer.is_collective = xfer_mode == 1)
    }

    /// Returns whether processes transfer together.
    fn H5Pget_dxpl_mpio(dxpl_id: hid_t, xfer_mode: Out<c_int>) -> herr_t {
        xfer_mode.put(read(dxpl_id, |transfer| c_int::from(transfer.is_collective))?);
        Ok(())
    }

    /// Sets how a transfer of many processes is done.
    fn H5Pset_dxpl_mpio_collective_opt(dxpl_id: hid_t, opt_mode: c_int) -> herr_t {
        change(dxpl_id, &["mpio_collective_opt"], |transfer| transfer.collective_opt = opt_mode)
    }

    /// Sets how chunks are transferred by many processes.
    fn H5Pset_dxpl_mpio_chunk_opt(dxpl_id: hid_t, opt_mode: c_int) -> herr_t {
        change(dxpl_id, &["mpio_chunk_opt_hard"], |transfer| transfer.chunk_opt = opt_mode)
    }

    /// Sets from how many chunks on they are transferred together.
    fn H5Pset_dxpl_mpio_chunk_opt_num(dxpl_id: hid_t, num_chunk_per_proc: c_uint) -> herr_t {
        change(dxpl_id, &["mpio_chunk_opt_num"], |transfer| transfer.chunk_opt_num = num_chunk_per_proc)
    }

    /// Sets from which share of processes on a chunk is transferred together.
    fn H5Pset_dxpl_mpio_chunk_opt_ratio(dxpl_id: hid_t, percent: c_uint) -> herr_t {
        if percent > 100 {
            return Err(out_of_range("percentage of processes must be at most 100"));
        }
        change(dxpl_id, &["mpio_chunk_opt_ratio"], |transfer| transfer.chunk_opt_ratio = percent)
    }

    /// Returns how chunks were transferred last time.
    fn H5Pget_mpio_actual_chunk_opt_mode(plist_id: hid_t, mode: Out<c_int>) -> herr_t {
        mode.put(read(plist_id, |transfer| transfer.outcome.chunk_opt)?);
        Ok(())
    }

    /// Returns how elements were transferred last time.
    fn H5Pget_mpio_actual_io_mode(plist_id: hid_t, mode: Out<c_int>) -> herr_t {
        mode.put(read(plist_id, |transfer| transfer.outcome.io_mode)?);
        Ok(())
    }

    /// Returns why processes did not transfer together last time. All have the same reasons.
    fn H5Pget_mpio_no_collective_cause(plist_id: hid_t, local: Out<u32>, global: Out<u32>) -> herr_t {
        let cause = read(plist_id, |transfer| transfer.outcome.cause)?;
        local.put(cause);
        global.put(cause);
        Ok(())
    }

    /// Sets whether processes read metadata together. It changes nothing: a process that transfers elements looks for them
    /// by itself.
    fn H5Pset_all_coll_metadata_ops(plist_id: hid_t, is_collective: bool) -> herr_t {
        let list = list::list(plist_id)?;
        list.change(&[], |values| {
            *values.collective_metadata().ok_or_else(no_access)? = is_collective;
            Ok(())
        })
    }

    /// Returns whether processes read metadata together.
    fn H5Pget_all_coll_metadata_ops(plist_id: hid_t, is_collective: Out<bool>) -> herr_t {
        let list = list::list(plist_id)?;
        let stored = list.look(|values| values.collective_metadata_ref().copied());
        is_collective.put(stored.ok_or_else(no_access)?);
        Ok(())
    }

    /// Sets whether processes write metadata together.
    fn H5Pset_coll_metadata_write(plist_id: hid_t, is_collective: bool) -> herr_t {
        list::set(plist_id, Kind::FileAccess, &[], |values| {
            values.access()?.collective_metadata_write = is_collective;
            Some(())
        })
    }

    /// Returns whether processes write metadata together.
    fn H5Pget_coll_metadata_write(plist_id: hid_t, is_collective: Out<bool>) -> herr_t {
        is_collective.put(list::get(plist_id, Kind::FileAccess, |values| Some(values.access_ref()?.collective_metadata_write))?);
        Ok(())
    }
}
