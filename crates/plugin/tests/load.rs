//! What is loaded, and what is refused: with a word about why, and the program goes on.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperslab_plugin::{Plugin, SearchPath, abi, load};
use memory::MemoryConnector;
use model::properties::FileCreate;
use model::{Error, Kind, Selection};
use vol::Operation;
use vol::*;

fn connector(path: &Path) -> Arc<dyn Connector> {
    match load(path).unwrap().plugin {
        Plugin::Connector(connector) => connector,
        other => panic!("{other:?}"),
    }
}

fn create(connector: &dyn Connector, name: &str) -> Result<Arc<dyn Container>> {
    connector.create(&ContainerCreate::new(name, &FileCreate::default(), &FileAccess::write()))
}

fn refused(path: &Path) -> Error {
    load(path).expect_err("it should not load")
}

#[test]
fn a_plugin_says_who_it_is() {
    let loaded = load(common::example("memory_plugin")).unwrap();
    assert_eq!(loaded.info, MemoryConnector::new().info());
    let mut registry = Registry::new();
    loaded.register(&mut registry).unwrap();
    assert!(registry.origin("memory").contains("memory_plugin"));
}

#[test]
fn a_connector_that_is_here_is_built_in() {
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new())).unwrap();
    assert_eq!(registry.origin("memory"), "built in");
}

#[test]
fn a_name_that_is_taken_is_refused_and_the_old_one_stays() {
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new())).unwrap();
    let error = load(common::example("memory_plugin")).unwrap().register(&mut registry).unwrap_err();
    assert_eq!(error.kind(), Kind::Exists);
    assert!(error.to_string().contains("memory_plugin"), "{error}");
    assert_eq!(registry.origin("memory"), "built in");
}

#[test]
fn a_panic_inside_is_an_error() {
    let faulty = connector(&common::example("faulty_plugin"));
    let error = faulty.open(&ContainerOpen::new("this", &FileAccess::read())).unwrap_err();
    assert!(error.to_string().contains("cannot open this"), "{error}");
    let container = create(&*faulty, "that").unwrap();
    let error = container.commit(Durability::Full).unwrap_err();
    assert!(error.to_string().contains("cannot commit"), "{error}");
    // The container panics once more as it is dropped.
    drop(container);
    create(&*faulty, "again").unwrap();
}

#[test]
fn an_error_inside_arrives_whole() {
    let faulty = connector(&common::example("faulty_plugin"));
    let error = faulty.is_accessible(&ContainerOpen::new("there", &FileAccess::read())).unwrap_err();
    assert_eq!(error.to_string(), "ask the faulty one: busy: look: busy at 0x7 (path: there)");
}

#[test]
fn what_a_plugin_lacks_is_unsupported() {
    let container = create(&*connector(&common::example("faulty_plugin")), "x").unwrap();
    assert_eq!(container.group_info(Token::default()).unwrap_err().kind(), Kind::Unsupported);
}

#[test]
fn a_file_that_is_not_there_is_not_found() {
    assert_eq!(refused(Path::new("/nowhere/libnothing.so")).kind(), Kind::NotFound);
}

#[test]
fn a_file_that_is_no_library_is_refused() {
    let folder = common::folder("no_library");
    let path = common::library(&folder, "text");
    std::fs::write(&path, "this is text").unwrap();
    assert!(refused(&path).to_string().contains("no plugin of ours"));
    std::fs::write(&path, format!("this is text that names {}\0", abi::SYMBOL)).unwrap();
    assert!(refused(&path).to_string().contains("open library"));
}

#[test]
#[cfg_attr(
    not(all(target_os = "linux", target_pointer_width = "64")),
    ignore = "elsewhere the loader itself refuses it"
)]
fn a_truncated_library_is_refused() {
    let folder = common::folder("truncated");
    let whole = std::fs::read(common::example("faulty_plugin")).unwrap();
    for (n, part) in
        [40, whole.len() / 4, whole.len() / 2, whole.len() * 3 / 4, whole.len() - 100].into_iter().enumerate()
    {
        let path = common::library(&folder, &format!("part{n}"));
        // The name is there in any case, so that the rest is looked at.
        let bytes = [&whole[..part], abi::SYMBOL.as_bytes(), b"\0"].concat();
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(refused(&path).kind(), Kind::Corrupt, "{part} of {} bytes", whole.len());
    }
}

/// A plugin of C with one thing wrong.
fn odd(folder: &Path, name: &str, table: &str) -> Option<PathBuf> {
    let text = format!(
        "#include \"hyperslab_connector.h\"\n{table}\n\
         const hyperslab_table *hyperslab_connector_v1(void) {{ return (const hyperslab_table *)&table; }}\n"
    );
    common::compile_text(&text, folder, name)
}

#[test]
fn tables_that_are_wrong_are_refused() {
    let folder = common::folder("tables");
    let fields = ".size = sizeof(hyperslab_table), .wire = HYPERSLAB_WIRE, .about = \"\"";
    let cases = [
        ("version", "static const unsigned table[] = {2, 8};".to_owned(), "another version of the interface"),
        ("small", "static const unsigned table[] = {1, 8};".to_owned(), "too small"),
        (
            "wire",
            ".abi = 1, .size = sizeof(hyperslab_table), .wire = 77, .kind = 1".to_owned(),
            "another version of messages",
        ),
        ("nameless", format!(".abi = 1, {fields}, .kind = 1"), "missing: name"),
        ("badname", format!(".abi = 1, {fields}, .kind = 1, .name = \"No Name\""), "not a name"),
        ("kind", format!(".abi = 1, {fields}, .kind = 9, .name = \"some\""), "unknown kind"),
    ];
    for (name, table, wanted) in cases {
        let is_whole = table.starts_with("static");
        let table =
            if is_whole { table } else { format!("static const hyperslab_table table = {{{table}}};") };
        let Some(path) = odd(&folder, name, &table) else { return };
        let error = refused(&path).to_string();
        assert!(error.contains(wanted), "{name}: {error}");
    }
}

#[test]
fn a_plugin_that_cannot_start_is_refused() {
    let folder = common::folder("no_start");
    let text = "const void *hyperslab_connector_v1(void) { return 0; }";
    let Some(path) = common::compile_text(text, &folder, "null") else { return };
    assert!(refused(&path).to_string().contains("could not start"));
}

#[test]
fn a_library_that_only_mentions_the_symbol_is_refused() {
    let folder = common::folder("mention");
    let text = "const char *word(void) { return \"hyperslab_connector_v1\"; }";
    let Some(path) = common::compile_text(text, &folder, "mention") else { return };
    assert!(refused(&path).to_string().contains("find symbol"));
}

#[test]
fn functions_that_are_missing_are_unsupported() {
    let folder = common::folder("missing_functions");
    let table = "static const hyperslab_table table = {.abi = 1, .size = sizeof(hyperslab_table), \
                 .wire = HYPERSLAB_WIRE, .kind = 1, .name = \"empty\", .about = \"\"};";
    let Some(path) = odd(&folder, "empty", table) else { return };
    let empty = connector(&path);
    assert_eq!(create(&*empty, "x").unwrap_err().kind(), Kind::Unsupported);
    assert_eq!(
        empty.delete(&ContainerOpen::new("x", &FileAccess::read())).unwrap_err().kind(),
        Kind::Unsupported
    );
}

#[test]
fn answers_that_make_no_sense_are_errors() {
    let folder = common::folder("nonsense");
    let table = "\
        static int32_t nothing(void *s, const hyperslab_request *r, hyperslab_answer *a) {\n\
            (void)s; (void)r; (void)a; return HYPERSLAB_OK; }\n\
        static int32_t what(void *s, const hyperslab_request *r, hyperslab_answer *a) {\n\
            (void)s; (void)r; (void)a; return 42; }\n\
        static int32_t huge(void *s, const hyperslab_request *r, hyperslab_answer *a) {\n\
            (void)s; (void)r; return a->bytes(a->self, ~0ull) ? HYPERSLAB_OK : 43; }\n\
        static int32_t mute(void *s, const hyperslab_request *r, hyperslab_answer *a) {\n\
            (void)s; (void)r; (void)a; return HYPERSLAB_FAILED; }\n\
        static const hyperslab_table table = {.abi = 1, .size = sizeof(hyperslab_table), .wire = HYPERSLAB_WIRE, .kind = 1, \
            .name = \"nonsense\", .about = \"\", .create = nothing, .open = what, .remove = mute, .is_accessible = huge};";
    let Some(path) = odd(&folder, "nonsense", table) else { return };
    let nonsense = connector(&path);
    assert!(create(&*nonsense, "x").unwrap_err().to_string().contains("no object"));
    let error = nonsense.open(&ContainerOpen::new("x", &FileAccess::read())).unwrap_err();
    assert!(error.to_string().contains("42"), "{error}");
    assert!(
        nonsense
            .is_accessible(&ContainerOpen::new("x", &FileAccess::read()))
            .unwrap_err()
            .to_string()
            .contains("43")
    );
    assert_eq!(
        nonsense.delete(&ContainerOpen::new("x", &FileAccess::read())).unwrap_err().kind(),
        Kind::Corrupt
    );
}

#[test]
fn the_layer_of_c_tells_what_it_counted() {
    let Some(path) = common::count_calls(&common::folder("counted")) else { return };
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new())).unwrap();
    load(&path).unwrap().register(&mut registry).unwrap();
    assert!(registry.layer_origin("count-calls").contains("count_calls"));
    let access = FileAccess::write().with_stack("count-calls");
    let container = registry.create("memory:x", &FileCreate::default(), &access, false).unwrap();
    let root = container.info().unwrap().root;
    for _ in 0..3 {
        container.group_info(root).unwrap();
    }
    container
        .dataset_read(&mut [OpRead { dataset: root, selection: &Selection::All, into: &mut [] }])
        .unwrap_err();
    let counts = String::from_utf8(container.optional("count-calls", &[]).unwrap()).unwrap();
    assert_eq!(counts, "info 1\ngroup_info 3\ndataset_read 1\n");
    let wrong = FileAccess::write().with_stack("count-calls{by=object}");
    let error = registry.open("memory:x", &wrong).unwrap_err();
    assert!(error.to_string().contains("has no parameters"), "{error}");
}

#[test]
fn a_connector_of_c_answers_in_bytes_that_it_wrote_by_hand() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/empty.c");
    let Some(path) = common::compile(&source, &common::folder("empty_c"), "empty_c") else { return };
    let mut registry = Registry::new();
    load(&path).unwrap().register(&mut registry).unwrap();
    let missing = registry.open("empty-c:missing", &FileAccess::read()).unwrap_err();
    assert_eq!(missing.kind(), Kind::NotFound);
    assert!(missing.to_string().contains("it is called missing"), "{missing}");
    // Without a prefix it is asked whether the container is its own.
    let container = registry.open("anything", &FileAccess::read()).unwrap();
    let info = container.info().unwrap();
    assert_eq!((&*info.connector, info.capability.persistent, info.writable), ("empty-c", true, false));
    assert_eq!(
        (info.create.clone(), &info.versions[..]),
        (FileCreate::default(), &[("emptiness".into(), 3)][..])
    );
    let group = container.group_info(info.root).unwrap();
    assert_eq!((group.links, group.create), (0, FileCreate::default().root));
    assert_eq!(container.object_info(info.root).unwrap().kind, model::ObjectKind::Group);
    assert_eq!(container.link_get(info.root, "x").unwrap(), None);
    assert!(container.link_list(info.root, &OpList::default()).unwrap().entries.is_empty());
    assert_eq!(container.group_info(Token::default()).unwrap_err().kind(), Kind::NotFound);
    let error = container.attribute_info(info.root, "x").unwrap_err();
    assert_eq!(error.to_string(), "attribute_info: unsupported");
    container.close().unwrap();
}

#[test]
fn a_layer_is_given_its_parameters() {
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new())).unwrap();
    load(common::example("pass_plugin")).unwrap().register(&mut registry).unwrap();
    let access = FileAccess::write().with_stack("pass{word=yes}");
    let container = registry.create("memory:x", &FileCreate::default(), &access, false).unwrap();
    assert_eq!(container.optional("pass.word", b"!").unwrap(), b"yes!");
    let wrong = FileAccess::write().with_stack("pass{say=yes}");
    assert!(registry.open("memory:x", &wrong).unwrap_err().to_string().contains("unknown: say"));
}

#[test]
fn plugins_are_found_by_name_and_by_number() {
    let folder = common::folder("found");
    std::fs::copy(common::example("memory_plugin"), common::library(&folder, "a_memory")).unwrap();
    std::fs::copy(common::example("faulty_plugin"), common::library(&folder, "b_faulty")).unwrap();
    std::fs::write(common::library(&folder, "hdf5_filter"), b"\x7fELF of somebody else").unwrap();
    std::fs::write(folder.join("readme.txt"), "").unwrap();
    let text = std::env::join_paths([Path::new("/nowhere"), &folder]).unwrap();
    let path = SearchPath::parse(text);
    assert_eq!(path.by_name("faulty").unwrap().info.value, 399);
    assert_eq!(path.by_value(510).unwrap().info.name, "memory");
    let error = path.by_name("absent").unwrap_err();
    assert_eq!(error.kind(), Kind::NotFound);

    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryConnector::new())).unwrap();
    path.provide("memory", &mut registry).unwrap();
    assert_eq!(registry.origin("memory"), "built in");
    let found = path.register_all(&mut registry);
    assert_eq!(found.loaded.iter().map(|loaded| loaded.info.name).collect::<Vec<_>>(), ["faulty"]);
    let skipped: Vec<String> = found.skipped.iter().map(|skipped| skipped.why.to_string()).collect();
    assert_eq!(skipped.len(), 3, "{skipped:#?}");
    assert!(skipped.iter().any(|why| why.contains("no plugin of ours")), "{skipped:#?}");
    assert!(skipped.iter().any(|why| why.contains("already exists")), "{skipped:#?}");
    assert!(registry.by_name("faulty").is_ok());
    let mut registry = Registry::new();
    path.provide("faulty", &mut registry).unwrap();
    assert!(registry.origin("faulty").contains("b_faulty"));
    assert_eq!(path.provide("absent", &mut registry).unwrap_err().kind(), Kind::NotFound);
}

#[test]
fn header_and_page_have_the_numbers_of_all_operations_and_capabilities() {
    let read = |name| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    let (header, page) = (read("include/hyperslab_connector.h"), read("../../docs/plugins.md"));
    for code in Operation::ALL {
        assert!(header.contains(&format!("X({}, {})", code.name(), code.number())), "{}", code.name());
        assert!(page.contains(&format!("| `{}` | {} |", code.name(), code.number())), "{}", code.name());
    }
    for (bit, (name, _)) in Capability::default().list().into_iter().enumerate() {
        let name = name.to_uppercase().replace(' ', "_");
        assert!(header.contains(&format!("HYPERSLAB_CAN_{name} (1ull << {bit})")), "{name}");
    }
}

#[test]
fn structures_have_the_same_size_on_both_sides() {
    let sizes = [
        ("hyperslab_bytes", size_of::<abi::Bytes>()),
        ("hyperslab_buffer", size_of::<abi::OutBuffer>()),
        ("hyperslab_object", size_of::<abi::Object>()),
        ("hyperslab_request", size_of::<abi::Request>()),
        ("hyperslab_answer", size_of::<abi::Answer>()),
        ("hyperslab_table", size_of::<abi::Table>()),
    ];
    let assert = |(name, size)| format!("_Static_assert(sizeof({name}) == {size}, \"{name}\");\n");
    let asserts: String = sizes.map(assert).concat();
    let folder = common::folder("sizes");
    let _ = common::compile_text(&format!("#include \"hyperslab_connector.h\"\n{asserts}"), &folder, "sizes");
}
