//! Creation properties that all objects have.

use std::ffi::c_uint;

use super::class::Kind;
use super::list;
use super::rows::{order, order_flags};
use crate::api;
use crate::arguments::Out;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};

const TRACKED: c_uint = 1;
const INDEXED: c_uint = 2;

/// Returns the failure of a value out of its range.
pub(super) fn out_of_range(text: &'static str) -> Failure {
    Failure::new(Major::ARGS, Minor::BADRANGE, text)
}

/// Returns an error for an index on an order that is not tracked.
pub(super) fn check_order(flags: c_uint) -> Fallible<()> {
    if flags & TRACKED == 0 && flags & INDEXED != 0 {
        return Err(Failure::argument("tracking creation order is required for index"));
    }
    Ok(())
}

/// Returns the two numbers at which storage changes, if they are good.
pub(super) fn phase(compact_max: c_uint, dense_min: c_uint) -> Fallible<(u16, u16)> {
    if compact_max < dense_min {
        return Err(out_of_range("max compact value must be >= min dense value"));
    }
    let compact =
        u16::try_from(compact_max).map_err(|_| out_of_range("max compact value must be < 65536"))?;
    let dense = u16::try_from(dense_min).map_err(|_| out_of_range("min dense value must be < 65536"))?;
    Ok((compact, dense))
}

api! { PLIST:
    /// Sets whether the order in which attributes are created is tracked and indexed.
    fn H5Pset_attr_creation_order(plist_id: hid_t, crt_order_flags: c_uint) -> herr_t {
        check_order(crt_order_flags)?;
        list::set(plist_id, Kind::ObjectCreate, &["object header flags"], |values| {
            values.object()?.attribute_order = order(crt_order_flags);
            Some(())
        })
    }

    /// Returns whether the order in which attributes are created is tracked and indexed.
    fn H5Pget_attr_creation_order(plist_id: hid_t, crt_order_flags: Out<c_uint>) -> herr_t {
        let order = list::get(plist_id, Kind::ObjectCreate, |values| Some(values.object_ref()?.attribute_order))?;
        crt_order_flags.put(order_flags(order));
        Ok(())
    }

    /// Sets the numbers of attributes at which their storage changes.
    fn H5Pset_attr_phase_change(plist_id: hid_t, max_compact: c_uint, min_dense: c_uint) -> herr_t {
        let (compact_max, dense_min) = phase(max_compact, min_dense)?;
        list::set(plist_id, Kind::ObjectCreate, &["max compact attr", "min dense attr"], |values| {
            let phase = &mut values.object()?.attribute_phase;
            (phase.compact_max, phase.dense_min) = (compact_max, dense_min);
            Some(())
        })
    }

    /// Returns the numbers of attributes at which their storage changes.
    fn H5Pget_attr_phase_change(plist_id: hid_t, max_compact: Out<c_uint>, min_dense: Out<c_uint>) -> herr_t {
        let phase = list::get(plist_id, Kind::ObjectCreate, |values| Some(values.object_ref()?.attribute_phase))?;
        max_compact.put(phase.compact_max.into());
        min_dense.put(phase.dense_min.into());
        Ok(())
    }

    /// Sets whether objects have times.
    fn H5Pset_obj_track_times(plist_id: hid_t, track_times: bool) -> herr_t {
        list::set(plist_id, Kind::ObjectCreate, &["object header flags"], |values| {
            values.object()?.track_times = track_times;
            Some(())
        })
    }

    /// Returns whether objects have times.
    fn H5Pget_obj_track_times(plist_id: hid_t, track_times: Out<bool>) -> herr_t {
        track_times.put(list::get(plist_id, Kind::ObjectCreate, |values| Some(values.object_ref()?.track_times))?);
        Ok(())
    }
}
