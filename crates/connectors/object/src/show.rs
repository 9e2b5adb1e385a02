//! `storage_show`: what is stored, object by object, dkey by dkey, akey by akey.

use std::fmt::Write;

use keyed::{During, StorageReport};
use model::{Limits, Result};
use objects::{ObjectId, Size};

use crate::ObjectMapping;
use crate::identity;
use crate::keys::{GLOBAL, ROOT};
use crate::listing;
use crate::show_values::{key, value};

/// Writes a line to a `String`, which does not fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => {
        let _ = writeln!($out, $($arg)*);
    };
}

fn title(id: ObjectId) -> String {
    match id {
        GLOBAL => "global metadata".to_owned(),
        ROOT => "group (root)".to_owned(),
        id => identity::kind(id).name().to_owned(),
    }
}

/// Returns the whole container as text.
pub(crate) fn show(mapping: &ObjectMapping, limits: &Limits) -> Result<String> {
    let mut out = String::new();
    let mut ids = mapping.stored_ids()?;
    ids.sort_unstable_by_key(|id| (id.low, id.high));
    ids.dedup();
    for id in ids {
        show_object(mapping, id, limits, &mut out)?;
    }
    Ok(out)
}

fn show_object(mapping: &ObjectMapping, id: ObjectId, limits: &Limits, out: &mut String) -> Result<()> {
    let store = &*mapping.store;
    line!(out, "object {id} {}", title(id));
    for dkey in listing::dkeys(store, id, b"")? {
        line!(out, "  dkey {}", key(id, None, &dkey));
        for akey in listing::akeys(store, id, &dkey, b"")? {
            let shown = show_value(mapping, id, &dkey, &akey, limits)?;
            line!(out, "    akey {} = {shown}", key(id, Some(&dkey), &akey));
        }
    }
    Ok(())
}

fn show_value(
    mapping: &ObjectMapping,
    id: ObjectId,
    dkey: &[u8],
    akey: &[u8],
    limits: &Limits,
) -> Result<String> {
    let store = &*mapping.store;
    Ok(match store.size(id, dkey, akey).during("show storage")? {
        None => "nothing".to_owned(),
        Some(Size::Records { record_size, end }) => {
            format!("records of {record_size} bytes, the last before {end}")
        }
        Some(Size::Single(_)) => {
            let found = store.get(id, dkey, &[akey]).during("show storage")?.pop().flatten();
            value(id, dkey, akey, &found.unwrap_or_default(), limits)
        }
    })
}
