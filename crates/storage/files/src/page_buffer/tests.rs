use super::*;
use crate::{Memory, Meter};

const PAGE: u64 = 512;

fn buffer(pages_max: usize, metadata_pages_min: usize, raw_pages_min: usize) -> (Arc<Meter>, PageBuffer) {
    let bytes: Vec<u8> = (0..10_000u32).map(|n| (n * 7 + n / 251) as u8).collect();
    let meter = Arc::new(Meter::new(Arc::new(Memory::from_image(bytes))));
    let options =
        PageBufferOptions { base: 100, page_bytes: PAGE, pages_max, metadata_pages_min, raw_pages_min };
    (meter.clone(), PageBuffer::new(meter, options))
}

fn read(buffer: &PageBuffer, kind: PageKind, offset: u64, len: usize) -> Vec<u8> {
    let (mut through, mut directly) = (vec![0; len], vec![0; len]);
    if !buffer.read(kind, offset, &mut through).unwrap() {
        buffer.read_at(offset, &mut through).unwrap();
    }
    buffer.inner.read_at(offset, &mut directly).unwrap();
    assert_eq!(through, directly, "{len} bytes at {offset}");
    through
}

#[test]
fn reads_of_any_place_and_length_are_the_files_bytes() {
    let (_, buffer) = buffer(4, 0, 0);
    for offset in [0, 99, 100, 101, 611, 612, 1000, 9_900, 9_999, 10_000] {
        for len in [0, 1, 50, 511, 512, 513, 2000] {
            if offset + len <= 10_000 {
                read(&buffer, PageKind::Metadata, offset, len as usize);
                read(&buffer, PageKind::Raw, offset, len as usize);
            }
        }
    }
    assert!(buffer.read(PageKind::Raw, 9_999, &mut [0; 2]).is_err());
    assert!(buffer.read(PageKind::Raw, u64::MAX, &mut [0; 2]).is_err());
}

#[test]
fn statistics_are_the_reads_and_misses_are_the_reads_of_the_file() {
    let (meter, buffer) = buffer(4, 0, 0);
    for n in 0..1000 {
        buffer.read(PageKind::Metadata, 100 + (n * 37) % 2000, &mut [0; 8]).unwrap();
    }
    buffer.read(PageKind::Raw, 5000, &mut [0; 600]).unwrap();
    let statistics = buffer.statistics();
    assert_eq!(statistics.metadata.accesses, 1000);
    assert_eq!(statistics.metadata.misses, 4);
    // Those that lie in two pages have two.
    assert!(statistics.metadata.hits >= 996 && statistics.metadata.hits < 1100);
    assert_eq!(statistics.raw, PageCounts { accesses: 1, bypasses: 1, ..PageCounts::default() });
    assert_eq!(meter.counts().reads, 4);
    buffer.reset_statistics();
    assert_eq!(buffer.statistics(), PageStatistics::default());
}

#[test]
fn each_kind_keeps_its_share() {
    let (_, buffer) = buffer(4, 2, 1);
    let page = |n: u64| 100 + n * PAGE;
    (0..4).for_each(|n| drop(read(&buffer, PageKind::Metadata, page(n), 8)));
    (4..12).for_each(|n| drop(read(&buffer, PageKind::Raw, page(n), 8)));
    let before = buffer.statistics();
    assert_eq!((before.metadata.evictions, before.raw.evictions), (2, 6));
    (2..4).for_each(|n| drop(read(&buffer, PageKind::Metadata, page(n), 8)));
    assert_eq!(buffer.statistics().metadata.misses, before.metadata.misses);
    (12..16).for_each(|n| drop(read(&buffer, PageKind::Metadata, page(n), 8)));
    drop(read(&buffer, PageKind::Raw, page(11), 8));
    assert_eq!(buffer.statistics().raw.misses, before.raw.misses);
}

#[test]
fn a_kind_without_a_page_reads_past_a_buffer_that_is_all_the_others() {
    let (_, buffer) = buffer(2, 2, 0);
    (0..2).for_each(|n| drop(read(&buffer, PageKind::Metadata, 100 + n * PAGE, 8)));
    read(&buffer, PageKind::Raw, 5000, 8);
    assert_eq!(buffer.statistics().raw, PageCounts { accesses: 1, bypasses: 1, ..PageCounts::default() });
}

#[test]
fn what_is_written_cut_off_or_added_is_read_back() {
    let (_, buffer) = buffer(8, 0, 0);
    let ends = [9_000, 9_990];
    ends.iter().for_each(|at| drop(read(&buffer, PageKind::Raw, *at, 10)));
    buffer.write_at(8_990, &[9; 600]).unwrap();
    assert_eq!(read(&buffer, PageKind::Raw, 9_000, 10), [9; 10]);
    buffer.set_len(9_995).unwrap();
    assert!(buffer.read(PageKind::Raw, 9_990, &mut [0; 10]).is_err());
    buffer.set_len(11_000).unwrap();
    assert_eq!(read(&buffer, PageKind::Raw, 9_990, 10)[5..], [0; 5]);
    buffer.write_at(12_000, &[3; 4]).unwrap();
    assert_eq!(read(&buffer, PageKind::Metadata, 12_000, 4), [3; 4]);
}

#[test]
fn threads_that_read_and_write_see_each_write_that_was_before() {
    let (_, buffer) = buffer(2, 0, 0);
    std::thread::scope(|threads| {
        for thread in 0..4u64 {
            let buffer = &buffer;
            threads.spawn(move || {
                let at = 100 + thread * 8;
                for n in 0..2000u64 {
                    buffer.write_at(at, &n.to_le_bytes()).unwrap();
                    let mut there = [0; 8];
                    buffer.read(PageKind::Metadata, at, &mut there).unwrap();
                    assert_eq!(u64::from_le_bytes(there), n);
                    buffer.read(PageKind::Raw, 100 + (n % 9) * PAGE, &mut there).unwrap();
                }
            });
        }
    });
}
