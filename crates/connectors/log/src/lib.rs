//! The log connector: a valid HDF5 file in which writes are appended to logs, and put in order when a caller reads.
//!
//! A user's dataset is a scalar *anchor* dataset with its extent in attributes. Elements wait in memory until a flush,
//! which makes one log dataset of them; a metadata table says which elements lie where. Many processes write one file:
//! each writes its own range, and nothing but sizes and tables goes between them. `docs/log-layout.md` fixes the bytes.

mod anchor;
mod arena;
mod buffer;
mod collective;
mod compact;
mod connector;
mod container;
mod datasets;
mod element_index;
mod entries;
mod extensions;
mod flat;
mod flush;
mod gather;
mod hidden;
mod inner_file;
mod load;
mod logged;
mod logs;
mod merge;
mod merged;
mod message;
mod pieces;
mod pipeline;
mod plan;
mod posting;
mod properties;
mod read;
mod share;
mod shared_connector;
mod small_pieces;
mod state;
mod statistics;
mod subfiles;
mod table;
mod table_bytes;
mod together;
mod values;
mod write;

pub use connector::{LogConnector, NAME};
pub use container::LogContainer;
pub use extensions::{CheckRepack, CompactLog, LogEntriesText, LogStatisticsText};
pub use posting::Posting;
pub use shared_connector::SharedLogConnector;
pub use statistics::{DatasetStatistics, LogStatistics};
pub use table::TableVersion;
