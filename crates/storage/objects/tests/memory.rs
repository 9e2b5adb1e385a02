//! The contract on the memory engine.

mod suite;

fn main() -> std::process::ExitCode {
    suite::run("memory", hyperslab_objects::memory::pool)
}
