//! Elements as JSON: exact in both directions.
//!
//! What has no exact JSON form of its own (a NaN with a message in it, bits where padding should be) stands there as
//! its bytes: `"0x7fc00001"`, in the order they have in the element.

mod codec;
mod floats;
mod integers;
mod references;

pub use codec::{Codec, Reading};
pub use references::{Objects, Strangers, reference_from_json, reference_to_json};

pub(crate) use integers::{number_from_json, number_to_json};

use model::{Error, Result};

use crate::names::{from_hex, hex};
use crate::text::Value;

/// Returns bytes as they are, where nothing else is exact.
fn raw_to_json(bytes: &[u8]) -> Value<'static> {
    format!("0x{}", hex(bytes)).into()
}

/// Returns the bytes of [`raw_to_json`], if this is one.
fn raw_from_json(value: &Value<'_>, bytes: usize) -> Result<Option<Vec<u8>>> {
    let Value::String(text) = value else { return Ok(None) };
    let Some(digits) = text.strip_prefix("0x") else { return Ok(None) };
    if digits.len() != bytes * 2 {
        return Err(unfit("bytes", value).with("wanted", bytes));
    }
    from_hex(digits).map(Some)
}

fn unfit(wanted: &str, value: &Value<'_>) -> Error {
    let found = match value {
        Value::Number(text) | Value::String(text) => text.chars().take(40).collect(),
        Value::Array(entries) => format!("list of {}", entries.len()),
        other => format!("{other:?}").chars().take(40).collect::<String>(),
    };
    Error::corrupt("read JSON element").with("wanted", wanted).with("found", found)
}
