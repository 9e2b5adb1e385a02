//! Datasets with filters: whole chunks, parts of chunks that wait, and what looks at them meanwhile.

mod kit;

use kit::{create, int, open, problems};
use model::properties::{DatasetCreate, FileCreate, Fill, FillValue, FilterSpec, Layout};
use model::{Dataspace, Kind, Result, Selection, Token, UNLIMITED};
use testkit::generate::Generator;
use vol::{Container, Durability, FileAccess, LinkLocation, OpDatasetCreate, OpRead, OpWrite};

fn filter(id: u16, values: &[u32]) -> FilterSpec {
    FilterSpec { id, name: None, optional: false, values: values.to_vec() }
}

/// Shuffle, deflate and a checksum; chunks of 4 × 5 elements; unwritten elements are -1.
fn filtered(c: &dyn Container, edges: bool) -> Result<Token> {
    let shape = vec![4, 5];
    let create = DatasetCreate {
        layout: Layout::Chunked { shape, edge_chunks_unfiltered: edges, index: None },
        filters: vec![filter(2, &[]), filter(1, &[6]), filter(3, &[])],
        fill: Fill { value: FillValue::Value((-1i32).to_le_bytes().to_vec()), ..Fill::default() },
        ..DatasetCreate::default()
    };
    let space = Dataspace::resizable(&[7, 11], &[UNLIMITED, UNLIMITED])?;
    let place = Some(LinkLocation::new(c.info()?.root, "d"));
    c.dataset_create(&OpDatasetCreate { place, datatype: int(), committed: None, space, create })
}

fn put(c: &dyn Container, data: Token, start: [u64; 2], shape: [u64; 2], values: &[i32]) -> Result<()> {
    let from: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    c.dataset_write(&[OpWrite { dataset: data, selection: &Selection::block(&start, &shape)?, from: &from }])
}

fn all(c: &dyn Container, data: Token) -> Result<Vec<i32>> {
    kit::read(c, data)
}

#[test]
fn random_changes_agree_with_a_plain_array() {
    for (seed, edges) in [(1, false), (2, true), (3, false), (4, true)] {
        println!("seed {seed}");
        let mut generator = Generator::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let mut c = create(folder.path(), &FileCreate::default()).unwrap();
        let data = filtered(&*c, edges).unwrap();
        let (mut dims, mut wanted) = ([7u64, 11], vec![-1; 77]);
        for round in 0..150 {
            let start = dims.map(|dim| generator.below(dim));
            let capacity = [0, 1].map(|d| 1 + generator.below(dims[d] - start[d]));
            match generator.below(10) {
                0 => {
                    let new = [1 + generator.below(12), 1 + generator.below(14)];
                    c.dataset_resize(data, &new).unwrap();
                    let old = std::mem::take(&mut wanted);
                    for (row, column) in (0..new[0]).flat_map(|r| (0..new[1]).map(move |c| (r, c))) {
                        let is_old = row < dims[0] && column < dims[1];
                        wanted.push(if is_old { old[(row * dims[1] + column) as usize] } else { -1 });
                    }
                    dims = new;
                }
                1 => c.commit(Durability::None).unwrap(),
                2 => {
                    c.close().unwrap();
                    c = open(folder.path(), &FileAccess::write()).unwrap();
                }
                3 => assert_eq!(all(&*c, data).unwrap(), wanted, "seed {seed} round {round}"),
                4 => drop(c.chunk_list(data, 0, 100).unwrap()),
                _ => {
                    put(&*c, data, start, capacity, &vec![round; (capacity[0] * capacity[1]) as usize])
                        .unwrap();
                    for (r, c) in (0..capacity[0]).flat_map(|r| (0..capacity[1]).map(move |c| (r, c))) {
                        wanted[((start[0] + r) * dims[1] + start[1] + c) as usize] = round;
                    }
                }
            }
        }
        assert_eq!(all(&*c, data).unwrap(), wanted);
        assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
    }
}

#[test]
fn a_waiting_chunk_is_there_for_those_who_look() {
    let folder = tempfile::tempdir().unwrap();
    let c = create(folder.path(), &FileCreate::default()).unwrap();
    let data = filtered(&*c, false).unwrap();
    put(&*c, data, [0, 0], [1, 1], &[8]).unwrap();
    let listed = c.chunk_list(data, 0, 10).unwrap().entries;
    assert_eq!(listed.len(), 1);
    put(&*c, data, [1, 1], [1, 1], &[9]).unwrap();
    let (mask, raw) = c.chunk_read(data, &[0, 0]).unwrap();
    // The same chunk elsewhere has the same elements.
    c.chunk_write(data, &[4, 5], mask, &raw).unwrap();
    put(&*c, data, [4, 6], [1, 1], &[7]).unwrap();
    let mut into = vec![0; 8];
    let selection = Selection::block(&[4, 5], &[1, 2]).unwrap();
    c.dataset_read(&mut [OpRead { dataset: data, selection: &selection, into: &mut into }]).unwrap();
    assert_eq!(into, [8, 0, 0, 0, 7, 0, 0, 0]);
    put(&*c, data, [0, 0], [1, 1], &[1]).unwrap();
    c.link_delete(c.info().unwrap().root, "d").unwrap();
    c.commit(Durability::Full).unwrap();
    assert_eq!(problems(&*c).unwrap(), Vec::<String>::new());
    assert_eq!(c.dataset_info(data).unwrap_err().kind(), Kind::NotFound);
}

#[test]
fn eight_threads_write_parts_of_filtered_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let c = create(folder.path(), &FileCreate::default()).unwrap();
    let data = filtered(&*c, false).unwrap();
    std::thread::scope(|scope| {
        for column in 0..11 {
            let c = &*c;
            scope.spawn(move || {
                for row in 0..7 {
                    put(c, data, [row, column], [1, 1], &[(row * 11 + column) as i32]).unwrap();
                    if row == 3 {
                        c.commit(Durability::None).unwrap();
                    }
                }
            });
        }
    });
    c.close().unwrap();
    let c = open(folder.path(), &FileAccess::read()).unwrap();
    assert_eq!(all(&*c, data).unwrap(), (0..77).collect::<Vec<_>>());
}

#[test]
fn a_filter_that_is_missing_is_told_when_elements_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let c = create(folder.path(), &FileCreate::default()).unwrap();
    // With a name it comes from another container, and chunks may be copied as they are.
    let stored = FilterSpec { name: Some("foreign".to_owned()), ..filter(60_000, &[]) };
    let create =
        DatasetCreate { layout: Layout::chunked(&[4]), filters: vec![stored], ..DatasetCreate::default() };
    let space = Dataspace::simple(&[8]).unwrap();
    let place = Some(LinkLocation::new(c.info().unwrap().root, "d"));
    let op = OpDatasetCreate { place, datatype: int(), committed: None, space, create };
    let data = c.dataset_create(&op).unwrap();
    let one = Selection::block(&[0], &[1]).unwrap();
    let write = OpWrite { dataset: data, selection: &one, from: &[1; 4] };
    assert_eq!(c.dataset_write(&[write]).unwrap_err().kind(), Kind::Unsupported);
    c.close().unwrap();
}
