//! Space that is given up is used again.

use std::sync::Arc;

use model::properties::{DatasetCreate, FileCreate};
use model::{Result, Selection, Token};
use vol::{Container, Durability, FileAccess, LibVersion};

use crate::life::{attribute, dataset, deflated, group, ints, member, put, simple};
use crate::others::{Folder, assert_read_by_all, create, has_h5py};

const GROUPS: usize = 40;
const COMMIT_EDITS: usize = 500;

/// Edits of the test; the whole million takes longer than a build should.
fn edits() -> usize {
    let wanted = std::env::var("HYPERSLAB_EDITS").ok().and_then(|n| n.parse().ok());
    wanted.unwrap_or(50_000)
}

fn live_content(c: &dyn Container) -> Result<Vec<Token>> {
    let root = c.info()?.root;
    let groups = (0..GROUPS).map(|n| group(c, root, &format!("group {n}"))).collect::<Result<Vec<_>>>()?;
    for (n, &g) in groups.iter().enumerate() {
        // Some are dense, some are not.
        for m in 0..n {
            attribute(c, g, &format!("kept {m}"), m as i32)?;
            group(c, g, &format!("member {m}"))?;
        }
        let d = dataset(c, (g, "numbers"), ints(), simple(&[400]), deflated(&[50]))?;
        put(c, d, &Selection::All, &(0..400).collect::<Vec<_>>())?;
    }
    Ok(groups)
}

fn size(path: &str) -> u64 {
    std::fs::metadata(path).unwrap().len()
}

/// One edit: an attribute, a link, a dataset or values that come and go.
fn edit(c: &dyn Container, g: Token, n: usize) -> Result<()> {
    match n % 8 {
        0 | 3 | 5 => attribute(c, g, "passing", n as i32),
        1 | 4 | 6 => c.attribute_delete(g, "passing"),
        2 => group(c, g, "passing").map(|_| ()),
        _ => c.link_delete(g, "passing"),
    }
}

fn edited(path: &str, count: usize) -> Arc<dyn Container> {
    let c = create(path, &FileCreate::default());
    let groups = live_content(&*c).unwrap();
    for n in 0..count {
        edit(&*c, groups[n / 8 % GROUPS], n).unwrap();
        if n % COMMIT_EDITS == COMMIT_EDITS - 1 {
            c.commit(Durability::None).unwrap();
        }
    }
    c
}

#[test]
fn edits_that_undo_each_other_leave_the_file_as_large_as_its_content() {
    let folder = Folder::new("edits");
    let (path, fresh) = (folder.at("edits.h5"), folder.at("fresh.h5"));
    edited(&path, edits() / 8 * 8).close().unwrap();
    let c = create(&fresh, &FileCreate::default());
    live_content(&*c).unwrap();
    c.close().unwrap();
    println!("{} edits: {} bytes, where the content alone takes {}", edits(), size(&path), size(&fresh));
    assert!(size(&path) <= 2 * size(&fresh), "{} and {}", size(&path), size(&fresh));
    if has_h5py() {
        assert_read_by_all(&path);
    }
}

#[test]
fn objects_that_are_made_again_take_the_space_of_the_old_ones() {
    let folder = Folder::new("again");
    let path = folder.at("again.h5");
    let c = create(&path, &FileCreate::default());
    let root = c.info().unwrap().root;
    let mut sizes = Vec::new();
    for _ in 0..20 {
        let g = group(&*c, root, "g").unwrap();
        for n in 0..30 {
            attribute(&*c, g, &format!("attribute {n}"), n).unwrap();
        }
        let d = dataset(&*c, (g, "chunked"), ints(), simple(&[4000]), deflated(&[100])).unwrap();
        put(&*c, d, &Selection::All, &(0..4000).collect::<Vec<_>>()).unwrap();
        let d = dataset(&*c, (g, "plain"), ints(), simple(&[4000]), DatasetCreate::default()).unwrap();
        put(&*c, d, &Selection::All, &(0..4000).collect::<Vec<_>>()).unwrap();
        c.commit(Durability::None).unwrap();
        c.link_delete(root, "g").unwrap();
        c.commit(Durability::None).unwrap();
        sizes.push(size(&path));
    }
    c.close().unwrap();
    assert_eq!(sizes[19], sizes[2], "{sizes:?}");
}

#[test]
fn space_of_another_librarys_objects_is_used_again() {
    let folder = Folder::new("theirs");
    let path = folder.at("theirs.h5");
    if !has_h5py() {
        return;
    }
    crate::others::python("big.py", &[&path]);
    let before = size(&path);
    let c = crate::others::open(&path, vol::Access::Write).unwrap();
    let root = c.info().unwrap().root;
    c.link_delete(root, "big").unwrap();
    c.commit(Durability::None).unwrap();
    let other = member(&*c, root, "other");
    let d = dataset(&*c, (other, "numbers"), ints(), simple(&[100_000]), DatasetCreate::default()).unwrap();
    put(&*c, d, &Selection::All, &(0..100_000).collect::<Vec<_>>()).unwrap();
    c.close().unwrap();
    assert!(size(&path) < before + 50_000, "{before} bytes became {}", size(&path));
    assert_read_by_all(&path);
}

/// Elements that go over committed ones, and are more than memory holds, wait at the end of the file.
#[test]
fn the_space_in_which_elements_waited_is_given_back() {
    for low in [LibVersion::Earliest, LibVersion::LATEST] {
        let folder = Folder::new(&format!("journal {low:?}"));
        let path = folder.at("journal.h5");
        let access =
            FileAccess { chunk_cache_bytes: Some(64 << 10), version_low: low, ..FileAccess::write() };
        let c = hyperslab::File::create_with(&path, &FileCreate::default(), &access, true).unwrap();
        let made = c.new_dataset::<i32>().shape(200_000).create("x").unwrap();
        made.write_raw(&vec![1; 200_000]).unwrap();
        c.flush().unwrap();
        let (before, most) = (size(&path), Selection::block(&[5], &[190_000]).unwrap());
        made.write_selection(&most, &vec![2; 190_000]).unwrap();
        c.flush().unwrap();
        assert!(size(&path) > before + 700_000, "they waited in the file");
        c.set_attr("next", 1).unwrap();
        c.flush().unwrap();
        assert!(size(&path) < before + 8192, "{before} bytes became {}", size(&path));
        // Nothing follows but the end.
        made.write_selection(&most, &vec![3; 190_000]).unwrap();
        c.flush().unwrap();
        assert!(size(&path) > before + 700_000);
        drop(made);
        c.close().unwrap();
        assert!(size(&path) < before + 8192, "{before} bytes became {}", size(&path));
        let file = hyperslab::File::open(&path).unwrap();
        let found = file.dataset("x").unwrap().read_raw::<i32>().unwrap();
        assert!(found[5..190_005].iter().all(|&n| n == 3) && found[..5] == [1; 5]);
        drop(file);
        if has_h5py() {
            assert_read_by_all(&path);
        }
    }
}

#[test]
fn a_file_gets_shorter_by_what_is_deleted_at_its_end() {
    let folder = Folder::new("shorter");
    let path = folder.at("shorter.h5");
    let c = create(&path, &FileCreate::default());
    let root = c.info().unwrap().root;
    c.commit(Durability::Full).unwrap();
    let before = size(&path);
    for name in ["a", "b"] {
        let d = dataset(&*c, (root, name), ints(), simple(&[50_000]), DatasetCreate::default()).unwrap();
        put(&*c, d, &Selection::All, &vec![1; 50_000]).unwrap();
    }
    c.commit(Durability::Full).unwrap();
    assert!(size(&path) > before + 400_000);
    c.link_delete(root, "a").unwrap();
    c.link_delete(root, "b").unwrap();
    c.commit(Durability::Full).unwrap();
    c.close().unwrap();
    assert!(size(&path) < before + 8192, "{before} bytes became {}", size(&path));
}
