//! The `hyperslab` command.
fn main() {}
