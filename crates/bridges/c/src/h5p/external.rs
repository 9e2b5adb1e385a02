//! External files of datasets.

use std::ffi::{c_int, c_uint};

use hyperslab::vol::model::properties::ExternalFile;

use super::class::Kind;
use super::list;
use super::object::out_of_range;
use crate::api;
use crate::arguments::{Out, Text, TextOut};
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t, hsize_t};

/// `H5F_UNLIMITED`
const UNLIMITED: hsize_t = hsize_t::MAX;

fn check_new(files: &[ExternalFile], size: hsize_t) -> Fallible<()> {
    if files.last().is_some_and(|last| last.size == UNLIMITED) {
        return Err(Failure::argument("previous file size is unlimited"));
    }
    let total = files.iter().try_fold(size, |sum, file| sum.checked_add(file.size));
    if size != UNLIMITED && total.is_none() {
        return Err(Failure::new(Major::EFL, Minor::OVERFLOW, "total external data size overflowed"));
    }
    Ok(())
}

fn files(id: hid_t) -> Fallible<Vec<ExternalFile>> {
    list::get(id, Kind::DatasetCreate, |values| Some(values.dataset_ref()?.external.clone()))
}

api! { PLIST:
    /// Adds a file to those that the elements of a dataset lie in.
    fn H5Pset_external(plist_id: hid_t, name: Text, offset: i64, size: hsize_t) -> herr_t {
        let name = name.optional().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Failure::argument("no name given"))?;
        let offset = u64::try_from(offset).map_err(|_| Failure::argument("negative external file offset"))?;
        check_new(&files(plist_id)?, size)?;
        list::set(plist_id, Kind::DatasetCreate, &["efl"], |values| {
            values.dataset()?.external.push(ExternalFile { name, offset, size });
            Some(())
        })
    }

    /// Returns the number of external files.
    fn H5Pget_external_count(plist_id: hid_t) -> c_int {
        Ok(files(plist_id)?.len() as c_int)
    }

    /// Returns an external file.
    fn H5Pget_external(
        plist_id: hid_t, idx: c_uint, name_size: usize, name: TextOut, offset: Out<i64>, size: Out<hsize_t>,
    ) -> herr_t {
        let files = files(plist_id)?;
        let file = files.get(idx as usize).ok_or_else(|| out_of_range("external file index is out of range"))?;
        name.put_text(name_size, &file.name);
        offset.put(file.offset as i64);
        size.put(file.size);
        Ok(())
    }
}
