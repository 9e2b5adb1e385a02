//! Results of operations: info about containers and their objects.

use std::borrow::Cow;

use model::datatype::DescriptorSizes;
use model::properties::{DatasetCreate, FileCreate, GroupCreate, ObjectCreate};
use model::{CharacterSet, Dataspace, Datatype, ObjectKind, Token};

use crate::Capability;

/// The info of an open container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerInfo {
    /// The connector that stores it (the innermost, under layers).
    pub connector: String,
    /// Its capabilities.
    pub capability: Capability,
    /// Whether it is open for writing.
    pub writable: bool,
    /// The root group.
    pub root: Token,
    /// Bytes of variable-length and reference descriptors in its elements.
    pub descriptors: DescriptorSizes,
    /// Creation properties.
    pub create: FileCreate,
    /// Bytes in storage, where that means something.
    pub storage_bytes: Option<u64>,
    /// Versions of the format's parts, for people: name and number.
    pub versions: Vec<(Cow<'static, str>, u32)>,
    /// Warnings about its state (left open by a dead writer, …).
    pub warnings: Vec<String>,
}

/// Times of an object, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// Last access.
    pub access: u32,
    /// Last modification of data.
    pub modification: u32,
    /// Last change of metadata.
    pub change: u32,
    /// Creation.
    pub birth: u32,
}

/// The info that every object has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its identity.
    pub token: Token,
    /// The kind of the object.
    pub kind: ObjectKind,
    /// Hard links (and users of a committed datatype).
    pub references: u32,
    /// Attributes.
    pub attributes: u64,
    /// Times, if the object has them.
    pub times: Option<Times>,
    /// Creation properties that every object has.
    pub create: ObjectCreate,
    /// The comment on it.
    pub comment: Option<String>,
}

/// The info of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupInfo {
    /// Links in it.
    pub links: u64,
    /// The next position in creation order.
    pub creation_order_next: i64,
    /// Creation properties.
    pub create: GroupCreate,
}

/// How much of a dataset's storage is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// Nothing is allocated.
    None,
    /// Some chunks are allocated.
    Part,
    /// Everything is allocated.
    Full,
}

/// The info of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetInfo {
    /// Type, in the file datatype.
    pub datatype: Datatype,
    /// The committed datatype that it shares.
    pub committed: Option<Token>,
    /// Extent.
    pub space: Dataspace,
    /// Creation properties.
    pub create: DatasetCreate,
}

/// The storage of a dataset. It is apart from [`DatasetInfo`] because it may take a walk over all chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageInfo {
    /// Bytes in storage.
    pub bytes: u64,
    /// How much of the storage is allocated.
    pub allocation: Allocation,
    /// Where its bytes start in the container's file, if they are in one piece.
    pub offset: Option<u64>,
    /// The address of the chunk index in the container's file, if there is one.
    pub index_address: Option<u64>,
}

impl StorageInfo {
    /// Returns the info of storage that is not one piece of a file and has no index in a file.
    pub fn new(bytes: u64, allocation: Allocation) -> Self {
        StorageInfo { bytes, allocation, offset: None, index_address: None }
    }
}

/// A block of elements that is stored: its first element and its shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBlock {
    /// Coordinates of the first element.
    pub start: Vec<u64>,
    /// Elements in each dimension.
    pub shape: Vec<u64>,
}

/// Statistics of a cache of decoded chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChunkCacheInfo {
    /// Chunks that were found in the cache.
    pub hits: u64,
    /// Chunks that had to be decoded.
    pub misses: u64,
    /// Bytes of the chunks in the cache.
    pub bytes: u64,
    /// Bytes that it may hold.
    pub bytes_max: u64,
}

/// A problem of the storage of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageFinding {
    /// The object or key.
    pub path: String,
    /// Which part of it.
    pub part: String,
    /// The problem.
    pub problem: String,
    /// Whether it was repaired.
    pub is_repaired: bool,
}

/// Where elements of a dataset lie in a file, each as it is: without filters, in the file datatype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The file.
    pub path: String,
    /// The extent.
    pub dims: Vec<u64>,
    /// Bytes of an element.
    pub element_bytes: u32,
    /// An element that was never written; `None` is all zeros.
    pub fill: Option<Vec<u8>>,
    /// The position of the elements in the file.
    pub parts: PlacementParts,
}

/// The contiguous ranges of a file that hold elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacementParts {
    /// One range with all elements, in C order.
    Contiguous {
        /// The offset of the first element; `None` if no space is allocated yet.
        offset: Option<u64>,
    },
    /// One range for each chunk.
    Chunks {
        /// Elements of a chunk, in each dimension.
        shape: Vec<u64>,
        /// Offsets of the chunks that the selection touches, in the order of `algorithms::placement::chunks`; `None`
        /// for a chunk that is not stored yet.
        offsets: Vec<Option<u64>>,
    },
}

/// The info of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeInfo {
    /// Name.
    pub name: String,
    /// Character set of the name.
    pub charset: CharacterSet,
    /// Position in creation order, where it is tracked.
    pub creation_order: Option<u32>,
    /// Type, in the file datatype.
    pub datatype: Datatype,
    /// The committed datatype that it shares.
    pub committed: Option<Token>,
    /// Extent.
    pub space: Dataspace,
}

/// The info of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapInfo {
    /// Type of keys.
    pub key: Datatype,
    /// Type of values, in the file datatype.
    pub value: Datatype,
    /// Pairs in it.
    pub count: u64,
}

/// A chunk as it is stored, after its filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkInfo {
    /// First element, in each dimension.
    pub offset: Vec<u64>,
    /// Bit i set: filter i was not applied.
    pub filter_mask: u32,
    /// Bytes in storage.
    pub bytes: u64,
    /// The address of the chunk in the container's file.
    pub address: Option<u64>,
}

/// A page of a listing, and whether there is more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// Whether entries follow.
    pub more: bool,
}

/// The end of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// An object of this container.
    Object(Token),
    /// An object of another container, where the caller continues.
    External {
        /// The other container.
        file: String,
        /// The rest of the path, in it.
        path: String,
    },
    /// An object behind a user-defined link, whose class the caller must know.
    User {
        /// Class number.
        class: u8,
        /// The link value.
        data: Vec<u8>,
        /// The rest of the path.
        rest: String,
    },
}
