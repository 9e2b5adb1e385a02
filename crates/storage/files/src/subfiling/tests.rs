use super::*;
use crate::scratch::Scratch;
use std::io::ErrorKind;

fn options(stripe_bytes: u64, subfiles: u64) -> SubfilingOptions {
    SubfilingOptions { stripe_bytes, subfiles, ..SubfilingOptions::default() }
}

fn names(dir: &Scratch) -> Vec<String> {
    let entries = std::fs::read_dir(dir.dir()).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn number(dir: &Scratch, name: &str) -> u64 {
    Posix::open(dir.path(name), Mode::Read).unwrap().identity().1
}

#[test]
fn stripes_go_around_the_subfiles_as_libhdf5_names_them() {
    let dir = Scratch::new();
    let (file, is_new) = Subfiling::create(dir.path("a.h5"), options(4, 3), false).unwrap();
    file.write_at(0, b"0000111122223333444455").unwrap();
    let ino = number(&dir, "a.h5");
    let subfile = |k: u64| std::fs::read(dir.path(&format!("a.h5.subfile_{ino}_{k}_of_3"))).unwrap();
    assert!(is_new);
    assert_eq!([subfile(1), subfile(2), subfile(3)], [&b"00003333"[..], b"11114444", b"222255"]);
    let config = std::fs::read_to_string(dir.path(&format!("a.h5.subfile_{ino}.config"))).unwrap();
    let lines: Vec<&str> = config.lines().collect();
    assert_eq!(lines[..3], ["stripe_size=4", "aggregator_count=1", "subfile_count=3"]);
    assert_eq!(lines[5], format!("a.h5.subfile_{ino}_1_of_3"));
    assert_eq!(
        std::fs::read(dir.path("a.h5")).unwrap(),
        b"0000111122223333444455",
        "the stub has the first bytes"
    );
}

#[test]
fn numbers_of_subfiles_have_as_many_digits_as_their_count() {
    let dir = Scratch::new();
    let (file, _) = Subfiling::create(dir.path("a"), options(4, 12), false).unwrap();
    let ends = |path: &PathBuf, end: &str| path.to_string_lossy().ends_with(end);
    let paths = file.paths();
    assert!(ends(&paths[0], "_01_of_12") && ends(&paths[11], "_12_of_12"));
}

#[test]
fn lengths_are_exact_after_cuts_and_growth() {
    let dir = Scratch::new();
    let (file, _) = Subfiling::create(dir.path("a"), options(4, 3), false).unwrap();
    for len in [0, 1, 4, 5, 11, 12, 13, 24, 30, 7, 3, 40] {
        file.set_len(len).unwrap();
        assert_eq!(file.len().unwrap(), len);
        assert_eq!(file.read_vec(0, len as usize).unwrap(), vec![0; len as usize]);
    }
    file.write_at(100, b"x").unwrap();
    assert_eq!((file.len().unwrap(), file.read_vec(0, 101).unwrap()[100]), (101, b'x'));
}

#[test]
fn large_requests_are_served_by_threads() {
    let dir = Scratch::new();
    let (file, _) = Subfiling::create(dir.path("a"), options(100_000, 4), false).unwrap();
    let data: Vec<u8> = (0..3_000_000u32).map(|n| (n / 7) as u8).collect();
    file.write_at(12_345, &data).unwrap();
    assert_eq!(file.read_vec(12_345, data.len()).unwrap(), data);
    file.sync(Sync::All).unwrap();
}

#[test]
fn a_file_that_was_moved_is_found_by_its_only_configuration() {
    let dir = Scratch::new();
    let (file, _) = Subfiling::create(dir.path("a"), options(4, 2), false).unwrap();
    file.write_at(0, b"abcdefgh").unwrap();
    drop(file);
    let stub = std::fs::read(dir.path("a")).unwrap();
    // The old file stays, so that its number is not given to the new one.
    std::fs::rename(dir.path("a"), dir.path("old")).unwrap();
    std::fs::write(dir.path("a"), stub).unwrap();
    let file = Subfiling::open(dir.path("a"), Mode::Read, SubfilingOptions::default()).unwrap();
    assert_eq!(file.read_vec(0, 8).unwrap(), b"abcdefgh");
    std::fs::write(dir.path("a.subfile_1.config"), "stripe_size=4\nsubfile_count=2\n").unwrap();
    let two = Subfiling::open(dir.path("a"), Mode::Read, SubfilingOptions::default()).unwrap_err();
    assert_eq!(two.kind(), ErrorKind::InvalidInput);
}

#[test]
fn forged_configurations_are_refused_and_lead_nowhere() {
    let dir = Scratch::new();
    std::fs::write(dir.path("a"), b"stub").unwrap();
    let config = dir.path(&format!("a.subfile_{}.config", number(&dir, "a")));
    for text in [
        "",
        "stripe_size=0\nsubfile_count=1\n",
        "stripe_size=-4\nsubfile_count=1\n",
        "stripe_size=4\nsubfile_count=0\n",
        "stripe_size=4\nsubfile_count=1000000000\n",
        "stripe_size=99999999999999999999\nsubfile_count=1\n",
        "stripe_size=4\n",
    ] {
        std::fs::write(&config, text).unwrap();
        let error = Subfiling::open(dir.path("a"), Mode::Read, SubfilingOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{text}");
    }
    std::fs::write(&config, "stripe_size=4\nsubfile_count=1\nsubfile_dir=/etc\npasswd\n").unwrap();
    let error = Subfiling::open(dir.path("a"), Mode::Read, SubfilingOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("_1_of_1 is missing"), "{error}");
    let long = std::fs::File::create(&config).unwrap();
    long.set_len(1 << 40).unwrap();
    let error = Subfiling::open(dir.path("a"), Mode::Read, SubfilingOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
}

#[test]
fn creating_anew_takes_the_new_layout_and_leaves_no_old_subfile() {
    let dir = Scratch::new();
    Subfiling::create(dir.path("a"), options(4, 5), false).unwrap().0.write_at(0, &[7; 99]).unwrap();
    assert_eq!(
        Subfiling::create(dir.path("a"), options(4, 5), false).unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
    let (file, is_new) = Subfiling::create(dir.path("a"), options(8, 2), true).unwrap();
    assert!(!is_new && file.len().unwrap() == 99, "the caller cuts it when it has the lock");
    file.set_len(0).unwrap();
    file.write_at(0, b"new").unwrap();
    assert_eq!(names(&dir).len(), 4, "stub, configuration and two subfiles");
    drop(file);
    let file = Subfiling::open(dir.path("a"), Mode::Read, SubfilingOptions::default()).unwrap();
    assert_eq!(file.read_vec(0, 3).unwrap(), b"new");
}

#[test]
fn driver_information_is_that_of_libhdf5_and_must_match() {
    let dir = Scratch::new();
    let (file, _) = Subfiling::create(dir.path("a"), options(12_149_997, 1), false).unwrap();
    let block = file.driver_block().unwrap();
    // As in the HDF Group's file test_subfiling_stripe_sizes.h5.
    let expected = b"\x31\x13\xd0\xfe\x01\0\0\0\x01\0\0\0\xed\x64\xb9\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0IOC\0\0\0\0\0\0\
        \x31\x13\xd2\xfe\x01\0\0\0\x04\0\0\0\xed\x64\xb9\0\0\0\0\0\x01\0\0\0\0\0\0\0";
    assert_eq!((block.id, block.data.as_slice()), (*b"Subfilin", &expected[..]));
    file.set_driver_block(&block).unwrap();
    let mut other = block.clone();
    other.data[12] ^= 1;
    assert_eq!(file.set_driver_block(&other).unwrap_err().kind(), ErrorKind::InvalidData);
    let cut = DriverBlock { data: block.data[..19].to_vec(), ..block };
    assert_eq!(file.set_driver_block(&cut).unwrap_err().kind(), ErrorKind::InvalidData);
}

#[test]
fn subfiles_are_joined_to_one_file_that_must_be_new() {
    let dir = Scratch::new();
    let (file, _) = Subfiling::create(dir.path("a"), options(1000, 3), false).unwrap();
    let data: Vec<u8> = (0..10_007u32).map(|n| n as u8).collect();
    file.write_at(0, &data).unwrap();
    drop(file);
    Subfiling::join(dir.path("a"), SubfilingOptions::default(), dir.path("one")).unwrap();
    assert_eq!(std::fs::read(dir.path("one")).unwrap(), data);
    let again = Subfiling::join(dir.path("a"), SubfilingOptions::default(), dir.path("one")).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::AlreadyExists);
}

#[test]
fn a_missing_subfile_is_named() {
    let dir = Scratch::new();
    let (file, _) = Subfiling::create(dir.path("a"), options(4, 2), false).unwrap();
    std::fs::remove_file(&file.paths()[1]).unwrap();
    drop(file);
    let error = Subfiling::open(dir.path("a"), Mode::Read, SubfilingOptions::default()).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("_2_of_2"), "{error}");
}
