//! What is changed of a file that is open: its version bounds and its size.

use std::sync::Arc;

use files::{File, Memory};
use hyperslab_native::{FreeSections, IncreaseFileSize, SetVersionBounds, create_handle, open_handle};
use model::Kind;
use model::properties::FileCreate;
use vol::{Container, Durability, FileAccess, LibVersion, LinkLocation, OpGroupCreate, call};

fn new_file(memory: &Arc<Memory>) -> Arc<dyn Container> {
    let access = FileAccess { version_low: LibVersion::Earliest, ..FileAccess::write() };
    create_handle(memory.clone(), "(memory)", &FileCreate::default(), &access).unwrap()
}

/// Creates a group, and returns whether its object header is of version 2, which has a signature.
fn makes_new_headers(container: &dyn Container, memory: &Memory, name: &str) -> bool {
    let place = Some(LinkLocation::new(container.info().unwrap().root, name));
    let group = container.group_create(&OpGroupCreate { place, ..OpGroupCreate::default() }).unwrap();
    container.commit(Durability::None).unwrap();
    let mut signature = [0; 4];
    memory.read_at(group.to_u64(), &mut signature).unwrap();
    signature == *b"OHDR"
}

#[test]
fn version_bounds_are_those_of_what_is_created_from_now_on() {
    let memory = Arc::new(Memory::new());
    let container = new_file(&memory);
    let set =
        |low| call::<SetVersionBounds>(&*container, &SetVersionBounds { low, high: LibVersion::LATEST });
    assert!(!makes_new_headers(&*container, &memory, "early"));
    set(LibVersion::V110).unwrap();
    assert!(makes_new_headers(&*container, &memory, "late"));
    set(LibVersion::Earliest).unwrap();
    assert!(!makes_new_headers(&*container, &memory, "early again"));
}

#[test]
fn a_file_grows_by_what_is_asked_for_and_no_one_uses_it() {
    let memory = Arc::new(Memory::new());
    let container = new_file(&memory);
    container.commit(Durability::None).unwrap();
    let before = memory.len().unwrap();
    call::<IncreaseFileSize>(&*container, &10_000).unwrap();
    let error = call::<IncreaseFileSize>(&*container, &u64::MAX).unwrap_err();
    assert_eq!(error.kind(), Kind::Limit);
    let sections = call::<FreeSections>(&*container, &()).unwrap();
    assert!(sections.as_chunks::<3>().0.iter().all(|[_, at, bytes]| at + bytes <= before));
    container.close().unwrap();
    assert!(memory.len().unwrap() >= before + 10_000);
    let reader = open_handle(memory, "(memory)", &FileAccess::read()).unwrap();
    let denied = call::<IncreaseFileSize>(&*reader, &1).unwrap_err();
    assert_eq!(denied.kind(), Kind::Denied);
}
