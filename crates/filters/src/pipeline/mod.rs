//! Filters of chunks, between the creation properties that name them and the crate that runs them: what every
//! connector with chunks needs, and what knows of no storage.
//!
//! [`complete`] gives filters of a new dataset the values that depend on its type and chunks; [`apply`] and [`undo`]
//! take one chunk through them; [`other`] encodes what `H5Pencode` leaves out.

mod named;
mod other;
mod run;
mod setup;

pub use named::{NAMED, check_level, is_named, named};
pub use other::{other, take_other};
pub use run::{
    apply, check, check_new, is_available, mask_of_none, stage_bytes_max, stages, undo, undo_tolerantly,
};
pub use setup::{complete, complete_values, values};
