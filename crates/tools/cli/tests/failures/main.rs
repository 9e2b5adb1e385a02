//! What commands leave, say and return when something goes wrong.

mod causes;
#[path = "../common/mod.rs"]
mod common;
mod copies;
mod strangers;
