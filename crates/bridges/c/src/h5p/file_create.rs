//! Creation properties of files.

use std::ffi::{c_int, c_uint};

use hyperslab::vol::model::properties::SpaceStrategy;

use super::class::Kind;
use super::list;
use super::list_values::INDEXES_MAX;
use super::object::out_of_range;
use crate::api;
use crate::arguments::Out;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, hsize_t};

const FILE: Kind = Kind::FileCreate;
const USERBLOCK_BYTES_MIN: hsize_t = 512;
const PAGE_BYTES_MIN: hsize_t = 512;
const PAGE_BYTES_MAX: hsize_t = 1 << 30;
const SHARED_LIST_MAX: c_uint = 5000;
const SHARED_TYPES: c_uint = 0x1f;

fn strategy(number: c_int) -> Fallible<SpaceStrategy> {
    match number {
        0 => Ok(SpaceStrategy::FsmAggregate),
        1 => Ok(SpaceStrategy::Page),
        2 => Ok(SpaceStrategy::Aggregate),
        3 => Ok(SpaceStrategy::None),
        _ => Err(Failure::argument("invalid strategy")),
    }
}

fn strategy_number(strategy: SpaceStrategy) -> c_int {
    match strategy {
        SpaceStrategy::FsmAggregate => 0,
        SpaceStrategy::Page => 1,
        SpaceStrategy::Aggregate => 2,
        SpaceStrategy::None => 3,
    }
}

fn set_strategy(id: hid_t, number: c_int, persist: bool, threshold: hsize_t) -> Fallible<()> {
    let strategy = strategy(number)?;
    let has_managers = matches!(strategy, SpaceStrategy::FsmAggregate | SpaceStrategy::Page);
    let names: &[&str] = match has_managers {
        true => &["file_space_strategy", "free_space_persist", "free_space_threshold"],
        false => &["file_space_strategy"],
    };
    list::set(id, FILE, names, |values| {
        let file = values.file()?;
        file.space_strategy = strategy;
        // The other strategies do not track free space.
        if has_managers {
            (file.space_persist, file.space_threshold) = (persist, threshold);
        }
        Some(())
    })
}

/// Strategies as version 1.8 numbered them (`H5F_file_space_type_t`).
fn set_old_strategy(id: hid_t, old: c_int, threshold: hsize_t) -> Fallible<()> {
    let (now_strategy, now_persist, now_threshold) = list::get(id, FILE, |values| {
        let file = values.file_ref()?;
        Some((file.space_strategy, file.space_persist, file.space_threshold))
    })?;
    let threshold = if threshold == 0 { now_threshold } else { threshold };
    match old {
        0 => set_strategy(id, strategy_number(now_strategy), now_persist, threshold),
        1 => set_strategy(id, 0, true, threshold),
        2 => set_strategy(id, 0, false, threshold),
        3 => set_strategy(id, 2, false, threshold),
        4 => set_strategy(id, 3, false, threshold),
        _ => Err(Failure::argument("invalid strategy")),
    }
}

fn set_sizes(id: hid_t, address: usize, length: usize) -> Fallible<()> {
    let size = |size: usize, text: &'static str| match size {
        0 => Ok(None),
        2 | 4 | 8 | 16 | 32 => Ok(Some(size as u8)),
        _ => Err(Failure::argument(text)),
    };
    let address = size(address, "file haddr_t size is not valid")?;
    let length = size(length, "file size_t size is not valid")?;
    let mut names = Vec::new();
    names.extend(address.map(|_| "addr_byte_num"));
    names.extend(length.map(|_| "obj_byte_num"));
    list::set(id, FILE, &names, |values| {
        let file = values.file()?;
        file.offset_bytes = address.unwrap_or(file.offset_bytes);
        file.length_bytes = length.unwrap_or(file.length_bytes);
        Some(())
    })
}

api! { PLIST:
    /// Sets the size of the user block.
    fn H5Pset_userblock(plist_id: hid_t, size: hsize_t) -> herr_t {
        if size > 0 && size < USERBLOCK_BYTES_MIN {
            return Err(Failure::argument("userblock size is non-zero and less than 512"));
        }
        if size > 0 && !size.is_power_of_two() {
            return Err(Failure::argument("userblock size is non-zero and not a power of two"));
        }
        list::set(plist_id, FILE, &["block_size"], |values| {
            values.file()?.userblock_bytes = size;
            Some(())
        })
    }

    /// Returns the size of the user block.
    fn H5Pget_userblock(plist_id: hid_t, size: Out<hsize_t>) -> herr_t {
        size.put(list::get(plist_id, FILE, |values| Some(values.file_ref()?.userblock_bytes))?);
        Ok(())
    }

    /// Sets the sizes of addresses and lengths in the file; 0 leaves one as it is.
    fn H5Pset_sizes(plist_id: hid_t, sizeof_addr: usize, sizeof_size: usize) -> herr_t {
        set_sizes(plist_id, sizeof_addr, sizeof_size)
    }

    /// Returns the sizes of addresses and lengths in the file.
    fn H5Pget_sizes(plist_id: hid_t, sizeof_addr: Out<usize>, sizeof_size: Out<usize>) -> herr_t {
        let (address, length) = list::get(plist_id, FILE, |values| {
            let file = values.file_ref()?;
            Some((file.offset_bytes, file.length_bytes))
        })?;
        sizeof_addr.put(address.into());
        sizeof_size.put(length.into());
        Ok(())
    }

    /// Sets the sizes of nodes of old-style groups; 0 leaves one as it is.
    fn H5Pset_sym_k(plist_id: hid_t, ik: c_uint, lk: c_uint) -> herr_t {
        let small = |k: c_uint| {
            u16::try_from(k).map_err(|_| Failure::argument("istore IK value exceeds maximum B-tree entries"))
        };
        let (internal, leaf) = (small(ik)?, small(lk)?);
        let mut names = Vec::new();
        names.extend((ik > 0).then_some("btree_rank"));
        names.extend((lk > 0).then_some("symbol_leaf"));
        list::set(plist_id, FILE, &names, |values| {
            let file = values.file()?;
            file.group_internal_k = if internal > 0 { internal } else { file.group_internal_k };
            file.group_leaf_k = if leaf > 0 { leaf } else { file.group_leaf_k };
            Some(())
        })
    }

    /// Returns the sizes of nodes of old-style groups.
    fn H5Pget_sym_k(plist_id: hid_t, ik: Out<c_uint>, lk: Out<c_uint>) -> herr_t {
        let (internal, leaf) = list::get(plist_id, FILE, |values| {
            let file = values.file_ref()?;
            Some((file.group_internal_k, file.group_leaf_k))
        })?;
        ik.put(internal.into());
        lk.put(leaf.into());
        Ok(())
    }

    /// Sets the size of nodes of version 1 B-trees of chunks.
    fn H5Pset_istore_k(plist_id: hid_t, ik: c_uint) -> herr_t {
        if ik == 0 {
            return Err(Failure::argument("istore IK value must be positive"));
        }
        let rank = u16::try_from(ik)
            .map_err(|_| Failure::argument("istore IK value exceeds maximum B-tree entries"))?;
        list::set(plist_id, FILE, &["btree_rank"], |values| {
            values.file()?.chunk_k = rank;
            Some(())
        })
    }

    /// Returns the size of nodes of version 1 B-trees of chunks.
    fn H5Pget_istore_k(plist_id: hid_t, ik: Out<c_uint>) -> herr_t {
        ik.put(list::get(plist_id, FILE, |values| Some(values.file_ref()?.chunk_k.into()))?);
        Ok(())
    }

    /// Sets the number of indexes of shared messages.
    fn H5Pset_shared_mesg_nindexes(plist_id: hid_t, nindexes: c_uint) -> herr_t {
        if nindexes as usize > INDEXES_MAX {
            return Err(out_of_range("number of indexes is greater than H5O_SHMESG_MAX_NINDEXES"));
        }
        list::set(plist_id, FILE, &["num_shmsg_indexes"], |values| {
            values.file()?.shared.count = nindexes;
            Some(())
        })
    }

    /// Returns the number of indexes of shared messages.
    fn H5Pget_shared_mesg_nindexes(plist_id: hid_t, nindexes: Out<c_uint>) -> herr_t {
        nindexes.put(list::get(plist_id, FILE, |values| Some(values.file_ref()?.shared.count))?);
        Ok(())
    }

    /// Sets which messages an index of shared messages has.
    fn H5Pset_shared_mesg_index(plist_id: hid_t, index_num: c_uint, types: c_uint, min_size: c_uint) -> herr_t {
        if types > SHARED_TYPES {
            return Err(Failure::argument("unrecognized flags in mesg_type_flags"));
        }
        let count = list::get(plist_id, FILE, |values| Some(values.file_ref()?.shared.count))?;
        if index_num >= count {
            return Err(out_of_range("index_num is too large; no such index"));
        }
        list::set(plist_id, FILE, &["shmsg_message_types", "shmsg_message_minsize"], |values| {
            let shared = &mut values.file()?.shared;
            *shared.types.get_mut(index_num as usize)? = types;
            *shared.bytes_min.get_mut(index_num as usize)? = min_size;
            Some(())
        })
    }

    /// Returns which messages an index of shared messages has.
    fn H5Pget_shared_mesg_index(plist_id: hid_t, index_num: c_uint, types: Out<c_uint>, min_size: Out<c_uint>) -> herr_t {
        let shared = list::get(plist_id, FILE, |values| Some(values.file_ref()?.shared.clone()))?;
        if index_num >= shared.count {
            return Err(out_of_range("index_num is greater than number of indexes in property list"));
        }
        types.put(shared.types[index_num as usize]);
        min_size.put(shared.bytes_min[index_num as usize]);
        Ok(())
    }

    /// Sets the numbers of shared messages at which their index changes.
    fn H5Pset_shared_mesg_phase_change(plist_id: hid_t, max_list: c_uint, min_btree: c_uint) -> herr_t {
        if max_list.saturating_add(1) < min_btree {
            return Err(Failure::argument("minimum B-tree value is greater than maximum list value"));
        }
        if max_list > SHARED_LIST_MAX {
            return Err(out_of_range("max list value is larger than H5O_SHMESG_MAX_LIST_SIZE"));
        }
        list::set(plist_id, FILE, &["shmsg_list_max", "shmsg_btree_min"], |values| {
            let shared = &mut values.file()?.shared;
            // An index that is never a list is a tree from the first message on.
            (shared.list_max, shared.tree_min) = (max_list, if max_list == 0 { 0 } else { min_btree });
            Some(())
        })
    }

    /// Returns the numbers of shared messages at which their index changes.
    fn H5Pget_shared_mesg_phase_change(plist_id: hid_t, max_list: Out<c_uint>, min_btree: Out<c_uint>) -> herr_t {
        let shared = list::get(plist_id, FILE, |values| Some(values.file_ref()?.shared.clone()))?;
        max_list.put(shared.list_max);
        min_btree.put(shared.tree_min);
        Ok(())
    }

    /// Sets how file space is managed.
    fn H5Pset_file_space_strategy(plist_id: hid_t, strategy: c_int, persist: bool, threshold: hsize_t) -> herr_t {
        set_strategy(plist_id, strategy, persist, threshold)
    }

    /// Returns how file space is managed.
    fn H5Pget_file_space_strategy(plist_id: hid_t, strategy: Out<c_int>, persist: Out<bool>, threshold: Out<hsize_t>) -> herr_t {
        let (now, is_persistent, bytes) = list::get(plist_id, FILE, |values| {
            let file = values.file_ref()?;
            Some((file.space_strategy, file.space_persist, file.space_threshold))
        })?;
        strategy.put(strategy_number(now));
        persist.put(is_persistent);
        threshold.put(bytes);
        Ok(())
    }

    /// Sets how file space is managed, as version 1.8 numbered it.
    fn H5Pset_file_space(plist_id: hid_t, strategy: c_int, threshold: hsize_t) -> herr_t {
        set_old_strategy(plist_id, strategy, threshold)
    }

    /// Returns how file space is managed, as version 1.8 numbered it.
    fn H5Pget_file_space(plist_id: hid_t, strategy: Out<c_int>, threshold: Out<hsize_t>) -> herr_t {
        let (now, persist, bytes) = list::get(plist_id, FILE, |values| {
            let file = values.file_ref()?;
            Some((file.space_strategy, file.space_persist, file.space_threshold))
        })?;
        strategy.put(match now {
            SpaceStrategy::FsmAggregate if persist => 1,
            SpaceStrategy::FsmAggregate => 2,
            SpaceStrategy::Aggregate => 3,
            SpaceStrategy::None => 4,
            SpaceStrategy::Page => 0,
        });
        threshold.put(bytes);
        Ok(())
    }

    /// Sets the size of pages of file space.
    fn H5Pset_file_space_page_size(plist_id: hid_t, fsp_size: hsize_t) -> herr_t {
        let failed = |text: &'static str| Err(Failure::new(Major::ID, Minor::BADID, text));
        match fsp_size {
            ..PAGE_BYTES_MIN => return failed("cannot set file space page size to less than 512"),
            PAGE_BYTES_MIN..=PAGE_BYTES_MAX => {}
            _ => return failed("cannot set file space page size to more than 1GB"),
        }
        list::set(plist_id, FILE, &["file_space_page_size"], |values| {
            values.file()?.page_bytes = fsp_size;
            Some(())
        })
    }

    /// Returns the size of pages of file space.
    fn H5Pget_file_space_page_size(plist_id: hid_t, fsp_size: Out<hsize_t>) -> herr_t {
        fsp_size.put(list::get(plist_id, FILE, |values| Some(values.file_ref()?.page_bytes))?);
        Ok(())
    }

    /// Returns versions of file structures, which are no longer set.
    fn H5Pget_version(plist_id: hid_t, boot: Out<c_uint>, freelist: Out<c_uint>, stab: Out<c_uint>, shhdr: Out<c_uint>) -> herr_t {
        list::list_of(plist_id, FILE)?;
        [boot, freelist, stab, shhdr].into_iter().for_each(|version| version.put(0));
        Ok(())
    }
}
