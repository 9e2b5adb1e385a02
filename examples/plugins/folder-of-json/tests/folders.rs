//! What is in the folders, and folders that a caller broke.

use std::path::{Path, PathBuf};

use folder_of_json::FolderOfJson;
use model::properties::{DatasetCreate, FileCreate};
use model::{Dataspace, Datatype, Kind, Selection};
use testkit::generate::{Generator, announced_seed};
use vol::*;

fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn create(folder: &Path) -> std::sync::Arc<dyn Container> {
    let (path, create, access) = (folder.to_str().unwrap(), FileCreate::default(), FileAccess::write());
    FolderOfJson::new().create(&ContainerCreate::new(path, &create, &access)).unwrap()
}

fn open(folder: &Path) -> Result<std::sync::Arc<dyn Container>> {
    FolderOfJson::new().open(&ContainerOpen::new(folder.to_str().unwrap(), &FileAccess::write()))
}

fn ints(container: &dyn Container, values: &[i32]) -> Token {
    let op = OpDatasetCreate {
        place: Some(LinkLocation::new(container.info().unwrap().root, "numbers")),
        datatype: Datatype::native_int(4),
        committed: None,
        space: Dataspace::simple(&[values.len() as u64]).unwrap(),
        create: DatasetCreate::default(),
    };
    let dataset = container.dataset_create(&op).unwrap();
    let from: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    container.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: &from }]).unwrap();
    dataset
}

#[test]
fn people_can_read_and_change_the_files() {
    let folder = folder("people");
    let container = create(&folder);
    ints(&*container, &[1, -2, 3]);
    container.close().unwrap();
    let path = folder.join("2.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let squeezed: String = text.split_whitespace().collect();
    assert!(squeezed.contains(r#""elements":{"0":[1,-2,3]}"#), "{text}");
    assert!(squeezed.contains(r#""type":"<i4""#), "{text}");
    std::fs::write(&path, text.replace("-2", "42")).unwrap();
    let container = open(&folder).unwrap();
    let dataset = path::token(&*container, container.info().unwrap().root, "numbers", 1).unwrap();
    let mut into = [0; 12];
    container.dataset_read(&mut [OpRead { dataset, selection: &Selection::All, into: &mut into }]).unwrap();
    assert_eq!(into[4..8], 42i32.to_le_bytes());
}

#[test]
fn a_container_opened_twice_is_one() {
    let folder = folder("twice");
    let connector = FolderOfJson::new();
    let (path, access) = (folder.to_str().unwrap(), FileAccess::write());
    let one = connector.create(&ContainerCreate::new(path, &FileCreate::default(), &access)).unwrap();
    let two = connector.open(&ContainerOpen::new(path, &access)).unwrap();
    ints(&*one, &[1]);
    assert_eq!(two.group_info(two.info().unwrap().root).unwrap().links, 1);
    assert_eq!(connector.delete(&ContainerOpen::new(path, &access)).unwrap_err().kind(), Kind::Busy);
    one.close().unwrap();
    two.close().unwrap();
    connector.delete(&ContainerOpen::new(path, &access)).unwrap();
    assert!(!folder.exists());
}

#[test]
fn broken_files_are_errors() {
    let seed = announced_seed("broken_files_are_errors");
    let mut random = Generator::new(seed);
    let folder = folder("broken");
    let container = create(&folder);
    let root = container.info().unwrap().root;
    random.fill(&*container, root, 20).unwrap();
    container.close().unwrap();
    let files: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for _ in 0..500 {
        let path = random.one_of(&files);
        let good = std::fs::read(&path).unwrap();
        let mut bad = good.clone();
        let at = random.below(bad.len() as u64) as usize;
        match random.below(3) {
            0 => bad.truncate(at),
            1 => bad[at] = random.number() as u8,
            _ => bad[at] = b'0' + random.below(10) as u8,
        }
        std::fs::write(&path, bad).unwrap();
        if let Ok(container) = open(&folder) {
            let root = container.info().unwrap().root;
            let _ = testkit::snapshot::Snapshot::of(&*container, root);
        }
        std::fs::write(&path, good).unwrap();
    }
    open(&folder).unwrap();
}
