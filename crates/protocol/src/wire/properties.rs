//! Property lists.

use model::properties::*;

use super::form::{choice, structure};

choice! {
    CreationOrder { 0 = Untracked, 1 = Tracked, 2 = Indexed }
    AllocTime { 0 = Default, 1 = Early, 2 = Late, 3 = Incremental }
    FillTime { 0 = Alloc, 1 = Never, 2 = IfSet }
    FillValue { 0 = Undefined, 1 = Default, 2 = Value(bytes) }
    ChunkIndexKind { 0 = BTree1, 1 = Single, 2 = Implicit, 3 = FixedArray, 4 = ExtensibleArray, 5 = BTree2 }
    Layout {
        0 = Compact, 1 = Contiguous, 2 = External(files), 3 = Chunked { shape, edge_chunks_unfiltered, index },
        4 = Virtual(mappings),
    }
    SpaceStrategy { 0 = FsmAggregate, 1 = Page, 2 = Aggregate, 3 = None }
}

structure! {
    PhaseChange { compact_max, dense_min }
    ObjectCreate { track_times, attribute_order, attribute_phase, object_class }
    GroupCreate {
        object, link_order, link_phase, entries_expected, name_bytes_expected, local_heap_bytes, filters,
    }
    FilterSpec { id, name, optional, values }
    Fill { value, time }
    ExternalFile { name, offset, size }
    VirtualMapping { file, dataset, source, target }
    DatasetCreate { object, layout, filters, fill, alloc_time }
    SharedIndex { message_types, bytes_min }
    FileCreate {
        userblock_bytes, offset_bytes, length_bytes, group_leaf_k, group_internal_k, chunk_k, space_strategy,
        space_persist, space_threshold, page_bytes, shared_indexes, root,
    }
}
