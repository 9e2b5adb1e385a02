//! H5Z: filters of the library, of programs and of plugins.
//!
//! The library's own filters answer for their numbers. Others run on the thread that called, as they may hold locks of
//! their program, unless the environment names them as fit for several threads. [`add_to`] gives a registry both.

mod foreign;

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::LazyLock;

use hyperslab::extend::{Filter, Registered, Registry, Tolerance, undo_tolerantly};
use hyperslab::vol::model::properties::FilterSpec;
use hyperslab::{Dataspace, filter_names};
use system::sync::RwLock;

use crate::api;
use crate::arguments::Out;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, htri_t};
use crate::h5p::class::Kind;
use crate::h5p::values::LayoutChoice;
use crate::h5p::{PropertyList, list, list_for};
use crate::handles::{Space, SpaceHandle};
use crate::{h5pl, ids};

pub use foreign::ForeignFilter;

/// Numbers below are those of libhdf5's own filters.
const RESERVED: u16 = 256;
const ENCODE: c_uint = 1;
const DECODE: c_uint = 2;

/// Filters that programs registered, and those of plugins. A filter lives as long as the process: files keep it.
static FOREIGN: RwLock<BTreeMap<u16, &'static ForeignFilter>> = RwLock::new(BTreeMap::new());

/// The filters of this build.
static OWN: LazyLock<Registered> = LazyLock::new(Registered::default);

/// Returns whether this build has a filter with this number itself.
fn is_own(id: u16) -> bool {
    OWN.filters.get(id).is_ok()
}

/// Returns a filter that a program registered, or that a plugin has.
fn foreign(id: u16) -> Option<&'static ForeignFilter> {
    if let Some(filter) = FOREIGN.read().get(&id) {
        return Some(filter);
    }
    let found: &'static ForeignFilter = Box::leak(Box::new(h5pl::find_filter(id)?));
    FOREIGN.write().insert(id, found);
    Some(found)
}

/// Finds filters that a registry lacks.
fn find(id: u16) -> Option<&'static dyn Filter> {
    foreign(id).map(|filter| filter as &dyn Filter)
}

/// Lets a registry find filters of programs and plugins.
pub fn add_to(registry: &mut Registry) {
    registry.set_filter_finder(find);
}

/// Returns a damaged chunk from what its filters made of it, as far as `tolerance` accepts it.
pub fn undo(
    filters: &[FilterSpec],
    stored: (u32, Vec<u8>),
    chunk_bytes: usize,
    tolerance: &mut Tolerance<'_>,
) -> hyperslab::Result<Vec<u8>> {
    let mut registry = OWN.filters.clone();
    registry.set_finder(find);
    undo_tolerantly(&registry, filters, stored, chunk_bytes, tolerance)
}

/// Returns whether a filter can be used.
pub fn is_available(id: u16) -> bool {
    is_own(id) || foreign(id).is_some()
}

/// Returns the name of a filter that is there.
pub fn name(id: u16) -> Option<String> {
    match is_own(id) {
        true => filter_names::name(id).map(str::to_owned),
        false => foreign(id).map(|filter| filter.name().to_owned()),
    }
}

/// Returns whether a filter encodes and decodes (`H5Z_FILTER_CONFIG_…`), or `None` if it is not there.
pub fn config(id: u16) -> Option<c_uint> {
    match is_own(id) {
        true => Some(ENCODE | DECODE),
        false => foreign(id).map(ForeignFilter::config),
    }
}

/// Prepares the filters of a new dataset: filters of programs and plugins say whether they can be applied, and set values that
/// depend on the dataset. The library's own filters are completed by the connector.
///
/// # Errors
/// Returns a failure if a filter that must be applied is not there or cannot be applied.
pub fn prepare(filters: &mut Vec<FilterSpec>, dcpl: hid_t, datatype: hid_t, space: hid_t) -> Fallible<()> {
    if filters.iter().all(|spec| is_own(spec.id)) {
        return Ok(());
    }
    // Filters change values in the list of the dataset, not in that of the program.
    let copy = list_for(dcpl, Kind::DatasetCreate)?.copied()?;
    copy.read(|values| values.filters().map(|of_list| of_list.clone_from(filters)));
    let chunk = chunk_space(&copy, space)?;
    let copy_id = list::register(copy);
    let prepared = prepare_all(filters, copy_id, datatype, chunk.unwrap_or(space));
    let after = list::get(copy_id, Kind::DatasetCreate, |values| values.filters_ref().cloned());
    ids::remove_reference(copy_id)?;
    chunk.map(ids::remove_reference).transpose()?;
    prepared?;
    *filters = after?;
    Ok(())
}

/// Returns a dataspace with the shape of a chunk: filters see what they get, not the whole dataset. `None` is that of the dataset.
fn chunk_space(list: &PropertyList, dataset: hid_t) -> Fallible<Option<hid_t>> {
    let layout = list.read(|values| values.dataset().map(|dataset| dataset.layout.clone()));
    match layout {
        Some(LayoutChoice::Chunked { shape, .. }) if !shape.is_empty() => {
            Ok(Some(SpaceHandle::register(Space::all(Dataspace::simple(&shape)?))))
        }
        _ => Ok((dataset <= 0).then(|| SpaceHandle::register(Space::all(Dataspace::Scalar)))),
    }
}

fn prepare_all(filters: &[FilterSpec], dcpl: hid_t, datatype: hid_t, space: hid_t) -> Fallible<()> {
    for spec in filters.iter().filter(|spec| !is_own(spec.id)) {
        match foreign(spec.id) {
            Some(filter) => filter.prepare(spec.optional, [dcpl, datatype, space])?,
            None if spec.optional => {}
            None => {
                let text = format!("required filter {} is not registered", spec.id);
                return Err(Failure::new(Major::PLINE, Minor::NOTFOUND, text));
            }
        }
    }
    Ok(())
}

fn number(id: c_int) -> Fallible<u16> {
    u16::try_from(id).map_err(|_| Failure::argument("invalid filter identification number"))
}

fn changeable(id: c_int) -> Fallible<u16> {
    match number(id)? {
        id if id < RESERVED => Err(Failure::argument("unable to modify predefined filters")),
        id => Ok(id),
    }
}

api! { PLINE:
    /// Registers a filter of the program. It is used where the library has no filter with its number.
    fn H5Zregister(cls: *const c_void) -> herr_t {
        // Plugins that look up global values do so just before.
        crate::globals::restore();
        let filter = ForeignFilter::read(cls)?;
        let id = changeable(filter.id().into())?;
        FOREIGN.write().insert(id, Box::leak(Box::new(filter)));
        Ok(())
    }

    /// Removes a filter of the program. Open files keep it.
    fn H5Zunregister(id: c_int) -> herr_t {
        let id = changeable(id)?;
        match FOREIGN.write().remove(&id) {
            Some(_) => Ok(()),
            None => Err(Failure::new(Major::PLINE, Minor::NOTFOUND, "filter is not registered")),
        }
    }

    /// Says whether a filter can be used.
    fn H5Zfilter_avail(id: c_int) -> htri_t {
        Ok(is_available(number(id)?))
    }

    /// Returns whether a filter encodes and decodes.
    fn H5Zget_filter_info(filter: c_int, filter_config_flags: Out<c_uint>) -> herr_t {
        let flags = config(number(filter)?);
        let flags = flags.ok_or_else(|| Failure::new(Major::PLINE, Minor::BADVALUE, "Filter not defined"))?;
        filter_config_flags.put(flags);
        Ok(())
    }
}
