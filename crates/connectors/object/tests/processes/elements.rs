//! Elements of the same chunks that processes write at the same time, and extents that they change.
//!
//! Each element says who wrote it, and in which of its writes.

use model::properties::{DatasetCreate, FilterSpec, Layout};
use model::{ByteOrder, Dataspace, Datatype, Selection, Token, UNLIMITED};
use testkit::generate::Generator;
use vol::{Container, Durability, LinkLocation, OpDatasetCreate, OpRead, OpWrite};

use crate::{WRITERS, count, with_writers, writer};

/// Elements of which each has one writer: who comes next to each other in a chunk.
const OWNED: u64 = 4096;
/// Elements behind them that all write.
const CONTESTED: u64 = 512;
const CHUNK: u64 = 384;
/// Writes between two commits.
const COMMIT_EVERY: usize = 25;
const NAMES: [&str; 2] = ["plain", "filtered"];

fn writes() -> usize {
    count("HYPERSLAB_CEPH_WRITES", 250)
}

/// One partial write: a hyperslab of single elements, and their value.
struct PartialWrite {
    start: u64,
    stride: u64,
    count: u64,
    value: u64,
}

impl PartialWrite {
    fn elements(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.count).map(|n| (self.start + n * self.stride) as usize)
    }
}

/// Returns the writes of a writer, the same each time.
fn writes_of(writer: usize) -> impl Iterator<Item = PartialWrite> {
    let mut random = Generator::new(writer as u64);
    (0..writes()).map(move |n| {
        let value = (writer as u64 + 1) << 32 | n as u64;
        if n % 5 == 4 {
            let (start, count) = (OWNED + random.below(CONTESTED - 64), 1 + random.below(64));
            return PartialWrite { start, stride: 1, count, value };
        }
        let writers = WRITERS as u64;
        let (first, count) = (random.below(OWNED / writers - 128), 1 + random.below(128));
        PartialWrite { start: first * writers + writer as u64, stride: writers, count, value }
    })
}

fn number() -> Datatype {
    Datatype::integer(8, false, ByteOrder::Little)
}

fn filter(id: u16, values: &[u32]) -> FilterSpec {
    FilterSpec { id, name: None, optional: false, values: values.to_vec() }
}

fn create(c: &dyn Container, name: &str, space: Dataspace, filters: Vec<FilterSpec>) {
    let create = DatasetCreate { layout: Layout::chunked(&[CHUNK]), filters, ..DatasetCreate::default() };
    let place = Some(LinkLocation::new(c.info().unwrap().root, name));
    c.dataset_create(&OpDatasetCreate { place, datatype: number(), committed: None, space, create }).unwrap();
}

fn find(c: &dyn Container, name: &str) -> Token {
    vol::path::token(c, c.info().unwrap().root, name, 16).unwrap()
}

#[test]
#[ignore = "it is one of several"]
fn write() {
    let Some((c, number)) = writer() else { return };
    let datasets = NAMES.map(|name| find(&*c, name));
    for (n, write) in writes_of(number).enumerate() {
        let selection = Selection::hyperslab(&[write.start], &[write.stride], &[write.count], &[1]).unwrap();
        let from = write.value.to_le_bytes().repeat(write.count as usize);
        for dataset in datasets {
            c.dataset_write(&[OpWrite { dataset, selection: &selection, from: &from }]).unwrap();
        }
        if n % COMMIT_EVERY == COMMIT_EVERY - 1 {
            c.commit(Durability::Full).unwrap();
        }
    }
    c.close().unwrap();
}

#[test]
fn no_element_of_four_processes_is_lost_or_mixed() {
    let create_both = |c: &dyn Container| {
        let space = || Dataspace::simple(&[OWNED + CONTESTED]).unwrap();
        create(c, NAMES[0], space(), Vec::new());
        create(c, NAMES[1], space(), vec![filter(2, &[]), filter(1, &[1])]);
    };
    with_writers("elements::write", create_both, |c| {
        let mut last = vec![0; OWNED as usize];
        let mut allowed = vec![vec![0]; CONTESTED as usize];
        for write in (0..WRITERS).flat_map(writes_of) {
            for element in write.elements() {
                match element.checked_sub(OWNED as usize) {
                    None => last[element] = write.value,
                    Some(contested) => allowed[contested].push(write.value),
                }
            }
        }
        for name in NAMES {
            let mut into = vec![0; (OWNED + CONTESTED) as usize * 8];
            let dataset = find(c, name);
            c.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut into }]).unwrap();
            let found: Vec<u64> = into.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
            let (owned, contested) = found.split_at(OWNED as usize);
            let lost = owned.iter().zip(&last).position(|(found, last)| found != last);
            assert_eq!(lost, None, "{name}: {:x} of {:x}", owned[lost.unwrap_or(0)], last[lost.unwrap_or(0)]);
            let mixed = contested.iter().zip(&allowed).position(|(found, allowed)| !allowed.contains(found));
            assert_eq!(mixed, None, "{name}: {:x}", contested[mixed.unwrap_or(0)]);
        }
    });
}

/// Rows that each process adds.
const ROWS: u64 = 40;

#[test]
#[ignore = "it is one of several"]
fn grow() {
    let Some((c, number)) = writer() else { return };
    let (dataset, writers) = (find(&*c, "rows"), WRITERS as u64);
    for n in 0..ROWS {
        let row = n * writers + number as u64;
        // A smaller extent than the one that was seen would be a wish to cut.
        let seen = c.dataset_info(dataset).unwrap().space.dims()[0];
        c.dataset_resize(dataset, &[seen.max(row + 1)]).unwrap();
        let selection = Selection::block(&[row], &[1]).unwrap();
        c.dataset_write(&[OpWrite { dataset, selection: &selection, from: &(row + 1).to_le_bytes() }])
            .unwrap();
        if n % 10 == 9 {
            c.commit(Durability::Full).unwrap();
            c.object_refresh(dataset).unwrap();
        }
    }
    c.close().unwrap();
}

#[test]
fn a_dataset_that_four_processes_grow_has_all_their_rows() {
    let create_rows = |c: &dyn Container| {
        create(c, "rows", Dataspace::resizable(&[0], &[UNLIMITED]).unwrap(), vec![filter(1, &[1])]);
    };
    with_writers("elements::grow", create_rows, |c| {
        let dataset = find(c, "rows");
        let rows = WRITERS as u64 * ROWS;
        assert_eq!(c.dataset_info(dataset).unwrap().space.dims(), [rows]);
        let mut into = vec![0; rows as usize * 8];
        c.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut into }]).unwrap();
        let found: Vec<u64> = into.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        assert_eq!(found, (1..=rows).collect::<Vec<_>>());
    });
}

/// Writes one row of a dataset, and commits.
fn write_row(c: &dyn Container, dataset: Token, row: u64) {
    let selection = Selection::block(&[row], &[1]).unwrap();
    c.dataset_write(&[OpWrite { dataset, selection: &selection, from: &(row + 1).to_le_bytes() }]).unwrap();
    c.commit(Durability::Full).unwrap();
}

/// Waits until another process grew a dataset.
fn wait_for_extent(c: &dyn Container, dataset: Token, extent: u64) {
    for _ in 0..6000 {
        c.object_refresh(dataset).unwrap();
        if c.dataset_info(dataset).unwrap().space.dims()[0] >= extent {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the extent was never {extent}");
}

#[test]
#[ignore = "it is one of several"]
fn write_rows_of_other_extents() {
    let Some((c, number)) = writer() else { return };
    // Extents are stored at once, and other datasets stay as they are known: they say whose turn it is.
    let (rows, turn) = (find(&*c, "rows"), find(&*c, "turn"));
    match number {
        0 => {
            c.dataset_resize(rows, &[1]).unwrap();
            c.dataset_resize(turn, &[1]).unwrap();
            wait_for_extent(&*c, turn, 2);
            write_row(&*c, rows, 0);
        }
        1 => {
            wait_for_extent(&*c, turn, 1);
            c.dataset_resize(rows, &[3]).unwrap();
            write_row(&*c, rows, 2);
            c.dataset_resize(turn, &[2]).unwrap();
        }
        _ => {}
    }
    c.close().unwrap();
}

#[test]
fn a_row_is_not_lost_to_a_process_that_knows_a_smaller_extent() {
    let create_both = |c: &dyn Container| {
        for name in ["rows", "turn"] {
            create(c, name, Dataspace::resizable(&[0], &[UNLIMITED]).unwrap(), vec![filter(1, &[1])]);
        }
    };
    with_writers("elements::write_rows_of_other_extents", create_both, |c| {
        let (dataset, mut into) = (find(c, "rows"), [0; 24]);
        c.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut into }]).unwrap();
        let found: Vec<u64> = into.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        assert_eq!(found, [1, 0, 3]);
    });
}
