//! `hyperslab log`, `compact`, and copies out of a log.

use std::process::Command;

use hyperslab::File;

use super::common::{Folder, done, hyperslab};

/// A log whose dataset was overwritten ten times.
fn overwritten(path: &str) {
    let file = File::create(format!("log:{path}")).unwrap();
    let data = file.new_dataset::<i32>().shape([10_000]).create("group/data").unwrap();
    for round in 0..10 {
        data.write_raw(&vec![round; 10_000]).unwrap();
        file.flush().unwrap();
    }
    file.close().unwrap();
}

#[test]
fn a_log_is_listed_compacted_and_copied() {
    let folder = Folder::new("cli-log");
    let path = folder.path().join("run.h5").display().to_string();
    overwritten(&path);
    let before = std::fs::metadata(&path).unwrap().len();
    let text = super::common::text(&done(&["log", &path]).stdout);
    assert!(text.contains("flushes     10") && text.contains("/group/data"), "{text}");
    assert!(text.contains("overlap     360000"), "{text}");
    done(&["compact", &path]);
    let text = super::common::text(&done(&["log", &format!("log:{path}")]).stdout);
    assert!(text.contains("flushes     1\n") && text.contains("overlap     0"), "{text}");
    assert!(std::fs::metadata(&path).unwrap().len() < before / 5);
    let copy = folder.path().join("copy.h5").display().to_string();
    done(&["copy", &format!("log:{path}"), &copy]);
    let file = File::open(&copy).unwrap();
    let values = file.dataset("group/data").unwrap().read_raw::<i32>().unwrap();
    assert_eq!(values, vec![9; 10_000]);
    assert!(!hyperslab(&["log", &copy]).status.success());
}

/// A log in subfiles, whose dataset was overwritten.
#[test]
fn subfiles_are_joined_into_the_file() {
    let folder = Folder::new("cli-join");
    let path = folder.path().join("run.h5").display().to_string();
    let file = File::create(format!("log+sub2:{path}")).unwrap();
    let data = file.new_dataset::<i32>().shape([5000]).create("data").unwrap();
    for round in 0..3 {
        data.write_raw(&vec![round; 5000]).unwrap();
        file.flush().unwrap();
    }
    file.close().unwrap();
    let subfiles = folder.path().join("run.h5.subfiles");
    assert!(subfiles.is_dir());
    done(&["log", "--join", &path]);
    assert!(!subfiles.exists());
    let file = File::open(format!("log:{path}")).unwrap();
    assert_eq!(file.dataset("data").unwrap().read_raw::<i32>().unwrap(), vec![2; 5000]);
    drop(file);
    let told = super::common::text(&done(&["log", &path]).stdout);
    assert!(told.contains("flushes     1\n") && told.contains("overlap     0"), "{told}");
    done(&["check", &format!("log:{path}")]);
}

/// Strings, and references to objects, in a log that is compacted and repacked, by us and by libhdf5.
#[test]
fn values_and_references_survive_a_repack_by_anyone() {
    let folder = Folder::new("cli-values");
    let at = |name: &str| folder.path().join(name).display().to_string();
    overwritten(&at("run.h5"));
    let file = File::open_rw(format!("log:{}", at("run.h5"))).unwrap();
    let texts: Vec<String> = (0..50).map(|n| format!("text {n}").repeat(n)).collect();
    file.new_dataset::<String>().shape([50]).create("texts").unwrap().write_raw(&texts).unwrap();
    let target = hyperslab::Reference::object(file.dataset("group/data").unwrap().token());
    let references = file.new_dataset::<hyperslab::Reference>().shape([1]).create("references").unwrap();
    references.write_raw(&[target]).unwrap();
    file.close().unwrap();
    done(&["compact", &at("run.h5")]);
    let repacked = Command::new("h5repack").args([at("run.h5"), at("again.h5")]).status().unwrap();
    assert!(repacked.success());
    for name in ["run.h5", "again.h5"] {
        let location = format!("log:{}", at(name));
        let file = File::open(&location).unwrap();
        assert_eq!(file.dataset("texts").unwrap().read_raw::<String>().unwrap(), texts, "{name}");
        let found = file.dataset("references").unwrap().read_raw::<hyperslab::Reference>().unwrap();
        let data = file.dereference(&found[0]).unwrap();
        assert!(format!("{data:?}").contains("Dataset"), "{name}: {data:?}");
        assert_eq!(file.dataset("group/data").unwrap().read_raw::<i32>().unwrap(), vec![9; 10_000]);
        drop(file);
        done(&["check", &location]);
    }
}

/// A log whose entries hold addresses, as they were made before, is not repacked.
#[test]
fn a_log_that_would_not_survive_is_not_repacked() {
    let folder = Folder::new("cli-refused");
    let path = folder.path().join("run.h5").display().to_string();
    overwritten(&path);
    let file = File::open_rw(&path).unwrap();
    let anchor = file.new_dataset::<String>().shape(()).create("old").unwrap();
    anchor.set_attr("__LOG_ID", 1i64).unwrap();
    anchor.set_attr_array("__LOG_DIMS", &ndarray::arr1(&[5u64])).unwrap();
    file.close().unwrap();
    let before = std::fs::read(&path).unwrap();
    let refused = hyperslab(&["repack", &path]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("copy it to a new log"), "{said}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
