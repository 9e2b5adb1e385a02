//! Operations that only one connector or layer has. [`call`](crate::vol::call) runs them on a container.

#[cfg(feature = "mirror")]
pub use layers::mirror::{MirrorResync, MirrorState};
#[cfg(feature = "stats")]
pub use layers::stats::{StatsJson, StatsRows, StatsTable};
#[cfg(feature = "log")]
pub use log::{CheckRepack, CompactLog, LogEntriesText, LogStatisticsText};
#[cfg(feature = "native")]
pub use native::{
    EvictObject, FileImage, FileMetadata, FreeSections, IncreaseFileSize, LinkStorage, LogMetadataCache,
    MetadataCache, ObjectMetadata, OverwriteInPlace, PageBufferStatistics, RemoteRequests, Repartition,
    ResetMetadataCacheCounts, ResetPageBufferStatistics, SetMetadataCacheBytes, SetVersionBounds,
    SetVirtualView, StoredChunk, StoredChunks, repartition,
};
