//! Programs of several writers, which threads and processes run: each checks what all of them wrote.

use std::sync::Arc;

use comm::Comm;
use hyperslab_log::LogContainer;
use model::datatype::ReferenceKind;
use model::heap::{Heap, VarLenDescriptor};
use model::properties::FileCreate;
use model::{CharacterSet, Dataspace, Datatype, Reference, ReferenceTarget, Selection, Token};
use vol::{Container, ContainerCreate, Durability, FileAccess, OpRead};

use super::{connector, find, get, growing, ints, op, put};

fn create(comm: Arc<dyn Comm>, path: &str, engine: Option<&str>) -> Arc<LogContainer> {
    let (create, access) = (FileCreate::default(), FileAccess::write());
    let op = ContainerCreate { engine, ..ContainerCreate::new(path, &create, &access) };
    connector().create_shared(comm, &op).unwrap()
}

fn block(start: u64, len: u64) -> Selection {
    Selection::block(&[start], &[len]).unwrap()
}

/// Ranks write to `log+sub2:`, in two flushes; everyone reads all.
pub(crate) fn subfiled(comm: Arc<dyn Comm>, path: &str) {
    let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
    let c = create(comm, path, Some("sub2"));
    let (a, b) = (ints(&*c, "a", &[ranks * 10]), growing(&*c, "b", &[ranks]));
    put(&*c, a, &block(rank * 10, 10), &[rank as i32; 10]).unwrap();
    c.commit(Durability::Full).unwrap();
    put(&*c, b, &block(rank, 1), &[rank as i32 + 7]).unwrap();
    put(&*c, a, &block(rank * 10, 1), &[99]).unwrap();
    c.commit(Durability::None).unwrap();
    check_subfiled(&*c, ranks);
    c.close().unwrap();
}

pub(crate) fn check_subfiled(c: &dyn Container, ranks: u64) {
    let (a, b) = (find(c, "a"), find(c, "b"));
    let wanted: Vec<i32> = (0..ranks as i32).flat_map(|rank| [99].into_iter().chain([rank; 9])).collect();
    assert_eq!(get(c, a, &Selection::All).unwrap(), wanted);
    assert_eq!(get(c, b, &Selection::All).unwrap(), (7..7 + ranks as i32).collect::<Vec<_>>());
}

/// Writes one string collectively, in the memory datatype.
fn put_string(c: &LogContainer, dataset: Token, at: u64, text: &str) -> vol::Result<()> {
    let mut heap = Heap::new();
    let descriptor = heap.push(text.as_bytes(), text.len() as u64);
    let datatype = c.dataset_info(dataset).unwrap().datatype.memory_type();
    let mut element = vec![0; datatype.size() as usize];
    descriptor.store(&mut element).unwrap();
    let together = Container::collective(c).unwrap();
    together.write_values_all(dataset, &block(at, 1), &element, &heap)
}

/// Returns strings of a container from their elements.
fn texts(c: &dyn Container, datatype: &Datatype, raw: &[u8]) -> vol::Result<Vec<String>> {
    let (memory, mut heap) = (datatype.memory_type(), Heap::new());
    let none = Default::default();
    let values = algorithms::transfer::from_file_type(c, datatype, raw, &memory, &none, &mut heap)?;
    let text = |element: &[u8]| {
        let descriptor = VarLenDescriptor::load(element).unwrap();
        String::from_utf8(heap.get(descriptor, 1).unwrap().to_vec()).unwrap()
    };
    Ok(values.chunks_exact(memory.size() as usize).map(text).collect())
}

/// Reads strings: collectively, where several have the container open.
pub(crate) fn get_strings(
    c: &dyn Container,
    dataset: Token,
    selection: &Selection,
) -> vol::Result<Vec<String>> {
    let info = c.dataset_info(dataset)?;
    let count = selection.element_count(info.space.dims())? as usize;
    let mut raw = vec![0; count * info.datatype.size() as usize];
    let mut read = [OpRead { dataset, selection, into: &mut raw }];
    match c.collective() {
        Some(together) => together.read_all(&mut read)?,
        None => c.dataset_read(&mut read)?,
    }
    texts(c, &info.datatype, &raw)
}

/// Each writes a string, all read all of them and another one; one that cannot take part fails all.
pub(crate) fn strings(comm: Arc<dyn Comm>, path: &str) {
    let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
    let c = create(comm, path, None);
    let mut make = op(&*c, "text", Dataspace::simple(&[ranks]).unwrap(), Default::default());
    make.datatype = Datatype::var_string(CharacterSet::Utf8);
    let text = c.dataset_create(&make).unwrap();
    let numbers = ints(&*c, "numbers", &[ranks]);
    put_string(&c, text, rank, &format!("rank {rank}")).unwrap();
    put(&*c, numbers, &block(rank, 1), &[rank as i32]).unwrap();
    check_strings(&*c, ranks);
    let other = (rank + 1) % ranks;
    assert_eq!(get_strings(&*c, text, &block(other, 1)).unwrap(), [format!("rank {other}")]);
    c.commit(Durability::None).unwrap();
    let at = if rank == 1 { 99 } else { rank };
    assert!(put_string(&c, text, at, "lost").is_err(), "one of the ranks is wrong");
    // Without the others such a dataset is not transferred.
    let size = c.dataset_info(text).unwrap().datatype.size() as usize;
    let write = vol::OpWrite { dataset: text, selection: &block(rank, 1), from: &vec![0; size] };
    assert_eq!(c.dataset_write(&[write]).unwrap_err().kind(), model::Kind::Unsupported);
    check_strings(&*c, ranks);
    c.close().unwrap();
}

pub(crate) fn check_strings(c: &dyn Container, ranks: u64) {
    let wanted: Vec<String> = (0..ranks).map(|rank| format!("rank {rank}")).collect();
    assert_eq!(get_strings(c, find(c, "text"), &Selection::All).unwrap(), wanted);
}

/// The kinds of references that a dataset may have, and the names of such datasets.
const REFERENCES: [(&str, ReferenceKind); 4] = [
    ("old objects", ReferenceKind::Object1),
    ("old regions", ReferenceKind::DatasetRegion1),
    ("objects", ReferenceKind::Object),
    ("regions", ReferenceKind::Region),
];

/// What a rank refers to: its dataset, or one element of it.
fn reference_of(datasets: &[Token], kind: ReferenceKind, rank: u64) -> Reference {
    let dataset = datasets[rank as usize];
    let target = match kind {
        ReferenceKind::Object1 | ReferenceKind::Object => ReferenceTarget::Object(dataset),
        _ => ReferenceTarget::Region { dataset, selection: block(rank, 1) },
    };
    Reference { target, file: None }
}

/// Writes one reference collectively, in the memory datatype.
fn put_reference(c: &LogContainer, dataset: Token, at: u64, reference: Reference) -> vol::Result<()> {
    let (datatype, mut heap) = (c.dataset_info(dataset)?.datatype.memory_type(), Heap::new());
    let mut element = vec![0; datatype.size() as usize];
    heap.store_reference(reference, &mut element)?;
    let together = Container::collective(c).unwrap();
    together.write_values_all(dataset, &block(at, 1), &element, &heap)
}

/// Reads references: collectively, where several have the container open.
fn get_references(c: &dyn Container, dataset: Token, selection: &Selection) -> vol::Result<Vec<Reference>> {
    let info = c.dataset_info(dataset)?;
    let count = selection.element_count(info.space.dims())? as usize;
    let mut raw = vec![0; count * info.datatype.size() as usize];
    let mut read = [OpRead { dataset, selection, into: &mut raw }];
    match c.collective() {
        Some(together) => together.read_all(&mut read)?,
        None => c.dataset_read(&mut read)?,
    }
    let (memory, mut heap, none) = (info.datatype.memory_type(), Heap::new(), Default::default());
    let values = algorithms::transfer::from_file_type(c, &info.datatype, &raw, &memory, &none, &mut heap)?;
    values.chunks_exact(memory.size() as usize).map(|element| heap.load_reference(element)).collect()
}

/// Each writes a reference of each kind to a dataset of its own; all read all of them, and the one that no one wrote.
pub(crate) fn references(comm: Arc<dyn Comm>, path: &str) {
    let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
    let c = create(comm, path, None);
    let datasets: Vec<Token> = (0..ranks).map(|n| ints(&*c, &format!("d{n}"), &[ranks])).collect();
    let made = REFERENCES.map(|(name, kind)| {
        let mut make = op(&*c, name, Dataspace::simple(&[ranks + 1]).unwrap(), Default::default());
        make.datatype = Datatype::reference(kind);
        c.dataset_create(&make).unwrap()
    });
    for (dataset, (name, kind)) in made.into_iter().zip(REFERENCES) {
        put_reference(&c, dataset, rank, reference_of(&datasets, kind, rank)).unwrap();
        let other = (rank + 1) % ranks;
        let found = get_references(&*c, dataset, &block(other, 1)).unwrap();
        assert_eq!(found, [reference_of(&datasets, kind, other)], "{name}");
    }
    check_references(&*c, ranks);
    c.commit(Durability::None).unwrap();
    // Without the others such a dataset is not transferred.
    let size = c.dataset_info(made[0]).unwrap().datatype.size() as usize;
    let write = vol::OpWrite { dataset: made[0], selection: &block(rank, 1), from: &vec![0; size] };
    assert_eq!(c.dataset_write(&[write]).unwrap_err().kind(), model::Kind::Unsupported);
    c.close().unwrap();
}

pub(crate) fn check_references(c: &dyn Container, ranks: u64) {
    let datasets: Vec<Token> = (0..ranks).map(|rank| find(c, &format!("d{rank}"))).collect();
    for (name, kind) in REFERENCES {
        let mut wanted: Vec<Reference> = (0..ranks).map(|rank| reference_of(&datasets, kind, rank)).collect();
        wanted.push(Reference::null());
        assert_eq!(get_references(c, find(c, name), &Selection::All).unwrap(), wanted, "{name}");
    }
}

/// Many datasets in three flushes; the last close merges what the one before had merged with what is new.
pub(crate) fn merged(comm: &Arc<dyn Comm>, path: &str) {
    let rank = comm.rank() as u64;
    let c = create(comm.clone(), path, None);
    let made: Vec<Token> = (0..30).map(|n| ints(&*c, &format!("d{n}"), &[1000])).collect();
    for flush in 0..2 {
        write_merged(&*c, &made, rank, comm.size(), flush);
        c.commit(Durability::None).unwrap();
    }
    c.close().unwrap();
    let access = FileAccess::write();
    let c = connector().open_shared(comm.clone(), &vol::ContainerOpen::new(path, &access)).unwrap();
    let found: Vec<Token> = (0..30).map(|n| find(&*c, &format!("d{n}"))).collect();
    found.iter().for_each(|data| drop(c.dataset_info(*data).unwrap()));
    write_merged(&*c, &found, rank, comm.size(), 2);
    c.close().unwrap();
}

fn write_merged(c: &dyn Container, datasets: &[Token], rank: u64, ranks: usize, flush: u64) {
    for (n, data) in datasets.iter().enumerate().filter(|(n, _)| *n as u64 % 3 != flush % 3) {
        for at in (rank..1000).step_by(ranks).filter(|at| at.is_multiple_of(2) || flush == 0) {
            put(c, *data, &block(at, 1), &[merged_value(n as u64, at, flush)]).unwrap();
        }
    }
}

fn merged_value(dataset: u64, at: u64, flush: u64) -> i32 {
    (dataset * 10_000 + at * 3 + flush) as i32
}

pub(crate) fn check_merged(c: &dyn Container) {
    for n in 0..30 {
        let found = get(c, find(c, &format!("d{n}")), &Selection::All).unwrap();
        let has = |at: u64, flush: u64| n % 3 != flush % 3 && (at.is_multiple_of(2) || flush == 0);
        let flush_of = |at: u64| (0..3).rev().find(|flush| has(at, *flush));
        let wanted = (0..1000).map(|at| flush_of(at).map_or(0, |flush| merged_value(n, at, flush)));
        assert!(found.into_iter().eq(wanted), "dataset {n} differs");
    }
}

/// Checks what a program wrote, in one process.
pub(crate) fn check(program: &str, c: &dyn Container, ranks: u64) {
    match program {
        "subfiled" => check_subfiled(c, ranks),
        "strings" => check_strings(c, ranks),
        "references" => check_references(c, ranks),
        _ => check_merged(c),
    }
}
