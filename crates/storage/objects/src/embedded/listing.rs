//! Pages of objects, dkeys and akeys.

use super::overlay::View;
use super::{key, object_of, put_object};
use crate::bytes::Reader;
use crate::{ObjectId, Result};

/// Keys of one object that are passed before the next object is looked for: a look takes as long as some of them.
const PASSED_MAX: usize = 24;

/// Returns a page of dkeys.
pub(super) fn dkeys(view: &View, object: ObjectId, from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
    let own = key(object, b"");
    let mut found = Vec::new();
    view.dkeys(&key(object, from), |key| match key.strip_prefix(&*own) {
        Some(dkey) if found.len() < count_max => {
            found.push(dkey.to_vec());
            Ok(true)
        }
        _ => Ok(false),
    })?;
    Ok(found)
}

/// Returns what is before all keys of the next object.
fn behind(object: ObjectId) -> Option<Vec<u8>> {
    let next = u128::from_be_bytes(object.to_bytes()).checked_add(1)?;
    let mut behind = Vec::new();
    put_object(ObjectId::from_bytes(next.to_be_bytes()), &mut behind);
    Some(behind)
}

/// Returns a page of objects.
pub(super) fn objects(view: &View, after: Option<ObjectId>, count_max: usize) -> Result<Vec<ObjectId>> {
    let mut found: Vec<ObjectId> = Vec::new();
    let mut next = after.map_or_else(|| Some(Vec::new()), behind);
    while let Some(from) = next.take().filter(|_| found.len() < count_max) {
        let mut passed = 0;
        view.dkeys(&from, |key| {
            let (object, _) = object_of(key).ok_or_else(Reader::corrupt)?;
            if found.last() != Some(&object) {
                passed = 0;
                if found.len() == count_max {
                    return Ok(false);
                }
                found.push(object);
            }
            passed += 1;
            if passed > PASSED_MAX {
                next = behind(object);
            }
            Ok(passed <= PASSED_MAX)
        })?;
    }
    Ok(found)
}

/// Returns a page of akeys.
pub(super) fn akeys(
    view: &View,
    object: ObjectId,
    dkey: &[u8],
    from: &[u8],
    count_max: usize,
) -> Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    view.akeys(&key(object, dkey), from, |akey| {
        let has_space = found.len() < count_max;
        if has_space {
            found.push(akey.to_vec());
        }
        Ok(has_space)
    })?;
    Ok(found)
}
