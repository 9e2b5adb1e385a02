//! Pages of objects, dkeys and akeys.

use super::{dkey_of, object_of, put_object};
use crate::bytes::Reader;
use crate::keys;
use crate::{ObjectId, Result};

use super::overlay::View;

/// Keys of one group that are passed before the next group is looked for: a look takes as long as some of them.
const PASSED_MAX: usize = 24;

/// Keys in groups of a common begin, whose length `group` says: the begin of each, from a key on.
fn groups(
    view: &View,
    from: Vec<u8>,
    count_max: usize,
    group: impl Fn(&[u8]) -> Option<usize>,
    behind: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Result<Vec<Vec<u8>>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    let mut next = Some(from);
    while let Some(from) = next.take().filter(|_| found.len() < count_max) {
        let mut passed = 0;
        view.keys(&from, |key| {
            let Some(begin) = group(key).and_then(|length| key.get(..length)) else { return Ok(false) };
            if found.last().is_none_or(|last| last != begin) {
                passed = 0;
                if found.len() == count_max {
                    return Ok(false);
                }
                found.push(begin.to_vec());
                return Ok(true);
            }
            passed += 1;
            if passed > PASSED_MAX {
                next = behind(begin);
            }
            Ok(passed <= PASSED_MAX)
        })?;
    }
    Ok(found)
}

/// A page of dkeys.
pub(super) fn dkeys(view: &View, object: ObjectId, from: &[u8], count_max: usize) -> Result<Vec<Vec<u8>>> {
    let mut own = Vec::new();
    put_object(object, &mut own);
    let mut start = own.clone();
    keys::escape(from, &mut start);
    let behind = |begin: &[u8]| {
        let mut behind = begin.to_vec();
        behind.push(0);
        keys::behind(&mut behind);
        Some(behind)
    };
    let found =
        groups(view, start, count_max, |key| key.starts_with(&own).then(|| dkey_of(key).len()), behind)?;
    let dkey = |begin: Vec<u8>| keys::unescape(begin.get(own.len()..)?);
    found.into_iter().map(|begin| dkey(begin).ok_or_else(Reader::corrupt)).collect()
}

/// What is before all keys of the next object.
fn behind_object(object: ObjectId) -> Option<Vec<u8>> {
    let next = u128::from_be_bytes(object.to_bytes()).checked_add(1)?;
    let mut behind = Vec::new();
    put_object(ObjectId::from_bytes(next.to_be_bytes()), &mut behind);
    Some(behind)
}

/// A page of objects.
pub(super) fn objects(view: &View, after: Option<ObjectId>, count_max: usize) -> Result<Vec<ObjectId>> {
    let start = after.map_or_else(|| Some(Vec::new()), behind_object);
    let Some(start) = start else { return Ok(Vec::new()) };
    let behind = |begin: &[u8]| behind_object(object_of(begin)?.0);
    let found = groups(view, start, count_max, |key| object_of(key).map(|(_, end)| end), behind)?;
    let object = |begin: &Vec<u8>| object_of(begin).map(|(object, _)| object);
    found.iter().map(|begin| object(begin).ok_or_else(Reader::corrupt)).collect()
}

/// A page of akeys.
pub(super) fn akeys(
    view: &View,
    object: ObjectId,
    dkey: &[u8],
    from: &[u8],
    count_max: usize,
) -> Result<Vec<Vec<u8>>> {
    let prefix = super::prefix(object, dkey);
    let mut start = prefix.clone();
    keys::escape(from, &mut start);
    let mut found = Vec::new();
    view.keys(&start, |key| {
        let Some(akey) = key.strip_prefix(&*prefix).filter(|_| found.len() < count_max) else {
            return Ok(false);
        };
        found.push(keys::unescape(akey).ok_or_else(Reader::corrupt)?);
        Ok(true)
    })?;
    Ok(found)
}

/// All keys of a dkey.
pub(super) fn keys_of(view: &View, object: ObjectId, dkey: &[u8]) -> Result<Vec<Box<[u8]>>> {
    let prefix = super::prefix(object, dkey);
    let mut found = Vec::new();
    view.keys(&prefix, |key| {
        let inside = key.starts_with(&prefix);
        if inside {
            found.push(key.into());
        }
        Ok(inside)
    })?;
    Ok(found)
}
