use super::*;
use crate::Memory;
use std::io::ErrorKind;
use std::sync::Arc;

fn memory(image: &[u8]) -> Arc<Memory> {
    Arc::new(Memory::from_image(image.to_vec()))
}

fn member(start: u64, end: Option<u64>, file: &Arc<Memory>) -> Member {
    Member { start, end, file: file.clone() }
}

#[test]
fn write_across_a_boundary_lands_in_both_members() {
    let (a, b) = (memory(b""), memory(b""));
    let multi = Multi::new(vec![member(4, None, &b), member(0, None, &a)]).unwrap();
    multi.write_at(2, b"wxyz").unwrap();
    assert_eq!(a.image().unwrap(), b"\0\0wx");
    assert_eq!(b.image().unwrap(), b"yz");
    let mut buf = [9; 6];
    multi.read_at(0, &mut buf).unwrap();
    assert_eq!(&buf, b"\0\0wxyz");
}

#[test]
fn short_member_before_another_reads_as_zeros() {
    let multi = Multi::new(vec![member(0, None, &memory(b"ab")), member(8, None, &memory(b"cd"))]).unwrap();
    let mut buf = [9; 10];
    multi.read_at(0, &mut buf).unwrap();
    assert_eq!(&buf, b"ab\0\0\0\0\0\0cd");
    assert_eq!(multi.len().unwrap(), 10);
}

#[test]
fn address_between_members_reads_as_zeros_and_refuses_writes() {
    let a = memory(b"abcd");
    let multi = Multi::new(vec![member(0, Some(4), &a), member(8, None, &memory(b"cd"))]).unwrap();
    let mut buf = [9; 4];
    multi.read_at(3, &mut buf).unwrap();
    assert_eq!(&buf, b"d\0\0\0");
    assert_eq!(multi.write_at(3, b"xy").unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(multi.set_len(6).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(a.image().unwrap(), b"abcd", "nothing is written when part of a write has no place");
}

#[test]
fn bad_member_lists_are_refused() {
    let a = memory(b"");
    for members in [
        vec![],
        vec![member(0, None, &a), member(0, None, &a)],
        vec![member(0, Some(9), &a), member(8, None, &a)],
        vec![member(5, Some(5), &a)],
        vec![member(u64::MAX, None, &a)],
    ] {
        assert_eq!(Multi::new(members).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn split_starts_raw_data_where_the_corpus_says() {
    // Start address of the second member in the driver block of a file that libhdf5 wrote.
    assert_eq!(Split::RAW_START, u64::from_le_bytes([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]));
}

#[test]
fn split_sends_each_half_to_its_file() {
    let (metadata, raw) = (memory(b""), memory(b""));
    let split = Split::new(metadata.clone(), raw.clone()).unwrap();
    split.write_at(0, b"meta").unwrap();
    assert_eq!(split.len().unwrap(), 4);
    split.write_at(Split::RAW_START, b"raw").unwrap();
    assert_eq!(split.len().unwrap(), Split::RAW_START + 3);
    assert_eq!((metadata.image().unwrap(), raw.image().unwrap()), (b"meta".to_vec(), b"raw".to_vec()));
    split.set_len(4).unwrap();
    assert_eq!(raw.len().unwrap(), 0);
}

#[cfg(unix)]
#[test]
fn split_opens_two_files_by_suffix() {
    use crate::Mode;
    let dir = crate::scratch::Scratch::new();
    Split::open(dir.path("a"), Mode::CreateNew).unwrap().write_at(Split::RAW_START, b"raw").unwrap();
    assert_eq!(std::fs::read(dir.path("a-r.h5")).unwrap(), b"raw");
    assert_eq!(std::fs::read(dir.path("a-m.h5")).unwrap(), b"");
    let same = SplitNames { metadata: "-x", raw: "-x" };
    let refused = Split::open_named(dir.path("a"), Mode::Create, same).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
}

#[cfg(unix)]
#[test]
fn lock_takes_all_members_or_none() {
    use crate::{Mode, Posix};
    let dir = crate::scratch::Scratch::new();
    let split = Split::open(dir.path("a"), Mode::Create).unwrap();
    let metadata = Posix::open(dir.path("a-m.h5"), Mode::ReadWrite).unwrap();
    let raw = Posix::open(dir.path("a-r.h5"), Mode::ReadWrite).unwrap();
    raw.lock(Lock::Exclusive).unwrap();
    assert_eq!(split.lock(Lock::Exclusive).unwrap_err().kind(), ErrorKind::WouldBlock);
    metadata.lock(Lock::Exclusive).unwrap();
}
