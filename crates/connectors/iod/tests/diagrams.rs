//! The document's diagrams, object by object and pair by pair.

mod kit;

use std::path::Path;

use iod_storage::{Container as Storage, Id, Kind, Mode, ScratchPad, Slab};
use kit::int;
use model::properties::{DatasetCreate, FileCreate, GroupCreate, Layout, ObjectCreate};
use model::{CharacterSet, Dataspace, Datatype, Result, Selection, Token, encode};
use vol::{
    Container, LinkLocation, OpAttributeCreate, OpDatasetCreate, OpDatatypeCommit, OpGroupCreate,
    OpMapCreate, OpWrite,
};

const ROOT: Id = Id(0);

/// Creates a container and closes it; what `make` gives, and the objects that are stored.
fn made<T>(folder: &Path, make: impl FnOnce(&dyn Container, Token) -> Result<T>) -> (T, Storage) {
    let place = folder.join("file_name");
    let c = kit::create(&place, &FileCreate::default()).unwrap();
    let answer = make(&*c, c.info().unwrap().root).unwrap();
    c.close().unwrap();
    (answer, kit::storage(&place, Mode::Read))
}

fn group(c: &dyn Container, parent: Token, name: &str) -> Result<Token> {
    c.group_create(&OpGroupCreate { place: Some(LinkLocation::new(parent, name)), ..Default::default() })
}

fn attribute(c: &dyn Container, object: Token, name: &str, value: i32) -> Result<()> {
    let (name, charset, space) = (name.to_owned(), CharacterSet::Ascii, Dataspace::Scalar);
    let op = OpAttributeCreate { object, name, charset, datatype: int(), committed: None, space };
    c.attribute_create(&op)?;
    c.attribute_write(object, &op.name, &value.to_le_bytes())
}

fn dataset(c: &dyn Container, parent: Token, name: &str, datatype: Datatype, dims: &[u64]) -> Result<Token> {
    let (place, create) = (Some(LinkLocation::new(parent, name)), DatasetCreate::default());
    let space = Dataspace::simple(dims)?;
    c.dataset_create(&OpDatasetCreate { place, datatype, committed: None, space, create })
}

fn id(token: Token) -> Id {
    Id::from_bytes(*token.0.first_chunk().unwrap())
}

/// All pairs of a key-value store.
fn pairs(storage: &Storage, kv: Id) -> Vec<(String, Vec<u8>)> {
    let pairs = storage.pairs(kv, b"", 1000).unwrap();
    pairs.into_iter().map(|(key, value)| (String::from_utf8(key).unwrap(), value)).collect()
}

fn keys(storage: &Storage, kv: Id) -> Vec<String> {
    pairs(storage, kv).into_iter().map(|(key, _)| key).collect()
}

fn get(storage: &Storage, kv: Id, key: &str) -> Vec<u8> {
    storage.get(kv, &[key.as_bytes()]).unwrap().pop().unwrap().unwrap_or_else(|| panic!("no {key}"))
}

fn get_id(storage: &Storage, kv: Id, key: &str) -> Id {
    Id::from_bytes(get(storage, kv, key).try_into().unwrap())
}

/// The two auxiliary stores of an object, whose own scratch pads are null.
fn aside(storage: &Storage, id: Id) -> (Id, Id) {
    let ScratchPad([metadata, attributes, third, fourth]) = storage.open(id).unwrap();
    assert_eq!((third, fourth), (Id::UNDEFINED, Id::UNDEFINED));
    for kv in [metadata, attributes] {
        assert_eq!(kv.kind(), Some(Kind::KeyValue));
        assert_eq!(storage.open(kv).unwrap(), ScratchPad::NULL);
    }
    (metadata, attributes)
}

fn number(value: u64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

fn h5i(value: u32) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

#[test]
fn file_with_a_group_and_an_attribute() {
    let folder = tempfile::tempdir().unwrap();
    let (g1, storage) = made(folder.path(), |c, root| {
        attribute(c, root, "attribute1", 1)?;
        group(c, root, "G1")
    });
    let (metadata, attributes) = aside(&storage, ROOT);
    assert_eq!(pairs(&storage, ROOT), [("G1".to_owned(), id(g1).to_bytes().to_vec())]);
    assert_eq!(keys(&storage, attributes), ["attribute1"]);
    let create = encode::file_create(&FileCreate::default()).unwrap();
    assert_eq!(get(&storage, metadata, "object_create_plist"), create);
    // Root and its two, G1 and its two, and the attribute's metadata.
    assert_eq!(get(&storage, metadata, "kv_ids_index"), number(7));
    assert_eq!(get(&storage, metadata, "array_ids_index"), number(1));
    assert_eq!(get(&storage, metadata, "blob_ids_index"), number(0));
    let all = storage.list().unwrap();
    let kvs = (0..7).map(|n| Id::new(Kind::KeyValue, n));
    assert_eq!(all, kvs.chain([Id::new(Kind::Array, 0)]).collect::<Vec<_>>());
}

#[test]
fn group_with_two_children_and_three_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let ([g1, d1, g2], storage) = made(folder.path(), |c, root| {
        let g1 = group(c, root, "G1")?;
        let d1 = dataset(c, g1, "D1", int(), &[2])?;
        let g2 = group(c, g1, "G2")?;
        for name in ["attribute1", "attribute2", "attribute3"] {
            attribute(c, g1, name, 7)?;
        }
        Ok([g1, d1, g2].map(id))
    });
    let children = [("D1", d1), ("G2", g2)].map(|(name, id)| (name.to_owned(), id.to_bytes().to_vec()));
    assert_eq!(pairs(&storage, g1), children);
    assert_eq!((d1.kind(), g2.kind()), (Some(Kind::Array), Some(Kind::KeyValue)));
    let (metadata, attributes) = aside(&storage, g1);
    assert_eq!(keys(&storage, metadata), ["object_create_plist", "object_link_count", "object_type"]);
    let create = encode::group_create(&GroupCreate::default()).unwrap();
    assert_eq!(get(&storage, metadata, "object_create_plist"), create);
    assert_eq!(get(&storage, metadata, "object_type"), h5i(2));
    assert_eq!(get(&storage, metadata, "object_link_count"), number(1));
    assert_eq!(keys(&storage, attributes), ["attribute1", "attribute2", "attribute3"]);
    for name in ["attribute1", "attribute2", "attribute3"] {
        assert_eq!(get_id(&storage, attributes, name).kind(), Some(Kind::Array));
    }
}

#[test]
fn dataset_with_its_cells() {
    let folder = tempfile::tempdir().unwrap();
    let values = [0, 25, 6, 8, 7, 90, 26, 78, 87, 676, 87, 56, 46, 67, 87, 56];
    let (did, storage) = made(folder.path(), |c, root| {
        let data = dataset(c, root, "D", int(), &[4, 4])?;
        kit::write(c, data, &values)?;
        attribute(c, data, "attribute1", 3)?;
        Ok(id(data))
    });
    let (metadata, attributes) = aside(&storage, did);
    let described =
        ["object_create_plist", "object_dataspace", "object_datatype", "object_link_count", "object_type"];
    assert_eq!(keys(&storage, metadata), described);
    assert_eq!(get(&storage, metadata, "object_type"), h5i(5));
    assert_eq!(get(&storage, metadata, "object_link_count"), number(1));
    assert_eq!(get(&storage, metadata, "object_datatype"), encode::datatype(&int()).unwrap());
    let space = Dataspace::simple(&[4, 4]).unwrap();
    assert_eq!(get(&storage, metadata, "object_dataspace"), encode::space(&space).unwrap());
    let create = encode::dataset_create(&DatasetCreate::default(), &int(), &space).unwrap();
    assert_eq!(get(&storage, metadata, "object_create_plist"), create);
    assert_eq!(keys(&storage, attributes), ["attribute1"]);
    let array = storage.array(did).unwrap();
    assert_eq!((array.cell_bytes, &array.dims[..], array.chunk), (4, &[4, 4][..], None));
    let mut cells = [0; 64];
    storage.read(did, &Slab::new(&[0, 0], &[4, 4]), &mut cells).unwrap();
    assert_eq!(cells.to_vec(), values.map(i32::to_le_bytes).concat());
}

#[test]
fn chunked_dataset_is_an_array_in_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let (did, storage) = made(folder.path(), |c, root| {
        let create = DatasetCreate { layout: Layout::chunked(&[2, 3]), ..DatasetCreate::default() };
        let space = Dataspace::resizable(&[5, 6], &[u64::MAX, 9])?;
        let (place, datatype) = (Some(LinkLocation::new(root, "D")), int());
        let data = c.dataset_create(&OpDatasetCreate { place, datatype, committed: None, space, create })?;
        kit::write(c, data, &[1; 30])?;
        c.dataset_resize(data, &[7, 8])?;
        Ok(id(data))
    });
    let array = storage.array(did).unwrap();
    // In the first dimension the extent, in the others what it may become.
    assert_eq!((&array.dims[..], array.chunk), (&[7, 9][..], Some(vec![2, 3])));
    assert_eq!(storage.blocks(did).unwrap(), [[0, 0], [0, 3], [2, 0], [2, 3], [4, 0], [4, 3]]);
}

#[test]
fn variable_length_strings_are_blobs() {
    let folder = tempfile::tempdir().unwrap();
    let texts = ["Bla Bla", "Triple Bla", "HDF5 is Awesome", "HDF5 is Great", "HDF5 is Super"];
    let (did, storage) = made(folder.path(), |c, root| {
        let data = dataset(c, root, "D", Datatype::var_string(CharacterSet::Ascii), &[4, 4])?;
        let bytes: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        let ids = c.blob_put(&bytes)?;
        let mut cells = vec![0; 16 * 12];
        for ((cell, id), text) in cells.chunks_exact_mut(12).zip(ids.chunks_exact(8)).zip(&bytes) {
            cell[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
            cell[4..].copy_from_slice(id);
        }
        c.dataset_write(&[OpWrite { dataset: data, selection: &Selection::All, from: &cells }])?;
        Ok(id(data))
    });
    let array = storage.array(did).unwrap();
    assert_eq!((array.cell_bytes, &array.dims[..]), (12, &[4, 4][..]));
    let mut cells = [0; 16 * 12];
    storage.read(did, &Slab::new(&[0, 0], &[4, 4]), &mut cells).unwrap();
    for (n, cell) in cells.as_chunks::<12>().0.iter().enumerate() {
        let Some(text) = texts.get(n) else {
            assert_eq!(*cell, [0; 12]);
            continue;
        };
        let blob = Id::from_bytes(*cell[4..].first_chunk().unwrap());
        assert_eq!((blob.kind(), blob.number()), (Some(Kind::Blob), n as u64));
        assert_eq!(storage.open(blob).unwrap(), ScratchPad::NULL);
        assert_eq!(storage.read_blobs(&[blob], 100).unwrap(), [Some(text.as_bytes().to_vec())]);
        assert_eq!(cell[..4], (text.len() as u32).to_le_bytes());
    }
}

#[test]
fn named_datatype_is_a_blob() {
    let folder = tempfile::tempdir().unwrap();
    let (dtid, storage) = made(folder.path(), |c, root| {
        let (place, create) = (Some(LinkLocation::new(root, "T")), ObjectCreate::default());
        let token = c.datatype_commit(&OpDatatypeCommit { place, datatype: int(), create })?;
        attribute(c, token, "attribute1", 5)?;
        Ok(id(token))
    });
    let encoded = encode::datatype(&int()).unwrap();
    assert_eq!(dtid.kind(), Some(Kind::Blob));
    assert_eq!(storage.read_blobs(&[dtid], 100).unwrap(), [Some(encoded.clone())]);
    let (metadata, attributes) = aside(&storage, dtid);
    let described = ["object_create_plist", "object_link_count", "object_type", "serialized_size"];
    assert_eq!(keys(&storage, metadata), described);
    assert_eq!(get(&storage, metadata, "object_type"), h5i(3));
    assert_eq!(get(&storage, metadata, "serialized_size"), number(encoded.len() as u64));
    assert_eq!(keys(&storage, attributes), ["attribute1"]);
}

#[test]
fn attribute_is_an_array_with_metadata_only() {
    let folder = tempfile::tempdir().unwrap();
    let ((), storage) = made(folder.path(), |c, root| {
        let (name, charset, space) = ("a".to_owned(), CharacterSet::Ascii, Dataspace::simple(&[2, 3])?);
        let op = OpAttributeCreate { object: root, name, charset, datatype: int(), committed: None, space };
        c.attribute_create(&op)?;
        c.attribute_write(root, "a", &[1, 2, 3, 4, 5, 6].map(i32::to_le_bytes).concat())
    });
    let (_, attributes) = aside(&storage, ROOT);
    let did = get_id(&storage, attributes, "a");
    let ScratchPad([metadata, rest @ ..]) = storage.open(did).unwrap();
    assert_eq!(rest, [Id::UNDEFINED; 3]);
    assert_eq!(storage.open(metadata).unwrap(), ScratchPad::NULL);
    let described = ["object_create_plist", "object_dataspace", "object_datatype", "object_type"];
    assert_eq!(keys(&storage, metadata), described);
    assert_eq!(get(&storage, metadata, "object_type"), h5i(7));
    assert_eq!(get(&storage, metadata, "object_create_plist"), encode::attribute_create(CharacterSet::Ascii));
    let space = Dataspace::simple(&[2, 3]).unwrap();
    assert_eq!(get(&storage, metadata, "object_dataspace"), encode::space(&space).unwrap());
    assert_eq!(get(&storage, metadata, "object_datatype"), encode::datatype(&int()).unwrap());
    let array = storage.array(did).unwrap();
    assert_eq!((array.cell_bytes, &array.dims[..]), (4, &[2, 3][..]));
    let mut cells = [0; 24];
    storage.read(did, &Slab::new(&[0, 0], &[2, 3]), &mut cells).unwrap();
    assert_eq!(cells.to_vec(), [1, 2, 3, 4, 5, 6].map(i32::to_le_bytes).concat());
}

#[test]
fn map_has_the_pairs_of_the_application() {
    let folder = tempfile::tempdir().unwrap();
    let value = Datatype::array(&[4], int());
    let values = [[1, 2, 3, 4], [8, 9, 10, 11]].map(|four| four.map(i32::to_le_bytes).concat());
    let (m1, storage) = made(folder.path(), |c, root| {
        let (place, create) = (Some(LinkLocation::new(root, "M1")), ObjectCreate::default());
        let map = c.map_create(&OpMapCreate { place, key: int(), value: value.clone(), create })?;
        c.map_put(map, &[(&1i32.to_le_bytes(), &values[0]), (&2i32.to_le_bytes(), &values[1])])?;
        attribute(c, map, "attribute1", 1)?;
        Ok(id(map))
    });
    assert_eq!(m1.kind(), Some(Kind::KeyValue));
    let wanted = [1i32, 2].map(|key| key.to_le_bytes().to_vec()).into_iter().zip(values);
    assert_eq!(storage.pairs(m1, b"", 10).unwrap(), wanted.collect::<Vec<_>>());
    let (metadata, attributes) = aside(&storage, m1);
    let described = ["key_type", "object_create_plist", "object_link_count", "object_type", "value_type"];
    assert_eq!(keys(&storage, metadata), described);
    assert_eq!(get(&storage, metadata, "object_type"), h5i(6));
    assert_eq!(get(&storage, metadata, "key_type"), encode::datatype(&int()).unwrap());
    assert_eq!(get(&storage, metadata, "value_type"), encode::datatype(&value).unwrap());
    assert_eq!(keys(&storage, attributes), ["attribute1"]);
}
