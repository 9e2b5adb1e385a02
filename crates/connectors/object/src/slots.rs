//! Slots of variable-length values and references: a length, and the UUID of a blob.

use model::datatype::SlotSizes;
use model::{Datatype, Error, Limits, Result, Token};

use crate::opening::Opening;

/// Bytes of a blob's identity: a UUID.
pub(crate) const ID_BYTES: usize = 16;

/// Every slot has the same form.
pub(crate) const SLOTS: SlotSizes = keyed::slot_sizes(ID_BYTES as u32);

/// A blob's identity.
pub(crate) type BlobId = [u8; ID_BYTES];

/// A stored type. Its slots have our sizes, or it is not ours.
pub(crate) fn decode_type(bytes: &[u8], limits: &Limits) -> Result<Datatype> {
    keyed::decode_type(bytes, &SLOTS, limits)
}

impl Opening {
    /// A type as it is stored; where it is a committed one's, it must be that type.
    pub(crate) fn file_type(&self, given: &Datatype, committed: Option<Token>) -> Result<Datatype> {
        let file_type = keyed::file_type(given, &SLOTS, self.limits())?;
        match committed {
            Some(token) if *self.described(token)?.datatype()? != file_type => {
                Err(Error::invalid("share committed datatype").with("problem", "its type is another one"))
            }
            _ => Ok(file_type),
        }
    }
}
