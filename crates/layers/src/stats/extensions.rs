//! Operations that only the stats layer has.

use vol::{Extension, ExtensionInfo};

vol::extension! {
    /// Returns the numbers as a table for people.
    pub struct StatsTable = "stats.table": Read, () => String;
    /// Returns the numbers as JSON.
    pub struct StatsJson = "stats.json": Read, () => String;
    /// Returns the numbers as rows that [`Stats::of`](super::Stats::of) reads.
    pub struct StatsRows = "stats.rows": Read, () => String;
}

/// All of them.
pub(crate) const ALL: &[ExtensionInfo] = &[StatsTable::INFO, StatsJson::INFO, StatsRows::INFO];
