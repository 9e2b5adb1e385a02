//! Elements that go over committed ones and are more than memory holds: they wait in the file.

use hyperslab::{File, Result, Selection};
use vol::{Durability, LibVersion};

use super::{Workload, numbers};

/// Elements of a workload's dataset.
const COUNT: u64 = 5000;
/// Elements of one write: as many bytes as make the memory of [`BYTES`] full.
const WINDOW: u64 = 1100;
/// Memory for elements. Half of it may wait for a commit.
const BYTES: u64 = 8 << 10;

fn make(f: &File) -> Result<()> {
    f.new_dataset::<i32>().shape(COUNT as usize).create("numbers")?.write_raw(&numbers(0, COUNT as usize))
}

fn put(f: &File, start: u64, count: u64, value: i32) -> Result<()> {
    let selection = Selection::block(&[start], &[count])?;
    f.dataset("numbers")?.write_selection(&selection, &vec![value; count as usize])
}

/// Windows from the start on, each of which begins `step` elements after the one before.
fn windows(f: &File, step: u64, value: i32) -> Result<()> {
    (0..4).try_for_each(|n| put(f, n * step, WINDOW, value + n as i32))
}

fn texts(f: &File, start: u64, count: u64, value: &str) -> Result<()> {
    let selection = Selection::block(&[start], &[count])?;
    f.dataset("texts")?.write_selection(&selection, &vec![value.to_owned(); count as usize])
}

fn make_texts(f: &File) -> Result<()> {
    let values: Vec<String> = (0..600).map(|n| format!("text {n}")).collect();
    f.new_dataset::<String>().shape(600).create("texts")?.write_raw(&values)
}

pub(super) fn all() -> Vec<Workload> {
    let overwritten: [super::Step; 5] = [
        make,
        |f| windows(f, WINDOW, 100),
        |f| windows(f, 700, 200),
        // What waits in the file is overwritten in part, in memory and in the file.
        |f| {
            windows(f, 900, 300)?;
            put(f, 500, 20, -1)?;
            put(f, 450, WINDOW, 400)?;
            put(f, 1000, 10, -2)
        },
        |f| {
            f.create_group("group")?;
            windows(f, 1000, 500)?;
            f.set_attr("note", 7).map(drop)?;
            put(f, 0, COUNT - 1, 600)
        },
    ];
    let of_texts: [super::Step; 3] = [
        make_texts,
        |f| (0..2).try_for_each(|n| texts(f, n * 300, 290, "another")),
        |f| (0..2).try_for_each(|n| texts(f, n * 200, 300, "one more")),
    ];
    let ordered = [Durability::Ordered, Durability::Full];
    vec![
        Workload::new("more elements overwritten than memory holds", &overwritten)
            .in_memory_of(BYTES)
            .closing(),
        Workload::new("the same since v110", &overwritten).in_memory_of(BYTES).since(LibVersion::V110),
        Workload::new("the same with fewer syncs", &overwritten).in_memory_of(BYTES).with(&ordered),
        Workload::new("more texts overwritten than memory holds", &of_texts).in_memory_of(BYTES),
    ]
}
