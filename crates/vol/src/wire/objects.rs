//! Arguments and answers of operations, and what they are made of.

use model::{Index, Link, LinkTarget, ObjectKind, Order, Reference, ReferenceTarget, Result};

use super::form::{choice, structure};
use super::{Reader, Wire};
use crate::*;

choice! {
    LinkTarget { 0 = Hard(token), 1 = Soft(path), 2 = External { file, path }, 3 = User { class, data } }
    Index { 0 = Name, 1 = CreationOrder }
    Order { 0 = Increasing, 1 = Decreasing, 2 = Native }
    ObjectKind { 0 = Group, 1 = Dataset, 2 = Datatype, 3 = Map }
    ReferenceTarget { 0 = Null, 1 = Object(token), 2 = Region { dataset, selection }, 3 = Attribute { object, name } }
    Durability { 0 = Full, 1 = Ordered, 2 = None }
    LinkStorage { 0 = SymbolTable, 1 = Compact, 2 = Dense, 3 = Other }
    Allocation { 0 = None, 1 = Part, 2 = Full }
    PlacementParts { 0 = Contiguous { offset }, 1 = Chunks { shape, offsets } }
    Lookup { 0 = Object(token), 1 = External { file, path }, 2 = User { class, data, rest } }
}

structure! {
    Link { name, target, charset, creation_order }
    Reference { target, file }
    Place { group, name, charset }
    OpGroupCreate { place, create }
    OpDatasetCreate { place, datatype, committed, space, create }
    OpDatatypeCommit { place, datatype, create }
    OpMapCreate { place, key, value, create }
    OpLinkCreate { place, target }
    OpLinkMove { from, name, to, copy }
    OpList { index, order, skip, count_max }
    OpLookup { from, path, traversals_max }
    OpAttributeCreate { object, name, charset, datatype, committed, space }
    OpObjectCopy {
        object, place, shallow, expand_soft_links, expand_external_links, expand_references, without_attributes,
        merge_committed_types,
    }
    ContainerInfo { connector, capability, writable, root, slots, create, storage_bytes, versions, warnings }
    Times { access, modification, change, birth }
    ObjectInfo { token, kind, references, attributes, times, create, comment }
    GroupInfo { links, creation_order_next, storage, create }
    DatasetInfo { datatype, committed, space, create }
    StorageInfo { bytes, allocation, offset }
    AttributeInfo { name, charset, creation_order, datatype, committed, space }
    MapInfo { key, value, count }
    ChunkInfo { offset, filter_mask, bytes, address }
    OpPlacement { dataset, selection }
    Placement { path, dims, element_bytes, fill, parts }
}

/// Flags as bits, from the lowest, in the order of [`Capability::list`].
macro_rules! bits {
    ($name:ident { $($field:ident = $bit:literal),+ $(,)? }) => {
        impl $name {
            /// The flags as bits, the first of [`Capability::list`] lowest.
            pub fn to_bits(&self) -> u64 {
                let $name { $($field),+ } = self;
                0 $( | u64::from(*$field) << $bit )+
            }

            /// The flags of these bits; others are of no meaning here.
            pub const fn from_bits(bits: u64) -> Self {
                $name { $($field: bits >> $bit & 1 == 1),+ }
            }
        }
    };
}

bits! {
    Capability {
        write = 0, hard_links = 1, soft_links = 2, external_links = 3, user_links = 4, creation_order = 5,
        attributes = 6, committed_datatypes = 7, anonymous_objects = 8, maps = 9, variable_length = 10,
        object_references = 11, region_references = 12, attribute_references = 13, resize = 14, fill_values = 15,
        filters = 16, raw_chunks = 17, external_data = 18, virtual_datasets = 19, object_copy = 20, comments = 21,
        times = 22, persistent = 23,
    }
}

impl Wire for Capability {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        self.to_bits().put(out)
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        u64::get(from).map(Capability::from_bits)
    }
}
