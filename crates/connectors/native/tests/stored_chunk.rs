//! One chunk, found without a list of all.

use std::sync::Arc;

use files::Memory;
use hyperslab_native::{StoredChunk, create_handle};
use model::datatype::ByteOrder;
use model::properties::{DatasetCreate, FileCreate, Layout};
use model::{Dataspace, Datatype, Selection};
use vol::{Durability, FileAccess, LinkLocation, OpDatasetCreate, OpWrite, call};

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
    for chunk in all {
        assert_eq!(find(chunk.offset.clone()).unwrap(), Some(chunk));
    }
    assert_eq!(find(vec![4, 0]).unwrap(), None);
    assert!(find(vec![4, 1]).is_err() && find(vec![8, 0]).is_err() && find(vec![0]).is_err());
}
