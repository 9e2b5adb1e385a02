//! hdf5-metno's examples run as they are, and h5py reads what they wrote.

use std::path::Path;
use std::process::Command;

fn run(program: &str, folder: &Path) {
    let output = Command::new(program).current_dir(folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}", output.status);
}

fn python(script: &str, folder: &Path) {
    let output = Command::new("python3").args(["-c", script]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn simple() {
    let folder = tempfile::tempdir().unwrap();
    run(env!("CARGO_BIN_EXE_metno-simple"), folder.path());
    let script = "
import h5py, hdf5plugin
with h5py.File('pixels.h5') as f:
    assert f['dir/pixels']['y'].tolist() == [[2, 3], [4, 5], [6, 7]]
";
    python(script, folder.path());
}

#[test]
fn chunking() {
    let folder = tempfile::tempdir().unwrap();
    run(env!("CARGO_BIN_EXE_metno-chunking"), folder.path());
    let script = "
import h5py, numpy as np
with h5py.File('chunking.h5') as f:
    d = f['variable']
    assert d.shape == (10, 100, 100) and d.maxshape == (None, 100, 100) and d.chunks == (1, 100, 100)
    assert d[1, 7, 9] == 7009 and not d[2].any() and d.compression == 'gzip'
";
    python(script, folder.path());
}

#[test]
fn continuously_rw_1d() {
    let folder = tempfile::tempdir().unwrap();
    run(env!("CARGO_BIN_EXE_metno-continuously-rw-1d"), folder.path());
    let script = "
import h5py
with h5py.File('continuous_chunks.h5') as f:
    assert f['count'][...].tolist() == list(range(15)) and f['count'].id.get_num_chunks() == 3
";
    python(script, folder.path());
}

/// It sleeps for half a minute, as it came.
#[test]
fn swmr() {
    let folder = tempfile::tempdir().unwrap();
    run(env!("CARGO_BIN_EXE_metno-swmr"), folder.path());
    let script = "
import h5py
with h5py.File('swmr.h5') as f:
    assert f['foo'][...].tolist() == [[i] * 5 for i in range(5)]
";
    python(script, folder.path());
}
