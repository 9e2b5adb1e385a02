//! Every operation of a container as bytes, for remote containers: behind the C interface of a plugin, or
//! behind a connection.
//!
//! A caller holds a [`Client`], which is a [`Container`](vol::Container) whose operations become a [`Request`]; a
//! [`Transport`] carries it; [`dispatch`] runs it on the container over there and makes an [`Answer`].
//! All three come from the one table of operations, so nothing can be left out.
//!
//! The form is meant to be read and written in any language with a dozen small functions:
//!
//! - integers are little-endian and as wide as their type; `bool` is one byte; a token is sixteen;
//! - text is a `u32` of bytes and UTF-8; a list is a `u32` of items and the items; an optional value is a byte 0 or 1
//!   and the value; a structure is its fields in order; a choice is a byte and its fields;
//! - byte strings that are arguments or answers by themselves (elements, values, keys, chunks, blobs) are not in these
//!   bytes at all: they travel next to them as *bulk*, in the order of the arguments, so that no one copies them.
//!
//! A caller that reads checks every length against the bytes that are there before it sizes anything.

mod access;
mod answer;
mod argument;
mod client;
mod datatypes;
mod error;
mod form;
mod objects;
mod plain;
mod properties;
mod reader;
mod request;
mod scratch;
mod selection;

pub use access::{OpenRequest, Wrapping};
pub use answer::Answer;
pub use client::{Client, Transport, dispatch, respond};
pub use form::Wire;
pub use reader::Reader;
pub use request::Request;

use answer::{Answered, Received};
use argument::{Argument, Lend};
use request::{Incoming, Outgoing};

/// The version of the form. Both sides must have the same.
pub const VERSION: u32 = 6;

/// Types inside types, at most; and errors that caused errors.
const DEPTH_MAX: u32 = 128;

/// Returns a value as bytes.
pub fn to_bytes<T: Wire>(value: &T) -> model::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    value.put(&mut bytes)?;
    Ok(bytes)
}

/// Returns a value from bytes that hold it and nothing else.
pub fn from_bytes<T: Wire>(bytes: &[u8]) -> model::Result<T> {
    let mut reader = Reader::new(bytes);
    let value = T::get(&mut reader)?;
    reader.finish()?;
    Ok(value)
}
