//! Copies into folders of strangers: nothing is written, cut or removed through what stands in the way.

use std::path::Path;

use super::common::{Folder, done, hyperslab, text};
use super::copies::{TARGETS, small, within};
use testkit::strangers::{Outside, Trap};

#[test]
fn links_and_fifos_in_the_place_of_temporary_files_change_nothing_outside() {
    let outside = Outside::new();
    let folder = Folder::new("strangers");
    let a = folder.at("a.h5");
    small(&a);
    for target in TARGETS {
        let (location, path) = within(&folder, target);
        let path = path.trim_end_matches('/');
        for (trap, end) in Trap::ALL.iter().flat_map(|trap| [".partial", ".resume"].map(|end| (*trap, end))) {
            let place = format!("{path}{end}");
            outside.set(trap, Path::new(&place));
            let refused = hyperslab(&["copy", "--resume", &a, &location]);
            outside.assert_unchanged(&format!("{trap:?} at {place}"));
            // What is left of an earlier copy is removed, and a FIFO is no more than that.
            let may_be_replaced = trap == Trap::Fifo && end == ".partial";
            assert!(
                may_be_replaced || !refused.status.success(),
                "{trap:?} at {place}: {}",
                text(&refused.stderr)
            );
            remove(&place);
            remove(path);
            remove(&format!("{path}.partial"));
            remove(&format!("{path}.resume"));
        }
    }
}

fn remove(path: &str) {
    let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
}

#[test]
fn a_fifo_where_a_file_is_wanted_is_an_error_of_every_command() {
    let (outside, folder) = (Outside::new(), Folder::new("fifo"));
    let (a, fifo) = (folder.at("a.h5"), folder.at("fifo"));
    small(&a);
    outside.set(Trap::Fifo, Path::new(&fifo));
    let json = format!("json:{fifo}");
    for arguments in [
        &["ls", &fifo][..],
        &["dump", &fifo],
        &["check", &fifo],
        &["stat", &fifo],
        &["diff", &a, &fifo],
        &["copy", &fifo, "memory:x"],
        &["repack", &fifo],
        &["recover", &fifo],
        &["ls", &json],
        &["check", &json],
    ] {
        assert!(!hyperslab(arguments).status.success(), "{arguments:?}");
    }
}

#[test]
fn a_repacked_folder_goes_file_by_file() {
    let folder = Folder::new("aside");
    let a = folder.at("a.h5");
    small(&a);
    let raw = format!("raw:{}", folder.at("r"));
    done(&["copy", &a, &raw]);
    std::fs::write(folder.at("r/.mine"), "mine").unwrap();
    // The old container goes; what is not its own stays, and is named.
    let copied = hyperslab(&["copy", "--overwrite", &a, &raw]);
    assert!(copied.status.success() && text(&copied.stderr).contains(".mine"), "{}", text(&copied.stderr));
    let left = folder.names().into_iter().find(|name| name.ends_with(".old")).unwrap();
    assert_eq!(std::fs::read_to_string(folder.at(&left) + "/.mine").unwrap(), "mine");
    done(&["diff", &a, &raw]);
}
