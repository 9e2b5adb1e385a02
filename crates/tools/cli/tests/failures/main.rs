//! What commands leave, say and return when something goes wrong.

mod causes;
mod common;
mod copies;
mod strangers;
