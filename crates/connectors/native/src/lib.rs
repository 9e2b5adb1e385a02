//! The native connector: the HDF5 file format.
//!
//! `format` decodes structures, `store` gives bytes within bounds, `object` puts structures together into
//! groups, datasets and attributes, `chunk` goes from a selection to bytes. `write` changes objects, `space` finds space
//! for them, `txn` makes changes one commit.

mod chunk;
mod commits;
mod connector;
mod consistency_flags;
mod container;
mod creation;
mod driver;
mod file;
mod format;
mod free_sections;
mod gate;
mod handles;
mod head;
mod image;
mod lazy_cache;
mod link_storage;
mod listing;
mod lock;
mod maps;
mod metadata_cache;
mod object;
mod open_files;
mod page_buffering;
mod pages;
mod placement;
mod reader;
mod recover;
mod repartition;
mod replica;
mod space;
mod stamped_cache;
mod state;
mod statistics;
mod store;
mod stored_chunk;
mod txn;
mod update;
mod version_bounds;
mod virtual_views;
mod work;
mod write;

pub use connector::{NativeConnector, create_handle, open_handle, open_image};
pub use container::{NativeContainer, OverwriteInPlace};
pub use free_sections::{FreeSections, IncreaseFileSize};
pub use image::FileImage;
pub use link_storage::LinkStorage;
pub use metadata_cache::{EvictObject, LogMetadataCache, ResetMetadataCacheCounts, SetMetadataCacheBytes};
pub use page_buffering::ResetPageBufferStatistics;
pub use repartition::{Repartition, repartition};
pub use statistics::{FileMetadata, MetadataCache, ObjectMetadata, PageBufferStatistics, RemoteRequests};
pub use stored_chunk::{StoredChunk, StoredChunks};
pub use version_bounds::SetVersionBounds;
pub use virtual_views::SetVirtualView;
