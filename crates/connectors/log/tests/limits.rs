//! Limits of what waits for a flush: elements, what notes them, buffers that are given away, and postings.

mod common;

use common::*;
use model::{Kind, Selection};
use vol::{Container, Durability, FileAccess, WhenFull};

fn block(start: u64, len: u64) -> Selection {
    Selection::block(&[start], &[len]).unwrap()
}

#[test]
fn a_full_buffer_is_a_clear_error_and_a_flush_makes_space() {
    let folder = Folder::new("log");
    let limited = FileAccess {
        write_buffer_bytes: Some(100),
        write_buffer_full: WhenFull::Fail,
        ..FileAccess::write()
    };
    let c = create(&folder.at("full.h5"), &limited);
    let (a, b) = (ints(&*c, "a", &[100]), ints(&*c, "b", &[100]));
    put(&*c, a, &block(0, 15), &[1; 15]).unwrap();
    // The limit is one over all datasets.
    let error = put(&*c, b, &block(0, 15), &[2; 15]).unwrap_err();
    assert_eq!(error.kind(), Kind::Limit);
    c.commit(Durability::None).unwrap();
    put(&*c, b, &block(0, 15), &[2; 15]).unwrap();
    assert_eq!(get(&*c, b, &block(0, 2)).unwrap(), [2, 2]);
}

#[test]
fn a_full_buffer_goes_to_the_file_by_itself_where_that_is_chosen() {
    let folder = Folder::new("log");
    let path = folder.at("spill.h5");
    let limited = FileAccess { write_buffer_bytes: Some(1000), ..FileAccess::write() };
    let c = create(&path, &limited);
    let data = ints(&*c, "d", &[10_000]);
    for n in 0..100 {
        put(&*c, data, &block(n * 100, 100), &[n as i32; 100]).unwrap();
    }
    // Larger than the buffer by itself.
    put(&*c, data, &block(0, 1000), &[-1; 1000]).unwrap();
    let wanted: Vec<i32> = (0..10_000).map(|n| if n < 1000 { -1 } else { n / 100 }).collect();
    assert_eq!(get(&*c, data, &Selection::All).unwrap(), wanted);
    c.close().unwrap();
    let c = open(&path, &FileAccess::read()).unwrap();
    assert_eq!(get(&*c, find(&*c, "d"), &Selection::All).unwrap(), wanted);
}

#[test]
fn buffers_that_are_given_away_count_towards_the_limit() {
    let folder = Folder::new("log");
    let access = FileAccess {
        write_buffer_bytes: Some(120),
        write_buffer_full: WhenFull::Fail,
        ..FileAccess::write()
    };
    let c = create(&folder.at("fail.h5"), &access);
    let data = ints(&*c, "d", &[100]);
    c.write_owned(data, &block(0, 20), to_bytes(&[1; 20])).unwrap();
    let error = c.write_owned(data, &block(20, 10), to_bytes(&[2; 10])).unwrap_err();
    assert_eq!(error.kind(), Kind::Limit, "{error}");
    c.commit(Durability::None).unwrap();
    c.write_owned(data, &block(20, 10), to_bytes(&[2; 10])).unwrap();
    // Where it may, what does not fit goes to the file at once.
    let access = FileAccess { write_buffer_full: WhenFull::default(), ..access };
    let c = create(&folder.at("through.h5"), &access);
    let data = ints(&*c, "d", &[100]);
    c.write_owned(data, &block(0, 20), to_bytes(&[1; 20])).unwrap();
    c.write_owned(data, &block(10, 80), to_bytes(&[2; 80])).unwrap();
    let wanted: Vec<i32> = (0..100)
        .map(|n| {
            if n < 10 {
                1
            } else if n < 90 {
                2
            } else {
                0
            }
        })
        .collect();
    assert_eq!(get(&*c, data, &Selection::All).unwrap(), wanted);
}

/// Four bytes are noted with 32 that say where they go: both wait.
#[test]
fn what_notes_requests_counts_towards_the_limit() {
    const LIMIT: u64 = 100_000;
    let folder = Folder::new("log");
    let access = FileAccess {
        write_buffer_bytes: Some(LIMIT),
        write_buffer_full: WhenFull::Fail,
        ..FileAccess::write()
    };
    let c = create(&folder.at("fail.h5"), &access);
    let data = ints(&*c, "d", &[100_000]);
    let put_alone = |n: u64| put(&*c, data, &block(n * 2, 1), &[5]);
    let waiting = (0..50_000).take_while(|n| put_alone(*n).is_ok()).count() as u64;
    assert_eq!(waiting, LIMIT / (4 + 32));
    assert_eq!(put_alone(waiting).unwrap_err().kind(), Kind::Limit);
    // Many runs of one write count like many writes.
    let comb = |count| Selection::hyperslab(&[0], &[2], &[count], &[1]).unwrap();
    c.commit(Durability::None).unwrap();
    let error = put(&*c, data, &comb(waiting + 1), &vec![6; waiting as usize + 1]).unwrap_err();
    assert_eq!(error.kind(), Kind::Limit);
    put(&*c, data, &comb(waiting), &vec![6; waiting as usize]).unwrap();
    let error = c.write_owned(data, &block(50_000, 100), to_bytes(&[7; 100])).unwrap_err();
    assert_eq!(error.kind(), Kind::Limit);
    c.commit(Durability::None).unwrap();
    // Requests that follow each other are one run.
    (0..10_000).for_each(|n| put(&*c, data, &block(n, 1), &[8]).unwrap());
    assert_eq!(get(&*c, data, &block(9_999, 2)).unwrap(), [8, 0]);
}

/// What a caller reads before a flush is put in order for that, which takes memory too.
#[test]
fn what_waits_in_order_counts_as_well() {
    let folder = Folder::new("log");
    let access = FileAccess {
        write_buffer_bytes: Some(100_000),
        write_buffer_full: WhenFull::Fail,
        ..FileAccess::write()
    };
    let c = create(&folder.at("ordered.h5"), &access);
    let data = ints(&*c, "d", &[100_000]);
    let put_alone = |n: u64| put(&*c, data, &block(n * 2, 1), &[5]);
    (0..1000).for_each(|n| put_alone(n).unwrap());
    assert_eq!(get(&*c, data, &block(0, 2)).unwrap(), [5, 0]);
    let more = (1000..50_000).take_while(|n| put_alone(*n).is_ok()).count() as u64;
    assert_eq!(more, (100_000 - 1000 * (4 + 32 + 32)) / (4 + 32));
}

#[test]
fn postings_count_what_they_hold_themselves() {
    let folder = Folder::new("log");
    let access = FileAccess {
        write_buffer_bytes: Some(10_000),
        write_buffer_full: WhenFull::Fail,
        ..FileAccess::write()
    };
    let c = create(&folder.at("posted.h5"), &access);
    let data = ints(&*c, "d", &[100_000]);
    let (four, large) = (to_bytes(&[5]), to_bytes(&[6; 10_000]));
    let mut posting = c.posting();
    posting.write(data, &block(50_000, 10_000), &large).unwrap();
    let mut post = |n: u64| posting.write(data, &block(n * 2, 1), &four);
    let posted = (0..5000).take_while(|n| post(*n).is_ok()).count();
    // Of what is borrowed, the address and the note.
    assert_eq!(posted, (10_000 - 16 - 32) / (4 + 32));
    assert_eq!(post(0).unwrap_err().kind(), Kind::Limit);
    // What waits in the container leaves less for postings.
    assert!(posting.write_copied(data, &block(0, 1), &four).is_err());
    posting.flush(Durability::None).unwrap();
    put(&*c, data, &block(1, 1000), &[9; 1000]).unwrap();
    let mut posting = c.posting();
    let left = (0..5000).take_while(|n| posting.write_copied(data, &block(n * 2, 1), &four).is_ok()).count();
    assert_eq!(left, (10_000 - 4000 - 32) / (4 + 32));
}
