//! What cannot be created leaves what is there as it is, and nothing where nothing was. Paths are kept byte for byte.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use hyperslab::{File, FileAccess, Limits};
use model::properties::FileCreate;
use testkit::Folder;

/// Returns a location in a folder.
fn location_in(folder: &Folder, prefix: &str, name: &str) -> String {
    format!("{prefix}{}", folder.at(name))
}

const CONNECTORS: [&str; 6] = ["native:", "log:", "raw:", "json:", "object:", "iod:"];

fn stack(stack: &str) -> FileAccess {
    FileAccess::write().with_stack(stack)
}

fn make(location: &str) {
    let file = File::create_with(location, &FileCreate::default(), &FileAccess::write(), false).unwrap();
    file.new_dataset::<i32>().shape(2).create("precious").unwrap().write_raw(&[4, 2]).unwrap();
    file.close().unwrap();
}

fn assert_intact(location: &str, why: &str) {
    let file = File::open_with(location, &FileAccess::read()).unwrap();
    let read = file.dataset("precious").unwrap().read_raw::<i32>().unwrap();
    assert_eq!(read, [4, 2], "{location} {why}");
}

#[test]
fn a_stack_that_cannot_be_built_replaces_nothing() {
    let scratch = Folder::new("refused-stack");
    let missing = location_in(&scratch, "", "no/such/folder/x.h5");
    let wrong = [
        "stats{bogus=1}".to_owned(),
        "stats | trace{level=loud}".to_owned(),
        "async{threads=0}".to_owned(),
        "check{handles=loose}".to_owned(),
        "readonly{x=1}".to_owned(),
        "mirror{to=memory:m, on_failure=perhaps}".to_owned(),
        "mirror{to=nobody:m}".to_owned(),
        format!("mirror{{to={missing}}}"),
        format!("mirror{{to=memory:refused, to=raw:{missing}}}"),
        format!("mirror{{to=json:{missing}}}"),
    ];
    for connector in CONNECTORS {
        let location = location_in(&scratch, connector, &connector.replace(':', ".x"));
        make(&location);
        let before = scratch.names();
        for stack in &wrong {
            let access = self::stack(stack);
            let made = File::create_with(&location, &FileCreate::default(), &access, true);
            assert!(made.is_err(), "{location} with {stack}");
            assert_intact(&location, stack);
        }
        assert_eq!(scratch.names(), before, "nothing is left behind");
    }
}

#[test]
fn a_mirror_that_cannot_be_made_leaves_nothing() {
    let scratch = Folder::new("refused-mirror");
    for (n, connector) in CONNECTORS.iter().enumerate() {
        let location = location_in(&scratch, connector, &format!("new-{n}"));
        let first = location_in(&scratch, "raw:", &format!("first-{n}"));
        let access =
            stack(&format!("mirror{{to={first}, to={}}}", location_in(&scratch, "", "no/such/x.h5")));
        for truncate in [false, true] {
            assert!(File::create_with(&location, &FileCreate::default(), &access, truncate).is_err());
        }
    }
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
}

#[test]
fn properties_that_no_file_can_have_replace_nothing() {
    let scratch = Folder::new("refused-properties");
    let location = location_in(&scratch, "native:", "a.h5");
    make(&location);
    let accesses = [
        // A file of the default version has no consistency flags.
        FileAccess::write().with_swmr(),
        FileAccess { driver: Some("family{member_bytes=1024}".to_owned()), ..FileAccess::write() },
        FileAccess { driver: Some("no such driver".to_owned()), ..FileAccess::write() },
        FileAccess::write().with_limits({
            let mut limits = Limits::default();
            limits.metadata_bytes_max = 8;
            limits
        }),
    ];
    for access in accesses {
        assert!(File::create_with(&location, &FileCreate::default(), &access, true).is_err(), "{access:?}");
        assert_intact(&location, "access");
    }
    for create in [
        FileCreate { userblock_bytes: 100, ..FileCreate::default() },
        FileCreate { offset_bytes: 3, ..FileCreate::default() },
        FileCreate {
            page_bytes: 1,
            space_strategy: model::properties::SpaceStrategy::Page,
            ..FileCreate::default()
        },
    ] {
        assert!(File::create_with(&location, &create, &FileAccess::write(), true).is_err(), "{create:?}");
        assert_intact(&location, "create");
    }
    // Nor is a file made that was not there.
    let fresh = location_in(&scratch, "native:", "b.h5");
    assert!(
        File::create_with(&fresh, &FileCreate::default(), &FileAccess::write().with_swmr(), true).is_err()
    );
    assert_eq!(scratch.names(), ["a.h5"]);
}

#[test]
fn a_path_that_is_not_utf8_is_kept() {
    let scratch = Folder::new("refused-path");
    let names: [&[u8]; 4] =
        [b"out\xff.h5", b"out\xfe.h5", "\u{F7FF}.h5".as_bytes(), "\u{FFFD}.h5".as_bytes()];
    for (n, name) in names.iter().enumerate() {
        let path = scratch.path().join(OsStr::from_bytes(name));
        let file = File::create(&path).unwrap();
        file.new_dataset::<i32>().shape(1).create("n").unwrap().write_raw(&[n as i32]).unwrap();
        file.close().unwrap();
        File::open_rw(&path).unwrap().create_group("more").unwrap();
    }
    let mut expected: Vec<_> = names.iter().map(|name| OsStr::from_bytes(name).to_owned()).collect();
    expected.sort();
    let entries = std::fs::read_dir(scratch.path()).unwrap();
    let mut found: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    found.sort();
    assert_eq!(found, expected);
    for (n, name) in names.iter().enumerate() {
        let file = File::open(scratch.path().join(OsStr::from_bytes(name))).unwrap();
        assert_eq!(file.dataset("n").unwrap().read_raw::<i32>().unwrap(), [n as i32]);
        assert!(file.exists("more").unwrap());
    }
}

#[test]
fn folders_and_texts_keep_paths_that_are_not_utf8() {
    let scratch = Folder::new("refused-folders");
    for prefix in ["log:", "raw:", "json:", "object:"] {
        let tag = prefix.trim_end_matches(':');
        let name = [tag.as_bytes(), b"\xff.x"].concat();
        let path = scratch.path().join(OsStr::from_bytes(&name));
        let location = format!("{prefix}{}", model::text::from_path(&path));
        make(&location);
        assert!(path.exists(), "{location}");
        assert_intact(&location, "is found again");
    }
    assert_eq!(scratch.names().len(), 4);
}

/// Four zeros in a chunk of 16 MiB, which deflate makes small.
fn make_large_chunk(location: &str) {
    let file = File::create_with(location, &FileCreate::default(), &FileAccess::write(), false).unwrap();
    let builder = file.new_dataset::<i32>().shape(8 << 20).chunk(4 << 20).deflate(1);
    builder.create("large").unwrap().write_slice(&[7; 1 << 20], 0..1 << 20).unwrap();
    file.close().unwrap();
}

#[test]
fn a_chunk_that_the_account_has_no_memory_for_is_refused() {
    let scratch = Folder::new("refused-memory");
    for prefix in ["native:", "object:", "iod:"] {
        let location = location_in(&scratch, prefix, prefix.trim_end_matches(':'));
        make_large_chunk(&location);
        let read = |bytes: u64| {
            let mut limits = Limits::default();
            limits.memory_bytes_max = bytes;
            let file = File::open_with(&location, &FileAccess::read().with_limits(limits)).unwrap();
            file.dataset("large").unwrap().read_slice_1d::<i32, _>(3..7)
        };
        let refused = read(8 << 20).unwrap_err();
        assert_eq!(refused.kind(), model::Kind::Limit, "{prefix}: {refused}");
        assert!(refused.to_string().contains("16777216"), "{prefix}: {refused}");
        assert_eq!(read(64 << 20).unwrap().to_vec(), [7; 4], "{prefix}");
    }
}

#[test]
fn a_few_elements_of_a_huge_chunk_in_memory_are_charged() {
    let mut limits = Limits::default();
    limits.memory_bytes_max = 8 << 20;
    let access = FileAccess::write().with_limits(limits);
    let file = File::create_with("memory:charged", &FileCreate::default(), &access, true).unwrap();
    let large = file.new_dataset::<i32>().shape(8 << 20).chunk(4 << 20).create("large").unwrap();
    let refused = large.write_slice(&[1], 0..1).unwrap_err();
    assert_eq!(refused.kind(), model::Kind::Limit, "{refused}");
    let small = file.new_dataset::<i32>().shape(1 << 20).chunk(1 << 10).create("small").unwrap();
    small.write_slice(&[1], 0..1).unwrap();
    assert_eq!(small.read_slice_1d::<i32, _>(0..2).unwrap().to_vec(), [1, 0]);
}
