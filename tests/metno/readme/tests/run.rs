//! The program of hdf5-metno's README runs, and h5py reads what it wrote.

use std::process::Command;

#[test]
fn the_program_of_the_readme_runs_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_metno-readme")).current_dir(&folder).status().unwrap();
    assert!(status.success(), "{status}");
    let script = "
import h5py, hdf5plugin
with h5py.File('pixels.h5') as f:
    d = f['dir/pixels']
    assert d.shape == (3, 2) and d['x'].tolist() == [[1, 2], [3, 4], [5, 6]], d[...]
    assert [int(c) for c in d['color'][:, 1]] == [3, 1, 2]
    assert d.attrs['colors'].tolist() == [1, 2, 3]
    assert d.id.get_create_plist().get_filter(0)[0] == 32001
";
    let python = Command::new("python3").args(["-c", script]).current_dir(&folder).output().unwrap();
    assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
}
