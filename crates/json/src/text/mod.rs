//! JSON text: values, a reader that hostile text cannot hurt, and a writer for people.
//!
//! Numbers stay the text they are, so that none loses a digit.

mod read;
mod value;
mod write;

pub use read::{DEPTH_MAX, read};
pub use value::{Fields, Value, list};
pub use write::write;
