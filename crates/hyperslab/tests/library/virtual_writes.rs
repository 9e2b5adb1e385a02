//! Elements written through a virtual dataset, as h5py then finds them in the sources.

use std::path::{Path, PathBuf};
use std::process::Command;

use hyperslab::{File, FileAccess, FolderResolver, Kind, Selection, registry};

fn python(what: &str, folder: &Path) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/virtual_sources.py");
    let done = Command::new("python3").arg(script).arg(what).arg(folder).output().ok()?;
    match done.status.success() {
        true => Some(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => {
            eprintln!("{}", String::from_utf8_lossy(&done.stderr));
            None
        }
    }
}

fn made(name: &str) -> Option<PathBuf> {
    let folder = std::env::temp_dir().join(format!("hyperslab-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    if !testkit::oracles::has_h5py() {
        return None;
    }
    python("make", &folder).unwrap();
    Some(folder)
}

fn open(folder: &Path) -> File {
    let resolver = FolderResolver::new(folder, registry()).unwrap();
    let access = FileAccess::write().with_resolver(resolver);
    File::open_with(&folder.join("virtual.h5").to_string_lossy(), &access).unwrap()
}

#[test]
fn elements_go_to_the_sources_in_this_file_and_in_others() {
    let Some(folder) = made("virtual-writes") else { return };
    let file = open(&folder);
    let data = file.dataset("virtual").unwrap();
    // Sources that are read already are open when they are written.
    assert_eq!(data.read_raw::<i32>().unwrap()[..5], [0, 2, 4, 6, 10]);
    let columns = Selection::block(&[0, 1], &[4, 2]).unwrap();
    let values: Vec<i32> = (100..108).collect();
    data.write_selection(&columns, &values).unwrap();
    assert_eq!(data.read_selection::<i32>(&columns).unwrap(), values);
    let points = Selection::points(2, vec![3, 3, 0, 0]).unwrap();
    data.write_selection(&points, &[7, 8]).unwrap();
    file.close().unwrap();
    let seen = python("show", &folder).unwrap();
    let wanted = "8 1 100 3 101 5 6 7\n10 11 102 13 103 15 16 17\n20 21 104 23 105 25 26 27\n\
                  30 31 32 33 34 106 107 7\n\
                  8 100 101 6 10 102 103 16 20 104 105 26 34 106 107 7 -1 -1 -1 -1\n";
    assert_eq!(seen, wanted);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn nothing_is_written_where_one_element_has_no_source() {
    let Some(folder) = made("virtual-gaps") else { return };
    let before = python("show", &folder).unwrap();
    let file = open(&folder);
    let data = file.dataset("virtual").unwrap();
    let refused = data.write_selection(&Selection::block(&[2, 0], &[3, 4]).unwrap(), &[0_i32; 12]);
    assert_eq!(refused.unwrap_err().kind(), Kind::Invalid);
    // A source that is not there takes nothing either.
    std::fs::remove_file(folder.join("source2.h5")).unwrap();
    let refused =
        open_again(file, &folder).write_selection(&Selection::block(&[1, 0], &[2, 4]).unwrap(), &[0_i32; 8]);
    assert_eq!(refused.unwrap_err().kind(), Kind::Invalid);
    std::fs::copy(folder.join("source1.h5"), folder.join("source2.h5")).unwrap();
    let first = |text: &str| text.lines().take(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(first(&python("show", &folder).unwrap()), first(&before));
    std::fs::remove_dir_all(folder).unwrap();
}

fn open_again(file: File, folder: &Path) -> hyperslab::Dataset {
    file.close().unwrap();
    open(folder).dataset("virtual").unwrap()
}
