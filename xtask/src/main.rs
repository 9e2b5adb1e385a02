//! Project chores: `cargo xtask NAME`.
fn main() {}
