//! One chunk, found without a list of all.

use std::sync::Arc;

use files::{File, Memory};
use hyperslab_native::{StoredChunk, StoredChunks, create_handle, open_handle};
use model::datatype::ByteOrder;
use model::properties::{DatasetCreate, FileCreate, Layout};
use model::{Dataspace, Datatype, Kind, Selection, Token};
use vol::{Durability, FileAccess, LibVersion, LinkLocation, OpDatasetCreate, OpWrite, call};

#[test]
fn a_chunk_is_found_by_its_first_element_as_a_list_tells_it() {
    let access = FileAccess::write();
    let container =
        create_handle(Arc::new(Memory::new()), "(memory)", &FileCreate::default(), &access).unwrap();
    let layout = Layout::Chunked { shape: vec![4, 4], edge_chunks_unfiltered: false, index: None };
    let op = OpDatasetCreate {
        place: Some(LinkLocation::new(container.info().unwrap().root, "chunks")),
        datatype: Datatype::integer(1, false, ByteOrder::Little),
        committed: None,
        space: Dataspace::simple(&[8, 12]).unwrap(),
        create: DatasetCreate { layout, ..DatasetCreate::default() },
    };
    let dataset = container.dataset_create(&op).unwrap();
    // The first chunk of each row is not stored.
    let selection = Selection::block(&[0, 4], &[8, 8]).unwrap();
    let write = OpWrite { dataset, selection: &selection, from: &[7; 64] };
    container.dataset_write(&[write]).unwrap();
    container.commit(Durability::None).unwrap();

    let find = |offset: Vec<u64>| {
        let wanted = StoredChunk { dataset, offset };
        let answer = call::<StoredChunk>(&*container, &wanted)?;
        Ok::<_, model::Error>(wanted.info(&answer))
    };
    let all = container.chunk_list(dataset, 0, 100).unwrap().entries;
    assert_eq!(all.len(), 4);
    assert_eq!(call::<StoredChunks>(&*container, &dataset).unwrap(), 4);
    for chunk in all {
        assert_eq!(find(chunk.offset.clone()).unwrap(), Some(chunk));
    }
    assert_eq!(find(vec![4, 0]).unwrap(), None);
    assert!(find(vec![4, 1]).is_err() && find(vec![8, 0]).is_err() && find(vec![0]).is_err());
}

/// Creates a dataset of so many stored chunks, indexed by a B-tree of several nodes.
fn with_chunks(memory: &Arc<Memory>, count: u64) -> Token {
    let access = FileAccess { version_low: LibVersion::Earliest, ..FileAccess::write() };
    let container = create_handle(memory.clone(), "(memory)", &FileCreate::default(), &access).unwrap();
    let op = OpDatasetCreate {
        place: Some(LinkLocation::new(container.info().unwrap().root, "chunks")),
        datatype: Datatype::integer(1, false, ByteOrder::Little),
        committed: None,
        space: Dataspace::simple(&[count]).unwrap(),
        create: DatasetCreate { layout: Layout::chunked(&[1]), ..DatasetCreate::default() },
    };
    let dataset = container.dataset_create(&op).unwrap();
    let from = vec![7; count as usize];
    container.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: &from }]).unwrap();
    assert_eq!(call::<StoredChunks>(&*container, &dataset).unwrap(), count);
    container.commit(Durability::None).unwrap();
    container.close().unwrap();
    dataset
}

/// Returns where the leaf of a tree of chunks begins that has the last of them.
fn last_leaf(bytes: &[u8]) -> usize {
    let leaves = bytes.windows(6).enumerate().filter(|(_, at)| *at == b"TREE\x01\x00");
    // After the signature, kind, level, entries and two siblings: the key of a chunk begins with its bytes and mask.
    let first_chunk = |at: usize| u64::from_le_bytes(bytes[at + 32..at + 40].try_into().unwrap());
    leaves.map(|(at, _)| at).max_by_key(|at| first_chunk(*at)).unwrap()
}

#[test]
fn a_list_does_not_visit_what_comes_after_its_page() {
    const COUNT: u64 = 1000;
    let memory = Arc::new(Memory::new());
    let dataset = with_chunks(&memory, COUNT);
    let mut bytes = vec![0; memory.len().unwrap() as usize];
    memory.read_at(0, &mut bytes).unwrap();
    // A walk that comes to the last node fails.
    memory.write_at(last_leaf(&bytes) as u64, b"EERT").unwrap();
    let container = open_handle(memory, "(memory)", &FileAccess::read()).unwrap();
    for skip in [0, 100] {
        let page = container.chunk_list(dataset, skip, 10).unwrap();
        assert_eq!((page.entries.len(), page.more), (10, true));
        assert_eq!(page.entries[0].offset, [skip]);
    }
    assert_eq!(container.chunk_list(dataset, 0, COUNT).unwrap_err().kind(), Kind::Corrupt);
    assert_eq!(call::<StoredChunks>(&*container, &dataset).unwrap_err().kind(), Kind::Corrupt);
}
