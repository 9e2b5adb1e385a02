//! What a commit costs: bytes and calls depend on what changed, not on what is there. Counted, never timed.

use std::sync::Arc;

use files::{Memory, Meter, meter::Counts};
use hyperslab::{File, LibVersion, Result, UNLIMITED_DIM};
use model::properties::FileCreate;
use ndarray::{Array1, Array2};
use vol::{Durability, FileAccess};

/// A new file whose storage counts.
fn metered(low: LibVersion) -> (File, Arc<Meter>) {
    let meter = Arc::new(Meter::new(Arc::new(Memory::from_image(Vec::new()))));
    let access = FileAccess { version_low: low, ..FileAccess::write() };
    let c = hyperslab_native::create_handle(meter.clone(), "metered", &FileCreate::default(), &access);
    (File::from_container(c.unwrap(), "metered", &access).unwrap(), meter)
}

/// Adds things of one kind.
type Add = fn(&File, std::ops::Range<usize>) -> Result<()>;

fn links(f: &File, numbers: std::ops::Range<usize>) -> Result<()> {
    numbers.into_iter().try_for_each(|n| f.link_soft("/target", &format!("link {n:07}")))
}

fn attributes(f: &File, numbers: std::ops::Range<usize>) -> Result<()> {
    numbers.into_iter().try_for_each(|n| f.set_attr(&format!("attribute {n:07}"), n as i64).map(drop))
}

fn rows(f: &File, numbers: std::ops::Range<usize>) -> Result<()> {
    if !f.exists("rows")? {
        f.new_dataset::<i64>().shape(0).resizable().chunk(1).create("rows")?;
    }
    f.dataset("rows")?.append(0, &numbers.map(|n| n as i64).collect::<Array1<_>>())
}

fn grid(f: &File, numbers: std::ops::Range<usize>) -> Result<()> {
    if !f.exists("grid")? {
        f.new_dataset::<i64>().shape((0, 1)).resizable().chunk((1, 1)).create("grid")?;
    }
    f.dataset("grid")?.append(0, &Array2::from_elem((numbers.len(), 1), 1i64))
}

fn fixed(f: &File, numbers: std::ops::Range<usize>) -> Result<()> {
    if !f.exists("fixed")? {
        f.new_dataset::<i64>().shape(2 * numbers.end).chunk(1).create("fixed")?;
    }
    let selection = hyperslab::Selection::block(&[numbers.start as u64], &[numbers.len() as u64])?;
    f.dataset("fixed")?.write_selection(&selection, &vec![1i64; numbers.len()])
}

fn texts(f: &File, numbers: std::ops::Range<usize>) -> Result<()> {
    if !f.exists("texts")? {
        f.new_dataset::<String>().shape(0).resizable().chunk(64).create("texts")?;
    }
    f.dataset("texts")?.append(0, &numbers.map(|n| format!("text {n}")).collect::<Array1<_>>())
}

const KINDS: [(&str, Add); 6] = [
    ("links", links),
    ("attributes", attributes),
    ("rows", rows),
    ("grid", grid),
    ("fixed", fixed),
    ("texts", texts),
];

/// Blocks grow with what they hold, up to these bytes: those of a heap, which are written anew, and pages of arrays, which are
/// written twice.
const HEAP_BLOCK_BYTES: u64 = 8 << 10;
const ARRAY_BLOCK_BYTES: u64 = 2 * (8 << 10);

/// Commits that are counted.
const COMMITS: usize = 40;

/// What commits of one thing more read and write, where `count` are there.
fn cost(low: LibVersion, add: Add, count: usize) -> Counts {
    let (file, meter) = metered(low);
    add(&file, 0..count).unwrap();
    file.flush().unwrap();
    add(&file, count..count + 1).unwrap();
    file.flush().unwrap();
    meter.reset();
    for n in count + 1..count + 1 + COMMITS {
        add(&file, n..n + 1).unwrap();
        file.flush().unwrap();
    }
    meter.reset()
}

#[test]
fn one_thing_more_costs_the_same_however_many_there_are() {
    for low in [LibVersion::Earliest, LibVersion::V18, LibVersion::LATEST] {
        for (name, add) in KINDS {
            // Headers of the first version have all attributes in them.
            if name == "attributes" && low == LibVersion::Earliest {
                continue;
            }
            let (few, many) = (cost(low, add, 500), cost(low, add, 20_000));
            let summary = |c: &Counts| {
                let each = |n: u64| n / COMMITS as u64;
                (each(c.bytes_written), each(c.writes), each(c.bytes_read), each(c.reads), each(c.syncs))
            };
            println!("{name} since {low:?}: {:?}, then {:?}", summary(&few), summary(&many));
            let has_heap = matches!(name, "links" | "attributes");
            let block_bytes = if has_heap { HEAP_BLOCK_BYTES } else { ARRAY_BLOCK_BYTES };
            let bytes_max = 2 * few.bytes_written + COMMITS as u64 * block_bytes;
            assert!(many.bytes_written <= bytes_max, "{name} since {low:?}: bytes written");
            assert!(many.writes <= 2 * few.writes, "{name} since {low:?}: writes");
            assert!(many.bytes_read <= 2 * few.bytes_read, "{name} since {low:?}: bytes read");
            assert!(many.reads <= 2 * few.reads, "{name} since {low:?}: reads");
        }
    }
}

/// Syncs of one commit after a change.
fn syncs(file: &File, meter: &Meter, durability: Durability, change: impl FnOnce(&File)) -> u64 {
    change(file);
    meter.reset();
    file.container().commit(durability).unwrap();
    meter.reset().syncs
}

/// A file with a group and a dataset, whose first commits are over.
fn flushed() -> (File, Arc<Meter>) {
    let (file, meter) = metered(LibVersion::LATEST);
    file.create_group("g").unwrap();
    file.new_dataset::<i32>().shape(5000).create("x").unwrap().write_raw(&[1; 5000]).unwrap();
    file.flush().unwrap();
    (file, meter)
}

/// The table of docs/durability.md.
#[test]
fn a_commit_syncs_as_often_as_the_documentation_says() {
    let group = |file: &File| drop(file.create_group("another").unwrap());
    let attribute = |file: &File| drop(file.set_attr("value", 7).unwrap());
    let elements = |file: &File| file.dataset("x").unwrap().write_raw(&[2; 5000]).unwrap();
    for change in [&group as &dyn Fn(&File), &attribute, &elements] {
        for (durability, expected) in [(Durability::Full, 3), (Durability::Ordered, 2), (Durability::None, 0)]
        {
            let (file, meter) = flushed();
            assert_eq!(syncs(&file, &meter, durability, change), expected, "{durability:?}");
            // Without changes there is nothing to sync but what the last commit left to its successor.
            assert_eq!(syncs(&file, &meter, durability, |_| ()), 0, "{durability:?}, nothing changed");
            let left = u64::from(durability != Durability::Full);
            assert_eq!(syncs(&file, &meter, Durability::Full, |_| ()), left, "{durability:?}, then all");
            assert_eq!(syncs(&file, &meter, Durability::Full, attribute), 3, "{durability:?}, then a change");
        }
        // One after the other, each makes the one before it sure.
        let (file, meter) = flushed();
        assert_eq!(syncs(&file, &meter, Durability::Ordered, change), 2);
        assert_eq!(syncs(&file, &meter, Durability::Ordered, attribute), 2);
        // The record of an ordered commit must not be written over before what it brings is safe.
        assert_eq!(syncs(&file, &meter, Durability::None, attribute), 1);
    }
}

/// Elements that wait in the file cost no sync more.
#[test]
fn a_commit_with_a_journal_syncs_as_often() {
    let meter = Arc::new(Meter::new(Arc::new(Memory::from_image(Vec::new()))));
    let access = FileAccess { chunk_cache_bytes: Some(8 << 10), ..FileAccess::write() };
    let c = hyperslab_native::create_handle(meter.clone(), "metered", &FileCreate::default(), &access);
    let file = File::from_container(c.unwrap(), "metered", &access).unwrap();
    file.new_dataset::<i32>().shape(5000).create("x").unwrap().write_raw(&[1; 5000]).unwrap();
    file.flush().unwrap();
    let overwrite = |file: &File| {
        let most = hyperslab::Selection::block(&[3], &[4900]).unwrap();
        file.dataset("x").unwrap().write_selection(&most, &[2; 4900]).unwrap();
    };
    assert_eq!(syncs(&file, &meter, Durability::Full, overwrite), 3);
    let overwrite_in_place = |file: &File| {
        file.dataset("x").unwrap().overwrite_in_place(true).unwrap();
        overwrite(file);
    };
    assert_eq!(syncs(&file, &meter, Durability::Full, overwrite_in_place), 3);
}

/// Bytes of a row that is appended and flushed, again and again: eight are a chunk.
const ROW: usize = 64;

fn append_all(low: LibVersion, swmr: bool, cycles: usize) -> (Vec<Counts>, u64) {
    let (file, meter) = metered(low);
    let builder = file.new_dataset::<f64>().shape([0]).max_shape([UNLIMITED_DIM]);
    let dataset = builder.chunk([8 * ROW]).create("log").unwrap();
    file.flush().unwrap();
    if swmr {
        file.start_swmr().unwrap();
    }
    let append = |_| {
        meter.reset();
        dataset.append(0, &Array1::from_elem(ROW, 1.0)).unwrap();
        file.flush().unwrap();
        meter.reset()
    };
    let counts = (0..cycles).map(append).collect();
    file.close().unwrap();
    (counts, files::File::len(&*meter).unwrap())
}

#[test]
fn rows_appended_and_flushed_cost_the_same_from_first_to_last() {
    const CYCLES: usize = 4000;
    for (low, swmr) in [(LibVersion::V18, false), (LibVersion::LATEST, false), (LibVersion::LATEST, true)] {
        let (counts, bytes) = append_all(low, swmr, CYCLES);
        let sum = |counts: &[Counts]| {
            counts
                .iter()
                .fold((0, 0, 0), |(w, b, r), c| (w + c.writes, b + c.bytes_written, r + c.bytes_read))
        };
        let (first, last) = (sum(&counts[400..800]), sum(&counts[CYCLES - 400..]));
        println!("since {low:?}, SWMR {swmr}: {first:?}, then {last:?}, {bytes} bytes");
        assert!(2 * last.0 <= 3 * first.0, "writes");
        assert!(2 * last.1 <= 3 * first.1, "bytes written");
        assert!(2 * last.2 <= 3 * first.2, "bytes read");
        let elements = (CYCLES * ROW * size_of::<f64>()) as u64;
        assert!(10 * bytes <= 11 * elements, "since {low:?}, SWMR {swmr}: {bytes} bytes for {elements}");
    }
}

/// A group with many links that changes, goes, and comes again where it was.
fn go_and_come(file: &File, round: usize) -> Result<()> {
    let name = |n: usize| format!("g/link {n} {}", "x".repeat(n * 7 % 40));
    file.create_group("g")?;
    (0..90).try_for_each(|n| file.link_soft("/target", &name(n)))?;
    file.flush()?;
    (round..round + 9).try_for_each(|n| file.unlink(&name(n)))?;
    file.flush()?;
    (90..100).try_for_each(|n| file.link_soft("/target", &name(n)))?;
    file.flush()?;
    assert_eq!(file.group("g")?.member_names()?.len(), 91, "round {round}");
    let findings = hyperslab::check::Check::default().run(&**file.container(), &mut |_| ()).findings;
    assert!(findings.is_empty(), "round {round}: {}", findings[0].error);
    file.unlink("g")?;
    file.flush()
}

#[test]
fn an_index_where_another_one_was_has_its_own_entries() {
    for low in [LibVersion::Earliest, LibVersion::V18, LibVersion::LATEST] {
        let (file, _) = metered(low);
        (0..12).try_for_each(|round| go_and_come(&file, round)).unwrap();
    }
}
