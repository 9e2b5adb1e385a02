use super::*;
use crate::Memory;
use crate::scratch::Scratch;
use std::io::ErrorKind;

fn split(raw_start: u64) -> (Arc<Memory>, Arc<Memory>, Multi) {
    let (metadata, raw) = (Arc::new(Memory::new()), Arc::new(Memory::new()));
    let multi = Multi::split(metadata.clone(), raw.clone(), raw_start).unwrap();
    (metadata, raw, multi)
}

#[test]
fn each_range_goes_to_its_member_and_nothing_crosses() {
    let (metadata, raw, multi) = split(100);
    multi.write_at(0, b"meta").unwrap();
    multi.write_at(102, b"raw").unwrap();
    assert_eq!((metadata.image().unwrap(), raw.image().unwrap()), (b"meta".to_vec(), b"\0\0raw".to_vec()));
    assert_eq!(multi.len().unwrap(), 4, "the length is that of the first member");
    assert_eq!((multi.bytes_end(3).unwrap(), multi.bytes_end(100).unwrap()), (4, 105));
    assert_eq!(multi.write_at(98, b"cross").unwrap_err().kind(), ErrorKind::FileTooLarge);
    assert_eq!(multi.read_at(98, &mut [0; 4]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    assert_eq!(multi.read_at(103, &mut [0; 4]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    assert_eq!(multi.set_len(101).unwrap_err().kind(), ErrorKind::FileTooLarge);
}

#[test]
fn lengths_are_those_of_the_first_member_but_zero_empties_all() {
    let (metadata, raw, multi) = split(100);
    multi.write_at(0, b"metadata").unwrap();
    multi.write_at(100, b"raw").unwrap();
    multi.set_len(4).unwrap();
    assert_eq!((metadata.len().unwrap(), raw.len().unwrap()), (4, 3));
    multi.set_len(0).unwrap();
    assert_eq!((metadata.len().unwrap(), raw.len().unwrap()), (0, 0));
}

#[test]
fn allocated_bytes_are_stored_and_members_have_them() {
    let (_, raw, multi) = split(100);
    multi.set_allocated(&[8, 20]).unwrap();
    assert_eq!(raw.len().unwrap(), 20);
    let (_, _, other) = split(7);
    other.set_driver_block(&multi.driver_block().unwrap()).unwrap();
    assert_eq!(other.members(), multi.members());
    assert_eq!(other.members().unwrap().all()[1], MemberRange { start: 100, end: u64::MAX, allocated: 20 });
    multi.write_at(130, b"given up").unwrap();
    multi.trim().unwrap();
    assert_eq!(raw.len().unwrap(), 20);
    let wrong = DriverBlock { id: *b"NCSAfami", data: vec![0; 8] };
    assert_eq!(multi.set_driver_block(&wrong).unwrap_err().kind(), ErrorKind::InvalidData);
}

fn map() -> MemberMap {
    MemberMap::split("-m", "-r").unwrap()
}

#[test]
fn creating_leaves_all_members_or_none() {
    let dir = Scratch::new();
    let path = dir.path("a");
    std::fs::write(dir.path("a-r"), b"there").unwrap();
    assert_eq!(Multi::create(&path, map(), false).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert!(!dir.path("a-m").exists());
    assert!(!Multi::create(&path, map(), true).unwrap().is_new);
    assert_eq!(std::fs::read(dir.path("a-r")).unwrap(), b"there");
    assert!(Multi::create(&dir.path("b"), map(), false).unwrap().is_new);
}

#[test]
fn a_missing_member_is_an_error_where_it_has_bytes() {
    let dir = Scratch::new();
    let path = dir.path("a");
    std::fs::write(dir.path("a-m"), b"metadata").unwrap();
    let block = |allocated| {
        let mut map = map();
        map.members[1].allocated = allocated;
        DriverBlock { id: ID, data: map.encode() }
    };
    let reader = Multi::open(&path, map(), Mode::Read).unwrap();
    reader.set_driver_block(&block(10)).unwrap();
    let start = map().ranges().unwrap().all()[1].start;
    assert_eq!(reader.read_at(start, &mut [0; 4]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    let writer = Multi::open(&path, map(), Mode::ReadWrite).unwrap();
    assert_eq!(writer.set_driver_block(&block(10)).unwrap_err().kind(), ErrorKind::InvalidData);
    assert!(!dir.path("a-r").exists());
    writer.set_driver_block(&block(0)).unwrap();
    assert!(dir.path("a-r").exists(), "a writer creates an empty member");
    assert_eq!(writer.set_driver_block(&block(10)).unwrap_err().kind(), ErrorKind::InvalidData, "too short");
}

#[test]
fn lock_takes_all_members_or_none() {
    let dir = Scratch::new();
    let file = Multi::create(&dir.path("a"), map(), false).unwrap().file;
    let metadata = Posix::open(dir.path("a-m"), Mode::ReadWrite).unwrap();
    let raw = Posix::open(dir.path("a-r"), Mode::ReadWrite).unwrap();
    raw.lock(Lock::Exclusive).unwrap();
    assert_eq!(file.lock(Lock::Exclusive).unwrap_err().kind(), ErrorKind::WouldBlock);
    metadata.lock(Lock::Exclusive).unwrap();
}
