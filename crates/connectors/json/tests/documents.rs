//! Documents as people meet them: stable text, edits by hand, and text that no one vouches for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use algorithms::transfer;
use hyperslab_json::JsonConnector;
use memory::MemoryConnector;
use model::convert::Conversions;
use model::datatype::ReferenceKind;
use model::properties::{FileCreate, GroupCreate, ObjectCreate};
use model::{CharacterSet, Dataspace, Datatype, Heap, Kind, Limits, LinkTarget, Reference, Selection, Token};
use testkit::generate::Generator;
use testkit::snapshot::Snapshot;
use vol::*;

static NEXT: AtomicU64 = AtomicU64::new(0);

struct Document {
    path: PathBuf,
    registry: Registry,
}

impl Document {
    fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hyperslab-document-{}-{number}.json", std::process::id());
        let mut registry = Registry::new();
        registry.register(Arc::new(MemoryConnector::new())).unwrap();
        registry.register(Arc::new(JsonConnector::new())).unwrap();
        Document { path: std::env::temp_dir().join(name), registry }
    }

    fn location(&self) -> String {
        format!("json:{}", self.path.display())
    }

    fn create(&self) -> Arc<dyn Container> {
        self.registry.create(&self.location(), &FileCreate::default(), &FileAccess::write(), true).unwrap()
    }

    fn open(&self, access: &FileAccess) -> Result<Arc<dyn Container>> {
        self.registry.open(&self.location(), access)
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }
}

impl Drop for Document {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn descriptors_of(container: &dyn Container, memory: &Datatype, data: &[u8], heap: &mut Heap) -> Vec<u8> {
    let stored = memory.with_descriptors(&container.info().unwrap().descriptors);
    transfer::to_file_type(container, memory, data, &stored, &Conversions::default(), heap).unwrap()
}

fn dataset(c: &dyn Container, group: Token, name: &str, datatype: Datatype, dims: &[u64]) -> Token {
    let space = Dataspace::simple(dims).unwrap();
    let place = Some(LinkLocation::new(group, name));
    let create = Default::default();
    c.dataset_create(&OpDatasetCreate { place, datatype, committed: None, space, create }).unwrap()
}

/// A bit of everything.
fn fill(c: &dyn Container) {
    let root = c.info().unwrap().root;
    let create =
        GroupCreate { link_order: model::properties::CreationOrder::Indexed, ..GroupCreate::default() };
    let group =
        c.group_create(&OpGroupCreate { place: Some(LinkLocation::new(root, "group")), create }).unwrap();
    for name in ["z", "a", "m"] {
        c.group_create(&OpGroupCreate {
            place: Some(LinkLocation::new(group, name)),
            create: Default::default(),
        })
        .unwrap();
    }
    let link = |name: &str, target| {
        c.link_create(&OpLinkCreate { place: LinkLocation::new(group, name), target }).unwrap();
    };
    link("ring", LinkTarget::Hard(root));
    link("soft", LinkTarget::Soft("/nowhere".into()));
    link("external", LinkTarget::External { file: "other.h5".into(), path: "/x".into() });
    link("user", LinkTarget::User { class: 99, data: vec![1, 0xFF] });
    let numbers = dataset(c, root, "numbers", Datatype::ieee_f64(model::ByteOrder::Little), &[2, 3]);
    let values = [0.1, -0.0, f64::NAN, f64::INFINITY, 1e300, 5e-324];
    let from: Vec<u8> = values.iter().flat_map(|v: &f64| v.to_le_bytes()).collect();
    c.dataset_write(&[OpWrite { dataset: numbers, selection: &Selection::All, from: &from }]).unwrap();
    let memory = Datatype::var_string(CharacterSet::Utf8);
    let texts = dataset(c, group, "texts", memory.clone(), &[2]);
    let mut heap = Heap::new();
    let mut data = vec![0; 32];
    heap.push("žluť".as_bytes(), 6).store(&mut data).unwrap();
    let from = &descriptors_of(c, &memory, &data, &mut heap);
    c.dataset_write(&[OpWrite { dataset: texts, selection: &Selection::All, from }]).unwrap();
    let refer = Datatype::reference(ReferenceKind::Object1);
    let references = dataset(c, root, "references", refer.clone(), &[2]);
    let gone = c
        .group_create(&OpGroupCreate {
            place: Some(LinkLocation::new(root, "gone")),
            create: Default::default(),
        })
        .unwrap();
    let mut data = vec![0; 32];
    heap.store_reference(Reference::object(texts), &mut data).unwrap();
    heap.store_reference(Reference::object(gone), &mut data[16..]).unwrap();
    let from = &descriptors_of(c, &refer, &data, &mut heap);
    c.dataset_write(&[OpWrite { dataset: references, selection: &Selection::All, from }]).unwrap();
    c.link_delete(root, "gone").unwrap();
    let place = Some(LinkLocation::new(root, "map"));
    let map =
        OpMapCreate { place, key: memory, value: Datatype::native_int(8), create: ObjectCreate::default() };
    let map = c.map_create(&map).unwrap();
    c.map_put(map, &[(b"key", &i64::MIN.to_ne_bytes()), (b"", &7i64.to_ne_bytes())]).unwrap();
}

#[test]
fn the_same_content_is_the_same_text() {
    let (a, b) = (Document::new(), Document::new());
    for place in [&a, &b] {
        let c = place.create();
        fill(&*c);
        c.close().unwrap();
    }
    assert_eq!(a.text(), b.text());
    let before = a.text();
    let c = a.open(&FileAccess::write()).unwrap();
    c.object_set_comment(c.info().unwrap().root, Some("x")).unwrap();
    c.commit(Durability::None).unwrap();
    assert_ne!(a.text(), before);
    c.object_set_comment(c.info().unwrap().root, None).unwrap();
    c.close().unwrap();
    assert_eq!(a.text(), before);
    assert!(before.lines().all(|line| line.len() < 160), "{before}");
}

#[test]
fn everything_is_there_after_reopening() {
    let place = Document::new();
    let c = place.create();
    fill(&*c);
    let wanted = Snapshot::of(&*c, c.info().unwrap().root).unwrap();
    c.close().unwrap();
    let c = place.open(&FileAccess::read()).unwrap();
    let root = c.info().unwrap().root;
    let found = Snapshot::of(&*c, root).unwrap();
    assert_eq!(wanted.difference(&found), None);
    let group = path::token(&*c, root, "group", 9).unwrap();
    let op = OpList { index: model::Index::CreationOrder, ..OpList::default() };
    let names: Vec<String> = c.link_list(group, &op).unwrap().entries.into_iter().map(|l| l.name).collect();
    assert_eq!(names[..4], ["z", "a", "m", "ring"]);
    let references = path::token(&*c, root, "references", 9).unwrap();
    let mut descriptors = vec![0; 32];
    let read = OpRead { dataset: references, selection: &Selection::All, into: &mut descriptors };
    c.dataset_read(&mut [read]).unwrap();
    let descriptors: Vec<&[u8]> = descriptors.chunks(16).collect();
    let found = c.reference_get(ReferenceKind::Object1, &descriptors).unwrap();
    assert_eq!(found[0].token(), Some(path::token(&*c, root, "group/texts", 9).unwrap()));
    assert_eq!(c.object_info(found[1].token().unwrap()).unwrap_err().kind(), Kind::NotFound);
}

#[test]
fn random_trees_survive_a_document() {
    for seed in 0..20 {
        let place = Document::new();
        let c = place.create();
        let root = c.info().unwrap().root;
        Generator::new(seed).fill(&*c, root, 30).unwrap();
        let wanted = Snapshot::of(&*c, root).unwrap();
        c.close().unwrap();
        let c = place.open(&FileAccess::read()).unwrap();
        let found = Snapshot::of(&*c, c.info().unwrap().root).unwrap();
        assert_eq!(wanted.difference(&found), None, "seed {seed}");
    }
}

#[test]
fn an_edited_document_is_read_as_edited() {
    let place = Document::new();
    let c = place.create();
    fill(&*c);
    c.close().unwrap();
    std::fs::write(&place.path, place.text().replace("1e300", "42")).unwrap();
    let c = place.open(&FileAccess::read()).unwrap();
    let dataset = path::token(&*c, c.info().unwrap().root, "numbers", 9).unwrap();
    let mut into = vec![0; 8];
    let selection = &Selection::block(&[1, 1], &[1, 1]).unwrap();
    c.dataset_read(&mut [OpRead { dataset, selection, into: &mut into }]).unwrap();
    assert_eq!(f64::from_le_bytes(into.try_into().unwrap()), 42.0);
}

#[test]
fn what_another_program_wrote_is_not_overwritten() {
    let place = Document::new();
    let c = place.create();
    let edited = place.text() + "\n\n";
    std::fs::write(&place.path, &edited).unwrap();
    fill(&*c);
    assert_eq!(c.commit(Durability::None).unwrap_err().kind(), Kind::Busy);
    assert_eq!(place.text(), edited);
}

#[test]
fn the_published_form_is_read() {
    let text = r#"{
        "apiVersion": "1.1.1",
        "datasets": {"d8310ed8-0000-11ef-8000-000000000001": {
            "alias": ["/dset"], "creationProperties": {"layout": {"class": "H5D_CHUNKED", "dims": [2]},
                "filters": [{"class": "H5Z_FILTER_DEFLATE", "id": 1, "level": 6}]},
            "shape": {"class": "H5S_SIMPLE", "dims": [3], "maxdims": [0]},
            "type": {"class": "H5T_INTEGER", "base": "H5T_STD_I16BE"}, "value": [1, 2, -3]}},
        "groups": {"d8310ed8-0000-11ef-8000-000000000000": {"alias": ["/"],
            "attributes": [{"name": "attr", "shape": {"class": "H5S_SCALAR"},
                "type": {"charSet": "H5T_CSET_ASCII", "class": "H5T_STRING", "length": 5, "strPad": "H5T_STR_NULLPAD"},
                "value": "abc"}],
            "links": [{"class": "H5L_TYPE_HARD", "collection": "datasets",
                "id": "d8310ed8-0000-11ef-8000-000000000001", "title": "dset"}]}},
        "root": "d8310ed8-0000-11ef-8000-000000000000"
    }"#;
    let place = Document::new();
    std::fs::write(&place.path, text).unwrap();
    let c = place.registry.open(&place.path.display().to_string(), &FileAccess::write()).unwrap();
    let root = c.info().unwrap().root;
    assert_eq!(c.info().unwrap().connector, "json");
    assert_eq!(c.attribute_read(root, &["attr"]).unwrap(), [b"abc\0\0".to_vec()]);
    let dataset = path::token(&*c, root, "dset", 9).unwrap();
    assert_eq!(c.dataset_info(dataset).unwrap().space.max_dims(), [model::UNLIMITED]);
    c.group_create(&OpGroupCreate {
        place: Some(LinkLocation::new(root, "new")),
        create: Default::default(),
    })
    .unwrap();
    c.close().unwrap();
    let again = place.open(&FileAccess::read()).unwrap();
    assert_eq!(path::token(&*again, root, "dset", 9).unwrap(), dataset);
}

#[test]
fn documents_of_others_are_not_touched() {
    let place = Document::new();
    std::fs::write(&place.path, "{\"name\": \"a package of something else\"}").unwrap();
    let connector = place.registry.by_name("json").unwrap();
    let path = place.path.display().to_string();
    assert!(!connector.is_accessible(&ContainerOpen::new(&path, &FileAccess::read())).unwrap());
    assert_eq!(
        connector.delete(&ContainerOpen::new(&path, &FileAccess::read())).unwrap_err().kind(),
        Kind::Invalid
    );
    assert_eq!(place.open(&FileAccess::read()).unwrap_err().kind(), Kind::Corrupt);
}

#[test]
fn an_open_document_is_shared_and_neither_replaced_nor_deleted() {
    let place = Document::new();
    let c = place.create();
    let other = place.open(&FileAccess::read()).unwrap();
    fill(&*c);
    let root = c.info().unwrap().root;
    assert!(other.link_get(root, "numbers").unwrap().is_some());
    assert_eq!(other.object_set_comment(root, Some("x")).unwrap_err().kind(), Kind::Denied);
    let replaced =
        place.registry.create(&place.location(), &FileCreate::default(), &FileAccess::write(), true);
    assert_eq!(replaced.unwrap_err().kind(), Kind::Busy);
    let deleted = place.registry.delete(&place.location(), &FileAccess::write());
    assert_eq!(deleted.unwrap_err().kind(), Kind::Busy);
    c.close().unwrap();
    other.close().unwrap();
    place.registry.delete(&place.location(), &FileAccess::write()).unwrap();
}

#[test]
fn mutated_documents_end_well() {
    let place = Document::new();
    let c = place.create();
    fill(&*c);
    c.close().unwrap();
    let good = place.text().into_bytes();
    let mut random = Generator::new(7);
    let limits = Limits::strict();
    let pieces: Vec<&[u8]> = vec![
        b"[",
        b"]",
        b"{",
        b"}",
        b"null",
        b"99999999999999999999",
        b"-1",
        b"\"",
        b"4294967295",
        b"1e999",
        b",",
    ];
    for _ in 0..1500 {
        let mut bad = good.clone();
        for _ in 0..random.between(1, 4) {
            let at = random.below(bad.len() as u64) as usize;
            let end = (at + random.below(12) as usize).min(bad.len());
            let piece = random.one_of(&pieces).to_vec();
            bad.splice(at..end, piece);
        }
        std::fs::write(&place.path, &bad).unwrap();
        if let Ok(c) = place.open(&FileAccess::read().with_limits(limits.clone())) {
            let _ = Snapshot::of(&*c, c.info().unwrap().root);
        }
    }
}

#[test]
fn many_large_values_of_a_short_text_are_over_the_limit() {
    let wide = r#"{"class": "H5T_STRING", "length": 30000000}"#;
    for value in [", \"value\": \"\"", ""] {
        let attribute =
            |n| format!(r#"{{"name": "a{n}", "type": {wide}, "shape": {{"class": "H5S_SCALAR"}}{value}}}"#);
        let attributes = (0..100).map(attribute).collect::<Vec<_>>().join(",");
        let text = format!(
            r#"{{"apiVersion": "1", "root": "r", "groups": {{"r": {{"attributes": [{attributes}], "links": []}}}}}}"#
        );
        let place = Document::new();
        std::fs::write(&place.path, text).unwrap();
        let error = place.open(&FileAccess::read().with_limits(Limits::strict())).unwrap_err();
        assert_eq!(error.kind(), Kind::Limit, "{error}");
    }
}
