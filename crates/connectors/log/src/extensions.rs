//! Operations that only the log connector has.

vol::extension! {
    /// Returns a table of what the logs hold, as text.
    pub struct LogStatisticsText = "log.statistics": Read, () => String;
    /// Returns the error that keeps the container from being repacked, if there is one.
    pub struct CheckRepack = "log.check_repack": Write, () => ();
    /// Rewrites the logs as one, without what was overwritten.
    pub struct CompactLog = "log.compact": Write, () => ();
}
