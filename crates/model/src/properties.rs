//! Property lists as plain structs, with HDF5's defaults.

use crate::{CharacterSet, Selection};

/// Whether creation order is tracked, and whether there is an index on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CreationOrder {
    /// Not tracked.
    #[default]
    Untracked,
    /// Tracked.
    Tracked,
    /// Tracked and indexed.
    Indexed,
}

/// The numbers at which storage changes from compact to dense and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PhaseChange {
    /// With more than this many, storage becomes dense.
    pub compact_max: u16,
    /// With fewer than this many, it becomes compact again.
    pub dense_min: u16,
}

impl Default for PhaseChange {
    fn default() -> Self {
        PhaseChange { compact_max: 8, dense_min: 6 }
    }
}

/// Creation properties that every object has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectCreate {
    /// Whether the object has its four times.
    pub track_times: bool,
    /// Order of attributes.
    pub attribute_order: CreationOrder,
    /// Storage of attributes.
    pub attribute_phase: PhaseChange,
    /// How storage that has object classes spreads and protects the object, by its name there (`RP_2G1`). Other storage has
    /// no use for it.
    pub object_class: Option<String>,
}

impl Default for ObjectCreate {
    fn default() -> Self {
        ObjectCreate {
            track_times: true,
            attribute_order: CreationOrder::Untracked,
            attribute_phase: PhaseChange::default(),
            object_class: None,
        }
    }
}

/// Creation properties of a group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GroupCreate {
    /// Properties of every object.
    pub object: ObjectCreate,
    /// Order of links.
    pub link_order: CreationOrder,
    /// Storage of links.
    pub link_phase: PhaseChange,
    /// The estimated number of links.
    pub entries_expected: u16,
    /// The estimated length of their names.
    pub name_bytes_expected: u16,
    /// Bytes allocated for names in an old-style group.
    pub local_heap_bytes: u32,
    /// Filters of the heap that many links are stored in.
    pub filters: Vec<FilterSpec>,
}

impl Default for GroupCreate {
    fn default() -> Self {
        GroupCreate {
            object: ObjectCreate::default(),
            link_order: CreationOrder::Untracked,
            link_phase: PhaseChange::default(),
            entries_expected: 4,
            name_bytes_expected: 8,
            local_heap_bytes: 0,
            filters: Vec::new(),
        }
    }
}

/// One stage of a dataset's filter pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FilterSpec {
    /// Registered number.
    pub id: u16,
    /// Name, where one is stored.
    pub name: Option<String>,
    /// A chunk on which this filter fails is stored without it.
    pub optional: bool,
    /// Parameters.
    pub values: Vec<u32>,
}

/// The time at which storage is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AllocTime {
    /// The default of the layout.
    #[default]
    Default,
    /// At creation.
    Early,
    /// At the first write.
    Late,
    /// Piece by piece.
    Incremental,
}

/// The time at which the fill value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FillTime {
    /// When storage is allocated.
    Alloc,
    /// Never.
    Never,
    /// When storage is allocated, if the user set a value.
    #[default]
    IfSet,
}

/// The fill value: the content of elements that were never written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum FillValue {
    /// Nothing is promised.
    Undefined,
    /// Zeros.
    #[default]
    Default,
    /// One element in the dataset's datatype, in the file datatype.
    Value(Vec<u8>),
}

/// The fill properties of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Fill {
    /// The value.
    pub value: FillValue,
    /// The time at which it is written.
    pub time: FillTime,
}

/// A piece of a dataset that lies in a file of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExternalFile {
    /// Name.
    pub name: String,
    /// The offset of the data in it.
    pub offset: u64,
    /// Bytes allocated there; `u64::MAX` is unlimited.
    pub size: u64,
}

/// A mapping of a virtual dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualMapping {
    /// The source's container; `.` is this one.
    pub file: String,
    /// The source dataset.
    pub dataset: String,
    /// Elements of the source.
    pub source: Selection,
    /// The selection of the virtual dataset that they fill.
    pub target: Selection,
}

/// The index that chunks are found with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChunkIndexKind {
    /// Version 1 B-tree.
    BTree1,
    /// The only chunk.
    Single,
    /// All chunks in one array.
    Implicit,
    /// Fixed array.
    FixedArray,
    /// Extensible array.
    ExtensibleArray,
    /// Version 2 B-tree.
    BTree2,
}

/// The storage layout of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Layout {
    /// Inside the object's header.
    Compact,
    /// One run of bytes.
    #[default]
    Contiguous,
    /// In external files.
    External(Vec<ExternalFile>),
    /// In boxes of one shape.
    Chunked {
        /// The shape of a chunk, slowest first.
        shape: Vec<u64>,
        /// Leave chunks that stick out of the extent unfiltered.
        edge_chunks_unfiltered: bool,
        /// The index; `None` lets the connector choose.
        index: Option<ChunkIndexKind>,
    },
    /// From elements of other datasets.
    Virtual(Vec<VirtualMapping>),
}

impl Layout {
    /// Returns the layout of chunks of `shape`.
    pub fn chunked(shape: &[u64]) -> Self {
        Layout::Chunked { shape: shape.to_vec(), edge_chunks_unfiltered: false, index: None }
    }
}

/// Creation properties of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatasetCreate {
    /// Properties of every object.
    pub object: ObjectCreate,
    /// Layout.
    pub layout: Layout,
    /// Filters, in the order they are applied on writing.
    pub filters: Vec<FilterSpec>,
    /// Fill value.
    pub fill: Fill,
    /// The time at which storage is allocated.
    pub alloc_time: AllocTime,
}

/// Creation properties of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LinkCreate {
    /// Create groups on the way.
    pub intermediate_groups: bool,
    /// Character set of the name.
    pub charset: CharacterSet,
}

/// The strategy of file space management.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SpaceStrategy {
    /// Free-space managers and aggregators.
    #[default]
    FsmAggregate,
    /// Pages.
    Page,
    /// Aggregators only.
    Aggregate,
    /// Neither.
    None,
}

/// An index of shared messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedIndex {
    /// Bits: 1 << message type.
    pub message_types: u16,
    /// Smallest message that is shared.
    pub bytes_min: u32,
}

/// Creation properties of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCreate {
    /// Bytes before the container's own.
    pub userblock_bytes: u64,
    /// Bytes of an address and of a length.
    pub offset_bytes: u8,
    /// Bytes of a length.
    pub length_bytes: u8,
    /// Half the entries of a symbol-table leaf.
    pub group_leaf_k: u16,
    /// Half the entries of a group's B-tree node.
    pub group_internal_k: u16,
    /// Half the entries of a chunk B-tree node.
    pub chunk_k: u16,
    /// The strategy of file space management.
    pub space_strategy: SpaceStrategy,
    /// Whether free space is persistent.
    pub space_persist: bool,
    /// Smallest free piece that is tracked.
    pub space_threshold: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Shared-message indexes.
    pub shared_indexes: Vec<SharedIndex>,
    /// Creation properties of the root group.
    pub root: GroupCreate,
}

impl Default for FileCreate {
    fn default() -> Self {
        FileCreate {
            userblock_bytes: 0,
            offset_bytes: 8,
            length_bytes: 8,
            group_leaf_k: 4,
            group_internal_k: 16,
            chunk_k: 32,
            space_strategy: SpaceStrategy::default(),
            space_persist: false,
            space_threshold: 1,
            page_bytes: 4096,
            shared_indexes: Vec::new(),
            root: GroupCreate::default(),
        }
    }
}
