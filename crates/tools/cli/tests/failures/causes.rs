//! What commands say and return when something is wrong.

use std::net::TcpListener;

use super::common::{Folder, done, hyperslab, text};
use hyperslab::File;

#[test]
fn dump_fails_when_values_cannot_be_read() {
    let folder = Folder::new("dump");
    let path = folder.at("strings.h5");
    let file = File::create(&path).unwrap();
    let data = file.new_dataset::<String>().shape([3]).create("d").unwrap();
    data.write_raw(&["one".to_owned(), "two".to_owned(), "three".to_owned()]).unwrap();
    file.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(4).position(|window| window == b"GCOL").unwrap();
    bytes[at..at + 4].copy_from_slice(b"LOST");
    std::fs::write(&path, bytes).unwrap();
    let dumped = hyperslab(&["dump", &path]);
    assert_eq!(dumped.status.code(), Some(1), "{}", text(&dumped.stdout));
    assert!(text(&dumped.stderr).contains("global heap"), "{}", text(&dumped.stderr));
}

#[test]
fn ls_names_the_cause() {
    let folder = Folder::new("ls");
    std::fs::write(folder.at("text.h5"), "no HDF5 file").unwrap();
    std::fs::write(folder.at("empty.h5"), "").unwrap();
    std::fs::create_dir(folder.at("folder")).unwrap();
    let busy = File::create(folder.at("busy.h5")).unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = format!("h5s://{closed}/x?deadline=1");
    let causes = [
        (folder.at("missing.h5"), "there is no such file"),
        (folder.at("text.h5"), "no HDF5 signature"),
        (folder.at("empty.h5"), "it is empty"),
        (folder.at("folder"), "directory"),
        (folder.at("busy.h5"), "another program has it open"),
        (format!("json:{}", folder.at("text.h5")), "read JSON"),
        ("nonsense:x".to_owned(), "vol list"),
        (server, "refused"),
    ];
    for (location, cause) in causes {
        let listed = hyperslab(&["ls", &location]);
        let said = text(&listed.stderr);
        assert_eq!(listed.status.code(), Some(1), "{location}");
        assert!(said.contains(cause), "{location}: {said}");
    }
    drop(busy);
}

#[test]
fn no_command_shows_a_token() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let location = format!("h5s://{closed}/x?deadline=1&token=s3cret-s3cret-s3cret");
    let folder = Folder::new("token");
    let target = folder.at("x.h5");
    let commands: [&[&str]; 10] = [
        &["ls", "-v", &location],
        &["dump", &location],
        &["stat", &location],
        &["check", "-v", &location],
        &["diff", "-v", &location, &location],
        &["copy", &location, &target],
        &["objects", &location],
        &["recover", &location],
        &["log", &location],
        &["--vol", &format!("mirror{{to={location}}}"), "copy", &target, &folder.at("y.h5")],
    ];
    for command in commands {
        let output = hyperslab(command);
        let all = text(&output.stdout) + &text(&output.stderr);
        assert!(!output.status.success() && !all.contains("s3cret"), "{command:?}: {all}");
    }
}

/// What every connector holds, chunked and not, is read and found sound; a file that was cut short is found.
#[test]
fn check_reads_every_connector_and_finds_a_file_that_was_cut() {
    let folder = Folder::new("check");
    let path = folder.at("a.h5");
    let file = File::create(&path).unwrap();
    let values: Vec<i32> = (0..10_000).collect();
    let chunked = file.new_dataset::<i32>().shape([10_000]).chunk([1000]).create("chunked").unwrap();
    chunked.write_raw(&values).unwrap();
    file.new_dataset::<i32>().shape([10_000]).create("plain").unwrap().write_raw(&values).unwrap();
    file.close().unwrap();
    for target in ["raw:x/", "json:x.json", "log:x.h5", "object:y/", "iod:z/"] {
        let (connector, name) = target.split_once(':').unwrap();
        let location = format!("{connector}:{}", folder.at(name));
        done(&["copy", &path, &location]);
        let said = text(&done(&["check", &location]).stdout);
        assert!(said.contains("80000 bytes of elements, nothing wrong"), "{location}: {said}");
    }
    for name in ["chunked", "plain"] {
        let elements = std::fs::OpenOptions::new().write(true).open(folder.at(&format!("x/{name}.bin")));
        elements.unwrap().set_len(20_000).unwrap();
    }
    let checked = hyperslab(&["check", &format!("raw:{}", folder.at("x/"))]);
    let said = text(&checked.stdout);
    assert!(said.contains("/chunked: elements") && said.contains("/plain: elements"), "{said}");
    assert_eq!(checked.status.code(), Some(1));
}
