//! Whole lives, user blocks, other widths, and commits that promise less.

use hyperslab::{File, Result, Selection};
use model::properties::FileCreate;
use ndarray::{Array1, Array2};
use testkit::generate::Generator;
use vol::Durability::{Full, None, Ordered};
use vol::LibVersion;

use super::{Step, Workload, numbers};

fn objects(f: &File) -> Result<()> {
    f.create_group("a")?.set_attr("one", 1i32)?;
    f.new_dataset::<i32>().shape(60).create("a/plain")?.write_raw(&numbers(0, 60))?;
    let d = f.new_dataset::<i32>().shape((10, 10)).resizable().chunk((4, 4)).deflate(4);
    d.create("chunked")?.write_raw(&numbers(0, 100))
}

fn dense(f: &File) -> Result<()> {
    super::groups::make(f, "dense/member ", 0..14)?;
    (0..12).try_for_each(|n| f.group("dense")?.set_attr(&format!("a{n}"), n).map(drop))
}

fn overwrites(f: &File) -> Result<()> {
    f.dataset("a/plain")?.write_selection(&Selection::block(&[10], &[40])?, &[-1i32; 40])?;
    f.dataset("chunked")?.write_selection(&Selection::block(&[2, 2], &[5, 5])?, &[-2i32; 25])?;
    f.new_dataset::<String>().shape(2).create("texts")?.write_raw(&["one".to_owned(), "two".to_owned()])
}

fn deletes(f: &File) -> Result<()> {
    (0..10).try_for_each(|n| f.unlink(&format!("dense/member {n}")))?;
    (0..9).try_for_each(|n| f.group("dense")?.delete_attr(&format!("a{n}")))?;
    f.unlink("a")?;
    f.dataset("chunked")?.resize((7, 13))
}

fn in_old_space(f: &File) -> Result<()> {
    for n in 0..5 {
        f.new_dataset::<i32>().shape(50).create(&format!("new {n}"))?.write_raw(&[n; 50])?;
    }
    f.dataset("texts")?.write_raw(&["a text that is longer".to_owned(), String::new()])?;
    f.dataset("chunked")?.write_raw(&[5i32; 91])
}

fn last(f: &File) -> Result<()> {
    (1..4).try_for_each(|n| f.unlink(&format!("new {n}")))?;
    f.dataset("new 0")?.write_raw(&[77i32; 50])?;
    f.dataset("chunked")?.resize((20, 20))?;
    super::groups::make(f, "dense/another ", 0..10)
}

pub(super) const LIFE: [Step; 6] = [objects, dense, overwrites, deletes, in_old_space, last];

/// One number goes through the places that a commit changes; the same step again and again.
fn counter(f: &File) -> Result<()> {
    let n = if f.attr_names()?.is_empty() { 1 } else { f.attr("n")?.read_scalar::<i32>()? + 1 };
    f.set_attr("n", n)?;
    match f.exists("d")? {
        true => f.dataset("d")?.write_raw(&[n; 30]),
        false => f.new_dataset::<i32>().shape(30).create("d")?.write_raw(&[n; 30]),
    }?;
    if n % 3 == 0 {
        return f.unlink("temporary");
    }
    if n % 3 == 1 { f.create_group("temporary").map(drop) } else { Ok(()) }
}

const COUNTS: [Step; 14] = [counter; 14];

fn nothing(_: &File) -> Result<()> {
    Ok(())
}

pub(super) fn all() -> Vec<Workload> {
    let userblock = |bytes| FileCreate { userblock_bytes: bytes, ..FileCreate::default() };
    let narrow = FileCreate { offset_bytes: 4, length_bytes: 4, ..FileCreate::default() };
    vec![
        Workload::new("a life", &LIFE),
        Workload::new("a life behind a user block", &LIFE).in_file(userblock(512)),
        Workload::new("a life behind a large user block", &LIFE).in_file(userblock(4096)),
        Workload::new("a life with short addresses", &LIFE).in_file(narrow),
        Workload::new("a life in ordered commits", &LIFE).with(&[Ordered]),
        Workload::new("a life in commits of both kinds", &LIFE).with(&[Full, Ordered]),
        Workload::new("a life without syncs", &LIFE).with(&[None]),
        Workload::new("a life with a sync now and then", &LIFE).with(&[None, Full]),
        Workload::new("many commits", &COUNTS),
        Workload::new("many ordered commits", &COUNTS).with(&[Ordered]),
        Workload::new("many commits of both kinds", &COUNTS).with(&[Ordered, Ordered, Full]),
        Workload::new("commits of nothing", &[nothing, counter, nothing, nothing, counter, nothing]),
        Workload::new("commits of nothing that settle", &[counter, nothing, counter, nothing])
            .with(&[Ordered, Full, None, Full]),
    ]
}

/// The same lives in files of other generations, with their own groups, headers and chunk indexes.
pub(super) fn bounds() -> Vec<Workload> {
    let bounds = [LibVersion::Earliest, LibVersion::V110, LibVersion::LATEST];
    let mut all = Vec::new();
    for low in bounds {
        all.push(Workload::new(&format!("a life since {low:?}"), &LIFE).since(low));
        all.push(Workload::new(&format!("chunk indexes since {low:?}"), &INDEXES).since(low));
        all.push(Workload::new(&format!("many commits since {low:?}"), &COUNTS).since(low));
    }
    all
}

fn logs(f: &File) -> Result<()> {
    for (name, chunk) in [("log", 1), ("packed", 8), ("wide", 16)] {
        let builder = f.new_dataset::<i32>().shape(0).resizable().chunk(chunk);
        if name == "packed" { builder.deflate(1).create(name) } else { builder.create(name) }?;
    }
    let builder = f.new_dataset::<i32>().shape((0, 4)).resizable().chunk((2, 2));
    builder.create("tree").map(drop)
}

fn append(f: &File) -> Result<()> {
    for name in ["log", "packed", "wide"] {
        let log = f.dataset(name)?;
        let rows = numbers(log.size() as i32, 7);
        log.append(0, &Array1::from(rows))?;
    }
    f.dataset("tree")?.append(0, &Array2::from_elem((3, 4), 5i32))
}

fn first_append(f: &File) -> Result<()> {
    f.start_swmr()?;
    append(f)
}

fn overwrite(f: &File) -> Result<()> {
    f.dataset("wide")?.write_selection(&Selection::block(&[3], &[15])?, &[-1i32; 15])?;
    f.dataset("packed")?.resize(9)?;
    f.dataset("log")?.resize(4)
}

/// Commits while readers of other programs look on.
pub(super) fn swmr() -> Vec<Workload> {
    let steps = [logs, first_append, append, append, overwrite, append];
    vec![
        Workload::new("appends while readers look on", &steps).since(LibVersion::V110),
        Workload::new("ordered appends while readers look on", &steps)
            .since(LibVersion::LATEST)
            .with(&[Ordered]),
    ]
}

/// One dataset for each index that a generation may choose.
fn indexed(f: &File) -> Result<()> {
    f.new_dataset::<i32>().shape(8).chunk(8).create("single")?.write_raw(&[1i32; 8])?;
    f.new_dataset::<i32>().shape(40).chunk(8).create("fixed")?.write_raw(&[1i32; 40])?;
    f.new_dataset::<i32>().shape(40).resizable().chunk(4).create("extensible")?.write_raw(&[1i32; 40])?;
    f.new_dataset::<i32>().shape((9, 9)).resizable().chunk((4, 4)).create("tree")?.write_raw(&[1i32; 81])
}

fn indexed_again(f: &File) -> Result<()> {
    f.dataset("single")?.write_raw(&[2i32; 8])?;
    f.dataset("fixed")?.write_selection(&Selection::block(&[5], &[20])?, &[2i32; 20])?;
    f.dataset("extensible")?.resize(70)?;
    f.dataset("tree")?.resize((3, 14))
}

fn indexed_more(f: &File) -> Result<()> {
    f.dataset("extensible")?.write_raw(&[3i32; 70])?;
    f.dataset("tree")?.write_raw(&[3i32; 42])?;
    f.unlink("fixed")
}

const INDEXES: [Step; 3] = [indexed, indexed_again, indexed_more];

/// A random tree in a group of its own.
fn tree<const SEED: u64>(f: &File) -> Result<()> {
    let group = f.create_group(&format!("tree {SEED}"))?;
    Generator::new(SEED).fill(f.container().as_ref(), group.token(), 10).map(drop)
}

/// Half of the trees go.
fn fell(f: &File) -> Result<()> {
    let names = f.member_names()?;
    names.iter().step_by(2).try_for_each(|name| f.unlink(name))
}

/// Trees of all types, shapes and layouts that the generator knows.
pub(super) fn random() -> Vec<Workload> {
    vec![
        Workload::new("random trees", &[tree::<1>, tree::<2>, fell, tree::<3>]),
        Workload::new("more random trees", &[tree::<4>, tree::<5>, tree::<6>, fell, fell]),
        Workload::new("random trees in ordered commits", &[tree::<7>, fell, tree::<8>, tree::<9>])
            .with(&[Ordered]),
        Workload::new("random trees of the latest generation", &[tree::<10>, tree::<11>, fell, tree::<12>])
            .since(LibVersion::LATEST),
    ]
}
