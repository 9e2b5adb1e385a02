//! Maps through the facade, on every connector that keeps them.

use std::ops::ControlFlow;
use std::process::Command;

use hyperslab::check::Check;
use hyperslab::vol::model::datatype::ReferenceKind;
use hyperslab::vol::model::properties::ObjectCreate;
use hyperslab::{Datatype, File, H5Type, KeyPosition, Kind, Map, ObjectHandle, Reference, Result};

/// A folder of its own for a test.
fn scratch(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("hyperslab-maps-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn locations(folder: &std::path::Path) -> Vec<String> {
    let at = |name: &str| folder.join(name).display().to_string();
    vec![
        at("native.h5"),
        format!("raw:{}", at("raw")),
        format!("json:{}", at("text.json")),
        format!("object:{}", at("object")),
        format!("iod:{}", at("iod")),
        "memory:maps".to_owned(),
    ]
}

fn name(n: u64) -> String {
    format!("name {n}")
}

#[test]
fn a_new_map_has_the_types_that_it_has_when_it_is_opened() {
    let folder = scratch("types");
    let keys = [String::datatype(), i32::datatype()];
    let values = [String::datatype(), Vec::<String>::datatype(), f64::datatype(), Reference::datatype()];
    for location in locations(&folder) {
        let file = File::create(&location).unwrap();
        for (number, (key, value)) in
            keys.iter().flat_map(|key| values.iter().map(move |v| (key, v))).enumerate()
        {
            let path = format!("map{number}");
            let made = file.create_map_of(Some(&path), key, value, &ObjectCreate::default()).unwrap();
            let opened = file.map(&path).unwrap();
            let types = |map: &Map| (map.key_type().clone(), map.value_type().clone());
            assert_eq!(types(&made), types(&opened), "{location}");
        }
    }
}

/// Every call of the document, on one connector.
fn walk_through(location: &str) -> Result<()> {
    let file = File::create(location)?;
    let ids = file.create_map::<String, u64>("staff/ids")?;
    assert!(ids.is_empty()?);
    ids.put(&"Alice".to_owned(), &25_385_486u64)?;
    ids.put(&"Bob".to_owned(), &34_873_275u64)?;
    ids.put(&"Bob".to_owned(), &1u64)?;
    assert_eq!((ids.len()?, ids.get::<_, u64>(&"Bob".to_owned())?), (2, Some(1)));
    // Conversion of values, both ways.
    assert_eq!(ids.get::<_, f64>(&"Alice".to_owned())?, Some(25_385_486.0));
    ids.put(&"Carol".to_owned(), &7i16)?;
    let wanted = ["Nobody".to_owned(), "Carol".to_owned()];
    assert_eq!(ids.get_all::<_, u64>(&wanted)?, [None, Some(7)]);
    assert!(ids.contains(&"Carol".to_owned())? && !ids.contains(&"Nobody".to_owned())?);
    assert!(ids.delete(&"Alice".to_owned())? && !ids.delete(&"Alice".to_owned())?);
    ids.set_attr("unit", 5i32)?;
    assert_eq!(ids.attr_names()?, ["unit"]);
    assert_eq!(ids.info()?.attributes, 1);

    // Keys of numbers, converted; many pairs; a restart in the middle.
    let squares = file.create_map::<i32, f64>("squares")?.keys_at_once(100);
    let pairs: Vec<(i32, f64)> = (0..1000).map(|n| (n, f64::from(n * n))).collect();
    squares.put_all(pairs.iter().map(|(k, v)| (k, v)))?;
    assert_eq!(squares.get::<i64, f32>(&30)?, Some(900.0));
    let mut seen = Vec::new();
    let mut position = KeyPosition::default();
    let broke = squares.iterate(&mut position, |key: i64| {
        seen.push(key);
        Ok(if seen.len() == 250 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    assert!(broke.is_break() && seen.len() == 250);
    // An error keeps the position: going on begins with the key that was not visited.
    let failed = squares.iterate(&mut position, |key: i64| match seen.len() {
        500 => Err(hyperslab::Error::invalid("visit")),
        _ => {
            seen.push(key);
            Ok(ControlFlow::Continue(()))
        }
    });
    assert!(failed.is_err() && seen.len() == 500);
    // Deleting as one goes misses none.
    let ended = squares.iterate(&mut position, |key: i64| {
        seen.push(key);
        assert!(squares.delete(&key)?);
        Ok(ControlFlow::Continue(()))
    })?;
    assert!(ended.is_continue() && squares.len()? == 500);
    seen.sort_unstable();
    assert_eq!(seen, (0..1000).collect::<Vec<i64>>());

    // A key that the map cannot hold is an error, so that no two of them meet; neither is one read as another.
    let small = file.create_map::<u8, i32>("small")?;
    small.put(&255u32, &1)?;
    for key in [256i64, 300, -1] {
        assert_eq!(small.put(&key, &2).unwrap_err().kind(), Kind::Invalid);
        assert_eq!(small.get::<_, i32>(&key).unwrap_err().kind(), Kind::Invalid);
        assert!(small.contains(&key).is_err() && small.delete(&key).is_err());
    }
    assert!(small.put(&1.5f64, &2).is_err() && small.put(&2.0f64, &2).is_ok());
    assert_eq!((small.len()?, small.get::<_, i32>(&255u8)?), (2, Some(1)));
    assert!(small.keys::<i8>().is_err());
    assert_eq!(small.keys::<u64>()?, [2, 255]);

    // Of a key that comes twice the last value is there, and nothing is left of the first.
    let twice = file.create_map::<u8, String>("twice")?;
    let values = ["first", "other", "last"].map(str::to_owned);
    twice.put_all([(&1u8, &values[0]), (&2, &values[1]), (&1, &values[2])])?;
    assert_eq!(twice.get_all::<_, String>(&[1u8, 2])?, [Some(values[2].clone()), Some(values[1].clone())]);
    let report = Check::default().run(&**file.container(), &mut |_| {});
    assert!(report.findings.is_empty(), "{:?}", report.findings);

    // Values of variable length, and a map without a name.
    let words = file.create_map::<u8, Vec<String>>("words")?;
    words.put(&1u8, &vec!["one".to_owned(), "eins".to_owned()])?;
    let anonymous = file.create_anonymous_map::<u8, u8>()?;
    anonymous.put(&1u8, &2u8)?;
    assert_eq!(anonymous.get::<u8, u8>(&1)?, Some(2));
    drop(anonymous);

    let key = Datatype::reference(ReferenceKind::Object1);
    let create = ObjectCreate::default();
    let refused = file.create_map_of(Some("bad"), &key, &Datatype::native_int(4), &create);
    assert_eq!(refused.unwrap_err().kind(), Kind::Invalid);
    let nested = Datatype::var_sequence(Datatype::var_sequence(Datatype::native_int(4)));
    let refused = file.create_map_of(Some("bad"), &nested, &Datatype::native_int(4), &create);
    assert_eq!(refused.unwrap_err().kind(), Kind::Invalid);
    assert!(!file.exists("bad")?);
    assert_eq!(file.create_map::<u8, u8>("words").unwrap_err().kind(), Kind::Exists);
    file.close()
}

fn read_back(location: &str) -> Result<()> {
    let file = File::open(location)?;
    let ids = file.map("staff/ids")?;
    let mut names: Vec<String> = ids.keys()?;
    names.sort();
    assert_eq!(names, ["Bob", "Carol"]);
    assert_eq!(file.map("squares")?.get::<u16, u32>(&31)?, Some(961));
    assert_eq!(file.map("words")?.get::<u8, Vec<String>>(&1)?, Some(vec!["one".into(), "eins".into()]));
    assert!(matches!(file.object("words")?, ObjectHandle::Map(_)));
    assert!(file.map("staff").is_err() && file.group("words").is_err());
    Ok(())
}

#[test]
fn every_call_works_on_every_connector_that_keeps_maps() {
    let folder = scratch("calls");
    for location in locations(&folder) {
        walk_through(&location).unwrap_or_else(|e| panic!("{location}: {e}"));
        if !location.starts_with("memory:") {
            read_back(&location).unwrap_or_else(|e| panic!("{location}: {e}"));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn native_maps_change_in_files_that_were_closed() {
    let folder = scratch("changes");
    let path = folder.join("maps.h5").display().to_string();
    let file = File::create(&path).unwrap();
    file.create_map::<String, u64>("m").unwrap();
    file.close().unwrap();
    let mut model = std::collections::BTreeMap::new();
    for round in 0..4u64 {
        let file = File::open_rw(&path).unwrap();
        let map = file.map("m").unwrap();
        for n in 0..50 {
            let key = name((n * 7 + round * 13) % 120);
            if n % 3 == 2 {
                assert_eq!(map.delete(&key).unwrap(), model.remove(&key).is_some());
            } else {
                map.put(&key, &(n + round)).unwrap();
                model.insert(key, n + round);
            }
        }
        file.close().unwrap();
        let file = File::open(&path).unwrap();
        let map = file.map("m").unwrap();
        let mut keys: Vec<String> = map.keys().unwrap();
        keys.sort();
        assert_eq!(keys, model.keys().cloned().collect::<Vec<_>>());
        let values = map.get_all::<_, u64>(&keys).unwrap();
        assert_eq!(
            values.into_iter().flatten().collect::<Vec<_>>(),
            model.values().copied().collect::<Vec<_>>()
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// libhdf5 sees a group with two datasets.
#[test]
fn h5py_reads_the_maps_of_a_file() {
    if !testkit::oracles::has_h5py() {
        return;
    }
    let folder = scratch("h5py");
    let path = folder.join("maps.h5").display().to_string();
    walk_through(&path).unwrap();
    let script = format!(
        "import h5py\nf = h5py.File({path:?})\nm = f['staff/ids']\nassert m.attrs['HYPERSLAB_MAP'] == 1\n\
         pairs = dict(zip((k.decode() for k in m['keys'][:]), (int(v) for v in m['values'][:])))\n\
         assert pairs == {{'Bob': 1, 'Carol': 7}}, pairs\n\
         s = f['squares']\nassert all(v == k * k for k, v in zip(s['keys'][:].astype('i8'), s['values'][:]))\n"
    );
    let output = Command::new("python3").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::remove_dir_all(&folder).unwrap();
}
