//! Types of elements for which Rust has no type.

use model::datatype::{ReferenceKind, StringPad};
use model::heap::Heap;
use model::{CharacterSet, Datatype, Error, Reference, Result};

pub use crate::H5Type;

/// A string of at most `N` bytes, padded with NULs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FixedUnicode<const N: usize>(pub String);

/// An ASCII string of at most `N` bytes, padded with NULs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FixedAscii<const N: usize>(pub String);

macro_rules! fixed {
    ($name:ident, $charset:expr) => {
        impl<const N: usize> H5Type for $name<N> {
            fn datatype() -> Datatype {
                Datatype::fixed_string(N as u32, StringPad::NullPadded, $charset)
            }
            fn load(element: &[u8], _heap: &Heap) -> Result<Self> {
                let text = &element[..element.len().min(N)];
                let len = text.iter().position(|&b| b == 0).unwrap_or(text.len());
                Ok(Self(model::text::from_bytes(&text[..len])))
            }
            fn store(&self, element: &mut [u8], _heap: &mut Heap) -> Result<()> {
                let bytes = model::text::to_bytes(&self.0);
                if bytes.len() > N || element.len() < N {
                    let error = model::Error::conversion("write fixed string");
                    return Err(error.with("bytes", bytes.len()).with("space", N));
                }
                element[..N].fill(0);
                element[..bytes.len()].copy_from_slice(&bytes);
                Ok(())
            }
        }

        impl<const N: usize> $name<N> {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<const N: usize> std::fmt::Display for $name<N> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl<const N: usize> std::ops::Deref for $name<N> {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl<const N: usize> PartialEq<str> for $name<N> {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl<const N: usize> PartialEq<&str> for $name<N> {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }
    };
}
fixed!(FixedUnicode, CharacterSet::Utf8);
fixed!(FixedAscii, CharacterSet::Ascii);

fn fitting(text: &str, bytes_max: usize) -> Result<String> {
    if text.len() > bytes_max {
        let error = Error::conversion("create fixed string");
        return Err(error.with("bytes", text.len()).with("space", bytes_max));
    }
    Ok(text.to_owned())
}

fn ascii(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii());
    text.ok_or_else(|| Error::conversion("create ASCII string").with("problem", "a byte is not ASCII"))
}

impl<const N: usize> std::str::FromStr for FixedUnicode<N> {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        fitting(text, N).map(Self)
    }
}

impl<const N: usize> FixedAscii<N> {
    /// Returns a string of ASCII bytes.
    ///
    /// # Errors
    /// Returns an error where a byte is not ASCII, or where there are more than `N`.
    pub fn from_ascii<B: ?Sized + AsRef<[u8]>>(bytes: &B) -> Result<Self> {
        fitting(ascii(bytes.as_ref())?, N).map(Self)
    }
}

/// A variable-length string of ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct VarLenAscii(String);

impl VarLenAscii {
    /// Returns a string of ASCII bytes.
    ///
    /// # Errors
    /// Returns an error where a byte is not ASCII.
    pub fn from_ascii<B: ?Sized + AsRef<[u8]>>(bytes: &B) -> Result<Self> {
        ascii(bytes.as_ref()).map(|text| VarLenAscii(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::ops::Deref for VarLenAscii {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for VarLenAscii {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq<&str> for VarLenAscii {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl H5Type for VarLenAscii {
    fn datatype() -> Datatype {
        Datatype::var_string(CharacterSet::Ascii)
    }
    fn load(element: &[u8], heap: &Heap) -> Result<Self> {
        String::load(element, heap).map(VarLenAscii)
    }
    fn store(&self, element: &mut [u8], heap: &mut Heap) -> Result<()> {
        self.0.store(element, heap)
    }
}

/// A reference to elements of a dataset. It is stored as `H5T_STD_REF` if the version bound is 1.12 or later, and
/// otherwise as `H5T_STD_REF_DSETREG`. A [`Reference`] is then stored as `H5T_STD_REF_OBJ`, which holds references to
/// objects only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionReference(pub Reference);

impl H5Type for RegionReference {
    fn datatype() -> Datatype {
        Datatype::reference(ReferenceKind::Region)
    }
    fn load(element: &[u8], heap: &Heap) -> Result<Self> {
        Reference::load(element, heap).map(RegionReference)
    }
    fn store(&self, element: &mut [u8], heap: &mut Heap) -> Result<()> {
        self.0.store(element, heap)
    }
}

/// A variable-length string, under the name that `hdf5-metno` has for it.
pub type VarLenUnicode = String;
/// A variable-length sequence.
pub type VarLenArray<T> = Vec<T>;
