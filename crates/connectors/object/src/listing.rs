//! Listings of keys, in pages.

use std::ops::Deref;

pub(crate) use keyed::{PAGE, View, after};
use model::Result;
use objects::{ObjectId, Store};

use crate::error::During;

/// What is remembered of listings. Whatever changes an object's keys says so.
#[derive(Debug, Default)]
pub(crate) struct Listings(keyed::Listings<ObjectId>);

impl Deref for Listings {
    type Target = keyed::Listings<ObjectId>;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Listings {
    /// dkeys for which `shown` holds, by their bytes: up to `count` after the first `skip`, and whether more follow.
    pub(crate) fn page(
        &self,
        store: &dyn Store,
        id: ObjectId,
        range: (u64, u64),
        shown: impl Fn(&[u8]) -> Result<bool>,
    ) -> Result<(Vec<Vec<u8>>, bool)> {
        let keys = |from: &[u8], count| store.dkeys(id, from, count).during("list keys");
        self.0.page(id, range, keys, shown)
    }
}

/// All dkeys of an object for which `shown` holds, one after another.
pub(crate) fn each_dkey(
    store: &dyn Store,
    id: ObjectId,
    from: &[u8],
    mut visit: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<()> {
    let mut from = from.to_vec();
    loop {
        let dkeys = store.dkeys(id, &from, PAGE).during("list keys")?;
        let Some(last) = dkeys.last() else { return Ok(()) };
        from = after(last);
        for dkey in &dkeys {
            if !visit(dkey)? {
                return Ok(());
            }
        }
    }
}

/// All akeys of a dkey from a key on, until `visit` says that it has seen enough.
pub(crate) fn each_akey(
    store: &dyn Store,
    id: ObjectId,
    dkey: &[u8],
    from: &[u8],
    mut visit: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<()> {
    let mut from = from.to_vec();
    loop {
        let akeys = store.akeys(id, dkey, &from, PAGE).during("list keys")?;
        let Some(last) = akeys.last() else { return Ok(()) };
        from = after(last);
        for akey in &akeys {
            if !visit(akey)? {
                return Ok(());
            }
        }
    }
}
