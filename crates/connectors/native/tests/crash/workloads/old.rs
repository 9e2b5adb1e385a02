//! Changes to files that libhdf5 wrote.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

use hyperslab::{File, Result, Selection};

use super::{Start, Step, Workload};
use crate::others::{Folder, has_h5py, script};

fn elements(f: &File) -> Result<()> {
    f.dataset("plain")?.write_selection(&Selection::block(&[10], &[50])?, &[-1i32; 50])
}

fn chunks(f: &File) -> Result<()> {
    f.dataset("chunked")?.write_selection(&Selection::block(&[10], &[20])?, &[-2i32; 20])?;
    f.dataset("fixed")?.write_selection(&Selection::block(&[3], &[9])?, &[-3i32; 9])
}

fn texts(f: &File) -> Result<()> {
    f.dataset("texts")?.write_raw(&["a text that is longer".to_owned(), String::new(), "x".to_owned()])
}

fn grow(f: &File) -> Result<()> {
    f.dataset("chunked")?.resize(90)
}

fn links(f: &File) -> Result<()> {
    f.create_group("group/new")?;
    f.create_group("many/new")?;
    f.relink("group/member 1", "many/moved")
}

fn removals(f: &File) -> Result<()> {
    f.unlink("group/member 2")?;
    (0..15).try_for_each(|n| f.unlink(&format!("many/member {n:02}")))
}

fn attributes(f: &File) -> Result<()> {
    f.set_attr("new", 1i32)?;
    f.dataset("plain")?.set_attr("unit", "mK".to_owned())?;
    (0..12).try_for_each(|n| f.group("group")?.set_attr(&format!("new {n}"), n).map(drop))
}

fn more_attributes(f: &File) -> Result<()> {
    (0..16).try_for_each(|n| f.group("many")?.delete_attr(&format!("attribute {n}")))
}

fn objects(f: &File) -> Result<()> {
    f.unlink("plain")?;
    f.unlink("fixed")?;
    f.new_dataset::<i32>().shape(30).create("new/plain")?.write_raw(&[4i32; 30])
}

fn subtree(f: &File) -> Result<()> {
    f.unlink("again")?;
    f.unlink("many")?;
    f.unlink("group")
}

const LIVES: [(&str, &[Step]); 3] = [
    ("elements", &[elements, chunks, texts, grow]),
    ("links and attributes", &[links, attributes, removals, more_attributes]),
    ("whole objects", &[objects, subtree, elements_again]),
];

fn elements_again(f: &File) -> Result<()> {
    f.create_group("group")?;
    f.dataset("new/plain")?.write_raw(&[5i32; 30])
}

/// Files by name.
type Files = Vec<(String, Vec<u8>)>;

/// The files that a script makes; none where there is no h5py.
pub(super) fn files(name: &'static str) -> Files {
    static FILES: Mutex<BTreeMap<&str, Files>> = Mutex::new(BTreeMap::new());
    let mut files = FILES.lock().unwrap();
    files.entry(name).or_insert_with(|| if has_h5py() { make(name) } else { Vec::new() }).clone()
}

fn make(name: &str) -> Files {
    let folder = Folder::new(name);
    let done = Command::new("python3").arg(script(name)).arg(folder.path()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

pub(super) fn all() -> Vec<Workload> {
    let mut all = Vec::new();
    for (file, image) in files("start.py") {
        for (what, steps) in LIVES {
            let name = format!("{what} of a file of libhdf5, {file}");
            all.push(Workload { start: Start::Old(image.clone()), ..Workload::new(&name, steps) });
        }
    }
    all
}
