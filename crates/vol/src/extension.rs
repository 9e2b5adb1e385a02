//! Operations that one connector or one layer adds to the contract.
//!
//! An extension is a type that names the operation and says what goes in and what comes out. Callers use [`call`]; the
//! connector or layer answers in [`Container::optional`] with [`Optional`]. In between, layers and the wire carry a name and
//! bytes, and need not know the extension.
//!
//! ```
//! use hyperslab_vol::{Optional, Result, extension};
//!
//! extension! {
//!     /// Returns how many bytes of the log are no longer used.
//!     pub struct UnusedBytes = "my_log.unused_bytes": Read, () => u64;
//! }
//!
//! fn optional(name: &str, request: &[u8]) -> Result<Vec<u8>> {
//!     Optional::new(name, request).on::<UnusedBytes>(|()| Ok(4096)).or_unsupported()
//! }
//! assert_eq!(optional("my_log.unused_bytes", &[])?, 4096u64.to_le_bytes());
//! # Ok::<(), hyperslab_vol::Error>(())
//! ```

use model::{Error, Result, Token};

use crate::{Access, Container};

/// An operation that only one connector or layer has.
pub trait Extension {
    /// The name, unique among all extensions: `connector.operation`.
    const NAME: &'static str;
    /// The access that a caller needs to the container. A server checks it.
    const ACCESS: Access;
    /// The argument.
    type Request: ExtensionValue;
    /// The result.
    type Answer: ExtensionValue;

    /// The extension as a value, for [`Connector::extensions`](crate::Connector::extensions).
    const INFO: ExtensionInfo = ExtensionInfo { name: Self::NAME, access: Self::ACCESS };
}

/// Declares extensions: a type for each, with its name, the access that callers need, the request and the answer. A type that is
/// there already, because it is the request or the answer, becomes an extension without `struct`.
///
/// ```
/// use hyperslab_vol::{ExtensionInfo, Extension, extension};
///
/// extension! {
///     /// Returns a report about the targets, as JSON.
///     pub struct TargetReport = "copies.report": Read, () => String;
///     /// Removes a target, and returns how many are left.
///     pub struct Remove = "copies.remove": Write, String => u64;
/// }
/// assert_eq!(Remove::INFO.name, "copies.remove");
/// ```
#[macro_export]
macro_rules! extension {
    ($name:ident = $text:literal: $access:ident, $request:ty => $answer:ty) => {
        impl $crate::Extension for $name {
            const NAME: &'static str = $text;
            const ACCESS: $crate::Access = $crate::Access::$access;
            type Request = $request;
            type Answer = $answer;
        }
    };
    ($($(#[$doc:meta])* $vis:vis struct $name:ident = $text:literal: $access:ident, $request:ty => $answer:ty;)+) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            $vis struct $name;

            $crate::extension! { $name = $text: $access, $request => $answer }
        )+
    };
}

/// The name of an extension, and the access that its callers need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtensionInfo {
    /// [`Extension::NAME`].
    pub name: &'static str,
    /// [`Extension::ACCESS`].
    pub access: Access,
}

/// Calls an extension of a container.
///
/// # Errors
/// Returns `Error::Unsupported` if neither the container nor a layer above it has the extension.
pub fn call<E: Extension>(container: &dyn Container, request: &E::Request) -> Result<E::Answer> {
    E::Answer::from_bytes(&container.optional(E::NAME, &request.to_bytes())?)
}

/// A call that [`Container::optional`] received, on its way to the extension that answers it.
#[derive(Debug)]
pub struct Optional<'a> {
    name: &'a str,
    request: &'a [u8],
    answer: Option<Result<Vec<u8>>>,
}

impl<'a> Optional<'a> {
    /// Returns a call that no extension has answered yet.
    pub fn new(name: &'a str, request: &'a [u8]) -> Self {
        Optional { name, request, answer: None }
    }

    /// Answers the call with `run` if it is one of `E`.
    #[must_use]
    pub fn on<E: Extension>(mut self, run: impl FnOnce(E::Request) -> Result<E::Answer>) -> Self {
        if self.answer.is_none() && self.name == E::NAME {
            let answer = E::Request::from_bytes(self.request).and_then(run);
            self.answer = Some(answer.map(|answer| answer.to_bytes()));
        }
        self
    }

    /// Returns the answer, or `None` if no extension answered.
    pub fn answer(self) -> Option<Result<Vec<u8>>> {
        self.answer
    }

    /// Returns the answer, or asks `inner` if no extension answered.
    ///
    /// # Errors
    /// Returns the error of the extension or of `inner`.
    pub fn or_ask(self, inner: &dyn Container) -> Result<Vec<u8>> {
        self.answer.unwrap_or_else(|| inner.optional(self.name, self.request))
    }

    /// Returns the answer of the extension.
    ///
    /// # Errors
    /// Returns the error of the extension, or `Error::Unsupported` if none answered.
    pub fn or_unsupported(self) -> Result<Vec<u8>> {
        let unsupported = || Error::unsupported("optional operation").with("name", self.name);
        self.answer.unwrap_or_else(|| Err(unsupported()))
    }
}

/// A request or an answer of an extension, as bytes.
pub trait ExtensionValue: Sized {
    /// Returns the value as bytes.
    fn to_bytes(&self) -> Vec<u8>;

    /// Returns the value of these bytes.
    ///
    /// # Errors
    /// Returns `Error::Invalid` if the bytes are not a value of this type.
    fn from_bytes(bytes: &[u8]) -> Result<Self>;
}

fn malformed(bytes: &[u8]) -> Error {
    Error::invalid("decode value of optional operation").with("bytes", bytes.len())
}

impl ExtensionValue for () {
    fn to_bytes(&self) -> Vec<u8> {
        Vec::new()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if bytes.is_empty() { Ok(()) } else { Err(malformed(bytes)) }
    }
}

impl ExtensionValue for Vec<u8> {
    fn to_bytes(&self) -> Vec<u8> {
        self.clone()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(bytes.to_vec())
    }
}

/// UTF-8.
impl ExtensionValue for String {
    fn to_bytes(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        String::from_utf8(bytes.to_vec()).map_err(|_| malformed(bytes))
    }
}

/// Eight bytes, little-endian.
impl ExtensionValue for u64 {
    fn to_bytes(&self) -> Vec<u8> {
        self.to_le_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        bytes.try_into().map(u64::from_le_bytes).map_err(|_| malformed(bytes))
    }
}

/// Each as eight bytes, little-endian.
impl ExtensionValue for Vec<u64> {
    fn to_bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        match bytes.as_chunks::<8>() {
            (whole, []) => Ok(whole.iter().map(|number| u64::from_le_bytes(*number)).collect()),
            _ => Err(malformed(bytes)),
        }
    }
}

impl ExtensionValue for Token {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        bytes.try_into().map(Token).map_err(|_| malformed(bytes))
    }
}
