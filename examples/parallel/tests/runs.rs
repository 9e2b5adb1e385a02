//! Runs the program: under `mpirun` with the feature `mpi`, with threads without.

use std::process::Command;

use hyperslab::File;

#[cfg(feature = "mpi")]
fn launcher() -> Option<Command> {
    let mut command = testkit::mpi::mpirun(4, false)?;
    command.arg(env!("CARGO_BIN_EXE_heat"));
    Some(command)
}

#[cfg(not(feature = "mpi"))]
fn launcher() -> Option<Command> {
    Some(Command::new(env!("CARGO_BIN_EXE_heat")))
}

#[test]
fn four_processes_write_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("heat.h5");
    let Some(mut command) = launcher() else { return };
    let output = command.arg(&path).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = File::open(&path).expect("a file");
    assert_eq!(file.attr("processes").unwrap().read_scalar::<u32>().unwrap(), 4);
    let heat = file.dataset("heat").unwrap();
    assert_eq!(heat.shape(), [10, 4000]);
    let first = heat.read_slice_1d::<f64, _>((0, 0..3)).unwrap();
    assert_eq!(first.to_vec(), [1000.0, 0.0, 0.0]);
    let second = heat.read_slice_1d::<f64, _>((1, 0..2)).unwrap();
    assert_eq!(second[0], 500.0);
}
