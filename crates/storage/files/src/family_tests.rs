use super::*;
use crate::scratch::Scratch;
use std::io::ErrorKind;

fn names(dir: &Scratch) -> Vec<String> {
    let entries = std::fs::read_dir(dir.dir()).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn bytes(dir: &Scratch, name: &str) -> Vec<u8> {
    std::fs::read(dir.path(name)).unwrap()
}

#[test]
fn patterns_make_the_names_printf_makes() {
    for (pattern, index, name) in [
        ("a%d", 7, "a7"),
        ("a%05d.h5", 7, "a00007.h5"),
        ("%3d", 7, "  7"),
        ("%02d", 123, "123"),
        ("100%%-%u", 1, "100%-1"),
        ("%i%%", 1, "1%"),
    ] {
        assert_eq!(Pattern::parse(Path::new(pattern)).unwrap().name(index), Path::new(name));
    }
}

#[test]
fn names_without_exactly_one_number_are_refused() {
    for pattern in ["plain.h5", "%", "a%", "%s", "%d-%d", "%05", "%1000d", "%-3d", "%%"] {
        let error = Pattern::parse(Path::new(pattern)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{pattern}");
    }
}

#[test]
fn writes_are_cut_at_member_boundaries() {
    let dir = Scratch::new();
    let family = Family::open_sized(dir.path("f%02d"), Mode::Create, 4).unwrap();
    family.write_at(3, b"abcdef").unwrap();
    assert_eq!(names(&dir), ["f00", "f01", "f02"]);
    assert_eq!(
        [bytes(&dir, "f00"), bytes(&dir, "f01"), bytes(&dir, "f02")].concat(),
        b"\0\0\0abcdef",
        "all but the last are full"
    );
    let reopened = Family::open(dir.path("f%02d"), Mode::Read).unwrap();
    let mut buf = [0; 6];
    reopened.read_at(3, &mut buf).unwrap();
    assert_eq!((reopened.member_bytes(), &buf), (4, b"abcdef"));
}

#[test]
fn write_that_ends_on_a_boundary_makes_no_extra_member() {
    let dir = Scratch::new();
    let family = Family::open_sized(dir.path("f%d"), Mode::Create, 4).unwrap();
    family.write_at(0, b"abcd").unwrap();
    assert_eq!(names(&dir), ["f0"]);
    family.set_len(8).unwrap();
    assert_eq!(names(&dir), ["f0", "f1"]);
}

#[test]
fn short_member_in_the_middle_reads_as_zeros() {
    let dir = Scratch::new();
    for (name, contents) in [("f0", "ab"), ("f1", ""), ("f2", "c")] {
        std::fs::write(dir.path(name), contents).unwrap();
    }
    let family = Family::open_sized(dir.path("f%d"), Mode::Read, 4).unwrap();
    let mut buf = [9; 9];
    family.read_at(0, &mut buf).unwrap();
    assert_eq!(&buf, b"ab\0\0\0\0\0\0c");
    assert_eq!(family.read_at(1, &mut buf).unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn growth_after_a_cut_fills_the_earlier_members_again() {
    let dir = Scratch::new();
    let family = Family::open_sized(dir.path("f%d"), Mode::Create, 4).unwrap();
    family.write_at(0, &[7; 12]).unwrap();
    family.set_len(2).unwrap();
    family.write_at(8, b"x").unwrap();
    let reopened = Family::open(dir.path("f%d"), Mode::Read).unwrap();
    let mut buf = [9; 9];
    reopened.read_at(0, &mut buf).unwrap();
    assert_eq!((reopened.member_bytes(), &buf), (4, b"\x07\x07\0\0\0\0\0\0x"));
}

#[test]
fn create_empties_members_of_an_older_family() {
    let dir = Scratch::new();
    Family::open_sized(dir.path("f%d"), Mode::Create, 4).unwrap().write_at(0, &[7; 12]).unwrap();
    let family = Family::open_sized(dir.path("f%d"), Mode::Create, 4).unwrap();
    assert_eq!(family.len().unwrap(), 0);
    family.set_len(12).unwrap();
    let mut buf = [9; 12];
    family.read_at(0, &mut buf).unwrap();
    assert_eq!(buf, [0; 12]);
}

#[test]
fn create_new_does_not_overwrite_a_stray_member() {
    let dir = Scratch::new();
    std::fs::write(dir.path("f1"), "precious").unwrap();
    let family = Family::open_sized(dir.path("f%d"), Mode::CreateNew, 4).unwrap();
    assert_eq!(family.write_at(4, b"x").unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(bytes(&dir, "f1"), b"precious");
}

#[test]
fn stray_offset_makes_no_files() {
    let dir = Scratch::new();
    let family = Family::open_sized(dir.path("f%d"), Mode::Create, 4).unwrap();
    assert_eq!(family.write_at(1 << 40, b"x").unwrap_err().kind(), ErrorKind::FileTooLarge);
    assert_eq!(names(&dir), ["f0"]);
}

#[test]
fn read_mode_refuses_to_write_and_to_grow() {
    let dir = Scratch::new();
    std::fs::write(dir.path("f0"), "abcd").unwrap();
    let family = Family::open(dir.path("f%d"), Mode::Read).unwrap();
    assert_eq!(family.write_at(4, b"x").unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(family.set_len(9).unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(names(&dir), ["f0"]);
}

#[test]
fn member_size_zero_is_refused_and_empty_family_takes_the_default() {
    let dir = Scratch::new();
    let refused = Family::open_sized(dir.path("f%d"), Mode::Create, 0).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert_eq!(names(&dir), [""; 0]);
    let family = Family::open(dir.path("f%d"), Mode::Create).unwrap();
    assert_eq!(family.member_bytes(), MEMBER_BYTES_DEFAULT);
}
