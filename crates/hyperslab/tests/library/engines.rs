//! Storage engines that a program brings along, options of containers, and object classes, through the public crate.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyperslab::extend::storage::{
    ContainerId, ContainerLocation, Engine, Error, Mode, ObjectId, Pool, Store, counted::Counted,
    dkeys_with_prefix, memory, strict,
};
use hyperslab::extend::{Registry, register_engine};
use hyperslab::plist::{CreationOrder, FileCreate, GroupCreate, MapAccess, ObjectCreate};
use hyperslab::vol::model::datatype::ByteOrder;
use hyperslab::vol::model::{Datatype, Index, Order};
use hyperslab::vol::{LinkLocation, OpGroupCreate};
use hyperslab::{File, FileAccess, Kind, Result, registry, s};
use ndarray::Array1;
use testkit::Folder;

fn with_engine(engine: Arc<dyn Engine>) -> Registry {
    let mut registry = registry();
    register_engine(&mut registry, "mine", engine).unwrap();
    registry
}

fn created(registry: &Registry, location: &str) -> Result<File> {
    File::create_in(registry, location, &FileCreate::default(), &FileAccess::write(), false)
}

fn problems(file: &File) -> Vec<String> {
    let findings = file.container().storage_check().unwrap();
    findings.iter().map(|finding| format!("{finding:?}")).collect()
}

/// Writes some of everything.
fn fill(file: &File) -> Result<()> {
    let object = ObjectCreate { attribute_order: CreationOrder::Indexed, ..ObjectCreate::default() };
    let create = GroupCreate { object, link_order: CreationOrder::Indexed, ..GroupCreate::default() };
    let place = LinkLocation::new(file.token(), "ordered");
    file.container().group_create(&OpGroupCreate { place: Some(place), create })?;
    let group = file.group("ordered")?;
    for name in ["z", "a", "m"] {
        group.create_group(name)?;
        group.set_attr(name, name.to_owned())?;
    }
    let data = file.new_dataset::<i32>().shape((100,)).chunk((7,)).create("data")?;
    data.write_slice(&Array1::from_iter(0..50), s![0..50])?;
    let texts = file.new_dataset::<String>().shape((3,)).create("texts")?;
    texts.write_raw(&["", "one", "two"].map(str::to_owned))?;
    let map = file.create_map::<String, u64>("map")?;
    map.put_all([(&String::new(), &7u64), (&"/Internal Metadata".to_owned(), &8), (&"key".to_owned(), &9)])?;
    file.new_dataset::<u8>().shape((0,)).create("empty")?;
    file.new_attr::<f32>().shape((0,)).create("nothing")?;
    Ok(())
}

fn check(file: &File) -> Result<()> {
    let group = file.group("ordered")?;
    assert_eq!(group.member_names()?, ["a", "m", "z"]);
    assert_eq!(group.member_names_by(Index::CreationOrder, Order::Increasing)?, ["z", "a", "m"]);
    assert_eq!(group.attr("m")?.read_string()?, "m");
    let data: Vec<i32> = file.dataset("data")?.read_raw()?;
    assert_eq!(data, (0..50).chain(std::iter::repeat_n(0, 50)).collect::<Vec<_>>());
    assert_eq!(file.dataset("texts")?.read_raw::<String>()?, ["", "one", "two"]);
    let map = file.map("map")?.keys_at_once(1);
    assert_eq!(map.keys::<String>()?, ["", "/Internal Metadata", "key"]);
    assert_eq!(map.get::<_, u64>(&String::new())?, Some(7));
    assert_eq!(map.len()?, 3);
    assert_eq!(problems(file), Vec::<String>::new());
    Ok(())
}

/// Each engine enumerates in the order of a hash, and offers no more than DAOS has.
#[test]
fn containers_live_on_an_engine_of_the_program() -> Result<()> {
    let registry = with_engine(strict::engine());
    for connector in ["object", "iod"] {
        let location = format!("{connector}+mine:run");
        let file = created(&registry, &location)?;
        fill(&file)?;
        check(&file)?;
        file.close()?;
        let access = FileAccess::write();
        assert_eq!(created(&registry, &location).unwrap_err().kind(), Kind::Exists);
        let file = File::open_in(&registry, &location, &access)?;
        check(&file)?;
        assert!(file.map("map")?.delete(&String::new())?);
        assert_eq!(file.map("map")?.keys::<String>()?, ["/Internal Metadata", "key"]);
        file.unlink("ordered/a")?;
        let group = file.group("ordered")?;
        assert_eq!(group.member_names_by(Index::CreationOrder, Order::Increasing)?, ["z", "m"]);
        file.close()?;
        assert!(registry.is_accessible(&location, &access)?);
        registry.delete(&location, &access)?;
        assert!(!registry.is_accessible(&location, &access)?);
    }
    Ok(())
}

/// An engine whose paths are `pool/name`.
#[derive(Debug, Default)]
struct Pools(BTreeMap<&'static str, Arc<dyn Pool>>);

impl Engine for Pools {
    fn location(&self, path: &str) -> std::result::Result<ContainerLocation, Error> {
        let (pool, name) = path.split_once('/').unwrap_or((path, ""));
        let found = self.0.get(pool).ok_or_else(|| Error::NotFound(format!("there is no pool {pool}")))?;
        Ok(ContainerLocation { pool: found.clone(), name: name.to_owned(), key: path.to_owned() })
    }
}

#[test]
fn an_engine_says_where_paths_lead() -> Result<()> {
    let (one, two) = (memory::pool(), memory::pool());
    let registry = with_engine(Arc::new(Pools([("one", one.clone()), ("two", two.clone())].into())));
    created(&registry, "object+mine:one/run")?.close()?;
    created(&registry, "iod+mine:one/run")?.close()?;
    created(&registry, "object+mine:two/run")?.close()?;
    assert_eq!((one.list().unwrap().len(), two.list().unwrap().len()), (2, 1));
    let missing = |location| File::open_in(&registry, location, &FileAccess::read()).unwrap_err().kind();
    assert_eq!(missing("object+mine:three/run"), Kind::NotFound);
    assert_eq!(missing("object+mine:two/other"), Kind::NotFound);
    assert_eq!(missing("object+other:two/run"), Kind::Unsupported);
    Ok(())
}

#[test]
fn names_of_engines_are_those_of_locations_and_not_taken() {
    let mut registry = registry();
    let mut register = |name| register_engine(&mut registry, name, strict::engine()).map_err(|e| e.kind());
    assert_eq!(register("rados"), Err(Kind::Exists));
    assert_eq!(register("memory"), Err(Kind::Exists));
    assert_eq!(register("a:b"), Err(Kind::Invalid));
    assert_eq!(register(""), Err(Kind::Invalid));
    assert_eq!(register("mine"), Ok(()));
    assert_eq!(register("mine"), Err(Kind::Exists));
}

const INTERNAL: &[u8] = b"/Internal Metadata";

fn store(pool: &dyn Pool) -> Arc<dyn Store> {
    pool.open(pool.list().unwrap()[0], Mode::Read).unwrap()
}

fn object_of(file: &File, path: &str) -> ObjectId {
    let token = u128::from_le_bytes(file.object(path).unwrap().object().token().0);
    ObjectId { high: (token >> 64) as u64, low: token as u64 }
}

/// Returns the akeys of a dkey as text.
fn akeys(store: &dyn Store, id: ObjectId, dkey: &[u8]) -> Vec<String> {
    let akeys = store.akeys(id, dkey, b"", 100).unwrap();
    akeys.iter().map(|akey| akey.escape_ascii().to_string()).collect()
}

#[test]
fn a_container_spells_its_keys_as_the_connector_for_daos_does() -> Result<()> {
    let pool = memory::pool();
    let registry = with_engine(Arc::new(Pools([("one", pool.clone())].into())));
    let file = created(&registry, "object+mine:one/run?names=daos")?;
    fill(&file)?;
    let large = file.new_dataset::<f64>().shape((1000, 1000)).create("large")?;
    let ids = ["data", "texts", "large", "map", "ordered"].map(|path| object_of(&file, path));
    assert!(large.is_chunked());
    file.close()?;
    let inner = store(&*pool);
    let (global, root) = (ObjectId { high: 0, low: 0 }, ObjectId { high: 0, low: 1 });
    assert_eq!(akeys(&*inner, global, INTERNAL), ["Creation Property List"]);
    assert_eq!(akeys(&*inner, root, INTERNAL), ["Creation Property List", "Ref Count"]);
    let [data, texts, large, map, ordered] = ids;
    for dataset in [data, texts, large] {
        let wanted = ["Creation Property List", "Dataspace", "Datatype", "Ref Count"];
        assert_eq!(akeys(&*inner, dataset, INTERNAL), wanted);
    }
    assert_eq!(akeys(&*inner, map, b"key"), ["Map Record"]);
    assert_eq!(akeys(&*inner, ordered, b"m"), ["Link"]);
    assert_eq!(dkeys_with_prefix(&*inner, texts, &[0]).unwrap(), [[0; 9]]);
    // What is opened without the option says itself how it is spelled.
    let file = File::open_in(&registry, "object+mine:one/run", &FileAccess::write())?;
    check(&file)?;
    file.link_hard("/data", "again")?;
    file.unlink("data")?;
    assert_eq!(file.dataset("again")?.read_raw::<i32>()?[49], 49);
    assert_eq!(problems(&file), Vec::<String>::new());
    file.close()
}

/// The connector for DAOS reads the n-th link at the place n, so there are no gaps.
#[test]
fn a_deleted_link_leaves_no_gap_in_the_order_of_a_container_for_daos() -> Result<()> {
    let pool = memory::pool();
    let registry = with_engine(Arc::new(Pools([("one", pool.clone())].into())));
    let file = created(&registry, "object+mine:one/run?names=daos")?;
    let ordered = GroupCreate { link_order: CreationOrder::Indexed, ..GroupCreate::default() };
    let group = file.create_group_with("ordered", &ordered)?;
    ["z", "a", "m", "b"].iter().try_for_each(|name| group.create_group(name).map(drop))?;
    group.unlink("a")?;
    group.create_group("last")?;
    group.unlink("z")?;
    let id = object_of(&file, "ordered");
    assert_eq!(problems(&file), Vec::<String>::new());
    file.close()?;
    let inner = store(&*pool);
    let order = b"/Link Creation Order";
    let value = |akey: &[u8]| inner.get(id, order, &[akey]).unwrap().pop().flatten();
    for (place, name) in (0u64..).zip(["m", "b", "last"]) {
        assert_eq!(value(&place.to_le_bytes()).as_deref(), Some(name.as_bytes()));
        assert!(value(&[&place.to_le_bytes()[..], &[0]].concat()).is_some());
    }
    assert_eq!(value(&3u64.to_le_bytes()), None);
    assert_eq!(value(b"Num Links").as_deref(), Some(&3u64.to_le_bytes()[..]));
    assert_eq!(value(b"Max Link Creation Order").as_deref(), Some(&5u64.to_le_bytes()[..]));
    Ok(())
}

#[test]
fn a_folder_has_options_too() -> Result<()> {
    let folder = Folder::new("engines");
    let path = folder.at("run");
    let location = format!("object+embedded:{path}?names=daos&class=S4");
    let file = created(&registry(), &location)?;
    fill(&file)?;
    file.close()?;
    let file = File::open(format!("object:{path}"))?;
    assert!(file.container().storage_show()?.contains("\"Ref Count\""));
    check(&file)?;
    assert_eq!(object_of(&file, "data").high >> 32, 0x0701_0004);
    file.close()?;
    let wrong = created(&registry(), &format!("object+embedded:{path}-2?names=other"));
    assert_eq!(wrong.unwrap_err().kind(), Kind::Invalid);
    let wrong = created(&registry(), &format!("object+embedded:{path}-2?class=S0"));
    assert_eq!(wrong.unwrap_err().kind(), Kind::Invalid);
    Ok(())
}

#[test]
fn the_class_of_an_object_stands_in_its_id() -> Result<()> {
    let pool = memory::pool();
    let registry = with_engine(Arc::new(Pools([("one", pool.clone())].into())));
    let of_class = |name: &str| ObjectCreate { object_class: Some(name.into()), ..ObjectCreate::default() };
    let file = created(&registry, "object+mine:one/run?class=RP_2G1")?;
    file.create_group("two replicas")?;
    file.create_group_with("spread", &GroupCreate { object: of_class("SX"), ..GroupCreate::default() })?;
    file.new_dataset::<u8>().shape((4,)).object_class("EC_4P2GX").create("coded")?;
    let byte = Datatype::integer(1, false, ByteOrder::Little);
    file.create_map_of(Some("plain"), &byte, &byte, &of_class(""))?;
    let unknown = file.new_dataset::<u8>().object_class("RP_7G1").create("unknown");
    assert_eq!(unknown.unwrap_err().kind(), Kind::Invalid);
    assert!(!file.link_exists("unknown"));
    file.close()?;
    let file = File::open_in(&registry, "object+mine:one/run", &FileAccess::read())?;
    for (path, class, bits) in [
        ("two replicas", Some("RP_2G1"), 0x0708_0001_0000_0000),
        ("spread", Some("SX"), 0x0701_ffff_0000_0000),
        ("coded", Some("EC_4P2GX"), 0x0723_ffff_4000_0000),
        ("plain", None, 0xc000_0000),
    ] {
        let (container, object) = (file.container(), object_of(&file, path));
        let token = file.object(path)?.object().token();
        let found = match path {
            "coded" => container.dataset_info(token)?.create.object.object_class.clone(),
            "plain" => None,
            _ => container.group_info(token)?.create.object.object_class.clone(),
        };
        assert_eq!((found.as_deref(), object.high), (class, bits), "{path}");
    }
    assert_eq!(problems(&file), Vec::<String>::new());
    file.close()
}

/// Pages are as large as the hints say, and the order is that of stored keys on every engine.
#[test]
fn keys_come_in_pages_and_in_order_on_every_engine() -> Result<()> {
    let registry = with_engine(strict::engine());
    for location in ["object+mine:keys", "iod+mine:keys", "object+memory:keys", "iod+memory:keys"] {
        let file = created(&registry, location)?;
        let map = file.create_map::<String, u32>("map")?;
        let names: Vec<String> = (0..500u32).map(|i| format!("{:03}", i * 7 % 500)).collect();
        map.put_all(names.iter().zip(&(0..500u32).collect::<Vec<_>>()))?;
        let sorted: Vec<String> = (0..500).map(|i| format!("{i:03}")).collect();
        for (key_prefetch, key_alloc_bytes) in [(1000, 1 << 20), (7, 1 << 20), (1000, 30), (0, 0)] {
            let map = map.clone().with_access(MapAccess { key_prefetch, key_alloc_bytes });
            assert_eq!(map.keys::<String>()?, sorted, "{location} {key_prefetch} {key_alloc_bytes}");
        }
        file.close()?;
    }
    Ok(())
}

#[test]
fn containers_of_older_programs_keep_their_empty_keys() -> Result<()> {
    use hyperslab::extend::storage::{Change, Phase, Update};
    let pool = memory::pool();
    let registry = with_engine(Arc::new(Pools([("one", pool.clone())].into())));
    let file = created(&registry, "object+mine:one/run")?;
    let map = file.create_map::<String, u64>("map")?;
    map.put(&"key".to_owned(), &1u64)?;
    let id = object_of(&file, "map");
    file.close()?;
    let inner = pool.open(ContainerId::from_name("run"), Mode::ReadWrite).unwrap();
    let changes = [Change::Single(b"MAP_AKEY", &5u64.to_le_bytes())];
    let update = Update { object: id, dkey: b"", changes: &changes, conditions: &[], phase: Phase::Content };
    inner.update(&update).unwrap();
    let file = File::open_in(&registry, "object+mine:one/run", &FileAccess::write())?;
    let map = file.map("map")?;
    assert_eq!((map.keys::<String>()?, map.len()?), (vec![String::new(), "key".into()], 2));
    assert_eq!(map.get::<_, u64>(&String::new())?, Some(5));
    map.put(&String::new(), &6u64)?;
    assert_eq!((map.get::<_, u64>(&String::new())?, map.len()?), (Some(6), 2));
    assert!(inner.dkeys(id, b"", 1).unwrap()[0] != b"");
    assert!(map.delete(&String::new())?);
    assert_eq!(map.get::<_, u64>(&String::new())?, None);
    file.close()
}

/// Two engines over one pool are two processes: what one caches, the other does not see.
#[test]
fn groups_maps_and_attributes_show_what_others_committed_after_a_refresh() -> Result<()> {
    let pool = strict::pool();
    let [one, other] = [pool.clone(), pool].map(|pool| with_engine(Arc::new(Counted::new(pool))));
    let ours = created(&one, "object+mine:run")?;
    fill(&ours)?;
    ours.flush()?;
    let theirs = File::open_in(&other, "object+mine:run", &FileAccess::write())?;
    check(&theirs)?;
    let (group, map, data) = (theirs.group("ordered")?, theirs.map("map")?, theirs.dataset("data")?);
    ours.group("ordered")?.create_group("b")?;
    ours.group("ordered")?.set_attr("m", "changed".to_owned())?;
    ours.group("ordered")?.unlink("z")?;
    ours.map("map")?.put(&"new".to_owned(), &1u64)?;
    ours.dataset("data")?.write_slice(&Array1::from_elem(10, -1), s![0..10])?;
    ours.flush()?;
    group.refresh()?;
    assert_eq!(group.member_names()?, ["a", "b", "m"]);
    assert_eq!(group.member_names_by(Index::CreationOrder, Order::Increasing)?, ["a", "m", "b"]);
    assert_eq!(group.attr("m")?.read_string()?, "changed");
    map.refresh()?;
    assert_eq!((map.len()?, map.get::<_, u64>(&"new".to_owned())?), (4, Some(1)));
    theirs.object("data")?.refresh()?;
    assert_eq!(data.read_raw::<i32>()?[8..12], [-1, -1, 10, 11]);
    ours.unlink("map")?;
    ours.flush()?;
    assert_eq!(map.refresh().unwrap_err().kind(), Kind::NotFound);
    // Where nothing is cached, there is nothing to do.
    let file = File::create("memory:refreshed")?;
    file.create_group("group")?.refresh()
}
