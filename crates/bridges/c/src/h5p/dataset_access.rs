//! Properties of access to datasets and maps.

use std::ffi::{c_int, c_uint, c_void};

use super::class::Kind;
use super::link::{data, pointer};
use super::list;
use super::values::{AppendCallback, ChunkCache, DatasetAccessValues};
use crate::api;
use crate::arguments::{Out, Text, TextOut, Values};
use crate::failure::{Failure, Fallible};
use crate::ffi::{H5S_UNLIMITED, herr_t, hid_t, hsize_t};

const ACCESS: Kind = Kind::DatasetAccess;
const RANK_MAX: c_uint = 32;

fn read<T>(id: hid_t, read: impl FnOnce(&DatasetAccessValues) -> T) -> Fallible<T> {
    list::get(id, ACCESS, |values| values.dataset_access_ref().map(read))
}

fn change<T>(id: hid_t, names: &[&str], change: impl FnOnce(&mut DatasetAccessValues) -> T) -> Fallible<T> {
    list::set(id, ACCESS, names, |values| values.dataset_access().map(change))
}

fn check_append<'a>(rank: c_uint, boundary: Values<hsize_t>, is_lone: bool) -> Fallible<&'a [hsize_t]> {
    if rank == 0 {
        return Err(Failure::argument("dimensionality cannot be zero"));
    }
    if rank > RANK_MAX {
        return Err(Failure::argument("dimensionality is too large"));
    }
    let boundary = boundary
        .optional(rank as usize)
        .ok_or_else(|| Failure::argument("no boundary dimensions specified"))?;
    if is_lone {
        return Err(Failure::argument("callback is NULL while user data is not"));
    }
    if boundary.iter().any(|size| *size > u64::from(u32::MAX)) {
        return Err(super::object::out_of_range("all boundary dimensions must be less than 2^32"));
    }
    Ok(boundary)
}

api! { PLIST:
    /// Sets the sizes of the cache of chunks of a dataset.
    fn H5Pset_chunk_cache(dapl_id: hid_t, rdcc_nslots: usize, rdcc_nbytes: usize, rdcc_w0: f64) -> herr_t {
        if rdcc_w0 > 1.0 || (rdcc_w0 < 0.0 && rdcc_w0 != -1.0) || rdcc_w0.is_nan() {
            return Err(Failure::argument(
                "raw data cache w0 value must be between 0.0 and 1.0 inclusive, or H5D_CHUNK_CACHE_W0_DEFAULT",
            ));
        }
        let cache = ChunkCache { slots: rdcc_nslots, bytes: rdcc_nbytes, preemption: rdcc_w0 };
        change(dapl_id, &["rdcc_nslots", "rdcc_nbytes", "rdcc_w0"], |access| access.chunk_cache = Some(cache))
    }

    /// Returns the sizes of the cache of chunks of a dataset; defaults are those of the library.
    fn H5Pget_chunk_cache(dapl_id: hid_t, rdcc_nslots: Out<usize>, rdcc_nbytes: Out<usize>, rdcc_w0: Out<f64>) -> herr_t {
        let file = super::file_access(crate::ffi::H5P_DEFAULT)?.chunk_cache;
        let cache = read(dapl_id, |access| access.chunk_cache)?.unwrap_or(ChunkCache::OF_FILE).or(file);
        rdcc_nslots.put(cache.slots);
        rdcc_nbytes.put(cache.bytes);
        rdcc_w0.put(cache.preemption);
        Ok(())
    }

    /// Sets how far a virtual dataset with unlimited mappings reaches.
    fn H5Pset_virtual_view(dapl_id: hid_t, view: c_int) -> herr_t {
        if !(0..=1).contains(&view) {
            return Err(Failure::argument("not a valid bounds option"));
        }
        change(dapl_id, &["vds_view"], |access| access.virtual_first_missing = view == 0)
    }

    /// Returns how far a virtual dataset with unlimited mappings reaches.
    fn H5Pget_virtual_view(dapl_id: hid_t, view: Out<c_int>) -> herr_t {
        view.put(read(dapl_id, |access| c_int::from(!access.virtual_first_missing))?);
        Ok(())
    }

    /// Sets the number of missing files after which a series of sources ends.
    fn H5Pset_virtual_printf_gap(dapl_id: hid_t, gap_size: hsize_t) -> herr_t {
        if gap_size == H5S_UNLIMITED {
            return Err(Failure::argument("not a valid printf gap size"));
        }
        change(dapl_id, &["vds_printf_gap"], |access| access.virtual_printf_gap = gap_size)
    }

    /// Returns the number of missing files after which a series of sources ends.
    fn H5Pget_virtual_printf_gap(dapl_id: hid_t, gap_size: Out<hsize_t>) -> herr_t {
        gap_size.put(read(dapl_id, |access| access.virtual_printf_gap)?);
        Ok(())
    }

    /// Sets the folder of virtual sources.
    fn H5Pset_virtual_prefix(dapl_id: hid_t, prefix: Text) -> herr_t {
        change(dapl_id, &["vds_prefix"], |access| access.virtual_prefix = prefix.optional())
    }

    /// Returns the folder of virtual sources.
    fn H5Pget_virtual_prefix(dapl_id: hid_t, prefix: TextOut, size: usize) -> isize {
        let text = read(dapl_id, |access| access.virtual_prefix.clone())?;
        Ok(prefix.put_text(size, text.as_deref().unwrap_or_default()))
    }

    /// Sets the folder of external files.
    fn H5Pset_efile_prefix(dapl_id: hid_t, prefix: Text) -> herr_t {
        change(dapl_id, &["external file prefix"], |access| access.external_prefix = prefix.optional())
    }

    /// Returns the folder of external files.
    fn H5Pget_efile_prefix(dapl_id: hid_t, prefix: TextOut, size: usize) -> isize {
        let text = read(dapl_id, |access| access.external_prefix.clone())?;
        Ok(prefix.put_text(size, text.as_deref().unwrap_or_default()))
    }

    /// Sets whether mappings of a virtual dataset are found by a tree.
    fn H5Pset_virtual_spatial_tree(dapl_id: hid_t, use_tree: bool) -> herr_t {
        change(dapl_id, &["tree"], |access| access.virtual_spatial_tree = use_tree)
    }

    /// Returns whether mappings of a virtual dataset are found by a tree.
    fn H5Pget_virtual_spatial_tree(dapl_id: hid_t, use_tree: Out<bool>) -> herr_t {
        use_tree.put(read(dapl_id, |access| access.virtual_spatial_tree)?);
        Ok(())
    }

    /// Sets extents past which a dataset is flushed, and a function that is called then.
    fn H5Pset_append_flush(dapl_id: hid_t, ndims: c_uint, boundary: Values<hsize_t>, func: AppendCallback, udata: *mut c_void) -> herr_t {
        let sizes = check_append(ndims, boundary, func.is_none() && !udata.is_null())?.to_vec();
        change(dapl_id, &["append_flush"], |access| {
            access.append_boundary = sizes;
            access.append_callback = (func, pointer(udata));
        })
    }

    /// Returns extents past which a dataset is flushed, and the function that is called then.
    fn H5Pget_append_flush(dapl_id: hid_t, dims: c_uint, boundary: Out<hsize_t>, func: Out<AppendCallback>, udata: Out<*mut c_void>) -> herr_t {
        let (mut sizes, callback) = read(dapl_id, |access| (access.append_boundary.clone(), access.append_callback))?;
        sizes.resize((dims as usize).min(RANK_MAX as usize), 0);
        boundary.put_all(&sizes, dims as usize);
        func.put(callback.0);
        udata.put(data(callback.1));
        Ok(())
    }

    /// Sets how many keys of a map are read ahead.
    fn H5Pset_map_iterate_hints(mapl_id: hid_t, key_prefetch_size: usize, key_alloc_size: usize) -> herr_t {
        list::set(mapl_id, Kind::MapAccess, &["key_prefetch_size", "key_alloc_size"], |values| {
            let access = values.map_access()?;
            (access.key_prefetch, access.key_alloc_bytes) = (key_prefetch_size, key_alloc_size);
            Some(())
        })
    }

    /// Returns how many keys of a map are read ahead.
    fn H5Pget_map_iterate_hints(mapl_id: hid_t, key_prefetch_size: Out<usize>, key_alloc_size: Out<usize>) -> herr_t {
        let (prefetch, alloc) = list::get(mapl_id, Kind::MapAccess, |values| {
            let access = values.map_access_ref()?;
            Some((access.key_prefetch, access.key_alloc_bytes))
        })?;
        key_prefetch_size.put(prefetch);
        key_alloc_size.put(alloc);
        Ok(())
    }
}
