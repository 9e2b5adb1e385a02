//! The layers on the memory connector, each alone and several together: see `tests/stacks.rs`.
