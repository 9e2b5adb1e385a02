//! What h5py with hdf5plugin makes of filters that were given no, some and all parameters.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program that must succeed; what it printed is shown where it does not.
fn run(program: &str, words: &[&str], folder: &Path) {
    let output = Command::new(program).args(words).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {words:?}: {}\n{text}", output.status);
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("hyperslab-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Values, stored parameters, and sizes within 5 % of those that hdf5plugin itself comes to.
#[test]
fn h5py_reads_every_filter_given_no_some_and_all_parameters() {
    let folder = folder("filters");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filters.py");
    let (script, hyperslab) = (script.to_str().unwrap(), env!("CARGO_BIN_EXE_hyperslab"));
    run("python3", &[script, "make", "."], &folder);
    let cases = std::fs::read_to_string(folder.join("cases.txt")).unwrap();
    for (number, case) in cases.lines().enumerate() {
        let (filter, ours) = (format!("UD={case}"), format!("ours-{number}.h5"));
        run(hyperslab, &["repack", "-f", &filter, "source.h5", &ours], &folder);
    }
    run("python3", &[script, "check", "."], &folder);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Names reach `repack` and `copy`, for all datasets or for those that are named before a colon.
#[test]
fn filters_are_named_in_repack_and_copy() {
    let folder = folder("named-filters");
    let hyperslab = env!("CARGO_BIN_EXE_hyperslab");
    let make = "
import h5py, numpy as np
with h5py.File('f.h5', 'w') as f:
    for name in ('a', 'b'):
        f.create_dataset(name, data=np.arange(10000, dtype='<i4'), chunks=(5000,))
";
    run("python3", &["-c", make], &folder);
    run(hyperslab, &["repack", "-f", "SHUF", "-f", "ZSTD=3", "f.h5", "all.h5"], &folder);
    run(
        hyperslab,
        &["repack", "-f", "a:BLOSC=lz4:5:shuffle", "-f", "b:BITSHUFFLE", "f.h5", "each.h5"],
        &folder,
    );
    run(hyperslab, &["copy", "--filter", "/b:BLOSC2=zstd:9", "f.h5", "copy.h5"], &folder);
    let check = "
import h5py, hdf5plugin, numpy as np
def filters(path, name):
    with h5py.File(path) as f:
        assert np.array_equal(f[name][...], np.arange(10000)), (path, name)
        plist = f[name].id.get_create_plist()
        return [(plist.get_filter(n)[0], plist.get_filter(n)[2]) for n in range(plist.get_nfilters())]
assert filters('all.h5', 'a') == filters('all.h5', 'b') == [(2, (4,)), (32015, (3,))]
assert filters('each.h5', 'a') == [(32001, (2, 2, 4, 20000, 5, 1, 1))]
assert filters('each.h5', 'b') == [(32008, (0, 4, 4, 0, 2))]
assert filters('copy.h5', 'a') == []
assert filters('copy.h5', 'b') == [(32026, (1, 0, 4, 20000, 9, 1, 5))]
";
    run("python3", &["-c", check], &folder);
    for refused in
        [["repack", "-f", "ZIP=3"], ["copy", "--filter", "BLOSC=lzma"], ["repack", "-f", "UD=60000,0,0"]]
    {
        let target = ["f.h5", "refused.h5"];
        let output =
            Command::new(hyperslab).args(refused).args(target).current_dir(&folder).output().unwrap();
        assert!(!output.status.success() && !output.stderr.is_empty(), "{refused:?}");
        assert!(!folder.join("refused.h5").exists(), "{refused:?}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
