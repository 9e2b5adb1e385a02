//! Listings of keys, page by page.

use keyed::{During, PAGE, after};
use model::Result;
use objects::{ObjectId, Store};

/// Visits keys from `from` on, until `visit` returns `false`. `page` returns the keys from a key on.
fn each_key(
    from: &[u8],
    page: impl Fn(&[u8]) -> Result<Vec<Vec<u8>>>,
    mut visit: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<()> {
    let mut from = from.to_vec();
    loop {
        let keys = page(&from)?;
        let Some(last) = keys.last() else { return Ok(()) };
        from = after(last);
        for key in &keys {
            if !visit(key)? {
                return Ok(());
            }
        }
    }
}

/// Visits the dkeys of an object from `from` on, until `visit` returns `false`.
pub(crate) fn each_dkey(
    store: &dyn Store,
    id: ObjectId,
    from: &[u8],
    visit: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<()> {
    each_key(from, |from| store.dkeys(id, from, PAGE).during("list keys"), visit)
}

/// Visits the akeys of a dkey from `from` on, until `visit` returns `false`.
pub(crate) fn each_akey(
    store: &dyn Store,
    id: ObjectId,
    dkey: &[u8],
    from: &[u8],
    visit: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<()> {
    each_key(from, |from| store.akeys(id, dkey, from, PAGE).during("list keys"), visit)
}
