//! Arguments and answers of operations, and what they are made of.

use model::{Index, Link, LinkTarget, ObjectKind, Order, Reference, ReferenceTarget, Result};
use vol::*;

use super::form::{choice, structure};
use super::{Reader, Wire};

choice! {
    LinkTarget { 0 = Hard(token), 1 = Soft(path), 2 = External { file, path }, 3 = User { class, data } }
    Index { 0 = Name, 1 = CreationOrder }
    Order { 0 = Increasing, 1 = Decreasing, 2 = Native }
    ObjectKind { 0 = Group, 1 = Dataset, 2 = Datatype, 3 = Map }
    ReferenceTarget { 0 = Null, 1 = Object(token), 2 = Region { dataset, selection }, 3 = Attribute { object, name } }
    Durability { 0 = Full, 1 = Ordered, 2 = None }
    Allocation { 0 = None, 1 = Part, 2 = Full }
    PlacementParts { 0 = Contiguous { offset }, 1 = Chunks { shape, offsets } }
    Lookup { 0 = Object(token), 1 = External { file, path }, 2 = User { class, data, rest } }
}

structure! {
    Link { name, target, charset, creation_order }
    Reference { target, file }
    LinkLocation { group, name, charset }
    OpGroupCreate { place, create }
    OpDatasetCreate { place, datatype, committed, space, create }
    OpDatatypeCommit { place, datatype, create }
    OpMapCreate { place, key, value, create }
    OpLinkCreate { place, target }
    OpLinkMove { from, name, to, copy }
    OpList { index, order, skip, count_max }
    OpLookup { from, path, traversals_max }
    OpAttributeCreate { object, name, charset, datatype, committed, space }
    OpObjectCopy { object, place, options }
    CopyOptions {
        shallow, expand_soft_links, expand_external_links, expand_references, without_attributes, merge_committed_types,
    }
    ContainerInfo { connector, capability, writable, root, descriptors, create, storage_bytes, versions, warnings }
    Times { access, modification, change, birth }
    ObjectInfo { token, kind, references, attributes, times, create, comment }
    GroupInfo { links, creation_order_next, create }
    DatasetInfo { datatype, committed, space, create }
    StorageInfo { bytes, allocation, offset, index_address }
    StoredBlock { start, shape }
    ChunkCacheInfo { hits, misses, bytes, bytes_max }
    StorageFinding { path, part, problem, is_repaired }
    AttributeInfo { name, charset, creation_order, datatype, committed, space }
    MapInfo { key, value, count }
    ChunkInfo { offset, filter_mask, bytes, address }
    OpPlacement { dataset, selection }
    Placement { path, dims, element_bytes, fill, parts }
}

impl Wire for Capability {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        self.to_bits().put(out)
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        u64::get(from).map(Capability::from_bits)
    }
}
