//! Programs for libhdf5, unchanged, on libhdf5 and on the C library: h5py's, and one in C.
//!
//! The C library is built as for a release (`cargo build --profile dist -p hyperslab-hdf5`).

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::harness::{Amount, Bench, race};

/// Workloads of `h5py_workloads.py`: how each is called in the table, and the least ratio.
const H5PY: [(&str, &str, f64); 10] = [
    ("deflated read", "h5py: deflated read", 3.0),
    ("deflated write", "h5py: deflated write", 3.0),
    ("windows", "h5py: 10,000 windows of 64 x 64", 3.0),
    ("strided", "h5py: strided read", 4.0),
    ("points", "h5py: 10^5 points", 3.0),
    ("contiguous read", "h5py: contiguous read", 0.95),
    ("contiguous write", "h5py: contiguous write", 0.95),
    ("strings", "h5py: 10^6 strings read", 1.5),
    ("objects created", "h5py: 10,000 datasets with 5 attributes created", 1.5),
    ("objects read", "h5py: 10,000 datasets with 5 attributes read", 1.5),
];

/// Workloads of `objects.c`.
const C: [(&str, &str, f64); 3] = [
    ("created", "C: 10,000 datasets with 5 attributes created", 2.5),
    ("read", "C: 10,000 datasets with 5 attributes read", 2.5),
    ("attribute", "C: one attribute read in a loop", 4.0),
];

pub(crate) fn run(bench: &mut Bench) -> Outcome<()> {
    let names: Vec<&str> = H5PY.iter().chain(&C).map(|(_, name, _)| *name).collect();
    if !bench.wants(&names) {
        return Ok(());
    }
    let library = build()?;
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/programs");
    let folder = bench.path("programs");
    std::fs::create_dir_all(&folder)?;
    let python = || {
        let mut python = Command::new("python3");
        python.arg(here.join("h5py_workloads.py"));
        python
    };
    report(python().args(["make", &folder]))?;
    for (workload, name, at_least) in H5PY {
        compare(bench, (name, at_least), &library, || {
            let mut program = python();
            program.args([workload, &folder]);
            program
        })?;
    }
    let program = compile(&here.join("objects.c"), &folder)?;
    for (workload, name, at_least) in C {
        compare(bench, (name, at_least), &library, || {
            let mut command = Command::new(&program);
            command.args([workload, &folder]);
            command
        })?;
    }
    bench.remove(&["programs"]);
    Ok(())
}

/// Runs a program on both libraries in turn.
fn compare(
    bench: &mut Bench,
    (name, at_least): (&str, f64),
    library: &Path,
    program: impl Fn() -> Command,
) -> Outcome<()> {
    let (mut theirs, mut ours) = (f64::NAN, f64::NAN);
    race(name, Amount::Calls(1))
        .at_least(at_least)
        .rounds(4)
        .theirs(|| {
            let (seconds, result) = numbers(&mut program())?;
            theirs = result;
            Ok(seconds)
        })
        .ours(|| {
            let (seconds, result) = numbers(program().env("LD_PRELOAD", library))?;
            ours = result;
            Ok(seconds)
        })
        .run(bench, || Ok(true))?;
    let is_run = !ours.is_nan();
    if is_run && theirs != ours { Err(format!("{name}: {theirs} and {ours}").into()) } else { Ok(()) }
}

/// What a program printed: seconds, and a sum of what it read.
fn numbers(program: &mut Command) -> Outcome<(f64, f64)> {
    let text = report(program)?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let mut next = || numbers.next().ok_or_else(|| format!("{program:?} printed {text:?}"));
    Ok((next()??, next()??))
}

/// What a program printed, or what it said when it failed.
fn report(program: &mut Command) -> Outcome<String> {
    let output = program.output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(format!("{program:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn build() -> Outcome<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    report(
        Command::new("cargo")
            .args(["build", "--quiet", "--profile", "dist", "-p", "hyperslab-hdf5"])
            .current_dir(&root),
    )?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("dist/libhyperslab_hdf5.so").canonicalize()?)
}

/// Compiles with the libhdf5 in the folder `HYPERSLAB_REFERENCE`, else with Debian's.
fn compile(source: &Path, folder: &str) -> Outcome<PathBuf> {
    let program = Path::new(folder).join("objects");
    let mut compiler = Command::new("cc");
    compiler.arg("-O2").arg("-o").arg(&program).arg(source);
    match std::env::var("HYPERSLAB_REFERENCE") {
        Ok(prefix) => {
            let libraries = format!("{prefix}/lib");
            compiler.arg(format!("-I{prefix}/include")).arg(format!("-L{libraries}")).arg("-lhdf5");
            compiler.arg(format!("-Wl,-rpath,{libraries}"));
        }
        Err(_) => {
            let flags = report(Command::new("pkg-config").args(["--cflags", "--libs", "hdf5-serial"]))?;
            compiler.args(flags.split_whitespace());
        }
    }
    report(&mut compiler)?;
    Ok(program)
}
