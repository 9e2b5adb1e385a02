//! The way in which a group stores its links: an extension of the native connector.

use model::{Error, Result, Token};
use vol::ExtensionValue;

/// How a group of an HDF5 file stores its links (`H5G_storage_type_t`): the extension `native.link_storage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkStorage {
    /// In a symbol table.
    SymbolTable,
    /// In the object header.
    Compact,
    /// In a fractal heap with B-trees.
    Dense,
}

vol::extension! { LinkStorage = "native.link_storage": Read, Token => LinkStorage }

/// The numbers that libhdf5 has for them.
impl ExtensionValue for LinkStorage {
    fn to_bytes(&self) -> Vec<u8> {
        vec![*self as u8]
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        match bytes {
            [0] => Ok(LinkStorage::SymbolTable),
            [1] => Ok(LinkStorage::Compact),
            [2] => Ok(LinkStorage::Dense),
            _ => Err(Error::invalid("decode storage of links").with("bytes", bytes.len())),
        }
    }
}
