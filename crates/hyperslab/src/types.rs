//! Element types that Rust has no type of its own for.

use model::datatype::StringPad;
use model::heap::Heap;
use model::{CharacterSet, Datatype, Result};

use crate::H5Type;

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
                    return Err(error.with("bytes", bytes.len()).with("room", N));
                }
                element[..N].fill(0);
                element[..bytes.len()].copy_from_slice(&bytes);
                Ok(())
            }
        }

        impl<const N: usize> $name<N> {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    };
}
fixed!(FixedUnicode, CharacterSet::Utf8);
fixed!(FixedAscii, CharacterSet::Ascii);

/// A variable-length string, under the name that users of other crates know.
pub type VarLenUnicode = String;
/// A variable-length sequence.
pub type VarLenArray<T> = Vec<T>;
