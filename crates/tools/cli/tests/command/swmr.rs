//! `--swmr`: commands that read, next to a writer of another library.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use hyperslab::{File, FileAccess};

use super::common::{Folder, done, hyperslab, text};

/// Writes rows with h5py, says so, and keeps the file open until its input ends.
const WRITER: &str = "
import sys, h5py
file = h5py.File(sys.argv[1], 'w', libver='latest')
rows = file.create_dataset('rows', (1, 3), 'i4', chunks=(4, 3), maxshape=(None, 3), data=[[7, 8, 9]])
file.swmr_mode = True
rows.resize((3, 3))
rows[1:] = [[1, 2, 3], [4, 5, 6]]
rows.flush()
print('written', flush=True)
sys.stdin.read()
";

struct Writer(Child);

impl Writer {
    fn start(path: &str) -> Writer {
        let mut command = Command::new("python3");
        command.args(["-c", WRITER, path]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "written");
        Writer(child)
    }

    fn end(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

#[test]
fn a_file_that_h5py_writes_to_is_read_by_every_reader() {
    if !testkit::oracles::has_h5py() {
        return testkit::oracles::missing("h5py");
    }
    let folder = Folder::new("swmr-readers");
    let (live, copy) = (folder.at("live.h5"), folder.at("copy.h5"));
    let writer = Writer::start(&live);
    let listed = text(&done(&["ls", "--swmr", &live]).stdout);
    assert!(listed.contains("rows") && listed.contains("{3/Inf, 3}"), "{listed}");
    let dumped = text(&done(&["dump", "--swmr", "-d", "/rows", &live]).stdout);
    assert!(dumped.contains("(2,0): 4, 5, 6"), "{dumped}");
    assert!(text(&done(&["stat", "--swmr", &live]).stdout).contains("# of unique datasets: 1"));
    assert!(text(&done(&["check", "--swmr", &live]).stdout).contains("nothing wrong"));
    assert!(text(&done(&["view", "--swmr", "--text", &live, "/rows"]).stdout).contains("/rows [3, 3]"));
    done(&["copy", "--swmr", &live, &copy]);
    done(&["diff", "--swmr", &live, &copy]);
    let copied = File::open(&copy).unwrap().dataset("rows").unwrap().read_raw::<i32>().unwrap();
    assert_eq!(copied, [7, 8, 9, 1, 2, 3, 4, 5, 6]);
    let refused = hyperslab(&["repack", "--swmr", &live]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("name an OUT"));
    writer.end();
    assert!(text(&done(&["ls", &live]).stdout).contains("{3/Inf, 3}"));
}

#[test]
fn without_the_option_the_error_names_it() {
    let folder = Folder::new("swmr-advice");
    let path = folder.at("run.h5");
    let access = FileAccess { version_low: hyperslab::vol::LibVersion::LATEST, ..FileAccess::write() };
    let file = File::create_with(&path, &Default::default(), &access, true).unwrap();
    file.create_group("g").unwrap();
    file.start_swmr().unwrap();
    for words in [["ls", &path], ["dump", &path], ["stat", &path], ["check", &path]] {
        let refused = hyperslab(&words);
        assert!(!refused.status.success() && text(&refused.stderr).contains("--swmr"), "{words:?}");
        let [command, path] = words;
        done(&[command, "--swmr", path]);
    }
    file.close().unwrap();
}

#[test]
fn what_has_no_writer_next_to_readers_is_read_as_ever() {
    let folder = Folder::new("swmr-plain");
    let old = folder.at("old.h5");
    let file = File::create(&old).unwrap();
    file.new_dataset::<i32>().shape([3]).create("d").unwrap().write_raw(&[1, 2, 3]).unwrap();
    file.close().unwrap();
    let locations = [format!("raw:{}", folder.at("raw")), format!("log:{}", folder.at("log.h5"))];
    for location in &locations {
        done(&["copy", "--swmr", &old, location]);
        done(&["diff", "--swmr", &old, location]);
    }
}
