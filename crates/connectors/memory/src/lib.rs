//! The memory connector: the reference model of every test.
