//! Elements that others read and write in the file themselves, where the container says they lie.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use hyperslab_native::NativeConnector;
use model::datatype::ByteOrder;
use model::properties::{DatasetCreate, FileCreate, Fill, FillValue, FilterSpec, Layout};
use model::{Dataspace, Datatype, Kind, Selection, Token};
use vol::{
    Connector, Container, ContainerCreate, ContainerOpen, Durability, FileAccess, LinkLocation,
    OpDatasetCreate, OpPlacement, OpRead, OpWrite, Placement, PlacementParts,
};

struct Case {
    path: std::path::PathBuf,
    container: Arc<dyn Container>,
}

impl Drop for Case {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn case(name: &str) -> Case {
    let path = std::env::temp_dir().join(format!("hyperslab-placement-{}-{name}.h5", std::process::id()));
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let text = path.to_string_lossy().into_owned();
    let op = ContainerCreate { truncate: true, ..ContainerCreate::new(&text, &create, &access) };
    Case { container: NativeConnector.create(&op).unwrap(), path }
}

impl Case {
    fn dataset(&self, name: &str, dims: &[u64], create: DatasetCreate) -> Token {
        let datatype = Datatype::integer(1, false, ByteOrder::Little);
        let place = Some(LinkLocation::new(self.container.info().unwrap().root, name));
        let space = Dataspace::simple(dims).unwrap();
        let op = OpDatasetCreate { place, datatype, committed: None, space, create };
        self.container.dataset_create(&op).unwrap()
    }

    fn read(&self, dataset: Token, count: usize) -> Vec<u8> {
        let mut into = vec![0; count];
        let read = OpRead { dataset, selection: &Selection::All, into: &mut into };
        self.container.dataset_read(&mut [read]).unwrap();
        into
    }

    fn write(&self, dataset: Token, selection: &Selection, from: &[u8]) {
        self.container.dataset_write(&[OpWrite { dataset, selection, from }]).unwrap();
    }

    fn file(&self) -> std::fs::File {
        std::fs::File::options().read(true).write(true).open(&self.path).unwrap()
    }
}

fn all(dataset: Token) -> OpPlacement {
    OpPlacement { dataset, selection: Selection::All }
}

fn chunked(shape: &[u64]) -> DatasetCreate {
    DatasetCreate { layout: Layout::chunked(shape), ..DatasetCreate::default() }
}

fn filled(value: u8, create: DatasetCreate) -> DatasetCreate {
    DatasetCreate { fill: Fill { value: FillValue::Value(vec![value]), ..Fill::default() }, ..create }
}

fn offset(placement: &Placement) -> u64 {
    match placement.parts {
        PlacementParts::Contiguous { offset: Some(offset) } => offset,
        _ => panic!("{placement:?}"),
    }
}

fn offsets(placement: &Placement) -> Vec<Option<u64>> {
    match &placement.parts {
        PlacementParts::Chunks { offsets, .. } => offsets.clone(),
        PlacementParts::Contiguous { .. } => panic!("{placement:?}"),
    }
}

#[test]
fn what_others_write_is_read_and_committed() {
    let case = case("contiguous");
    let data = case.dataset("data", &[8], filled(7, DatasetCreate::default()));
    let placement = case.container.elements_place(&all(data)).unwrap();
    assert_eq!(std::path::Path::new(&placement.path), case.path);
    assert_eq!((placement.dims.as_slice(), placement.element_bytes), (&[8][..], 1));
    assert_eq!(placement.fill, Some(vec![7]));
    assert_eq!(case.read(data, 8), [7; 8]);
    case.file().write_all_at(&[1, 2, 3], offset(&placement) + 2).unwrap();
    case.container.elements_changed(&all(data)).unwrap();
    assert_eq!(case.read(data, 8), [7, 7, 1, 2, 3, 7, 7, 7]);
    case.container.commit(Durability::Full).unwrap();
    // The same place, and what is overwritten there is read without a commit.
    assert_eq!(case.container.elements_place(&all(data)).unwrap(), placement);
    case.file().write_all_at(&[9], offset(&placement)).unwrap();
    case.container.elements_changed(&all(data)).unwrap();
    assert_eq!(case.read(data, 8), [9, 7, 1, 2, 3, 7, 7, 7]);
    case.container.close().unwrap();
    let path = case.path.to_string_lossy().into_owned();
    let access = FileAccess::read();
    let again = NativeConnector.open(&ContainerOpen::new(&path, &access)).unwrap();
    assert_eq!(again.elements_find(&all(data)).unwrap(), placement);
    assert_eq!(again.elements_place(&all(data)).unwrap_err().kind(), Kind::Denied);
    let mut into = [0; 8];
    again.dataset_read(&mut [OpRead { dataset: data, selection: &Selection::All, into: &mut into }]).unwrap();
    assert_eq!(into, [9, 7, 1, 2, 3, 7, 7, 7]);
}

#[test]
fn chunks_get_space_when_they_are_to_be_written() {
    let case = case("chunks");
    let data = case.dataset("data", &[4, 6], filled(5, chunked(&[2, 3])));
    assert_eq!(offsets(&case.container.elements_find(&all(data)).unwrap()), [None; 4]);
    let corner = OpPlacement { dataset: data, selection: Selection::block(&[0, 2], &[1, 2]).unwrap() };
    let placement = case.container.elements_place(&corner).unwrap();
    let [Some(left), Some(right)] = offsets(&placement)[..] else { panic!("{placement:?}") };
    case.file().write_all_at(&[1], left + 2).unwrap();
    case.file().write_all_at(&[2], right).unwrap();
    case.container.elements_changed(&corner).unwrap();
    let found = offsets(&case.container.elements_find(&all(data)).unwrap());
    assert_eq!(found, [Some(left), Some(right), None, None]);
    let mut wanted = [5; 24];
    wanted[2..4].copy_from_slice(&[1, 2]);
    assert_eq!(case.read(data, 24), wanted);
    case.container.commit(Durability::Full).unwrap();
    assert_eq!(offsets(&case.container.elements_find(&all(data)).unwrap()), found);
    assert_eq!(case.read(data, 24), wanted);
}

#[test]
fn what_waits_in_memory_is_in_the_file_first() {
    let case = case("pending");
    let data = case.dataset("data", &[8], chunked(&[4]));
    // A part of a chunk waits in memory.
    case.write(data, &Selection::block(&[1], &[2]).unwrap(), &[1, 2]);
    let found = offsets(&case.container.elements_find(&all(data)).unwrap());
    let mut bytes = [0; 4];
    case.file().read_exact_at(&mut bytes, found[0].unwrap()).unwrap();
    assert_eq!(bytes, [0, 1, 2, 0]);
    let placed = offsets(&case.container.elements_place(&all(data)).unwrap());
    assert_eq!(placed[0], found[0]);
    case.file().write_all_at(&[8], placed[0].unwrap()).unwrap();
    case.container.elements_changed(&all(data)).unwrap();
    // Another part through the container: what others wrote stays.
    case.write(data, &Selection::block(&[3], &[1]).unwrap(), &[3]);
    assert_eq!(case.read(data, 8), [8, 1, 2, 3, 0, 0, 0, 0]);
}

#[test]
fn what_waits_for_the_commit_is_not_laid_bare_before() {
    let case = case("staged");
    let data = case.dataset("data", &[8], DatasetCreate::default());
    case.write(data, &Selection::All, &[1; 8]);
    case.container.commit(Durability::Full).unwrap();
    case.container.elements_find(&all(data)).unwrap();
    case.write(data, &Selection::block(&[1], &[2]).unwrap(), &[2, 2]);
    assert_eq!(case.container.elements_find(&all(data)).unwrap_err().kind(), Kind::Busy);
    assert_eq!(case.container.elements_place(&all(data)).unwrap_err().kind(), Kind::Busy);
    case.container.commit(Durability::Full).unwrap();
    let placement = case.container.elements_place(&all(data)).unwrap();
    let mut bytes = [0; 8];
    case.file().read_exact_at(&mut bytes, offset(&placement)).unwrap();
    assert_eq!(bytes, [1, 2, 2, 1, 1, 1, 1, 1]);
}

#[test]
fn elements_that_do_not_lie_there_as_they_are_are_not_placed() {
    let case = case("never");
    let compact = DatasetCreate { layout: Layout::Compact, ..DatasetCreate::default() };
    let deflate = FilterSpec { id: 1, name: None, optional: false, values: vec![3] };
    let packed = DatasetCreate { filters: vec![deflate], ..chunked(&[4]) };
    for (name, create) in [("compact", compact), ("packed", packed)] {
        let data = case.dataset(name, &[8], create);
        assert_eq!(
            case.container.elements_place(&all(data)).unwrap_err().kind(),
            Kind::Unsupported,
            "{name}"
        );
        assert_eq!(case.container.elements_find(&all(data)).unwrap_err().kind(), Kind::Unsupported, "{name}");
    }
    let data = case.dataset("data", &[8], DatasetCreate::default());
    let beyond = OpPlacement { dataset: data, selection: Selection::block(&[7], &[2]).unwrap() };
    assert!(case.container.elements_place(&beyond).is_err());
    let root = case.container.info().unwrap().root;
    assert!(case.container.elements_place(&all(root)).is_err());
}
