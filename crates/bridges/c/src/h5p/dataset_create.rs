//! Creation properties of datasets.

use std::ffi::{c_int, c_uint, c_void};

use hyperslab::vol::model::properties::{AllocTime, FillTime};

use super::class::Kind;
use super::fill;
use super::list;
use super::object::out_of_range;
use super::rows::{alloc_number, fill_number};
use super::values::{DatasetCreateValues, FillChoice, LayoutChoice};
use crate::api;
use crate::arguments::{Bytes, Out, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, hsize_t};
use crate::handles;

const DATASET: Kind = Kind::DatasetCreate;
const RANK_MAX: c_int = 32;
/// `H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS`
const EDGES_UNFILTERED: c_uint = 2;

fn read<T>(id: hid_t, read: impl FnOnce(&DatasetCreateValues) -> T) -> Fallible<T> {
    list::get(id, DATASET, |values| values.dataset_ref().map(read))
}

fn change<T>(id: hid_t, names: &[&str], change: impl FnOnce(&mut DatasetCreateValues) -> T) -> Fallible<T> {
    list::set(id, DATASET, names, |values| values.dataset().map(change))
}

/// Sets the layout; the time of allocation follows it where none was chosen.
pub(super) fn set_layout(id: hid_t, layout: LayoutChoice) -> Fallible<()> {
    let follows = read(id, |dataset| dataset.alloc_time == AllocTime::Default)?;
    let names: &[&str] = if follows { &["layout", "fill_value"] } else { &["layout"] };
    change(id, names, |dataset| {
        if layout != LayoutChoice::Virtual {
            dataset.virtual_mappings.clear();
        }
        dataset.layout = layout;
    })
}

fn not_chunked() -> Failure {
    Failure::argument("not a chunked storage layout")
}

fn check_chunk<'a>(rank: c_int, dims: Values<hsize_t>) -> Fallible<&'a [hsize_t]> {
    if rank <= 0 {
        return Err(out_of_range("chunk dimensionality must be positive"));
    }
    if rank > RANK_MAX {
        return Err(out_of_range("chunk dimensionality is too large"));
    }
    let dims =
        dims.optional(rank as usize).ok_or_else(|| Failure::argument("no chunk dimensions specified"))?;
    if dims.contains(&0) {
        return Err(out_of_range("all chunk dimensions must be positive"));
    }
    Ok(dims)
}

api! { PLIST:
    /// Sets the storage layout.
    fn H5Pset_layout(plist_id: hid_t, layout: c_int) -> herr_t {
        let choice = match layout {
            0 => LayoutChoice::Compact,
            1 => LayoutChoice::Contiguous,
            2 => LayoutChoice::Chunked { shape: Vec::new(), options: 0, index: None },
            3 => LayoutChoice::Virtual,
            _ => return Err(out_of_range("raw data layout method is not valid")),
        };
        set_layout(plist_id, choice)
    }

    /// Returns the storage layout.
    fn H5Pget_layout(plist_id: hid_t) -> c_int {
        read(plist_id, |dataset| match dataset.layout {
            LayoutChoice::Compact => 0,
            LayoutChoice::Contiguous => 1,
            LayoutChoice::Chunked { .. } => 2,
            LayoutChoice::Virtual => 3,
        })
    }

    /// Sets the shape of chunks, and with it the chunked layout.
    fn H5Pset_chunk(plist_id: hid_t, ndims: c_int, dim: Values<hsize_t>) -> herr_t {
        let shape = check_chunk(ndims, dim)?.to_vec();
        set_layout(plist_id, LayoutChoice::Chunked { shape, options: 0, index: None })
    }

    /// Returns the shape of chunks and its rank.
    fn H5Pget_chunk(plist_id: hid_t, max_ndims: c_int, dim: Out<hsize_t>) -> c_int {
        let shape = read(plist_id, |dataset| match &dataset.layout {
            LayoutChoice::Chunked { shape, .. } => Some(shape.clone()),
            _ => None,
        })?;
        let shape = shape.ok_or_else(not_chunked)?;
        dim.put_all(&shape, usize::try_from(max_ndims).unwrap_or(0));
        Ok(shape.len() as c_int)
    }

    /// Sets whether chunks at the edge stay unfiltered.
    fn H5Pset_chunk_opts(plist_id: hid_t, opts: c_uint) -> herr_t {
        if opts & !EDGES_UNFILTERED != 0 {
            return Err(out_of_range("unknown chunk options"));
        }
        let is_set = change(plist_id, &["layout"], |dataset| match &mut dataset.layout {
            LayoutChoice::Chunked { options, .. } => {
                *options = opts;
                true
            }
            _ => false,
        })?;
        if is_set { Ok(()) } else { Err(not_chunked()) }
    }

    /// Returns whether chunks at the edge stay unfiltered.
    fn H5Pget_chunk_opts(plist_id: hid_t, opts: Out<c_uint>) -> herr_t {
        let found = read(plist_id, |dataset| match dataset.layout {
            LayoutChoice::Chunked { options, .. } => Some(options),
            _ => None,
        })?;
        opts.put(found.ok_or_else(not_chunked)?);
        Ok(())
    }

    /// Sets the time at which storage is allocated.
    fn H5Pset_alloc_time(plist_id: hid_t, alloc_time: c_int) -> herr_t {
        let time = match alloc_time {
            0 => AllocTime::Default,
            1 => AllocTime::Early,
            2 => AllocTime::Late,
            3 => AllocTime::Incremental,
            _ => return Err(Failure::argument("invalid allocation time setting")),
        };
        change(plist_id, &["alloc_time_state", "fill_value"], |dataset| dataset.alloc_time = time)
    }

    /// Returns the time at which storage is allocated.
    fn H5Pget_alloc_time(plist_id: hid_t, alloc_time: Out<c_int>) -> herr_t {
        alloc_time.put(read(plist_id, alloc_number)?.into());
        Ok(())
    }

    /// Sets the time at which the fill value is written.
    fn H5Pset_fill_time(plist_id: hid_t, fill_time: c_int) -> herr_t {
        let time = match fill_time {
            0 => FillTime::Alloc,
            1 => FillTime::Never,
            2 => FillTime::IfSet,
            _ => return Err(Failure::argument("invalid fill time setting")),
        };
        change(plist_id, &["fill_value"], |dataset| dataset.fill_time = time)
    }

    /// Returns the time at which the fill value is written.
    fn H5Pget_fill_time(plist_id: hid_t, fill_time: Out<c_int>) -> herr_t {
        fill_time.put(read(plist_id, |dataset| fill_number(dataset.fill_time))?.into());
        Ok(())
    }

    /// Sets the fill value; without one elements that were never written are undefined.
    fn H5Pset_fill_value(plist_id: hid_t, type_id: hid_t, value: *const c_void) -> herr_t {
        list::list_of(plist_id, DATASET)?;
        let choice = match value.is_null() {
            true => FillChoice::Undefined,
            false => {
                let datatype = handles::datatype(type_id)?.datatype();
                let bytes = Bytes(value.cast_mut()).read(datatype.size() as usize, "fill value")?;
                FillChoice::Value(fill::from_c(&datatype, bytes)?)
            }
        };
        change(plist_id, &["fill_value"], |dataset| dataset.fill = choice)
    }

    /// Returns the fill value in a datatype.
    fn H5Pget_fill_value(plist_id: hid_t, type_id: hid_t, value: *mut c_void) -> herr_t {
        let choice = read(plist_id, |dataset| dataset.fill.clone())?;
        let datatype = handles::datatype(type_id)?.datatype();
        let buffer = Bytes(value).write(datatype.size() as usize, "fill value")?;
        match choice {
            FillChoice::Undefined => {
                Err(Failure::new(Major::PLIST, Minor::CANTGET, "fill value is undefined"))
            }
            FillChoice::Default => {
                buffer.fill(0);
                Ok(())
            }
            FillChoice::Value(element) => fill::to_c(&element, &datatype, buffer),
        }
    }

    /// Returns whether there is a fill value, and whose.
    fn H5Pfill_value_defined(plist: hid_t, status: Out<c_int>) -> herr_t {
        status.check("fill value status")?;
        status.put(read(plist, |dataset| match dataset.fill {
            FillChoice::Undefined => 0,
            FillChoice::Default => 1,
            FillChoice::Value(_) => 2,
        })?);
        Ok(())
    }

    /// Sets whether object headers have no space for attributes.
    fn H5Pset_dset_no_attrs_hint(dcpl_id: hid_t, minimize: bool) -> herr_t {
        change(dcpl_id, &["dset_oh_minimize"], |dataset| dataset.no_attributes_hint = minimize)
    }

    /// Returns whether object headers have no space for attributes.
    fn H5Pget_dset_no_attrs_hint(dcpl_id: hid_t, minimize: Out<bool>) -> herr_t {
        minimize.check("receiving pointer")?;
        minimize.put(read(dcpl_id, |dataset| dataset.no_attributes_hint)?);
        Ok(())
    }
}
