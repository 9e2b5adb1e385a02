//! The values of a list of any class.

use hyperslab::vol::model::properties::{FileCreate, FilterSpec, GroupCreate, ObjectCreate, SharedIndex};

use super::class::Kind;
use super::values::{
    AttributeCreateValues, DatasetAccessValues, DatasetCreateValues, FileAccessValues, FileMountValues,
    LinkAccessValues, LinkCreateValues, MapAccessValues, ObjectCopyValues, TransferValues,
};

/// Indexes of shared messages that a file can have.
pub const INDEXES_MAX: usize = 8;

/// Indexes of shared messages, as they are set one by one.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedMessages {
    pub count: u32,
    pub types: [u32; INDEXES_MAX],
    pub bytes_min: [u32; INDEXES_MAX],
    pub list_max: u32,
    pub tree_min: u32,
}

impl Default for SharedMessages {
    fn default() -> Self {
        SharedMessages {
            count: 0,
            types: [0; INDEXES_MAX],
            bytes_min: [250, 250, 250, 250, 250, 250, 0, 0],
            list_max: 50,
            tree_min: 40,
        }
    }
}

impl SharedMessages {
    fn indexes(&self) -> Vec<SharedIndex> {
        let all = self.types.iter().zip(&self.bytes_min).take(self.count as usize);
        all.map(|(types, bytes)| SharedIndex { message_types: *types as u16, bytes_min: *bytes }).collect()
    }

    fn of(indexes: &[SharedIndex]) -> Self {
        let count = indexes.len().min(INDEXES_MAX) as u32;
        let mut shared = SharedMessages { count, ..SharedMessages::default() };
        for (at, index) in indexes.iter().take(INDEXES_MAX).enumerate() {
            (shared.types[at], shared.bytes_min[at]) = (index.message_types.into(), index.bytes_min);
        }
        shared
    }
}

/// File creation values, with indexes of shared messages that are still being set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FileCreation {
    file: FileCreate,
    pub shared: SharedMessages,
}

impl FileCreation {
    /// Takes the values of a file.
    pub fn new(file: FileCreate) -> Self {
        FileCreation { shared: SharedMessages::of(&file.shared_indexes), file }
    }

    /// Returns the values for a new file.
    pub fn file(&self) -> FileCreate {
        FileCreate { shared_indexes: self.shared.indexes(), ..self.file.clone() }
    }
}

impl std::ops::Deref for FileCreation {
    type Target = FileCreate;
    fn deref(&self) -> &FileCreate {
        &self.file
    }
}

impl std::ops::DerefMut for FileCreation {
    fn deref_mut(&mut self) -> &mut FileCreate {
        &mut self.file
    }
}

/// The values of a list, by its class. Creation lists of committed datatypes and maps have filters
/// too, which nothing uses.
#[derive(Debug, Clone)]
pub enum ListValues {
    None,
    Object(ObjectCreate, Vec<FilterSpec>),
    Group(GroupCreate),
    File(Box<FileCreation>),
    FileAccess(Box<FileAccessValues>),
    Dataset(Box<DatasetCreateValues>),
    DatasetAccess(Box<DatasetAccessValues>),
    Transfer(Box<TransferValues>),
    Mount(FileMountValues),
    Link(LinkAccessValues),
    MapAccess(Box<MapAccessValues>),
    Name(AttributeCreateValues),
    LinkCreate(LinkCreateValues),
    Copy(ObjectCopyValues),
}

/// Defines `name(&mut self)` and `name_ref(&self)`, which return the part that several classes share.
macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident, $name_ref:ident -> $ty:ty { $($pattern:pat => $part:expr,)+ })+) => {
        $($(#[$doc])* pub fn $name(&mut self) -> Option<&mut $ty> {
            match self {
                $($pattern => Some(&mut $part),)+
                _ => None,
            }
        }

        $(#[$doc])* pub fn $name_ref(&self) -> Option<&$ty> {
            match self {
                $($pattern => Some(&$part),)+
                _ => None,
            }
        })+
    };
}

impl ListValues {
    /// Returns the default values of a class.
    pub fn new(kind: Kind) -> Self {
        match kind {
            Kind::Root | Kind::VolInitialize => ListValues::None,
            Kind::ObjectCreate | Kind::DatatypeCreate | Kind::MapCreate => {
                ListValues::Object(ObjectCreate::default(), Vec::new())
            }
            Kind::GroupCreate => ListValues::Group(GroupCreate::default()),
            Kind::FileCreate => ListValues::File(Box::default()),
            Kind::FileAccess | Kind::ReferenceAccess => ListValues::FileAccess(Box::default()),
            Kind::DatasetCreate => ListValues::Dataset(Box::default()),
            Kind::DatasetAccess => ListValues::DatasetAccess(Box::default()),
            Kind::Transfer => ListValues::Transfer(Box::default()),
            Kind::FileMount => ListValues::Mount(FileMountValues::default()),
            Kind::LinkAccess | Kind::GroupAccess | Kind::DatatypeAccess | Kind::AttributeAccess => {
                ListValues::Link(LinkAccessValues::default())
            }
            Kind::MapAccess => ListValues::MapAccess(Box::default()),
            Kind::StringCreate | Kind::AttributeCreate => ListValues::Name(AttributeCreateValues::default()),
            Kind::LinkCreate => ListValues::LinkCreate(LinkCreateValues::default()),
            Kind::ObjectCopy => ListValues::Copy(ObjectCopyValues::default()),
        }
    }

    parts! {
        /// Returns the values that creation lists of all objects have.
        object, object_ref -> ObjectCreate {
            ListValues::Object(object, _) => *object,
            ListValues::Group(group) => group.object,
            ListValues::File(file) => file.root.object,
            ListValues::Dataset(dataset) => dataset.object,
        }
        /// Returns the filters.
        filters, filters_ref -> Vec<FilterSpec> {
            ListValues::Object(_, filters) => *filters,
            ListValues::Group(group) => group.filters,
            ListValues::File(file) => file.root.filters,
            ListValues::Dataset(dataset) => dataset.filters,
        }
        /// Returns the values of groups.
        group, group_ref -> GroupCreate {
            ListValues::Group(group) => *group,
            ListValues::File(file) => file.root,
        }
        /// Returns the values of files.
        file, file_ref -> FileCreation { ListValues::File(file) => **file, }
        /// Returns the values of access to files.
        access, access_ref -> FileAccessValues { ListValues::FileAccess(access) => **access, }
        /// Returns the values of datasets.
        dataset, dataset_ref -> DatasetCreateValues { ListValues::Dataset(dataset) => **dataset, }
        /// Returns the values of access to datasets.
        dataset_access, dataset_access_ref -> DatasetAccessValues { ListValues::DatasetAccess(access) => **access, }
        /// Returns the values of transfers.
        transfer, transfer_ref -> TransferValues { ListValues::Transfer(transfer) => **transfer, }
        /// Returns the values of mounts.
        mount, mount_ref -> FileMountValues { ListValues::Mount(mount) => *mount, }
        /// Returns the values of access by links.
        link, link_ref -> LinkAccessValues {
            ListValues::Link(link) => *link,
            ListValues::DatasetAccess(access) => access.link,
            ListValues::MapAccess(access) => access.link,
        }
        /// Returns whether processes read metadata together.
        collective_metadata, collective_metadata_ref -> bool {
            ListValues::FileAccess(access) => access.collective_metadata_read,
            ListValues::Link(link) => link.collective_metadata_read,
            ListValues::DatasetAccess(access) => access.link.collective_metadata_read,
            ListValues::MapAccess(access) => access.link.collective_metadata_read,
        }
        /// Returns the values of access to maps.
        map_access, map_access_ref -> MapAccessValues { ListValues::MapAccess(access) => **access, }
        /// Returns the character set of names.
        encoding, encoding_ref -> super::values::CharEncoding {
            ListValues::Name(name) => name.encoding,
            ListValues::LinkCreate(link) => link.encoding,
        }
        /// Returns the values of new links.
        link_create, link_create_ref -> LinkCreateValues { ListValues::LinkCreate(link) => *link, }
        /// Returns the values of copies.
        copy, copy_ref -> ObjectCopyValues { ListValues::Copy(copy) => *copy, }
    }
}
