//! Listings of keys.

use keyed::During;
use model::Result;
use objects::{ObjectId, Store};

/// Returns the dkeys of an object that begin with `prefix`, in byte order.
pub(crate) fn dkeys(store: &dyn Store, id: ObjectId, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
    objects::dkeys_with_prefix(store, id, prefix).during("list keys")
}

/// Returns the akeys of a dkey that begin with `prefix`, in byte order.
pub(crate) fn akeys(store: &dyn Store, id: ObjectId, dkey: &[u8], prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
    objects::akeys_with_prefix(store, id, dkey, prefix).during("list keys")
}
