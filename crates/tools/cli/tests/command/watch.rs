//! `hyperslab watch`, next to a writer.

use std::process::{Command, Stdio};
use std::time::Duration;

use hyperslab::{File, FileAccess};

#[test]
fn new_rows_are_printed_as_they_come() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("run.h5");
    let location = path.to_string_lossy().into_owned();
    let access = FileAccess { version_low: hyperslab::vol::LibVersion::LATEST, ..FileAccess::write() };
    let file = File::create_with(&location, &Default::default(), &access, true).unwrap();
    let rows = file.new_dataset::<i32>().shape((1.., 3)).chunk((4, 3)).create("rows").unwrap();
    file.start_swmr().unwrap();
    let watch = Command::new(env!("CARGO_BIN_EXE_hyperslab"))
        .args(["watch", "--swmr", "-i", "0.1", "-n", "30", &location])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(600));
    rows.resize((3, 3)).unwrap();
    rows.write_slice(&ndarray::array![[1, 2, 3], [4, 5, 6]], hyperslab::s![1..3, ..]).unwrap();
    rows.flush().unwrap();
    let output = watch.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    for line in ["/rows: 1 x 3", "/rows: 1 x 3 -> 3 x 3", "  [1] 1 2 3", "  [2] 4 5 6"] {
        assert!(text.lines().any(|printed| printed == line), "{line}: {text}");
    }
}
