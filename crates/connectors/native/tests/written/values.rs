//! Values of variable length in the form that libhdf5 gives them.

use algorithms::transfer::Elements;
use model::convert::Conversions;
use model::datatype::{CharacterSet, ReferenceKind, ReferenceType, VarLen, VarLenKind};
use model::heap::{Heap, VarLenDescriptor};
use model::properties::{DatasetCreate, FileCreate};
use model::{Datatype, Reference, ReferenceTarget, Selection, Token};
use vol::{Access, Connector, Container, ContainerCreate, FileAccess, LibVersion};

use crate::life::{dataset, ints, member, simple};
use crate::others::{Folder, has_h5py, open, python};

fn texts() -> Datatype {
    Datatype::var_string(CharacterSet::Utf8)
}

fn sequence() -> Datatype {
    let element = Datatype::Reference(ReferenceType { size: 16, kind: ReferenceKind::Object });
    Datatype::VarLen(VarLen { size: 16, kind: VarLenKind::Sequence(Box::new(element)) })
}

fn with<T>(c: &dyn Container, name: &str, f: impl FnOnce(&Elements<'_>) -> T) -> T {
    let token = member(c, c.info().unwrap().root, name);
    let (info, conversions) = (c.dataset_info(token).unwrap(), Conversions::default());
    f(&Elements {
        container: c,
        dataset: token,
        file_type: &info.datatype,
        space: &info.space,
        selection: &Selection::All,
        conversions: &conversions,
        transfer: vol::Transfer::Independent,
    })
}

fn read_texts(c: &dyn Container) -> Vec<Option<Vec<u8>>> {
    let (mut heap, mut descriptors) = (Heap::new(), [0; 48]);
    with(c, "texts", |e| e.read(&texts(), &mut descriptors, &mut heap)).unwrap();
    let text = |descriptor: &[u8]| match VarLenDescriptor::load(descriptor).unwrap() {
        descriptor if descriptor.is_null() => None,
        descriptor => Some(heap.get(descriptor, 1).unwrap().to_vec()),
    };
    descriptors.chunks_exact(16).map(text).collect()
}

fn read_references(c: &dyn Container) -> Vec<Reference> {
    let (mut heap, mut descriptor) = (Heap::new(), [0; 16]);
    with(c, "references", |e| e.read(&sequence(), &mut descriptor, &mut heap)).unwrap();
    let descriptors = heap.get(VarLenDescriptor::load(&descriptor).unwrap(), 16).unwrap().to_vec();
    descriptors.chunks_exact(16).map(|descriptor| heap.load_reference(descriptor).unwrap()).collect()
}

fn three_references(target: Token) -> [Reference; 3] {
    [
        Reference { target: ReferenceTarget::Object(target), file: None },
        Reference::region(target, Selection::All),
        Reference::region(target, Selection::None),
    ]
}

fn write(c: &dyn Container, references: &[Reference]) {
    let mut heap = Heap::new();
    let mut descriptors = [0; 48];
    // An empty text, one of a byte, and none.
    heap.push(b"", 0).store(&mut descriptors).unwrap();
    heap.push(b"x", 1).store(&mut descriptors[16..]).unwrap();
    with(c, "texts", |e| e.write(&texts(), &descriptors, &mut heap)).unwrap();
    let mut elements = vec![0; 16 * references.len()];
    for (reference, element) in references.iter().zip(elements.chunks_exact_mut(16)) {
        heap.store_reference(reference.clone(), element).unwrap();
    }
    let mut descriptor = [0; 16];
    heap.push(&elements, references.len() as u64).store(&mut descriptor).unwrap();
    with(c, "references", |e| e.write(&sequence(), &descriptor, &mut heap)).unwrap();
}

#[test]
fn empty_texts_and_sequences_of_references_are_stored_as_libhdf5_stores_them() {
    let folder = Folder::new("values");
    let (path, theirs) = (folder.at("ours.h5"), folder.at("theirs.h5"));
    let access = &FileAccess { version_low: LibVersion::V200, ..FileAccess::write() };
    let create = &FileCreate::default();
    let op = ContainerCreate { truncate: true, ..ContainerCreate::new(&path, create, access) };
    let c = hyperslab_native::NativeConnector.create(&op).unwrap();
    let root = c.info().unwrap().root;
    let target = dataset(&*c, (root, "target"), ints(), simple(&[2, 3]), DatasetCreate::default()).unwrap();
    dataset(&*c, (root, "texts"), texts(), simple(&[3]), DatasetCreate::default()).unwrap();
    let scalar = model::Dataspace::Scalar;
    dataset(&*c, (root, "references"), sequence(), scalar, DatasetCreate::default()).unwrap();
    let references = three_references(target);
    // Twice: what is overwritten is given up.
    write(&*c, &references[..1]);
    write(&*c, &references);
    c.close().unwrap();
    let wanted_texts = [Some(vec![]), Some(b"x".to_vec()), None];
    let c = open(&path, Access::Read).unwrap();
    assert_eq!((&read_texts(&*c)[..], &read_references(&*c)[..]), (&wanted_texts[..], &references[..]));
    if !has_h5py() {
        return;
    }
    let seen = python("values.py", &[&path, &theirs]);
    if seen.starts_with("no libhdf5") {
        return;
    }
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines[0], "[True, True, False] [True, True, False]");
    let types = "(64, [2, (3, 2), (0, 2)])";
    assert_eq!(lines[1], format!("{types} {types}"));
    let c = open(&theirs, Access::Write).unwrap();
    let target = member(&*c, c.info().unwrap().root, "target");
    assert_eq!(read_texts(&*c), wanted_texts);
    assert_eq!(read_references(&*c), three_references(target));
    write(&*c, &three_references(target));
    assert_eq!(read_references(&*c), three_references(target));
}
