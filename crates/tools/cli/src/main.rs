//! The `hyperslab` command as a program.

fn main() -> std::process::ExitCode {
    hyperslab_cli::main(std::env::args_os().skip(1))
}
