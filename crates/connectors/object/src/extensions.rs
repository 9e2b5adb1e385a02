//! Operations that this connector adds to the contract: object classes.

use model::{Error, Result, Token};
use objects::ObjectClass;

vol::extension! {
    /// Sets the class of the objects that are created from now on through any handle of the container: DAOS's name of a
    /// class (`S1`, `RP_2G1`, `EC_4P2GX`), or nothing for none in particular. It stands in the upper 32 bits of their IDs.
    ///
    /// An unknown name is `Invalid`.
    pub struct SetObjectClass = "object.set_class": Write, String => ();
    /// Returns the class that the ID of an object names, or nothing. The request is the bytes of its token.
    pub struct ObjectClassOf = "object.class_of": Read, Vec<u8> => String;
}

/// # Errors
/// Returns `Invalid` if there is no such class.
pub(crate) fn class_of_name(name: &str) -> Result<Option<ObjectClass>> {
    let class = (!name.is_empty()).then(|| name.parse()).transpose();
    class.map_err(|error: objects::Error| Error::invalid("use object class").with("problem", error))
}

pub(crate) fn token_of(bytes: &[u8]) -> Result<Token> {
    let token = bytes.try_into().map(Token);
    token.map_err(|_| Error::invalid("read object class").with("bytes", bytes.len()))
}
