//! Filters from shared libraries: one of C and one of Rust.

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use filters::{ErrorKind, Filter, Params, Size};
use hyperslab_plugin::{Loaded, Plugin, SearchPath, load};
use model::Kind;
use vol::Registry;

fn filter(loaded: &Loaded) -> Arc<dyn Filter> {
    match &loaded.plugin {
        Plugin::Filter(filter) => filter.clone(),
        other => panic!("{other:?}"),
    }
}

/// The filter of C, compiled into a folder of this test.
fn run_length(test: &str) -> PathBuf {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/plugins/run-length/run_length.c");
    common::compile(&source, &common::folder(test), "run_length").expect("a C compiler")
}

const SIZE: Size = Size { hint: 1000, max: 1000 };

#[test]
fn a_filter_of_c_encodes_and_decodes() {
    let loaded = load(run_length("filter_of_c")).unwrap();
    assert_eq!((loaded.info.name, loaded.info.value), ("run-length", 310));
    let filter = filter(&loaded);
    let runs: Vec<u8> = (0..1000u32).map(|n| (n / 100) as u8).collect();
    let stored = filter.encode(&Params::default(), &runs).unwrap();
    assert_eq!(stored.len(), 20);
    assert_eq!(filter.decode(&Params::default(), &stored, SIZE).unwrap(), runs);
}

#[test]
fn errors_of_a_filter_arrive_with_their_kind() {
    let filter = filter(&load(run_length("filter_errors")).unwrap());
    let none = Params::default();
    let error = filter.encode(&none, &[1, 2, 3, 4]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incompressible, "{error}");
    assert_eq!(filter.decode(&none, &[1, 2, 3], SIZE).unwrap_err().kind(), ErrorKind::Corrupt);
    let long = [255; 20];
    assert_eq!(filter.decode(&none, &long, SIZE).unwrap_err().kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("shorter") && error.filter() == 310, "{error}");
}

#[test]
fn a_filter_of_rust_gets_its_values_and_a_panic_is_an_error() {
    let filter = filter(&load(common::example("filter_plugin")).unwrap());
    assert_eq!(filter.encode(&Params::default(), b"abc").unwrap(), b"cba");
    assert_eq!(filter.encode(&Params { values: &[2] }, b"abc").unwrap_err().kind(), ErrorKind::Invalid);
    let error = filter.decode(&Params { values: &[1] }, b"abc", SIZE).unwrap_err();
    assert!(error.to_string().contains("asked to panic"), "{error}");
}

#[test]
fn a_filter_is_registered_and_found_by_its_number() {
    let library = run_length("filter_registered");
    let path = SearchPath::new([library.parent().unwrap()]);
    let mut registry = Registry::new();
    path.filter(310).unwrap().register(&mut registry).unwrap();
    assert!(registry.filter_origin(310).contains("run_length"));
    assert_eq!(registry.filter_origin(1), "built in");
    assert_eq!(path.by_value(310).unwrap_err().kind(), Kind::NotFound, "a filter is no connector");
    let taken = path.register_all(&mut registry);
    assert!(taken.loaded.is_empty() && taken.skipped[0].why.kind() == Kind::Exists);
}

#[test]
fn tables_of_filters_that_are_wrong_are_refused_and_tables_of_older_headers_are_not() {
    let folder = common::folder("filter_tables");
    let table = |fields: &str| {
        format!(
            "#include <stddef.h>\n#include \"hyperslab_connector.h\"\n\
             static const hyperslab_table table = {{.abi = 1, .wire = HYPERSLAB_WIRE, .name = \"odd\", .about = \"\", {fields}}};\n\
             const hyperslab_table *hyperslab_connector_v1(void) {{ return &table; }}\n"
        )
    };
    for (name, fields, wanted) in [
        ("none", ".kind = 3, .value = 300, .size = sizeof(hyperslab_table)", Some("without a function")),
        ("number", ".kind = 3, .value = 70000, .size = sizeof(hyperslab_table)", Some("not the number")),
        (
            "short",
            ".kind = 3, .value = 300, .size = offsetof(hyperslab_table, filter)",
            Some("without a function"),
        ),
        ("older", ".kind = 1, .value = 300, .size = offsetof(hyperslab_table, filter)", None),
    ] {
        let path = common::compile_text(&table(fields), &folder, name).expect("a C compiler");
        match (load(&path), wanted) {
            (Err(error), Some(wanted)) => assert!(error.to_string().contains(wanted), "{name}: {error}"),
            (loaded, wanted) => assert!(loaded.is_ok() && wanted.is_none(), "{name}: {loaded:?}"),
        }
    }
}
