//! Tests of servers and their clients, one module for each subject. One program: linking takes longer than running.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/latency.rs"]
mod latency;
#[path = "../common/process.rs"]
mod process;
#[path = "../common/proxy.rs"]
mod proxy;

mod access;
mod bounds;
mod direct;
mod direct_locks;
mod faults;
mod full_disk;
mod hostile;
mod namespaces;
mod nodes;
mod nodes_ceph;
mod parallel;
mod queue;
mod rights;
mod shares;
mod started;
#[cfg(feature = "tls")]
mod tls;
mod trips;
