//! Sizes of the metadata in a file: two extensions of the native connector.

use model::{Error, ObjectKind, Result, Token};
use vol::ExtensionValue;

use crate::chunk::index::Chunks;
use crate::format::Sizes;
use crate::format::header::{self as message, kind};
use crate::format::layout::Layout;
use crate::format::shared::{self, SharedIndex};
use crate::format::shared_list;
use crate::format::superblock::Superblock;
use crate::free_sections;
use crate::object::footprint::{self, Ranges};
use crate::object::header::{self, Header};
use crate::object::{btree2, dataset, fractal_heap};
use crate::reader::Reader;
use crate::write::Writer;

/// Type of the message that holds nothing.
const NOTHING: u16 = 0;

/// Declares a struct of numbers that an extension returns; numbers in a list come last.
macro_rules! numbers {
    (
        $(#[$doc:meta])*
        pub struct $name:ident {
            $($(#[$field_doc:meta])* pub $field:ident: u64,)+
            $(.. $(#[$list_doc:meta])* pub $list:ident: Vec<u64>,)?
        }
    ) => {
        $(#[$doc])*
        pub struct $name {
            $($(#[$field_doc])* pub $field: u64,)+
            $($(#[$list_doc])* pub $list: Vec<u64>,)?
        }

        impl ExtensionValue for $name {
            fn to_bytes(&self) -> Vec<u8> {
                let numbers = vec![$(self.$field),+];
                $(let numbers = [&numbers[..], &self.$list].concat();)?
                numbers.to_bytes()
            }

            fn from_bytes(bytes: &[u8]) -> Result<Self> {
                let wrong = || Error::invalid(concat!("decode ", stringify!($name))).with("bytes", bytes.len());
                let mut numbers = Vec::<u64>::from_bytes(bytes)?.into_iter();
                let value = $name {
                    $($field: numbers.next().ok_or_else(wrong)?,)+
                    $($list: numbers.by_ref().collect(),)?
                };
                if numbers.next().is_some() { Err(wrong()) } else { Ok(value) }
            }
        }
    };
}

numbers! {
    /// Requests to the server that stores a file since it was opened: the extension `native.remote_requests`. A file that is
    /// not remote answers with an error of kind `Unsupported`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct RemoteRequests {
        /// Requests, each attempt counted.
        pub requests: u64,
        /// Attempts after a failed one.
        pub retries: u64,
        /// Bytes of answers.
        pub bytes: u64,
    }
}

vol::extension! { RemoteRequests = "native.remote_requests": Read, () => RemoteRequests }

impl RemoteRequests {
    /// Returns the requests of an open file.
    pub(crate) fn of(reader: &Reader) -> Result<RemoteRequests> {
        let counts = reader.store.shared.request_counts();
        let files::RequestCounts { requests, retries, bytes } = counts
            .ok_or_else(|| Error::unsupported("count requests").with("problem", "the file is not remote"))?;
        Ok(RemoteRequests { requests, retries, bytes })
    }
}

numbers! {
    /// The metadata cache of a file (`H5Fget_mdc_hit_rate`, `H5Fget_mdc_size`, `H5Fget_mdc_image_info`): the extension
    /// `native.metadata_cache`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct MetadataCache {
        /// Look-ups since the file was opened, or since the counts were reset.
        pub accesses: u64,
        /// Look-ups that found something.
        pub hits: u64,
        /// Bytes that are in memory.
        pub bytes: u64,
        /// Bytes that may be in memory.
        pub bytes_max: u64,
        /// Structures that are in memory.
        pub entries: u64,
        /// The address of the cache image; meaningless if it has no bytes.
        pub image_address: u64,
        /// Bytes of the cache image; 0 if the file has none, or is open for writing.
        pub image_bytes: u64,
        /// 1 if the file has a log of its metadata cache.
        pub has_log: u64,
        /// 1 if that log is written.
        pub is_logging: u64,
    }
}

vol::extension! { MetadataCache = "native.metadata_cache": Read, () => MetadataCache }

numbers! {
    /// What passed through the page buffer of a file since it was opened (`H5Fget_page_buffering_stats`): the extension
    /// `native.page_buffer_statistics`. Reads of a page or more pass the buffer by.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct PageBufferStatistics {
        /// Reads of metadata.
        pub metadata_accesses: u64,
        /// Pages of metadata that were in the buffer.
        pub metadata_hits: u64,
        /// Pages of metadata that were read from the file.
        pub metadata_misses: u64,
        /// Pages of metadata that others pushed out.
        pub metadata_evictions: u64,
        /// Reads of metadata that passed the buffer by.
        pub metadata_bypasses: u64,
        /// Reads of raw data.
        pub raw_accesses: u64,
        /// Pages of raw data that were in the buffer.
        pub raw_hits: u64,
        /// Pages of raw data that were read from the file.
        pub raw_misses: u64,
        /// Pages of raw data that others pushed out.
        pub raw_evictions: u64,
        /// Reads of raw data that passed the buffer by.
        pub raw_bypasses: u64,
    }
}

impl From<files::PageStatistics> for PageBufferStatistics {
    fn from(files::PageStatistics { metadata, raw }: files::PageStatistics) -> Self {
        PageBufferStatistics {
            metadata_accesses: metadata.accesses,
            metadata_hits: metadata.hits,
            metadata_misses: metadata.misses,
            metadata_evictions: metadata.evictions,
            metadata_bypasses: metadata.bypasses,
            raw_accesses: raw.accesses,
            raw_hits: raw.hits,
            raw_misses: raw.misses,
            raw_evictions: raw.evictions,
            raw_bypasses: raw.bypasses,
        }
    }
}

numbers! {
    /// The space that the metadata of one object takes in an HDF5 file, in bytes: the extension `native.object_metadata`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct ObjectMetadata {
        /// All blocks of the object header.
        pub header_bytes: u64,
        /// Of these, those without a message.
        pub header_unused_bytes: u64,
        /// B-trees of links.
        pub link_index_bytes: u64,
        /// Heaps of links.
        pub link_heap_bytes: u64,
        /// B-trees of attributes.
        pub attribute_index_bytes: u64,
        /// Heaps of attributes.
        pub attribute_heap_bytes: u64,
        /// The chunk index.
        pub chunk_index_bytes: u64,
        /// Names of external files, and mappings of a virtual dataset.
        pub external_bytes: u64,
        /// The version of the datatype message; 0 if there is none.
        pub datatype_version: u64,
    }
}

vol::extension! { ObjectMetadata = "native.object_metadata": Read, Token => ObjectMetadata }

numbers! {
    /// The space that belongs to no object of an HDF5 file, in bytes: the extension `native.file_metadata`.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    pub struct FileMetadata {
        /// The superblock.
        pub superblock_bytes: u64,
        /// The superblock extension.
        pub extension_bytes: u64,
        /// The table of shared object header messages.
        pub shared_table_bytes: u64,
        /// Indexes of shared messages.
        pub shared_index_bytes: u64,
        /// Heaps of shared messages.
        pub shared_heap_bytes: u64,
        /// Free-space managers.
        pub manager_bytes: u64,
        /// Free space that they know of.
        pub free_bytes: u64,
        ..
        /// The size of each free section.
        pub section_bytes: Vec<u64>,
    }
}

vol::extension! { FileMetadata = "native.file_metadata": Read, () => FileMetadata }

/// Measures the metadata of one object.
pub(crate) fn object(file: &Reader, header: &Header) -> Result<ObjectMetadata> {
    let (total, unused) = header_bytes(header, file.store.sizes())?;
    let found = footprint::metadata_of(file, header)?;
    let [chunk_index, mappings] = dataset_bytes(file, header)?;
    let datatype = header.message(kind::DATATYPE).map(|message| header::body(file, message)).transpose()?;
    let version = datatype.and_then(|(body, _)| body.first().map(|first| u64::from(first >> 4)));
    Ok(ObjectMetadata {
        header_bytes: total,
        header_unused_bytes: unused,
        link_index_bytes: sum(&found.links.trees),
        link_heap_bytes: sum(&found.links.heaps),
        attribute_index_bytes: sum(&found.attributes.trees),
        attribute_heap_bytes: sum(&found.attributes.heaps),
        chunk_index_bytes: chunk_index,
        external_bytes: sum(&found.external_names).saturating_add(mappings),
        datatype_version: version.unwrap_or(0),
    })
}

/// Measures what belongs to no object.
pub(crate) fn file(file: &Reader) -> Result<FileMetadata> {
    let store = &file.store;
    let extension = match store.superblock.extension {
        Some(at) => header_bytes(&Header::load(store, at)?, store.sizes())?.0,
        None => 0,
    };
    let [shared_table_bytes, shared_index_bytes, shared_heap_bytes] = shared_messages(file)?;
    let (manager_bytes, free_bytes, section_bytes) = free_space(file)?;
    Ok(FileMetadata {
        superblock_bytes: superblock_bytes(&store.superblock),
        extension_bytes: extension,
        shared_table_bytes,
        shared_index_bytes,
        shared_heap_bytes,
        manager_bytes,
        free_bytes,
        section_bytes,
    })
}

/// Returns the free space that a writer knows of.
pub(crate) fn of_writer(writer: &Writer) -> FileMetadata {
    let section_bytes = writer.storage.free_sections();
    FileMetadata { free_bytes: section_bytes.iter().sum(), section_bytes, ..FileMetadata::default() }
}

/// Returns bytes of a dataset's chunk index and of its mappings to other datasets.
fn dataset_bytes(file: &Reader, header: &Header) -> Result<[u64; 2]> {
    if header.object_kind()? != ObjectKind::Dataset {
        return Ok([0; 2]);
    }
    let dataset = dataset::load(file, header)?;
    match &dataset.layout {
        Layout::Chunked(layout) => Ok([Chunks::open(file, &dataset, layout)?.recorded_bytes()?, 0]),
        Layout::Virtual { map: Some(map) } => {
            let mappings = file.collection(map.collection)?.object(*map)?.len();
            Ok([0, mappings as u64])
        }
        _ => Ok([0; 2]),
    }
}

fn sum(ranges: &Ranges) -> u64 {
    ranges.iter().fold(0, |n, (_, bytes)| n.saturating_add(*bytes))
}

/// Returns bytes of all blocks of a header, and of them those that hold no message.
fn header_bytes(header: &Header, sizes: Sizes) -> Result<(u64, u64)> {
    let prefix = &header.prefix;
    let head: u64 = match (prefix.version, prefix.attribute_order_tracked) {
        (1, _) => 8,
        (_, false) => 4,
        (_, true) => 6,
    };
    // Signature and checksum of a continuation.
    let around = if prefix.version == 1 { 0 } else { 8 };
    let (mut total, mut capacity) = (prefix.first_block_bytes(), prefix.block_bytes);
    for block in header.messages_of(kind::CONTINUATION) {
        let (_, bytes) = message::continuation(block.body, sizes)?;
        total = total.saturating_add(bytes);
        capacity = capacity.saturating_add(bytes.saturating_sub(around));
    }
    let bytes_of = |m: message::MessageRef<'_>| head + m.body.len() as u64;
    let used: u64 = header.messages().filter(|m| m.kind != NOTHING).map(bytes_of).sum();
    Ok((total, capacity.saturating_sub(used)))
}

fn superblock_bytes(superblock: &Superblock) -> u64 {
    let offset = superblock.sizes.offset as u64;
    match superblock.version {
        // The root group's entry stands at the end.
        0 => 24 + 4 * offset + (24 + 2 * offset),
        1 => 28 + 4 * offset + (24 + 2 * offset),
        _ => 16 + 4 * offset,
    }
}

fn shared_messages(file: &Reader) -> Result<[u64; 3]> {
    let sizes = file.store.sizes();
    let indexes = file.shared.indexes();
    if indexes.is_empty() {
        return Ok([0; 3]);
    }
    let mut bytes = [shared::table_bytes(indexes.len() as u8, sizes), 0, 0];
    for index in &indexes {
        bytes[1] += index_bytes(file, index)?;
        if let Some(heap) = index.heap {
            bytes[2] += sum(&fractal_heap::open(file, heap)?.blocks()?);
        }
    }
    Ok(bytes)
}

fn index_bytes(file: &Reader, index: &SharedIndex) -> Result<u64> {
    match index.index {
        Some(tree) if index.is_tree => Ok(sum(&btree2::blocks(file, tree, &mut |_, _| Ok(()))?)),
        None if index.is_tree => Ok(0),
        // libhdf5 counts a list also where there is none yet.
        _ => Ok(shared_list::list_bytes(index.list_max, file.store.sizes())),
    }
}

/// Returns bytes of the managers, of what they keep free, and of each section.
fn free_space(file: &Reader) -> Result<(u64, u64, Vec<u64>)> {
    let (mut bytes, mut free, mut sections) = (0, 0u64, Vec::new());
    let managers = file.space.iter().flat_map(|space| space.managers.iter().flatten());
    for &at in managers {
        bytes += sum(&fractal_heap::free_space_blocks(file, at)?);
        for section in free_sections::of_manager(file, at)? {
            free = free.saturating_add(section.bytes);
            sections.push(section.bytes);
        }
    }
    Ok((bytes, free, sections))
}
