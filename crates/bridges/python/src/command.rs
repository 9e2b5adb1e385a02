//! The command `hyperslab`, for the console script of the wheel.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use pyo3::prelude::*;

/// Runs the command with the words after its name, and returns the code that the process should end with.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let code = py.detach(|| {
        let code = hyperslab_cli::main(arguments);
        // Only the main function of a Rust program would do that.
        let _ = std::io::stdout().flush();
        code
    });
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(1)
}
