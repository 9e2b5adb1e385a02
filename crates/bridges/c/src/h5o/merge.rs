//! The search for committed datatypes that copies share.

use std::ffi::c_int;
use std::sync::Arc;

use hyperslab::{Error, Result, Token};

use crate::h5f::FileHandle;
use crate::h5p::values::ObjectCopyValues;
use crate::handles::ObjectHandle;
use crate::paths;

/// `H5O_MCDT_SEARCH_CONT`
const GO_ON: c_int = 0;
/// `H5O_MCDT_SEARCH_STOP`
const STOP: c_int = 1;

/// Returns the objects at the paths that the properties name, as far as there are some in the file of the copy.
pub(super) fn suggested(
    values: &ObjectCopyValues,
    target: &ObjectHandle,
    file: &Arc<FileHandle>,
) -> Vec<Token> {
    let at = |path: &String| {
        let found = paths::find(target, &format!("/{path}"), &Default::default()).ok()?;
        found.file.is_same(file).then_some(found.token)
    };
    values.merge_paths.iter().filter_map(at).collect()
}

/// Asks the program whether all of the file is searched.
pub(super) fn is_search_wanted(values: &ObjectCopyValues) -> Result<bool> {
    let (Some(function), data) = values.search else { return Ok(true) };
    // SAFETY: the program gave function and data together.
    match unsafe { function(data.map_or(std::ptr::null_mut(), |data| data.0)) } {
        GO_ON => Ok(true),
        STOP => Ok(false),
        _ => Err(Error::invalid("search committed datatypes")
            .with("problem", "the callback of the program failed")),
    }
}
