//! Progress is for a person at a terminal.

use hyperslab::File;

use super::common::{Folder, done};

#[test]
fn nothing_of_it_is_printed_in_a_pipe() {
    let folder = Folder::new("progress");
    let (path, copy, packed) = (folder.at("a.h5"), folder.at("b.h5"), folder.at("c.h5"));
    let file = File::create(&path).unwrap();
    let data = file.new_dataset::<f64>().shape([1000, 100]).chunk([100, 100]).create("g/d").unwrap();
    data.write_raw(&vec![1.5f64; 100_000]).unwrap();
    file.close().unwrap();
    let commands: [&[&str]; 7] = [
        &["copy", &path, &copy],
        &["copy", "-s", "/g", "-d", "/h", &path, &copy],
        &["repack", "-f", "GZIP=1", &path, &packed],
        &["check", &path],
        &["check", "--json", &path],
        &["diff", &path, &packed],
        &["stat", &path],
    ];
    for words in commands {
        let output = done(words);
        assert!(output.stderr.is_empty(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
