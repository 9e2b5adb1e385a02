//! The page buffer of files with the page strategy: fewer calls of the driver, the same bytes, statistics that add up.

use std::sync::Arc;

use files::{Memory, Meter};
use hyperslab_native::{PageBufferStatistics, ResetPageBufferStatistics, create_handle, open_handle};
use model::properties::{DatasetCreate, FileCreate, SpaceStrategy};
use model::{Kind, Selection, Token};
use vol::{Container, Durability, FileAccess, OpRead, PageBuffer, call};

use crate::life::{dataset, group, ints, member, put, simple};

const GROUPS: usize = 5000;
const READS: usize = 100_000;
const PAGE_BYTES: u64 = 64 << 10;

fn paged() -> FileCreate {
    FileCreate { space_strategy: SpaceStrategy::Page, page_bytes: PAGE_BYTES, ..FileCreate::default() }
}

/// A file of many groups, and their tokens.
fn file_of_groups(create: &FileCreate) -> (Vec<u8>, Vec<Token>) {
    let file = Arc::new(Memory::new());
    let c = create_handle(file.clone(), "groups.h5", create, &FileAccess::write()).unwrap();
    let root = c.info().unwrap().root;
    let tokens = (0..GROUPS).map(|n| group(&*c, root, &format!("group {n:05}")).unwrap()).collect();
    let d = dataset(&*c, (root, "numbers"), ints(), simple(&[2000]), DatasetCreate::default()).unwrap();
    put(&*c, d, &Selection::All, &(0..2000).collect::<Vec<_>>()).unwrap();
    c.commit(Durability::None).unwrap();
    drop(c);
    (file.image().unwrap(), tokens)
}

/// Opens the image with hardly any other cache, and returns it with what counts its reads.
fn open(image: &[u8], page_buffer: PageBuffer, write: bool) -> (Arc<Meter>, Arc<dyn Container>) {
    let meter = Arc::new(Meter::new(Arc::new(Memory::from_image(image.to_vec()))));
    let access = if write { FileAccess::write() } else { FileAccess::read() };
    let access = FileAccess { page_buffer, metadata_cache_bytes: Some(64 << 10), ..access };
    let c = open_handle(meter.clone(), "groups.h5", &access).unwrap();
    meter.reset();
    (meter, c)
}

/// Asks for objects at random, and returns how many reads of the driver that took.
fn read_at_random(c: &dyn Container, meter: &Meter, tokens: &[Token]) -> u64 {
    let mut state = 1u64;
    for _ in 0..READS {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let token = tokens[(state >> 33) as usize % tokens.len()];
        assert_eq!(c.object_info(token).unwrap().token, token);
    }
    meter.counts().reads
}

#[test]
fn random_reads_of_metadata_take_a_tenth_of_the_calls_and_are_counted() {
    let (image, tokens) = file_of_groups(&paged());
    for write in [false, true] {
        let (meter, c) = open(&image, PageBuffer::default(), write);
        let without = read_at_random(&*c, &meter, &tokens);
        let (meter, c) = open(&image, PageBuffer { bytes: 16 << 20, ..PageBuffer::default() }, write);
        call::<ResetPageBufferStatistics>(&*c, &()).unwrap();
        let with = read_at_random(&*c, &meter, &tokens);
        assert!(without > 10 * with, "{without} calls, and {with} with a page buffer");
        let found = call::<PageBufferStatistics>(&*c, &()).unwrap();
        assert_eq!(found.metadata_misses + found.metadata_bypasses, with, "{found:?}");
        assert!(found.metadata_accesses as usize > READS / 2, "{found:?}");
        assert!(found.metadata_hits + found.metadata_misses >= found.metadata_accesses, "{found:?}");
        assert_eq!((found.metadata_evictions, found.raw_accesses), (0, 0));
    }
}

#[test]
fn a_writer_with_a_page_buffer_reads_what_it_wrote() {
    let (image, tokens) = file_of_groups(&paged());
    let file = Arc::new(Memory::from_image(image));
    let access = FileAccess::write().with_page_buffer(2 * PAGE_BYTES);
    for round in 0..3 {
        let c = open_handle(file.clone(), "groups.h5", &access).unwrap();
        for (n, token) in tokens.iter().enumerate().step_by(50) {
            let name = format!("values {round}");
            let d = dataset(&*c, (*token, &name), ints(), simple(&[9]), DatasetCreate::default()).unwrap();
            put(&*c, d, &Selection::All, &[n as i32; 9]).unwrap();
        }
        c.commit(Durability::None).unwrap();
        check_values(&*c, &tokens, round);
        drop(c);
        let c = open_handle(file.clone(), "groups.h5", &FileAccess::read()).unwrap();
        check_values(&*c, &tokens, round);
    }
}

fn check_values(c: &dyn Container, tokens: &[Token], rounds: usize) {
    for (n, token) in tokens.iter().enumerate().step_by(50) {
        for round in 0..=rounds {
            let dataset = member(c, *token, &format!("values {round}"));
            let mut bytes = vec![0; 36];
            let read = OpRead { dataset, selection: &Selection::All, into: &mut bytes };
            c.dataset_read(&mut [read]).unwrap();
            assert_eq!(bytes, (n as i32).to_le_bytes().repeat(9));
        }
    }
}

#[test]
fn a_file_without_pages_has_no_buffer_and_a_new_one_must_fit() {
    let (image, _) = file_of_groups(&FileCreate::default());
    let (_, c) = open(&image, PageBuffer { bytes: 1 << 20, ..PageBuffer::default() }, false);
    assert_eq!(call::<PageBufferStatistics>(&*c, &()).unwrap_err().kind(), Kind::Invalid);
    let folder = crate::others::Folder::new("page_buffer");
    for (create, bytes) in [(FileCreate::default(), 1 << 20), (paged(), PAGE_BYTES - 1)] {
        let access = FileAccess::write().with_page_buffer(bytes);
        let refused = hyperslab::File::create_with(&folder.at("new.h5"), &create, &access, true);
        assert_eq!(refused.unwrap_err().kind(), Kind::Invalid);
        assert!(!std::path::Path::new(&folder.at("new.h5")).exists());
    }
    let access = FileAccess::write().with_page_buffer(PAGE_BYTES);
    hyperslab::File::create_with(&folder.at("new.h5"), &paged(), &access, true).unwrap().close().unwrap();
}
