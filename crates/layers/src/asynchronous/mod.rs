//! The async layer: elements, attribute values and extents are changed in the background, while the program goes on.
//!
//! ```text
//! async{threads=2, memory=67108864}
//! ```
//!
//! What needs no answer is checked, copied once and queued: `dataset_write`, `dataset_resize`, `attribute_write`, and
//! `release` of an object that has something queued. Changes of one object happen in their order; whatever else is asked
//! of an object waits for what is queued for it, and what could remove objects waits for all. So a program sees what it
//! would see without the layer, except that a failure of the storage comes later: from the [`Request`], from the
//! [`EventSet`] that the change was queued in, or, where no one looked there, from the next `commit` or `close`.
//!
//! At most `memory` bytes wait; who queues more waits itself. Changes that may fail for reasons of their own (elements
//! in other files, values of variable length, arguments that do not fit) are not queued: they wait for their turn and
//! answer at once. Dropping a container without closing it finishes what is queued, and loses its failures.

mod buffers;
mod events;
mod graph;
mod layer;
mod queue;
mod request;
mod start;
mod waits;
mod work;
#[cfg(test)]
mod tests;

pub use events::{EventSet, Progress};
pub use layer::AsyncLayer;
pub use request::{Request, Status, requests};
pub use start::{Answer, Queued, queued, start, wait, wait_all};
