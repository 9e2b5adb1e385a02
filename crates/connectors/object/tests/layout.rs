//! The raw bytes of the design document's own examples: a group with links, a dataset of fixed length, a map.

mod kit;

use std::path::Path;

use kit::{create, dataset, int, write};
use model::properties::{CreationOrder, FileCreate, GroupCreate, ObjectCreate};
use model::{CharacterSet, Datatype, LinkTarget, Result, Selection, encode};
use objects::{Fetch, Mode, ObjectId, Size, Store};
use vol::{Container, LinkLocation, OpAttributeCreate, OpGroupCreate, OpLinkCreate, OpMapCreate, OpWrite};

const ROOT: ObjectId = ObjectId { high: 0, low: 1 };
const INTERNAL: &[u8] = b"/Internal Metadata";

fn get(store: &dyn Store, id: ObjectId, dkey: &[u8], akey: &[u8]) -> Vec<u8> {
    let found = store.get(id, dkey, &[akey]).unwrap().pop().unwrap();
    found.unwrap_or_else(|| panic!("nothing at {} {}", dkey.escape_ascii(), akey.escape_ascii()))
}

fn dkeys(store: &dyn Store, id: ObjectId) -> Vec<Vec<u8>> {
    store.dkeys(id, b"", 1000).unwrap()
}

fn akeys(store: &dyn Store, id: ObjectId, dkey: &[u8]) -> Vec<Vec<u8>> {
    store.akeys(id, dkey, b"", 1000).unwrap()
}

fn object(token: model::Token) -> ObjectId {
    let both = u128::from_le_bytes(token.0);
    ObjectId { high: (both >> 64) as u64, low: both as u64 }
}

fn made(folder: &Path, make: impl FnOnce(&dyn Container) -> Result<model::Token>) -> ObjectId {
    let container = create(folder, &FileCreate::default()).unwrap();
    let token = make(&*container).unwrap();
    container.close().unwrap();
    object(token)
}

#[test]
fn group_with_links_and_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let id = made(folder.path(), |c| {
        let root = c.info()?.root;
        let create = GroupCreate { link_order: CreationOrder::Indexed, ..GroupCreate::default() };
        let group =
            c.group_create(&OpGroupCreate { place: Some(LinkLocation::new(root, "group")), create })?;
        let hard = LinkTarget::Hard(root);
        c.link_create(&OpLinkCreate { place: LinkLocation::new(group, "hard"), target: hard })?;
        let soft = LinkTarget::Soft("/group/hard".into());
        c.link_create(&OpLinkCreate { place: LinkLocation::new(group, "soft"), target: soft })?;
        Ok(group)
    });
    let store = &*kit::store(folder.path(), Mode::Read);
    assert_eq!(id.high, 0);
    assert_eq!(dkeys(store, id), [INTERNAL, b"/Link Creation Order", b"hard", b"soft"]);
    let mut hard = vec![0];
    hard.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(get(store, id, b"hard", b"Link"), hard);
    assert_eq!(get(store, id, b"soft", b"Link"), b"\x01/group/hard");
    let order = b"/Link Creation Order";
    assert_eq!(get(store, id, order, b"Max Link Creation Order"), 2u64.to_le_bytes());
    assert_eq!(get(store, id, order, b"Num Links"), 2u64.to_le_bytes());
    assert_eq!(get(store, id, order, &[0; 8]), b"hard");
    assert_eq!(get(store, id, order, &[0; 9]), hard);
    assert_eq!(get(store, id, order, &[1, 0, 0, 0, 0, 0, 0, 0]), b"soft");
    assert_eq!(get(store, id, order, &[1, 0, 0, 0, 0, 0, 0, 0, 0]), b"\x01/group/hard");
    assert_eq!(akeys(store, id, order).len(), 6);
    assert_eq!(get(store, ROOT, b"group", b"Link")[1..9], id.low.to_le_bytes());
    assert_eq!(get(store, ROOT, INTERNAL, b"Reference Count"), 2u64.to_le_bytes());
}

#[test]
fn dataset_of_fixed_length_with_two_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let id = made(folder.path(), |c| {
        let place = LinkLocation::new(c.info()?.root, "dset");
        let data = dataset(c, place, &[4, 6], &[4, 3])?;
        write(c, data, &(0..24).collect::<Vec<_>>())?;
        Ok(data)
    });
    let store = &*kit::store(folder.path(), Mode::Read);
    assert_eq!(id.high, 1 << 30);
    let chunks: [&[u8]; 2] = [&[0; 17], b"\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0"];
    assert_eq!(dkeys(store, id), [chunks[0], chunks[1], INTERNAL]);
    let parts = ["Creation Property List", "Dataspace", "Datatype", "Reference Count"];
    assert_eq!(akeys(store, id, INTERNAL), parts.map(|part| part.as_bytes().to_vec()));
    assert_eq!(get(store, id, INTERNAL, b"Datatype"), encode::datatype(&int()).unwrap());
    assert_eq!(get(store, id, INTERNAL, b"Datatype")[..6], [3, 0, 0x10, 8, 0, 0]);
    assert_eq!(get(store, id, INTERNAL, b"Dataspace")[..7], [1, 0, 8, 0x28, 0, 0, 0]);
    assert_eq!(get(store, id, INTERNAL, b"Creation Property List")[..9], *b"\0\x05layout\0");
    for (chunk, first) in chunks.iter().zip([0, 3]) {
        assert_eq!(akeys(store, id, chunk), [[0]]);
        let size = store.size(id, chunk, &[0]).unwrap();
        assert_eq!(size, Some(Size::Records { record_size: 4, end: 12 }));
        let mut into = vec![0; 48];
        let fetch = Fetch { object: id, dkey: chunk, akey: &[0], record_size: 4, start: 0, into: &mut into };
        store.fetch(&mut [fetch]).unwrap();
        let wanted = (0..4).flat_map(|row| (0..3).map(move |column| row * 6 + column + first));
        assert_eq!(into, wanted.flat_map(i32::to_le_bytes).collect::<Vec<_>>());
    }
}

#[test]
fn map_of_alice_and_bob() {
    let folder = tempfile::tempdir().unwrap();
    let key = Datatype::var_string(CharacterSet::Ascii);
    let value = Datatype::integer(8, false, model::ByteOrder::Little);
    let id = made(folder.path(), |c| {
        let place = Some(LinkLocation::new(c.info()?.root, "map"));
        let (key, value) = (key.clone(), value.clone());
        let map = c.map_create(&OpMapCreate { place, key, value, create: ObjectCreate::default() })?;
        c.map_put(map, &[(b"Alice", &25385486u64.to_le_bytes()), (b"Bob", &34873275u64.to_le_bytes())])?;
        Ok(map)
    });
    let store = &*kit::store(folder.path(), Mode::Read);
    assert_eq!(id.high, 3 << 30);
    assert_eq!(dkeys(store, id), [INTERNAL, b"Alice", b"Bob"]);
    assert_eq!(akeys(store, id, b"Alice"), [b"MAP_AKEY"]);
    assert_eq!(get(store, id, b"Alice", b"MAP_AKEY"), 25385486u64.to_le_bytes());
    assert_eq!(get(store, id, b"Bob", b"MAP_AKEY"), 34873275u64.to_le_bytes());
    assert_eq!(get(store, id, INTERNAL, b"Value Datatype"), encode::datatype(&value).unwrap());
    assert_eq!(get(store, id, INTERNAL, b"Key Datatype")[..6], [3, 0, 0x19, 1, 0, 0]);
    let creation = encode::object_create(encode::ObjectClass::Map, &ObjectCreate::default()).unwrap();
    assert_eq!(get(store, id, INTERNAL, b"Creation Property List"), creation);
}

#[test]
fn attributes_with_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let id = made(folder.path(), |c| {
        let place = Some(LinkLocation::new(c.info()?.root, "g"));
        let object = ObjectCreate { attribute_order: CreationOrder::Indexed, ..ObjectCreate::default() };
        let create = GroupCreate { object, ..GroupCreate::default() };
        let group = c.group_create(&OpGroupCreate { place, create })?;
        for name in ["unit", "scale"] {
            let (name, charset) = (name.to_owned(), CharacterSet::Ascii);
            let space = model::Dataspace::Scalar;
            let op =
                OpAttributeCreate { object: group, name, charset, datatype: int(), committed: None, space };
            c.attribute_create(&op)?;
            c.attribute_write(group, &op.name, &7i32.to_le_bytes())?;
        }
        Ok(group)
    });
    let store = &*kit::store(folder.path(), Mode::Read);
    let dkey = b"/Attribute";
    let number = |n: u64| n.to_le_bytes().to_vec();
    assert_eq!(get(store, id, dkey, b"T-unit"), encode::datatype(&int()).unwrap());
    assert_eq!(get(store, id, dkey, b"S-unit"), encode::space(&model::Dataspace::Scalar).unwrap());
    assert_eq!(get(store, id, dkey, b"P-unit"), encode::attribute_create(CharacterSet::Ascii));
    assert_eq!(get(store, id, dkey, b"V-unit"), 7i32.to_le_bytes());
    assert_eq!(get(store, id, dkey, b"C-scale"), number(1));
    assert_eq!(get(store, id, dkey, b"Max Attribute Creation Order"), number(2));
    assert_eq!(get(store, id, dkey, b"Num Attributes"), number(2));
    assert_eq!(get(store, id, dkey, &[0, 1, 0, 0, 0, 0, 0, 0, 0]), b"scale");
    assert_eq!(akeys(store, id, dkey).len(), 14);
}

#[test]
fn of_scattered_points_nothing_but_them_is_stored() {
    let count = 4_000;
    // Every seventh element, from the last to the first, and one of them twice.
    let mut points: Vec<u64> = (0..count / 7).rev().map(|n| n * 7).collect();
    points.push(7);
    let values: Vec<u8> = (0..points.len() as u32).flat_map(u32::to_le_bytes).collect();
    let folder = tempfile::tempdir().unwrap();
    let id = made(folder.path(), |c| {
        let data = dataset(c, LinkLocation::new(c.info()?.root, "d"), &[count], &[count])?;
        let selection = &Selection::points(1, points.clone())?;
        c.dataset_write(&[OpWrite { dataset: data, selection, from: &values }])?;
        Ok(data)
    });
    let store = &*kit::store(folder.path(), Mode::Read);
    let mut into = vec![0xee; 4 * count as usize];
    let (dkey, akey) = (&[0; 9], &[0]);
    store.fetch(&mut [Fetch { object: id, dkey, akey, record_size: 4, start: 0, into: &mut into }]).unwrap();
    let mut right = vec![0xee; 4 * count as usize];
    for (point, value) in points.iter().zip(values.as_chunks::<4>().0) {
        right[4 * *point as usize..][..4].copy_from_slice(value);
    }
    assert!(into == right, "something else is stored");
}

fn id_in(folder: &Path) -> objects::ContainerId {
    let all = objects::embedded::pool(folder).list().unwrap();
    assert_eq!(all.len(), 1);
    all[0]
}

#[test]
fn every_container_has_an_identity_of_its_own_and_keeps_it() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for folder in [&one, &other] {
        create(folder.path(), &FileCreate::default()).unwrap().close().unwrap();
    }
    let id = id_in(one.path());
    assert_ne!(id, id_in(other.path()));
    let moved = one.path().join("moved");
    std::fs::create_dir(&moved).unwrap();
    std::fs::rename(one.path().join(id.to_string()), moved.join(id.to_string())).unwrap();
    kit::open(&moved, &vol::FileAccess::write()).unwrap().close().unwrap();
    assert_eq!(id_in(&moved), id);
    // As older programs named it.
    let old = objects::ContainerId::from_name("/");
    std::fs::rename(moved.join(id.to_string()), moved.join(old.to_string())).unwrap();
    kit::open(&moved, &vol::FileAccess::read()).unwrap().close().unwrap();
    assert_eq!(create(&moved, &FileCreate::default()).unwrap_err().kind(), model::Kind::Exists);
}

#[test]
fn many_who_make_a_container_in_one_folder_make_one() {
    let folder = tempfile::tempdir().unwrap();
    let made = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| match create(folder.path(), &FileCreate::default()) {
                Ok(_) => drop(made.fetch_add(1, std::sync::atomic::Ordering::Relaxed)),
                Err(error) => assert_eq!(error.kind(), model::Kind::Exists, "{error}"),
            });
        }
    });
    assert_eq!(made.into_inner(), 1);
    id_in(folder.path());
}
