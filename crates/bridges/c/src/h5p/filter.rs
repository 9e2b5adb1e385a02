//! Filters of creation lists.

use std::ffi::{c_int, c_uint};

use hyperslab::filter_names::id;
use hyperslab::vol::model::properties::FilterSpec;

use super::class::Kind;
use super::list;
use crate::api;
use crate::arguments::{Out, TextOut, Values};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, htri_t};
use crate::h5z;

const OBJECT: Kind = Kind::ObjectCreate;
const FILTERS_MAX: usize = 32;
const FLAG_OPTIONAL: c_uint = 1;
const FLAGS: c_uint = 0xff;
/// libhdf5 takes a larger number for one that was never set.
const VALUES_MAX: usize = 256;

const SZIP_K13: c_uint = 1;
const SZIP_CHIP: c_uint = 2;
const SZIP_EC: c_uint = 4;
const SZIP_LSB: c_uint = 8;
const SZIP_MSB: c_uint = 16;
const SZIP_NN: c_uint = 32;
const SZIP_PIXELS_MAX: c_uint = 32;

fn not_in_pipeline() -> Failure {
    Failure::new(Major::PLINE, Minor::NOTFOUND, "filter not in pipeline")
}

fn number(filter: c_int) -> Fallible<u16> {
    u16::try_from(filter).map_err(|_| Failure::argument("invalid filter identifier"))
}

/// Adds a filter to the pipeline of a list.
fn append(list_id: hid_t, filter: u16, flags: c_uint, values: &[c_uint]) -> Fallible<()> {
    let spec =
        FilterSpec { id: filter, name: None, optional: flags & FLAG_OPTIONAL != 0, values: values.to_vec() };
    list::list_of(list_id, OBJECT)?.change(&["pline"], |values| {
        let filters = values.filters().ok_or_else(not_in_pipeline)?;
        if filters.len() >= FILTERS_MAX {
            return Err(Failure::new(Major::PLINE, Minor::CANTINIT, "too many filters in pipeline"));
        }
        filters.push(spec);
        Ok(())
    })
}

fn filters(list_id: hid_t) -> Fallible<Vec<FilterSpec>> {
    list::get(list_id, OBJECT, |values| values.filters_ref().cloned())
}

fn check_given<'a>(
    filter: c_int,
    flags: c_uint,
    count: usize,
    given: Values<c_uint>,
) -> Fallible<(u16, &'a [c_uint])> {
    let filter = number(filter)?;
    if flags & !FLAGS != 0 {
        return Err(Failure::argument("invalid flags"));
    }
    if count > 0 && given.0.is_null() {
        return Err(Failure::argument("no client data values supplied"));
    }
    Ok((filter, given.required(count, "client data values")?))
}

/// Where a program wants to know about a filter.
struct Asked {
    flags: Out<c_uint>,
    count: Out<usize>,
    values: Out<c_uint>,
    name_size: usize,
    name: TextOut,
    config: Out<c_uint>,
}

impl Asked {
    fn check(&self) -> Fallible<()> {
        match self.count.get() {
            Some(count) if count > VALUES_MAX => {
                Err(Failure::argument("probable uninitialized *cd_nelmts argument"))
            }
            Some(count) if count > 0 && !self.values.is_wanted() => {
                Err(Failure::argument("client data values not supplied"))
            }
            _ => Ok(()),
        }
    }

    fn answer(&self, spec: &FilterSpec) -> Fallible<()> {
        self.flags.put(if spec.optional { FLAG_OPTIONAL } else { 0 });
        // Without a number of values the program's array is left alone.
        if let Some(available) = self.count.get() {
            self.values.put_all(&spec.values, available);
            self.count.put(spec.values.len());
        }
        if self.name_size > 0 {
            let name = spec.name.clone().or_else(|| h5z::name(spec.id)).unwrap_or_default();
            self.name.put_text(self.name_size, &name);
        }
        if self.config.is_wanted() {
            // A filter that is not there has no configuration.
            self.config.put(h5z::config(spec.id).unwrap_or(0));
        }
        Ok(())
    }
}

fn filter_at(list_id: hid_t, index: c_uint, asked: &Asked) -> Fallible<c_int> {
    asked.check()?;
    let filters = filters(list_id)?;
    let spec = filters.get(index as usize).ok_or_else(|| Failure::argument("filter number is invalid"))?;
    asked.answer(spec)?;
    Ok(spec.id.into())
}

fn filter_by_id(list_id: hid_t, filter: c_int, asked: &Asked) -> Fallible<()> {
    asked.check()?;
    let filters = filters(list_id)?;
    let spec = filters.iter().find(|spec| c_int::from(spec.id) == filter).ok_or_else(not_in_pipeline)?;
    asked.answer(spec)
}

const NO_CONFIG: Out<c_uint> = Out(std::ptr::null_mut());

fn check_szip(options: c_uint, pixels: c_uint) -> Fallible<c_uint> {
    if pixels % 2 == 1 {
        return Err(Failure::argument("pixels_per_block is not even"));
    }
    if pixels > SZIP_PIXELS_MAX {
        return Err(Failure::argument("pixels_per_block is too large"));
    }
    if options & (SZIP_EC | SZIP_NN) == 0 {
        return Err(Failure::argument("szip needs a coding method"));
    }
    Ok((options & !(SZIP_CHIP | SZIP_LSB | SZIP_MSB)) | SZIP_K13)
}

api! { PLIST:
    /// Adds a filter.
    fn H5Pset_filter(plist_id: hid_t, filter: c_int, flags: c_uint, cd_nelmts: usize, cd_values: Values<c_uint>) -> herr_t {
        let (filter, values) = check_given(filter, flags, cd_nelmts, cd_values)?;
        append(plist_id, filter, flags, values)
    }

    /// Changes the flags and the values of a filter.
    fn H5Pmodify_filter(plist_id: hid_t, filter: c_int, flags: c_uint, cd_nelmts: usize, cd_values: Values<c_uint>) -> herr_t {
        let (filter, given) = check_given(filter, flags, cd_nelmts, cd_values)?;
        list::list_of(plist_id, OBJECT)?.change(&["pline"], |values| {
            let filters = values.filters().ok_or_else(not_in_pipeline)?;
            let spec = filters.iter_mut().find(|spec| spec.id == filter).ok_or_else(not_in_pipeline)?;
            spec.optional = flags & FLAG_OPTIONAL != 0;
            spec.values = given.to_vec();
            Ok(())
        })
    }

    /// Removes a filter; 0 removes all of them.
    fn H5Premove_filter(plist_id: hid_t, filter: c_int) -> herr_t {
        list::list_of(plist_id, OBJECT)?.change(&["pline"], |values| {
            let filters = values.filters().ok_or_else(not_in_pipeline)?;
            if filter == 0 {
                filters.clear();
                return Ok(());
            }
            let at = filters.iter().position(|spec| c_int::from(spec.id) == filter);
            filters.remove(at.ok_or_else(not_in_pipeline)?);
            Ok(())
        })
    }

    /// Returns the number of filters.
    fn H5Pget_nfilters(plist_id: hid_t) -> c_int {
        Ok(filters(plist_id)?.len() as c_int)
    }

    /// Says whether all filters of a list can be applied.
    fn H5Pall_filters_avail(plist_id: hid_t) -> htri_t {
        Ok(filters(plist_id)?.iter().all(|spec| h5z::is_available(spec.id)))
    }

    /// Returns a filter by its position.
    fn H5Pget_filter2(
        plist_id: hid_t, idx: c_uint, flags: Out<c_uint>, cd_nelmts: Out<usize>, cd_values: Out<c_uint>,
        namelen: usize, name: TextOut, filter_config: Out<c_uint>,
    ) -> c_int {
        let asked = Asked { flags, count: cd_nelmts, values: cd_values, name_size: namelen, name, config: filter_config };
        filter_at(plist_id, idx, &asked)
    }

    /// Returns a filter by its position.
    fn H5Pget_filter1(
        plist_id: hid_t, idx: c_uint, flags: Out<c_uint>, cd_nelmts: Out<usize>, cd_values: Out<c_uint>,
        namelen: usize, name: TextOut,
    ) -> c_int {
        let asked = Asked { flags, count: cd_nelmts, values: cd_values, name_size: namelen, name, config: NO_CONFIG };
        filter_at(plist_id, idx, &asked)
    }

    /// Returns a filter by its number.
    fn H5Pget_filter_by_id2(
        plist_id: hid_t, filter_id: c_int, flags: Out<c_uint>, cd_nelmts: Out<usize>, cd_values: Out<c_uint>,
        namelen: usize, name: TextOut, filter_config: Out<c_uint>,
    ) -> herr_t {
        let asked = Asked { flags, count: cd_nelmts, values: cd_values, name_size: namelen, name, config: filter_config };
        filter_by_id(plist_id, filter_id, &asked)
    }

    /// Returns a filter by its number.
    fn H5Pget_filter_by_id1(
        plist_id: hid_t, filter_id: c_int, flags: Out<c_uint>, cd_nelmts: Out<usize>, cd_values: Out<c_uint>,
        namelen: usize, name: TextOut,
    ) -> herr_t {
        let asked = Asked { flags, count: cd_nelmts, values: cd_values, name_size: namelen, name, config: NO_CONFIG };
        filter_by_id(plist_id, filter_id, &asked)
    }

    /// Adds deflate.
    fn H5Pset_deflate(plist_id: hid_t, level: c_uint) -> herr_t {
        if level > 9 {
            return Err(Failure::argument("invalid deflate level"));
        }
        append(plist_id, id::DEFLATE, FLAG_OPTIONAL, &[level])
    }

    /// Adds a checksum.
    fn H5Pset_fletcher32(plist_id: hid_t) -> herr_t {
        append(plist_id, id::FLETCHER32, 0, &[])
    }

    /// Adds shuffle.
    fn H5Pset_shuffle(plist_id: hid_t) -> herr_t {
        list::list_of(plist_id, Kind::DatasetCreate)?;
        append(plist_id, id::SHUFFLE, FLAG_OPTIONAL, &[])
    }

    /// Adds n-bit.
    fn H5Pset_nbit(plist_id: hid_t) -> herr_t {
        list::list_of(plist_id, Kind::DatasetCreate)?;
        append(plist_id, id::NBIT, FLAG_OPTIONAL, &[])
    }

    /// Adds scale-offset.
    fn H5Pset_scaleoffset(plist_id: hid_t, scale_type: c_int, scale_factor: c_int) -> herr_t {
        list::list_of(plist_id, Kind::DatasetCreate)?;
        if scale_factor < 0 {
            return Err(Failure::argument("scale factor must be >= 0"));
        }
        if !(0..=2).contains(&scale_type) {
            return Err(Failure::wrong_type("invalid scale type"));
        }
        append(plist_id, id::SCALEOFFSET, FLAG_OPTIONAL, &[scale_type as c_uint, scale_factor as c_uint])
    }

    /// Adds szip.
    fn H5Pset_szip(plist_id: hid_t, options_mask: c_uint, pixels_per_block: c_uint) -> herr_t {
        list::list_of(plist_id, Kind::DatasetCreate)?;
        let options = check_szip(options_mask, pixels_per_block)?;
        append(plist_id, id::SZIP, FLAG_OPTIONAL, &[options, pixels_per_block])
    }
}
