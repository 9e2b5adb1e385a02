use std::sync::Arc;

use super::kinds::KindMap;
use super::*;
use crate::Memory;

/// A log that stays in memory.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged(flags: LogFlags, work: impl FnOnce(&Log)) -> String {
    let text = Text::default();
    let log = Log::new(Arc::new(Memory::new()), Box::new(text.clone()), flags, u64::MAX);
    work(&log);
    drop(log);
    let bytes = text.0.lock().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn lines_say_where_how_much_and_of_which_kind() {
    let flags = LogFlags::parse("loc_io+num_io+truncate").unwrap();
    let text = logged(flags, |log| {
        log.write_at(0, b"\x89HDF\r\n\x1a\n....").unwrap();
        log.note_allocated(DataKind::Raw, 96, 8);
        log.write_at(96, b"OHDRdata").unwrap();
        log.read_at(0, &mut [0; 8]).unwrap();
        log.read_at(200, &mut [0; 8]).unwrap_err();
        log.set_len(96).unwrap();
    });
    let expected = "         0-        11 (        12 bytes) (H5FD_MEM_SUPER) Written
        96-       103 (         8 bytes) (H5FD_MEM_DRAW) Written
         0-         7 (         8 bytes) (H5FD_MEM_SUPER) Read
Error! Reading:        200-       207 (         8 bytes): unexpected end of file
Truncate: To         96
Total number of read operations: 2
Total number of write operations: 2
Total number of seek operations: 0
Total number of truncate operations: 1
";
    assert_eq!(text, expected);
}

#[test]
fn a_request_of_several_kinds_has_a_line_for_each() {
    let text = logged(LogFlags::LOC_WRITE, |log| {
        log.note_allocated(DataKind::ObjectHeader, 10, 10);
        log.note_allocated(DataKind::Raw, 20, 5);
        log.note_allocated(DataKind::Raw, 25, 5);
        log.write_at(5, &[0; 30]).unwrap();
    });
    let expected = "         5-         9 (         5 bytes) (H5FD_MEM_DEFAULT) Written
        10-        19 (        10 bytes) (H5FD_MEM_OHDR) Written
        20-        29 (        10 bytes) (H5FD_MEM_DRAW) Written
        30-        34 (         5 bytes) (H5FD_MEM_DEFAULT) Written
";
    assert_eq!(text, expected);
}

#[test]
fn counts_and_kinds_of_bytes_are_summed_up_at_the_end() {
    let flags = LogFlags::parse("file_io+flavor+alloc+free").unwrap();
    let text = logged(flags, |log| {
        log.write_at(0, &[0; 10]).unwrap();
        log.write_at(5, &[0; 10]).unwrap();
        log.read_at(0, &mut [0; 5]).unwrap();
        log.note_allocated(DataKind::Tree, 0, 10);
        log.note_freed(4, 2);
    });
    let expected = "         0-         9 (        10 bytes) (H5FD_MEM_BTREE) Allocated
         4-         5 (         2 bytes) (H5FD_MEM_BTREE) Freed
Dumping write I/O information:
\tAddr          0-         4 (         5 bytes) written to   1 times
\tAddr          5-         9 (         5 bytes) written to   2 times
\tAddr         10-        14 (         5 bytes) written to   1 times
Dumping read I/O information:
\tAddr          0-         4 (         5 bytes) read from   1 times
Dumping I/O flavor information:
\tAddr          0-         3 (         4 bytes) flavor is H5FD_MEM_BTREE
\tAddr          6-         9 (         4 bytes) flavor is H5FD_MEM_BTREE
";
    assert_eq!(text, expected);
}

#[test]
fn flags_are_numbers_or_names() {
    assert_eq!(LogFlags::parse("0xfffff").unwrap(), LogFlags::ALL);
    assert_eq!(LogFlags::parse("14").unwrap(), LogFlags::LOC_IO);
    assert_eq!(LogFlags::parse("loc_read+num_write").unwrap(), LogFlags(0x102));
    assert_eq!(LogFlags::parse("loud").unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn a_log_that_cannot_be_written_does_not_harm_the_file() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }
    let log = Log::new(Arc::new(Memory::new()), Box::new(Full), LogFlags::ALL, u64::MAX);
    log.write_at(0, b"data").unwrap();
    log.sync(Sync::All).unwrap();
    assert_eq!(log.read_vec(0, 4).unwrap(), b"data");
}

#[test]
fn ranges_of_kinds_replace_one_another() {
    let mut kinds = KindMap::default();
    kinds.set(0, 100, Some(DataKind::Raw));
    kinds.set(40, 60, Some(DataKind::Tree));
    kinds.set(50, 120, None);
    let all: Vec<_> = kinds.iter().collect();
    assert_eq!(all, [(0, 40, DataKind::Raw), (40, 50, DataKind::Tree)]);
    assert_eq!((kinds.at(45), kinds.at(50)), (Some(DataKind::Tree), None));
}
