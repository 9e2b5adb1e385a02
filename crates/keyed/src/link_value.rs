//! The encoding of soft, external and user-defined links: the class as HDF5 numbers it, and the data of the class.

use model::bytes::Cursor;
use model::{Error, LinkTarget, Result, text};

const SOFT: u8 = 1;
const EXTERNAL: u8 = 64;

/// Encodes the target of a link that is no hard link: mappings encode those by their own IDs.
///
/// # Errors
/// Returns `Invalid` for a hard link, and for a name of an external file with a NUL.
pub fn link_value(target: &LinkTarget) -> Result<Vec<u8>> {
    Ok(match target {
        LinkTarget::Hard(token) => return Err(Error::invalid("encode link").with("token", token)),
        LinkTarget::Soft(path) => [&[SOFT][..], &text::to_bytes(path)].concat(),
        LinkTarget::External { file, path } => {
            let file = text::to_bytes(file);
            if file.contains(&0) {
                return Err(Error::invalid("create external link").with("problem", "NUL in the file's name"));
            }
            [&[EXTERNAL, 0][..], &file, &[0], &text::to_bytes(path)].concat()
        }
        LinkTarget::User { class, data } => [&[*class][..], data].concat(),
    })
}

/// Decodes what [`link_value`] encodes.
///
/// # Errors
/// Returns `Corrupt` if the bytes are no link.
pub fn link_target(value: &[u8]) -> Result<LinkTarget> {
    let mut cursor = Cursor::new(value, "link");
    Ok(match cursor.u8()? {
        SOFT => LinkTarget::Soft(text::from_bytes(cursor.rest())),
        EXTERNAL => {
            if cursor.u8()? != 0 {
                return Err(cursor.corrupt("version of an external link"));
            }
            let file = text::from_bytes(cursor.until_nul()?);
            LinkTarget::External { file, path: text::from_bytes(cursor.rest()) }
        }
        class @ 65.. => LinkTarget::User { class, data: cursor.rest().to_vec() },
        class => return Err(cursor.corrupt(format!("class {class}"))),
    })
}
