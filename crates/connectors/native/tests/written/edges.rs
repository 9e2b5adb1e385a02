//! Chunks that reach over the edge of an extent.

use model::properties::{AllocTime, DatasetCreate, FileCreate, Fill, FillValue, Layout};
use model::{Dataspace, Selection, UNLIMITED};
use vol::{Access, Container, OpRead};

use crate::life::{dataset, ints, member, put};
use crate::others::{Folder, assert_read_by_all, create, has_h5py, open, python};

fn read(c: &dyn Container) -> Vec<i32> {
    let dataset = member(c, c.info().unwrap().root, "grows");
    let count = c.dataset_info(dataset).unwrap().space.element_count().unwrap();
    let mut into = vec![0; count as usize * 4];
    c.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut into }]).unwrap();
    into.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b)).collect()
}

#[test]
fn a_dataset_whose_space_is_made_at_once_is_linked() {
    let folder = Folder::new("early");
    let path = folder.at("early.h5");
    let c = create(&path, &FileCreate::default());
    let root = c.info().unwrap().root;
    let properties =
        DatasetCreate { layout: Layout::Compact, alloc_time: AllocTime::Early, ..DatasetCreate::default() };
    dataset(&*c, (root, "early"), ints(), Dataspace::Scalar, properties).unwrap();
    c.close().unwrap();
    let c = open(&path, Access::Read).unwrap();
    assert_eq!(c.object_info(member(&*c, root, "early")).unwrap().references, 1);
}

#[test]
fn growth_hides_what_lay_outside_of_the_extent() {
    let folder = Folder::new("edges");
    let path = folder.at("edges.h5");
    let c = create(&path, &FileCreate::default());
    let root = c.info().unwrap().root;
    let properties = DatasetCreate {
        layout: Layout::chunked(&[2, 4]),
        fill: Fill { value: FillValue::Value(7_i32.to_le_bytes().to_vec()), ..Fill::default() },
        ..DatasetCreate::default()
    };
    let space = Dataspace::resizable(&[3, 3], &[UNLIMITED, UNLIMITED]).unwrap();
    let token = dataset(&*c, (root, "grows"), ints(), space, properties).unwrap();
    // As libhdf5 may leave them: something everywhere in the chunks.
    for (row, first) in [(0, 1_i32), (2, 9)] {
        let data: Vec<u8> = (first..first + 8).flat_map(i32::to_le_bytes).collect();
        c.chunk_write(token, &[row, 0], 0, &data).unwrap();
    }
    c.close().unwrap();
    let c = open(&path, Access::Write).unwrap();
    let token = member(&*c, root, "grows");
    c.dataset_resize(token, &[3, 4]).unwrap();
    assert_eq!(read(&*c), [1, 2, 3, 7, 5, 6, 7, 7, 9, 10, 11, 7]);
    c.dataset_resize(token, &[4, 5]).unwrap();
    let grown = [1, 2, 3, 7, 7, 5, 6, 7, 7, 7, 9, 10, 11, 7, 7, 7, 7, 7, 7, 7];
    assert_eq!(read(&*c), grown);
    c.close().unwrap();
    if has_h5py() {
        assert_read_by_all(&path);
    }
}

#[test]
fn an_index_that_libhdf5_left_without_a_block_gets_one() {
    if !has_h5py() {
        return;
    }
    let folder = Folder::new("copied-index");
    let path = folder.at("copied.h5");
    python("copied_index.py", &[&path]);
    let numbers: Vec<i32> = (0..12).collect();
    let c = open(&path, Access::Write).unwrap();
    let root = c.info().unwrap().root;
    for name in ["extensible", "fixed", "paged"] {
        let token = member(&*c, root, name);
        c.dataset_resize(token, &[12]).unwrap();
        // One chunk at first, so that the index is there and is changed after it.
        put(&*c, token, &Selection::block(&[3], &[3]).unwrap(), &numbers[3..6]).unwrap();
        c.commit(vol::Durability::default()).unwrap();
        put(&*c, token, &Selection::All, &numbers).unwrap();
    }
    c.close().unwrap();
    assert_read_by_all(&path);
    let c = open(&path, Access::Read).unwrap();
    assert!(!c.chunk_list(member(&*c, root, "paged"), 0, 9).unwrap().entries.is_empty());
}
