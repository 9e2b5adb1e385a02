//! Threads, as [`std::thread`].

#[cfg(not(hyperslab_shuttle))]
pub use std::thread::{
    Builder, JoinHandle, Scope, ScopedJoinHandle, available_parallelism, current, panicking, scope, sleep,
    spawn,
};

#[cfg(hyperslab_shuttle)]
pub use shuttle::thread::{
    Builder, JoinHandle, Scope, ScopedJoinHandle, current, panicking, scope, sleep, spawn,
};
#[cfg(hyperslab_shuttle)]
pub use std::thread::available_parallelism;
