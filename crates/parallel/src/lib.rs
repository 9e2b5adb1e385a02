//! Parallel HDF5: one container that many processes have open together (docs/parallel.md).
//!
//! Rank 0 decides on structure; every rank transfers elements. [`connector`] makes a connector of another one whose
//! containers all processes of a [`Comm`] create and open together:
//!
//! - Every operation that changes structure is collective. The ranks first agree on it (module `ranks`): those that make
//!   another call, or the same with other arguments, are named in an error that all of them get, and nothing happens.
//!   Then rank 0 runs it on the container that it [leads](vol::Replica), and sends the answer and what changed.
//! - Every rank reads what it likes from its own replica, without a message.
//! - Elements that lie in the file as they are go there from every rank. What only rank 0 may write (bytes of the
//!   last commit, elements that are stored otherwise) is sent to it.
#![forbid(unsafe_code)]

mod aggregate;
mod connector;
mod container;
mod filtered;
mod group;
mod new_dataset;
mod opened;
mod placed;
mod ranks;
mod structure;
mod transfer;

use std::sync::Arc;

use comm::Comm;
use vol::Connector;

/// Returns a connector whose containers all members of `comm` create and open together, with `inner` below, where every member
/// opens a container by itself and sees what the others change: containers behind a server.
pub fn shared_connector(inner: &Arc<dyn Connector>, comm: Arc<dyn Comm>) -> Arc<dyn Connector> {
    match comm.size() {
        1 => inner.clone(),
        _ => Arc::new(connector::ParallelConnector::shared(inner.clone(), comm)),
    }
}

/// Returns a connector whose containers all members of `comm` create and open together, with `inner` below.
///
/// A container that is opened to read is one of each rank. A container that is written needs an inner connector with
/// [`Connector::replicas`]; creating one with another connector is an error of kind `Unsupported`.
pub fn connector(inner: &Arc<dyn Connector>, comm: Arc<dyn Comm>) -> Arc<dyn Connector> {
    match comm.size() {
        1 => inner.clone(),
        _ => Arc::new(connector::ParallelConnector::new(inner.clone(), comm)),
    }
}
