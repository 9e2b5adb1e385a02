//! The async layer: operations go on in the background, while the program goes on.
//!
//! ```text
//! async{threads=2, memory=67108864}
//! ```
//!
//! An operation is kept until its turn: a change of an object waits for what is before it on that object, a read for the
//! changes before it, and unrelated operations pass each other. So a program sees what it would see without the layer,
//! except that failures come later: from the [`Request`], from the [`EventSet`] that the operation was queued in, or, where
//! no one looked there, from the next `commit` or `close`.
//!
//! Any call queues what can only fail in the storage: `dataset_write`, `dataset_resize`, `attribute_write`, and `release` of
//! an object that has something queued. Inside of [`EventSet::scope`], [`requests`] and [`queued`], where the caller looks for
//! failures, links, attributes, map pairs and commits are queued too, and creations where the inner container knows the
//! token of the object beforehand ([`vol::Pipeline`]). [`start`] queues any operation, and returns a future of its answer.
//! [`queue_prepared`] queues a change whose values have to be stored before it, and [`background`] runs code that waits on
//! threads of its own.
//!
//! At most `memory` bytes wait; who queues more waits itself. Dropping a container without closing it finishes what is
//! queued, and loses its failures.

mod background;
mod buffers;
mod events;
mod graph;
mod layer;
mod queue;
mod replay;
mod request;
mod start;
#[cfg(test)]
mod tests;
mod waits;
mod work;

pub use background::{Background, background};
pub use events::{EventSet, Progress};
pub use layer::AsyncLayer;
pub use replay::{queue_prepared, resolved};
pub use request::{Request, Status, requests};
pub use start::{
    Answer, Queued, is_queued, queued, queues_changes, start, start_info, start_link, start_read, wait,
    wait_all,
};
