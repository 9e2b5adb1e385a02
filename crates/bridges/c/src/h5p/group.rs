//! Creation properties of groups.

use std::ffi::c_uint;

use hyperslab::vol::model::properties::PhaseChange;

use super::class::Kind;
use super::list;
use super::object::{check_order, out_of_range, phase};
use super::rows::{order, order_flags};
use crate::api;
use crate::arguments::Out;
use crate::ffi::{herr_t, hid_t};

api! { PLIST:
    /// Sets the bytes for names in an old-style group.
    fn H5Pset_local_heap_size_hint(plist_id: hid_t, size_hint: usize) -> herr_t {
        list::set(plist_id, Kind::GroupCreate, &["group info"], |values| {
            values.group()?.local_heap_bytes = size_hint as u32;
            Some(())
        })
    }

    /// Returns the bytes for names in an old-style group.
    fn H5Pget_local_heap_size_hint(plist_id: hid_t, size_hint: Out<usize>) -> herr_t {
        size_hint.put(list::get(plist_id, Kind::GroupCreate, |values| Some(values.group_ref()?.local_heap_bytes as usize))?);
        Ok(())
    }

    /// Sets the numbers of links at which their storage changes.
    fn H5Pset_link_phase_change(plist_id: hid_t, max_compact: c_uint, min_dense: c_uint) -> herr_t {
        let (compact_max, dense_min) = phase(max_compact, min_dense)?;
        list::set(plist_id, Kind::GroupCreate, &["group info"], |values| {
            values.group()?.link_phase = PhaseChange { compact_max, dense_min };
            Some(())
        })
    }

    /// Returns the numbers of links at which their storage changes.
    fn H5Pget_link_phase_change(plist_id: hid_t, max_compact: Out<c_uint>, min_dense: Out<c_uint>) -> herr_t {
        let phase = list::get(plist_id, Kind::GroupCreate, |values| Some(values.group_ref()?.link_phase))?;
        max_compact.put(phase.compact_max.into());
        min_dense.put(phase.dense_min.into());
        Ok(())
    }

    /// Sets the number of links that a group will have, and the length of their names.
    fn H5Pset_est_link_info(plist_id: hid_t, est_num_entries: c_uint, est_name_len: c_uint) -> herr_t {
        let entries = u16::try_from(est_num_entries)
            .map_err(|_| out_of_range("est. number of entries must be < 65536"))?;
        let name = u16::try_from(est_name_len).map_err(|_| out_of_range("est. name length must be < 65536"))?;
        list::set(plist_id, Kind::GroupCreate, &["group info"], |values| {
            let group = values.group()?;
            (group.entries_expected, group.name_bytes_expected) = (entries, name);
            Some(())
        })
    }

    /// Returns the number of links that a group will have, and the length of their names.
    fn H5Pget_est_link_info(plist_id: hid_t, est_num_entries: Out<c_uint>, est_name_len: Out<c_uint>) -> herr_t {
        let (entries, name) = list::get(plist_id, Kind::GroupCreate, |values| {
            let group = values.group_ref()?;
            Some((group.entries_expected, group.name_bytes_expected))
        })?;
        est_num_entries.put(entries.into());
        est_name_len.put(name.into());
        Ok(())
    }

    /// Sets whether the order in which links are created is tracked and indexed.
    fn H5Pset_link_creation_order(plist_id: hid_t, crt_order_flags: c_uint) -> herr_t {
        check_order(crt_order_flags)?;
        list::set(plist_id, Kind::GroupCreate, &["link info"], |values| {
            values.group()?.link_order = order(crt_order_flags);
            Some(())
        })
    }

    /// Returns whether the order in which links are created is tracked and indexed.
    fn H5Pget_link_creation_order(plist_id: hid_t, crt_order_flags: Out<c_uint>) -> herr_t {
        let order = list::get(plist_id, Kind::GroupCreate, |values| Some(values.group_ref()?.link_order))?;
        crt_order_flags.put(order_flags(order));
        Ok(())
    }
}
