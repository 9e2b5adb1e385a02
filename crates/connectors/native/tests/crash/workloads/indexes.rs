//! Indexes and heaps that change by block: they split, merge, grow and shrink, in new files and in files that libhdf5 wrote.
//!
//! So few things change in a commit that no index is built anew.

use std::ops::Range;

use hyperslab::{File, LibVersion, Result, Selection};
use model::properties::{CreationOrder, FileCreate, GroupCreate, ObjectCreate, SharedIndex};
use ndarray::{Array1, Array2};
use vol::{LinkLocation, OpGroupCreate};

use super::old;
use super::{Start, Step, Workload, numbers};

/// Names of many lengths, so that heaps have free space of many sizes.
fn link_name(n: usize) -> String {
    format!("links/link {n:03} {}", "x".repeat(n * 7 % 60))
}

fn link(f: &File, numbers: Range<usize>) -> Result<()> {
    numbers.into_iter().try_for_each(|n| f.link_soft("/target", &link_name(n)))
}

fn unlink(f: &File, numbers: Range<usize>) -> Result<()> {
    numbers.into_iter().try_for_each(|n| f.unlink(&link_name(n)))
}

fn links(f: &File) -> Result<()> {
    f.create_group("links")?;
    link(f, 0..90)
}

/// Adds links to a group that indexes their creation order.
fn ordered_links(f: &File) -> Result<()> {
    ordered(f, "links")?;
    link(f, 0..90)
}

fn ordered(f: &File, name: &str) -> Result<()> {
    let object = ObjectCreate { attribute_order: CreationOrder::Indexed, ..ObjectCreate::default() };
    let create = GroupCreate { link_order: CreationOrder::Indexed, object, ..GroupCreate::default() };
    let place = Some(LinkLocation::new(f.token(), name));
    f.container().group_create(&OpGroupCreate { place, create }).map(drop)
}

const LINKS: [Step; 12] = [
    |f| link(f, 90..106),
    |f| link(f, 106..122),
    |f| {
        unlink(f, 20..28)?;
        link(f, 20..24)
    },
    |f| unlink(f, 30..46),
    |f| unlink(f, 46..62),
    |f| unlink(f, 62..78),
    |f| unlink(f, 78..94),
    |f| unlink(f, 94..110),
    |f| link(f, 40..50),
    // Another index where this one was.
    |f| f.unlink("links"),
    links,
    |f| link(f, 90..100),
];

fn set(f: &File, numbers: Range<i32>, plus: i32) -> Result<()> {
    let group = f.group("attributes")?;
    numbers.into_iter().try_for_each(|n| group.set_attr(&format!("attribute {n}"), n + plus).map(drop))
}

fn unset(f: &File, numbers: Range<i32>) -> Result<()> {
    let group = f.group("attributes")?;
    numbers.into_iter().try_for_each(|n| group.delete_attr(&format!("attribute {n}")))
}

fn set_text(f: &File, numbers: Range<usize>) -> Result<()> {
    let group = f.group("attributes")?;
    let text = |n: usize| "text ".repeat(n % 17);
    numbers.into_iter().try_for_each(|n| group.set_attr(&format!("attribute {n}"), text(n)).map(drop))
}

fn attributes(f: &File) -> Result<()> {
    f.create_group("attributes")?;
    set(f, 0..70, 0)
}

fn ordered_attributes(f: &File) -> Result<()> {
    ordered(f, "attributes")?;
    set(f, 0..70, 0)
}

const ATTRIBUTES: [Step; 11] = [
    |f| set(f, 70..84, 0),
    |f| set(f, 84..98, 0),
    |f| set(f, 10..20, 1000),
    |f| set_text(f, 20..27),
    |f| unset(f, 30..44),
    |f| unset(f, 44..58),
    |f| unset(f, 58..72),
    |f| unset(f, 5..17),
    |f| f.unlink("attributes"),
    attributes,
    |f| set(f, 70..80, 0),
];

/// More bytes than an object of a heap's blocks may have.
fn set_huge(f: &File, numbers: Range<i32>) -> Result<()> {
    let group = f.group("attributes")?;
    numbers.into_iter().try_for_each(|n| {
        let values = Array1::from_elem(1100 + n as usize, n);
        group.set_attr_array(&format!("attribute {n}"), &values).map(drop)
    })
}

fn huge(f: &File) -> Result<()> {
    f.create_group("attributes")?;
    set_huge(f, 0..10)
}

const HUGE: [Step; 6] = [
    |f| set_huge(f, 10..12),
    |f| set(f, 12..20, 0),
    |f| set_huge(f, 3..4),
    |f| unset(f, 5..7),
    |f| set_huge(f, 30..32),
    |f| unset(f, 0..4),
];

fn rows(f: &File) -> Result<()> {
    f.new_dataset::<i32>().shape(120).resizable().chunk(1).create("rows")?.write_raw(&numbers(0, 120))
}

fn packed(f: &File) -> Result<()> {
    let builder = f.new_dataset::<i32>().shape(120).resizable().chunk(1);
    builder.deflate(1).create("rows")?.write_raw(&numbers(0, 120))
}

fn append_rows(f: &File) -> Result<()> {
    let rows = f.dataset("rows")?;
    rows.append(0, &Array1::from(numbers(rows.size() as i32, 15)))
}

fn cut_rows(f: &File) -> Result<()> {
    let rows = f.dataset("rows")?;
    rows.resize(rows.size() - 16)
}

fn put(f: &File, name: &str, start: u64, values: &[i32]) -> Result<()> {
    let selection = Selection::block(&[start], &[values.len() as u64])?;
    f.dataset(name)?.write_selection(&selection, values)
}

const ROWS: [Step; 9] = [
    append_rows,
    append_rows,
    append_rows,
    |f| put(f, "rows", 60, &[-1; 10]),
    cut_rows,
    cut_rows,
    cut_rows,
    cut_rows,
    append_rows,
];

fn grid(f: &File) -> Result<()> {
    let builder = f.new_dataset::<i32>().shape((60, 2)).resizable().chunk((1, 1));
    builder.create("grid")?.write_raw(&numbers(0, 120))
}

fn append_to_grid(f: &File) -> Result<()> {
    f.dataset("grid")?.append(0, &Array2::from_elem((7, 2), 7i32))
}

fn cut_grid(f: &File) -> Result<()> {
    let grid = f.dataset("grid")?;
    grid.resize((grid.shape()[0] - 8, 2))
}

const GRID: [Step; 8] = [
    append_to_grid,
    append_to_grid,
    append_to_grid,
    |f| f.dataset("grid")?.write_selection(&Selection::block(&[30, 0], &[4, 2])?, &[-1i32; 8]),
    cut_grid,
    cut_grid,
    cut_grid,
    cut_grid,
];

fn fixed(f: &File) -> Result<()> {
    f.new_dataset::<i32>().shape(90).chunk(1).create("fixed")?;
    put(f, "fixed", 0, &[1; 40])
}

const FIXED: [Step; 4] = [
    |f| put(f, "fixed", 40, &[2; 12]),
    |f| put(f, "fixed", 30, &[3; 14]),
    |f| put(f, "fixed", 78, &[4; 12]),
    |f| put(f, "fixed", 60, &[5; 3]),
];

/// More chunks than a page of a fixed array has.
fn pages(f: &File) -> Result<()> {
    f.new_dataset::<i32>().shape(2500).chunk(1).create("pages")?;
    put(f, "pages", 0, &[1; 20])
}

const PAGES: [Step; 5] = [
    |f| put(f, "pages", 1020, &[2; 8]),
    |f| put(f, "pages", 2490, &[3; 10]),
    |f| put(f, "pages", 10, &[4; 12]),
    |f| put(f, "pages", 1500, &[5; 2]),
    |f| put(f, "pages", 2040, &[6; 16]),
];

/// So many chunks that blocks of an extensible array have pages.
fn far(f: &File) -> Result<()> {
    f.new_dataset::<i32>().shape(140_000).resizable().chunk(1).create("far")?;
    put(f, "far", 0, &[1; 20])
}

const FAR: [Step; 6] = [
    |f| put(f, "far", 16, &[2; 12]),
    |f| put(f, "far", 3000, &[3; 8]),
    |f| put(f, "far", 132_000, &[4; 8]),
    |f| put(f, "far", 133_110, &[5; 14]),
    |f| put(f, "far", 132_004, &[6; 8]),
    |f| f.dataset("far")?.resize(133_112),
];

fn text(n: usize) -> String {
    format!("text {n} {}", "y".repeat(n * 13 % 90))
}

fn texts(f: &File) -> Result<()> {
    let texts: Vec<String> = (0..60).map(text).collect();
    f.new_dataset::<String>().shape(60).resizable().chunk(8).create("texts")?.write_raw(&texts)
}

fn append_texts(f: &File) -> Result<()> {
    let texts = f.dataset("texts")?;
    let first = texts.size();
    texts.append(0, &(first..first + 9).map(text).collect::<Array1<_>>())
}

fn put_texts(f: &File, start: u64, texts: &[String]) -> Result<()> {
    let selection = Selection::block(&[start], &[texts.len() as u64])?;
    f.dataset("texts")?.write_selection(&selection, texts)
}

const TEXTS: [Step; 7] = [
    append_texts,
    append_texts,
    |f| put_texts(f, 5, &(200..215).map(text).collect::<Vec<_>>()),
    |f| put_texts(f, 30, &["z".repeat(6000)]),
    |f| f.dataset("texts")?.resize(40),
    append_texts,
    |f| put_texts(f, 30, &[String::new()]),
];

/// A structure: how it is made, and how it changes.
type Life = (&'static str, Step, &'static [Step]);

const LIVES: [Life; 12] = [
    ("links", links, &LINKS),
    ("ordered links", ordered_links, &LINKS),
    ("attributes", attributes, &ATTRIBUTES),
    ("ordered attributes", ordered_attributes, &ATTRIBUTES),
    ("huge", huge, &HUGE),
    ("rows", rows, &ROWS),
    ("packed", packed, &ROWS),
    ("grid", grid, &GRID),
    ("fixed", fixed, &FIXED),
    ("pages", pages, &PAGES),
    ("far", far, &FAR),
    ("texts", texts, &TEXTS),
];

const BOUNDS: [LibVersion; 3] = [LibVersion::Earliest, LibVersion::V18, LibVersion::LATEST];

/// Whether a structure is another one in this generation than in those before.
fn is_own(name: &str, low: LibVersion) -> bool {
    match (name, low) {
        // Headers of the first version have all attributes in them.
        ("attributes" | "ordered attributes" | "huge", LibVersion::Earliest) => false,
        ("ordered links", low) => low == LibVersion::V18,
        ("ordered attributes" | "fixed" | "pages" | "far", low) => low == LibVersion::LATEST,
        _ => true,
    }
}

/// In new files.
pub(super) fn new_files() -> Vec<Workload> {
    let mut all = Vec::new();
    for (name, make, steps) in LIVES {
        for low in BOUNDS.into_iter().filter(|&low| is_own(name, low)) {
            let steps = [&[make], steps].concat();
            all.push(Workload::new(&format!("index of {name} since {low:?}"), &steps).since(low));
        }
    }
    // A symbol table of several levels: at most four children, and nodes of two links.
    let narrow = FileCreate { group_internal_k: 2, group_leaf_k: 1, ..FileCreate::default() };
    let steps = [&[links as Step], &LINKS[..]].concat();
    let narrow = Workload::new("index of links in narrow nodes", &steps).in_file(narrow);
    all.push(narrow.since(LibVersion::Earliest));
    all.extend(shared_messages());
    all
}

/// Datasets that have some messages in common, and each an extent of its own.
fn extents(f: &File, numbers: Range<usize>) -> Result<()> {
    numbers.into_iter().try_for_each(|n| {
        let d = f.new_dataset::<i32>().shape(n + 1).resizable().chunk(16).create(&format!("extent {n}"))?;
        d.write_raw(&vec![n as i32; n + 1])
    })
}

fn remove_extents(f: &File, numbers: Range<usize>) -> Result<()> {
    numbers.into_iter().try_for_each(|n| f.unlink(&format!("extent {n}")))
}

/// A list of shared messages, which becomes a tree and a list again, and goes with the last of them.
const SHARED: [Step; 8] = [
    |f| extents(f, 0..10),
    |f| extents(f, 10..44),
    |f| extents(f, 44..60),
    |f| f.dataset("extent 7")?.resize(9),
    |f| remove_extents(f, 10..40),
    |f| extents(f, 10..14),
    |f| remove_extents(f, 0..14),
    |f| remove_extents(f, 40..60),
];

fn shared_messages() -> Vec<Workload> {
    let shared_indexes = vec![SharedIndex { message_types: 0x082a, bytes_min: 1 }];
    let create = FileCreate { shared_indexes, ..FileCreate::default() };
    let of = |low| {
        let workload = Workload::new(&format!("index of shared messages since {low:?}"), &SHARED);
        workload.in_file(create.clone()).since(low)
    };
    [LibVersion::V18, LibVersion::LATEST].map(of).to_vec()
}

/// In files that libhdf5 wrote.
pub(super) fn old_files() -> Vec<Workload> {
    let mut all = Vec::new();
    for (file, image) in old::files("start_indexes.py") {
        let of = |(name, _, _): &&Life| file.split(',').next() == Some(*name);
        let Some((_, _, steps)) = LIVES.iter().find(of) else { continue };
        let name = format!("index of libhdf5's {file}");
        all.push(Workload { start: Start::Old(image.clone()), ..Workload::new(&name, steps) });
    }
    all
}
