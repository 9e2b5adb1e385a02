//! The eleven requirements of the RFC of the Virtual Object Layer (its section 2), each shown by what a user of this crate
//! can call. `docs/vol.md` has the list.

mod changes;
mod plugins;
mod program;
mod squares;
mod witness;

use std::ffi::OsString;
use std::sync::Arc;

use hyperslab::vol::model::ByteOrder;
use hyperslab::vol::model::properties::{DatasetCreate, Fill, FillValue, Layout};
use hyperslab::vol::{self, Connector, Registry, Stack};
use hyperslab::{Datatype, Environment, File, FileAccess, Kind, Selection, Stats, registry};
use program::{CONNECTORS, folder, location};
use testkit::snapshot::Snapshot;

/// What one pass-through does to every call, and two of them in both orders.
const STACKS: [&str; 6] =
    ["stats", "trace", "check", "async", "stats | async | check", "check | async | stats"];

fn snapshot(file: &File) -> Snapshot {
    Snapshot::of(&**file.container(), file.token()).unwrap()
}

fn with_squares() -> Registry {
    let mut registry = registry();
    registry.register(Arc::new(squares::SquaresConnector)).unwrap();
    registry
}

fn environment(variables: &[(&str, &str)]) -> hyperslab::Result<Environment> {
    Environment::from(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
    })
}

/// Every operation of the contract that changes something is what a call of the public interface becomes.
#[test]
fn requirement_01_every_change_of_a_container_is_an_operation_of_its_connector() {
    let mut registry = registry();
    let notes = witness::witness(&mut registry, "witness");
    let file = program::create(&registry, "memory:requirement-01", Some("witness")).unwrap();
    changes::make_all(&file).unwrap();
    file.close().unwrap();
    let seen: Vec<_> = notes.lock().unwrap().iter().map(|(operation, _)| *operation).collect();
    let missed: Vec<_> =
        vol::Operation::ALL.iter().filter(|o| o.changes() && !seen.contains(o)).map(|o| o.name()).collect();
    assert!(missed.is_empty(), "no call led to {missed:?}");
}

/// The other half: nothing gets past the connector. Where it refuses all changes, none happens.
#[test]
fn requirement_01_nothing_changes_where_the_connector_refuses() {
    let folder = folder("refused");
    for connector in CONNECTORS {
        let place = location(connector, &folder, connector);
        let file = program::create(&registry(), &place, None).unwrap();
        program::write(&file).unwrap();
        let before = snapshot(&file);
        file.close().unwrap();
        let file = File::open_with(&place, &FileAccess::write().with_stack("readonly")).unwrap();
        assert_eq!(file.unlink("latest").unwrap_err().kind(), Kind::Denied);
        assert_eq!(file.create_group("more").unwrap_err().kind(), Kind::Denied);
        assert_eq!(file.dataset("stations").unwrap().delete_attr("x").unwrap_err().kind(), Kind::Denied);
        assert_eq!(file.dataset("latest").unwrap().write_raw(&[0f32; 32]).unwrap_err().kind(), Kind::Denied);
        file.close().unwrap();
        assert_eq!(
            before.difference(&snapshot(&File::open_with(&place, &FileAccess::read()).unwrap())),
            None
        );
    }
}

/// Types, dataspaces, selections, property lists and conversions are values: no connector is asked, all give the same.
#[test]
fn requirement_02_what_needs_no_container_is_the_same_on_every_connector() {
    let folder = folder("values");
    let every_third = Selection::hyperslab(&[1], &[3], &[4], &[2]).unwrap();
    let points = Selection::points(1, vec![9, 0, 4]).unwrap();
    let counted = every_third.element_count(&[16]).unwrap();
    let fill = Fill { value: FillValue::Value(vec![0, 7]), ..Fill::default() };
    let create = DatasetCreate { layout: Layout::chunked(&[5]), fill, ..DatasetCreate::default() };
    let big_endian = Datatype::integer(2, true, ByteOrder::Big);
    let mut answers = Vec::new();
    for connector in CONNECTORS {
        let file = program::create(&registry(), &location(connector, &folder, connector), None).unwrap();
        let builder = file.new_dataset_as(big_endian.clone()).shape(16).properties(create.clone());
        let data = builder.create("data").unwrap();
        data.write_selection(&every_third, &[1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -8.0]).unwrap();
        assert_eq!(data.dtype().unwrap(), big_endian, "{connector}");
        assert_eq!(data.chunk(), Some(vec![5]), "{connector}");
        assert_eq!(data.dataset_info().create.fill.value, create.fill.value, "{connector}");
        assert_eq!(data.read_selection::<u8>(&every_third).unwrap().len() as u64, counted);
        answers.push((data.read_raw::<i64>().unwrap(), data.read_selection::<f32>(&points).unwrap()));
    }
    assert_eq!(answers[0].0, [7, 1, 2, 7, 3, 4, 7, 5, 6, 7, 7, -8, 7, 7, 7, 7]);
    assert_eq!(answers[0].1, [7.0, 7.0, 3.0]);
    assert!(answers.iter().all(|answer| answer == &answers[0]), "{answers:?}");
}

/// The connector of this test is no part of the library, which did not change for it.
#[test]
fn requirement_03_a_connector_is_added_without_changing_the_library() {
    let registry = with_squares();
    let file = File::open_in(&registry, "squares:1000", &FileAccess::read()).unwrap();
    assert_eq!(file.member_names().unwrap(), ["squares"]);
    let data = file.dataset("/squares").unwrap();
    assert_eq!(
        data.read_slice_1d::<u32, _>(hyperslab::s![10..1000;300]).unwrap().to_vec(),
        [100, 96_100, 372_100, 828_100]
    );
    assert_eq!(registry.by_value(480).unwrap().info().name, "squares");
}

/// A program that names no connector gets HDF5 files, as ever; other programs read them.
#[test]
fn requirement_04_programs_that_know_nothing_of_connectors_work_as_before() {
    let path = folder("as-before").join("plain.h5");
    let file = File::create(&path).unwrap();
    program::write(&file).unwrap();
    assert_eq!(file.container_info().unwrap().connector, "native");
    file.close().unwrap();
    assert!(std::fs::read(&path).unwrap().starts_with(b"\x89HDF\r\n\x1a\n"));
    assert_eq!(program::read(&File::open(&path).unwrap()).unwrap(), program::expected());
    match std::process::Command::new("h5dump").arg("-d").arg("/latest").arg(&path).output() {
        Ok(dump) => assert!(String::from_utf8_lossy(&dump.stdout).contains("(5,0): 10, 10.5, 11, 11.5")),
        Err(error) => eprintln!("h5dump is not asked: {error}"),
    }
}

/// Without layers a program reaches the connector's own container through the handle that closes it, which only forwards.
#[test]
fn requirement_05_without_layers_nothing_stands_between_program_and_connector() {
    /// Hands out one container.
    struct One(Arc<dyn vol::Container>);
    impl Connector for One {
        fn info(&self) -> vol::ConnectorInfo {
            vol::ConnectorInfo { name: "one", value: 482, ..squares::SquaresConnector.info() }
        }
        fn open(&self, _: &vol::ContainerOpen<'_>) -> vol::Result<Arc<dyn vol::Container>> {
            Ok(self.0.clone())
        }
        fn is_accessible(&self, _: &vol::ContainerOpen<'_>) -> vol::Result<bool> {
            Ok(true)
        }
    }
    /// Counts what it is asked.
    #[derive(Default)]
    struct Counts(std::sync::atomic::AtomicU32);
    impl vol::Container for Counts {
        fn link_get(&self, _: vol::Token, _: &str) -> vol::Result<Option<hyperslab::Link>> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(None)
        }
    }
    let container = Arc::new(Counts::default());
    let mut registry = Registry::new();
    registry.register(Arc::new(One(container.clone()))).unwrap();
    let held = registry.open("one:", &FileAccess::read()).unwrap();
    held.link_get(vol::Token::from_u64(1), "x").unwrap();
    assert_eq!(container.0.load(std::sync::atomic::Ordering::Relaxed), 1);
}

/// A layer adds its own function calls and nothing else: what enters it leaves it, call for call and byte for byte.
/// What a call costs is in `benches/layers`.
#[test]
fn requirement_05_a_layer_makes_one_call_of_one_call() {
    for layer in ["stats", "trace", "readonly", "check"] {
        let mut registry = registry();
        let place = format!("memory:requirement-05-{layer}");
        program::write(&program::create(&registry, &place, None).unwrap()).unwrap();
        let (above, inner) =
            (witness::witness(&mut registry, "above"), witness::witness(&mut registry, "inner"));
        let access = FileAccess::write().with_stack(format!("above | {layer} | inner"));
        let file = File::open_in(&registry, &place, &access).unwrap();
        above.lock().unwrap().clear();
        inner.lock().unwrap().clear();
        program::read(&file).unwrap();
        drop(file);
        let (above, mut inner) = (above.lock().unwrap().clone(), inner.lock().unwrap().clone());
        // Validating needs facts about objects, so that layer asks for them besides.
        let asks = |o: &vol::Operation| {
            ["info", "object_info", "dataset_info", "attribute_info"].contains(&o.name())
        };
        let mut above_data = above.clone();
        if layer == "check" {
            inner.retain(|(operation, _)| !asks(operation));
            above_data.retain(|(operation, _)| !asks(operation));
        }
        assert!(above.len() > 10);
        assert_eq!(above_data, inner, "{layer}");
    }
}

/// One program, every connector, every stack: it finds what it wrote.
#[test]
fn requirement_06_the_same_program_works_on_every_connector_and_stack() {
    let folder = folder("everywhere");
    for connector in CONNECTORS {
        for (number, stack) in [None].into_iter().chain(STACKS.map(Some)).enumerate() {
            let place = location(connector, &folder, &format!("{connector}-{number}"));
            let file = program::create(&registry(), &place, stack).unwrap();
            program::write(&file).unwrap();
            assert_eq!(program::read(&file).unwrap(), program::expected(), "{connector} under {stack:?}");
            file.close().unwrap();
            let access = FileAccess { stack: stack.map(str::to_owned), ..FileAccess::read() };
            let file = File::open_with(&place, &access).unwrap();
            assert_eq!(program::read(&file).unwrap(), program::expected(), "{connector} under {stack:?}");
        }
    }
}

/// Layers lie on layers in any order, and each does its work.
#[test]
fn requirement_07_layers_are_stacked_in_any_order() {
    for (number, stack) in
        ["stats | check | async", "async | stats | check", "check | async | stats"].iter().enumerate()
    {
        let place = format!("memory:requirement-07-{number}");
        let file = program::create(&registry(), &place, Some(stack)).unwrap();
        program::write(&file).unwrap();
        file.flush().unwrap();
        let stats = Stats::of(&**file.container()).unwrap();
        // Values of variable length are written whole, the grid too.
        assert_eq!(stats.operation("dataset_write").unwrap().count, 2, "{stack}");
        assert_eq!(stats.operation("dataset_create").unwrap().count, 2, "{stack}");
        assert_eq!(program::read(&file).unwrap(), program::expected(), "{stack}");
    }
}

/// One layer over three connectors: each holds the whole container, and can be opened alone.
#[test]
fn requirement_07_a_layer_may_use_several_connectors() {
    let folder = folder("mirror");
    let stack = "mirror{to=raw:{}.folder, to=json:{}.json}";
    let primary = location("native", &folder, "primary.h5");
    let file = program::create(&registry(), &primary, Some(stack)).unwrap();
    program::write(&file).unwrap();
    file.close().unwrap();
    let open = |location: String| File::open_with(&location, &FileAccess::read()).unwrap();
    let first = open(primary);
    for (copy, kind) in [("primary.h5.folder", "raw"), ("primary.h5.json", "json")] {
        let copy = open(folder.join(copy).display().to_string());
        assert_eq!(copy.container_info().unwrap().connector, kind);
        assert_eq!(program::read(&copy).unwrap(), program::expected());
        assert_eq!(snapshot(&first).difference(&snapshot(&copy)), None);
    }
}

/// Seven methods are a connector that reads datasets; what it lacks says so, and the rest of the program goes on.
#[test]
fn requirement_08_a_connector_may_have_a_part_of_the_model() {
    let registry = with_squares();
    let file = File::open_in(&registry, "squares:5", &FileAccess::write()).unwrap();
    let unsupported = |error: hyperslab::Error| assert_eq!(error.kind(), Kind::Unsupported, "{error}");
    unsupported(file.create_group("g").unwrap_err());
    unsupported(file.set_attr("a", 1i32).unwrap_err());
    unsupported(file.attr_names().unwrap_err());
    unsupported(file.dataset("squares").unwrap().write_raw(&[0u64; 5]).unwrap_err());
    unsupported(file.commit_datatype("t", Datatype::native_int(4)).map(drop).unwrap_err());
    unsupported(program::create(&registry, "squares:6", None).map(drop).unwrap_err());
    let lacks = file.container_info().unwrap().capability.list();
    assert!(lacks.iter().all(|(_, has)| !has), "it claims nothing");
    assert_eq!(file.dataset("squares").unwrap().read_raw::<i8>().unwrap(), [0, 1, 4, 9, 16]);
}

/// What only one connector has is called by name, through all layers above it.
#[test]
fn requirement_09_a_connector_offers_services_that_the_library_does_not_know() {
    let access = FileAccess::read().with_stack("stats | trace | check");
    let file = File::open_in(&with_squares(), "squares:9", &access).unwrap();
    let sum = file.container().optional("squares.sum", &[5]).unwrap();
    assert_eq!(u64::from_le_bytes(sum.try_into().unwrap()), 30);
    let unknown = file.container().optional("squares.product", &[5]).unwrap_err();
    assert_eq!(unknown.kind(), Kind::Unsupported);
    // A layer has services too, next to those of the connector.
    let table = String::from_utf8(file.container().optional("stats.table", &[]).unwrap()).unwrap();
    assert!(table.contains("optional"), "{table}");
}

/// The same program, the same path: variables say what it becomes.
#[test]
fn requirement_10_the_environment_chooses_the_default_connector() {
    let folder = folder("environment");
    let cases = [("native", "0"), ("raw", "raw"), ("json", "531"), ("memory", "memory under_vol=0")];
    for (connector, variable) in cases {
        let chosen = environment(&[("HDF5_VOL_CONNECTOR", variable)]).unwrap();
        let path = folder.join(connector).display().to_string();
        let file = program::create(&chosen.registry, &path, chosen.stack.as_deref()).unwrap();
        program::write(&file).unwrap();
        assert_eq!(file.container_info().unwrap().connector, connector);
        file.close().unwrap();
        let file = File::open_in(&chosen.registry, &path, &FileAccess::read()).unwrap();
        assert_eq!(program::read(&file).unwrap(), program::expected());
        // A prefix says more than a variable.
        let other = program::create(&chosen.registry, &format!("memory:{connector}-10"), None).unwrap();
        assert_eq!(other.container_info().unwrap().connector, "memory");
    }
    assert!(
        folder.join("raw").is_dir() && folder.join("native").is_file() && !folder.join("memory").exists()
    );
}

/// Layers come from variables in both notations, or from a property list.
#[test]
fn requirement_10_layers_come_from_the_environment_or_a_property_list() {
    let counted = |registry: &Registry, stack: Option<&str>, name: &str| {
        let file = program::create(registry, &format!("memory:requirement-10-{name}"), stack).unwrap();
        program::write(&file).unwrap();
        Stats::of(&**file.container()).map(|stats| stats.operation("dataset_create").unwrap().count)
    };
    let ours = environment(&[("HYPERSLAB_VOL", "check | stats{by=operation}")]).unwrap();
    assert_eq!(counted(&ours.registry, ours.stack.as_deref(), "ours").unwrap(), 2);
    let theirs = "async threads=1;under_vol=520;under_info={under_vol=510;under_info={}}";
    let theirs = environment(&[("HDF5_VOL_CONNECTOR", theirs)]).unwrap();
    assert_eq!(theirs.stack.as_deref(), Some("async{threads=1} | stats"));
    assert_eq!(counted(&theirs.registry, theirs.stack.as_deref(), "theirs").unwrap(), 2);
    assert_eq!(counted(&registry(), Some("stats"), "list").unwrap(), 2);
    assert_eq!(counted(&registry(), None, "none").unwrap_err().kind(), Kind::Unsupported);
}

/// What makes no sense is refused, and the error points at the place.
#[test]
fn requirement_10_a_choice_that_makes_no_sense_says_where() {
    for (text, place) in [("stats | {x=1}", 9), ("stats | mirror{to=raw:x", 24), ("stats || trace", 8)] {
        let wanted = format!("character: {place}");
        assert!(Stack::parse(text).unwrap_err().to_string().contains(&wanted), "{text}");
        let error = environment(&[("HYPERSLAB_VOL", text)]).unwrap_err().to_string();
        assert!(error.contains("HYPERSLAB_VOL") && error.contains(&wanted), "{error}");
        let error = program::create(&registry(), "memory:nonsense", Some(text)).map(drop).unwrap_err();
        assert!(error.to_string().contains(&wanted), "{error}");
        // Nothing was made for it.
        assert!(File::open_with("memory:nonsense", &FileAccess::read()).is_err());
    }
    let unknown = environment(&[("HYPERSLAB_VOL", "stats | nothing")]).unwrap_err().to_string();
    assert!(unknown.contains("nothing") && unknown.contains("mirror"), "{unknown}");
}

/// Section 4.3: objects go from any connector to any other, and are the same there.
#[test]
fn section_4_3_containers_are_copied_between_any_two_connectors() {
    let folder = folder("copies");
    for from in CONNECTORS {
        let source = program::create(&registry(), &location(from, &folder, from), None).unwrap();
        program::write(&source).unwrap();
        for to in CONNECTORS {
            let place = location(to, &folder, &format!("{from}-{to}"));
            let target = program::create(&registry(), &place, None).unwrap();
            let limits = hyperslab::Limits::default();
            let options = algorithms::copy::CopyContext::new(&limits);
            algorithms::copy::contents(&**source.container(), &**target.container(), options).unwrap();
            assert_eq!(snapshot(&source).difference(&snapshot(&target)), None, "{from} to {to}");
            target.close().unwrap();
            let target = File::open_with(&place, &FileAccess::read()).unwrap();
            assert_eq!(program::read(&target).unwrap(), program::expected(), "{from} to {to}");
        }
    }
}

/// `docs/vol.md` lists the tests of the eleven, all of them and no other.
#[test]
fn the_page_names_every_test() {
    let page = include_str!("../../../../docs/vol.md");
    let lines = include_str!("main.rs").lines().chain(include_str!("plugins.rs").lines());
    let tests = lines.filter_map(|line| line.strip_prefix("fn requirement_")?.strip_suffix("() {"));
    let tests: Vec<String> = tests.map(|name| format!("`{name}`")).collect();
    let missing: Vec<_> = tests.iter().filter(|name| !page.contains(*name)).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
    let is_of = |number: usize| tests.iter().any(|name| name.starts_with(&format!("`{number:02}_")));
    assert!((1..=11).all(is_of), "{tests:?}");
    let named =
        page.split('`').filter(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('_'));
    let unknown: Vec<_> = named.filter(|word| !tests.contains(&format!("`{word}`"))).collect();
    assert!(unknown.is_empty(), "no such test: {unknown:?}");
}
