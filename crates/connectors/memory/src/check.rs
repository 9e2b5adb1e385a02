//! Checks before anything is stored.

use model::datatype::DescriptorSizes;
use model::{Dataspace, Datatype, Error, Limits, Result, Token};

use crate::objects::ContainerState;

/// Descriptors of this connector: numbers of blobs and references, and whole tokens.
pub(crate) const DESCRIPTOR_SIZES: DescriptorSizes =
    DescriptorSizes { varlen: 12, object_old: 16, region_old: 8, reference: 8, reference_in_sequence: 8 };

/// Returns an error unless a buffer has the length that it must have.
pub(crate) fn length(operation: &str, wanted: u64, have: usize) -> Result<()> {
    match wanted == have as u64 {
        true => Ok(()),
        false => Err(Error::invalid(operation).with("bytes", have).with("wanted", wanted)),
    }
}

/// Returns the number of bytes of all elements of an extent.
pub(crate) fn space_bytes(space: &Dataspace, datatype: &Datatype) -> Result<u64> {
    let count = space.element_count()?;
    let bytes = count.checked_mul(u64::from(datatype.size()));
    bytes.ok_or_else(|| Error::limit("count bytes").with("elements", count))
}

impl ContainerState {
    /// Returns a type as this container stores it; where it is a committed one's, it must be that type.
    pub(crate) fn file_type(
        &self,
        given: &Datatype,
        committed: Option<Token>,
        limits: &Limits,
    ) -> Result<Datatype> {
        given.validate(limits)?;
        let file_type = given.with_descriptors(&DESCRIPTOR_SIZES);
        // With other descriptors members move, and a size that fitted may not fit any more.
        file_type.validate(limits)?;
        match committed {
            Some(token) if *self.datatype(token)? != file_type => {
                Err(Error::invalid("share committed datatype").with("problem", "its type is another one"))
            }
            _ => Ok(file_type),
        }
    }
}
