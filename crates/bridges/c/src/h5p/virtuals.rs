//! Mappings of virtual datasets.

use super::class::Kind;
use super::dataset_create::set_layout;
use super::list;
use super::values::{LayoutChoice, VirtualMappingChoice};
use crate::api;
use crate::arguments::{Out, Text, TextOut};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::handles::{self, Space, SpaceHandle};

const DATASET: Kind = Kind::DatasetCreate;

fn mappings(id: hid_t) -> Fallible<Vec<VirtualMappingChoice>> {
    let mappings = list::get(id, DATASET, |values| {
        let dataset = values.dataset_ref()?;
        Some((dataset.layout == LayoutChoice::Virtual).then(|| dataset.virtual_mappings.clone()))
    })?;
    mappings.ok_or_else(|| Failure::argument("not a virtual storage layout"))
}

fn mapping(id: hid_t, index: usize) -> Fallible<VirtualMappingChoice> {
    let found = mappings(id)?.into_iter().nth(index);
    found.ok_or_else(|| super::object::out_of_range("invalid index (out of range)"))
}

fn element_count(space: &Space) -> Fallible<u64> {
    Ok(space.selection.element_count(space.extent.dims())?)
}

/// Selections of a fixed size must have the same number of elements.
fn check_sizes(source: &Space, target: &Space) -> Fallible<()> {
    let (is_source_open, is_target_open) = (source.selection.is_unlimited(), target.selection.is_unlimited());
    // An unlimited target over a source of fixed size is a series of files with numbers in their names.
    if is_target_open {
        return Ok(());
    }
    if is_source_open {
        return Err(Failure::argument("source selection is unlimited and the virtual selection is not"));
    }
    match element_count(source)? == element_count(target)? {
        true => Ok(()),
        false => {
            Err(Failure::argument("source and virtual space selections have different numbers of elements"))
        }
    }
}

fn space(id: hid_t) -> Fallible<Space> {
    let space = handles::space(id)?.get();
    Ok(Space { selection: space.moved_selection()?, extent: space.extent, offset: Vec::new() })
}

api! { PLIST:
    /// Adds a mapping from elements of another dataset, and with it the virtual layout.
    fn H5Pset_virtual(dcpl_id: hid_t, vspace_id: hid_t, src_file_name: Text, src_dset_name: Text, src_space_id: hid_t) -> herr_t {
        let file = src_file_name.optional().ok_or_else(|| Failure::argument("source file name not provided"))?;
        let dataset = src_dset_name.optional().ok_or_else(|| Failure::argument("source dset name not provided"))?;
        let (target, source) = (space(vspace_id)?, space(src_space_id)?);
        check_sizes(&source, &target)?;
        let mapping = VirtualMappingChoice { file, dataset, source, target };
        let is_virtual = list::get(dcpl_id, DATASET, |values| Some(values.dataset_ref()?.layout == LayoutChoice::Virtual))?;
        if !is_virtual {
            set_layout(dcpl_id, LayoutChoice::Virtual)?;
        }
        list::set(dcpl_id, DATASET, &["layout"], |values| {
            values.dataset()?.virtual_mappings.push(mapping);
            Some(())
        })
    }

    /// Returns the number of mappings.
    fn H5Pget_virtual_count(dcpl_id: hid_t, count: Out<usize>) -> herr_t {
        count.put(mappings(dcpl_id)?.len());
        Ok(())
    }

    /// Returns the selection of a mapping in the virtual dataset.
    fn H5Pget_virtual_vspace(dcpl_id: hid_t, index: usize) -> hid_t {
        Ok(SpaceHandle::register(mapping(dcpl_id, index)?.target))
    }

    /// Returns the selection of a mapping in its source.
    fn H5Pget_virtual_srcspace(dcpl_id: hid_t, index: usize) -> hid_t {
        Ok(SpaceHandle::register(mapping(dcpl_id, index)?.source))
    }

    /// Returns the file of the source of a mapping.
    fn H5Pget_virtual_filename(dcpl_id: hid_t, index: usize, name: TextOut, size: usize) -> isize {
        Ok(name.put_text(size, &mapping(dcpl_id, index)?.file))
    }

    /// Returns the dataset that is the source of a mapping.
    fn H5Pget_virtual_dsetname(dcpl_id: hid_t, index: usize, name: TextOut, size: usize) -> isize {
        Ok(name.put_text(size, &mapping(dcpl_id, index)?.dataset))
    }
}
