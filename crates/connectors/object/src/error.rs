//! What the store says, in the words of the model.

pub(crate) use keyed::{During, fetched, stored};
