//! Containers that make no sense: one clear error each, in bounded time.

mod kit;

use std::path::Path;

use kit::{create, dataset, open, write};
use model::properties::{CreationOrder, FileCreate, GroupCreate, ObjectCreate};
use model::{Kind, Limits, LinkTarget, ObjectKind, Result, Selection};
use objects::{Change, Mode, ObjectId, Phase, Size, Store, Update};
use testkit::generate::Generator;
use vol::{Container, FileAccess, OpGroupCreate, OpLinkCreate, OpList, OpMapCreate, OpRead, Place};

const GLOBAL: ObjectId = ObjectId { high: 0, low: 0 };

/// One object of every kind.
fn sample(folder: &Path) {
    let c = create(folder, &FileCreate::default()).unwrap();
    let root = c.info().unwrap().root;
    let object = ObjectCreate { attribute_order: CreationOrder::Tracked, ..ObjectCreate::default() };
    let create = GroupCreate { link_order: CreationOrder::Tracked, object, ..GroupCreate::default() };
    let group = c.group_create(&OpGroupCreate { place: Some(Place::new(root, "g")), create }).unwrap();
    let soft = LinkTarget::Soft("/g".into());
    c.link_create(&OpLinkCreate { place: Place::new(group, "soft"), target: soft }).unwrap();
    let external = LinkTarget::External { file: "f".into(), path: "/x".into() };
    c.link_create(&OpLinkCreate { place: Place::new(group, "external"), target: external }).unwrap();
    for (name, datatype) in [
        ("ints", kit::int()),
        ("texts", model::Datatype::var_string(model::CharacterSet::Utf8)),
        ("refs", model::Datatype::reference(model::datatype::ReferenceKind::Object)),
    ] {
        let space = model::Dataspace::simple(&[3]).unwrap();
        let (name, charset) = (name.to_owned(), model::CharacterSet::Ascii);
        let op = vol::OpAttributeCreate { object: group, name, charset, datatype, committed: None, space };
        c.attribute_create(&op).unwrap();
        let bytes = c.attribute_info(group, &op.name).unwrap().unwrap().datatype.size() as usize * 3;
        c.attribute_write(group, &op.name, &vec![1; bytes]).unwrap();
    }
    let data = dataset(&*c, Place::new(group, "d"), &[10, 4], &[4, 4]).unwrap();
    write(&*c, data, &(0..40).collect::<Vec<_>>()).unwrap();
    let mut create = model::properties::DatasetCreate {
        layout: model::properties::Layout::chunked(&[8]),
        ..Default::default()
    };
    let shuffle = model::properties::FilterSpec { id: 2, name: None, optional: false, values: vec![] };
    create.filters.push(shuffle);
    let space = model::Dataspace::simple(&[20]).unwrap();
    let place = Some(Place::new(group, "filtered"));
    let op = vol::OpDatasetCreate { place, datatype: kit::int(), committed: None, space, create };
    let filtered = c.dataset_create(&op).unwrap();
    write(&*c, filtered, &[5; 20]).unwrap();
    let place = Some(Place::new(group, "map"));
    let create = ObjectCreate::default();
    let map = c.map_create(&OpMapCreate { place, key: kit::int(), value: kit::int(), create }).unwrap();
    c.map_put(map, &[(&[1; 4], &[2; 4])]).unwrap();
    c.close().unwrap();
}

/// Looks at everything; errors are answers.
fn look(c: &dyn Container) -> Result<()> {
    let mut queue = vec![c.info()?.root];
    for _ in 0..100 {
        let Some(token) = queue.pop() else { break };
        let Ok(info) = c.object_info(token) else { continue };
        let all = OpList { count_max: 1000, ..OpList::default() };
        if let Ok(page) = c.attribute_list(token, &all) {
            page.entries.iter().for_each(|info| drop(c.attribute_read(token, &[&info.name])));
        }
        match info.kind {
            ObjectKind::Group => {
                let _ = (
                    c.group_info(token),
                    c.link_list(token, &OpList { index: model::Index::CreationOrder, ..all }),
                );
                let links = c.link_list(token, &all).map_or_else(|_| Vec::new(), |page| page.entries);
                queue.extend(links.iter().filter_map(|link| match link.target {
                    LinkTarget::Hard(token) => Some(token),
                    _ => None,
                }));
            }
            ObjectKind::Dataset => {
                let Ok(info) = c.dataset_info(token) else { continue };
                let _ = (c.dataset_storage(token), c.chunk_list(token, 0, 100));
                let bytes = info
                    .space
                    .element_count()
                    .unwrap_or(u64::MAX)
                    .saturating_mul(info.datatype.size().into());
                if bytes < 1 << 20 {
                    let mut into = vec![0; bytes as usize];
                    let _ = c.dataset_read(&mut [OpRead {
                        dataset: token,
                        selection: &Selection::All,
                        into: &mut into,
                    }]);
                }
            }
            ObjectKind::Datatype => drop(c.datatype_get(token)),
            ObjectKind::Map => {
                let keys = c.map_keys(token, 0, 10).map_or_else(|_| Vec::new(), |page| page.entries);
                keys.iter().for_each(|key| drop(c.map_get(token, &[key])));
                let _ = c.map_info(token);
            }
        }
    }
    let _ = (c.optional("storage.check", b""), c.optional("storage.show", b""));
    Ok(())
}

fn put(store: &dyn Store, (object, dkey, akey): &(ObjectId, Vec<u8>, Vec<u8>), value: &[u8]) {
    let changes = [Change::Single(akey, value)];
    store
        .update(&Update { object: *object, dkey, changes: &changes, conditions: &[], phase: Phase::Content })
        .unwrap();
    store.flush().unwrap();
}

/// Keys of all single values.
fn singles(store: &dyn Store) -> Vec<(ObjectId, Vec<u8>, Vec<u8>)> {
    let mut keys = Vec::new();
    for id in store.objects(None, 1000).unwrap() {
        for dkey in store.dkeys(id, b"", 1000).unwrap() {
            for akey in store.akeys(id, &dkey, b"", 1000).unwrap() {
                if matches!(store.size(id, &dkey, &akey).unwrap(), Some(Size::Single(_))) {
                    keys.push((id, dkey.clone(), akey));
                }
            }
        }
    }
    keys
}

fn mutated(value: &[u8], generator: &mut Generator) -> Vec<u8> {
    let mut value = value.to_vec();
    match generator.below(6) {
        0 => value.truncate(generator.below(value.len() as u64 + 1) as usize),
        1 => value.extend([0xff; 5]),
        2 => value.clear(),
        _ => {
            for _ in 0..=generator.below(3) {
                if !value.is_empty() {
                    let at = generator.below(value.len() as u64) as usize;
                    let choices = [0, 1, 0x7f, 0x80, 0xff, generator.below(256) as u8];
                    value[at] = choices[generator.below(6) as usize];
                }
            }
        }
    }
    value
}

#[test]
fn mutated_values_end_in_errors() {
    let count = std::env::var("HYPERSLAB_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let seed = std::env::var("HYPERSLAB_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    println!("seed {seed}");
    let mut generator = Generator::new(seed);
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path());
    let keys = singles(&*kit::store(folder.path(), Mode::Read));
    for _ in 0..count {
        let key = &keys[generator.below(keys.len() as u64) as usize];
        let store = kit::store(folder.path(), Mode::ReadWrite);
        let good = store.get(key.0, &key.1, &[&key.2]).unwrap().pop().unwrap().unwrap();
        put(&*store, key, &mutated(&good, &mut generator));
        drop(store);
        let access = FileAccess::read().with_limits(Limits::strict());
        if let Ok(c) = open(folder.path(), &access) {
            look(&*c).unwrap();
            c.close().unwrap();
        }
        put(&*kit::store(folder.path(), Mode::ReadWrite), key, &good);
    }
    look(&*open(folder.path(), &FileAccess::read()).unwrap()).unwrap();
}

#[test]
fn a_newer_layout_is_told() {
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path());
    let key = (GLOBAL, b"/Internal Metadata".to_vec(), b"Layout Version".to_vec());
    for (version, kind, word) in
        [(2u32, Kind::Unsupported, "layout version: 2"), (0, Kind::Corrupt, "version: 0")]
    {
        put(&*kit::store(folder.path(), Mode::ReadWrite), &key, &version.to_le_bytes());
        let error = open(folder.path(), &FileAccess::write()).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_cut_file_is_told() {
    for (file, len) in [("index.redb", 100), ("index.redb", 0), ("data", 10)] {
        let folder = tempfile::tempdir().unwrap();
        let c = create(folder.path(), &FileCreate::default()).unwrap();
        let data = dataset(&*c, Place::new(c.info().unwrap().root, "d"), &[100_000], &[50_000]).unwrap();
        write(&*c, data, &vec![7; 100_000]).unwrap();
        c.close().unwrap();
        let inner = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        std::fs::OpenOptions::new().write(true).open(inner.join(file)).unwrap().set_len(len).unwrap();
        let error = open(folder.path(), &FileAccess::write()).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string().lines().count(), 1);
        assert!(matches!(error.kind(), Kind::Corrupt | Kind::Io), "{file} {len}: {error}");
    }
}

#[test]
fn a_folder_without_a_container_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("missing")] {
        assert_eq!(open(&path, &FileAccess::read()).map(|_| ()).unwrap_err().kind(), Kind::NotFound);
    }
}
