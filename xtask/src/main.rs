//! Project chores: `cargo xtask NAME`.
//!
//! - `oracle DIR… [--tool dump|ls] [-- OPTIONS]`: every file under the folders that Debian's h5dump (or h5ls) prints
//!   is printed by `hyperslab` too; says how many outputs are equal and lists the rest.
//! - `golden DIR`: makes the project's own golden files there, with h5py.
//! - `rivals [OPTIONS] [WORDS]`: builds and runs `benches/rivals`, and writes its table to `docs/` when all of it was run.
//! - `commits [--write]`: of these, one thing added and flushed, next to up to a million others; `--write` puts its tables into
//!   `docs/performance.md`.
//! - `hot-paths [--update]`: counts the instructions of the paths in `benches/hot_paths`; fails where one takes over a
//!   tenth more than `counts.txt` there says. `--update` writes that file anew.
//! - `conformance [--write]`: the conformance suite on every connector and on stacks of layers, as a table; fails where one
//!   does not do what it claims. `--write` puts the tables into `docs/connectors.md`.

mod conformance;
mod counts;
mod hot_paths;
mod oracle;

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("oracle") => oracle::run(arguments.collect()),
        Some("golden") => golden(&arguments.collect::<Vec<_>>()),
        Some("rivals") => rivals(&arguments.collect::<Vec<_>>()),
        Some("commits") => commits(&arguments.collect::<Vec<_>>()),
        Some("hot-paths") => hot_paths::run(&arguments.collect::<Vec<_>>()),
        Some("conformance") => conformance::run(&arguments.collect::<Vec<_>>()),
        _ => {
            eprintln!(
                "usage: cargo xtask oracle DIR… [--tool dump|ls] [-- OPTIONS]\n       \
                 cargo xtask golden DIR\n       \
                 cargo xtask rivals [WORDS]\n       \
                 cargo xtask commits [--write]\n       \
                 cargo xtask hot-paths [--update]\n       \
                 cargo xtask conformance [--write]"
            );
            ExitCode::from(2)
        }
    }
}

/// The workspace's folder.
fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn golden(arguments: &[String]) -> ExitCode {
    let script = root().join("tests/golden/make.py");
    match Command::new("python3").arg(script).args(arguments).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask golden: cannot run python3: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What commits cost, of the benchmark next to libhdf5.
fn commits(arguments: &[String]) -> ExitCode {
    let writes = arguments.iter().any(|argument| argument == "--write");
    let out: &[&str] = if writes { &["--out", "../../docs"] } else { &[] };
    let all: Vec<String> = ["commit"].iter().chain(out).map(|&word| word.to_owned()).collect();
    rivals(&all)
}

/// The benchmark next to libhdf5 is a workspace of its own.
fn rivals(arguments: &[String]) -> ExitCode {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--release", "--"]).args(arguments).current_dir(root().join("benches/rivals"));
    if arguments.is_empty() {
        cargo.arg("--out").arg("../../docs");
    }
    match cargo.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask rivals: cannot run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}
