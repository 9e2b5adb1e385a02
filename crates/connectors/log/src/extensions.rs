//! Operations that only the log connector has.

vol::extension! {
    /// Returns a table of what the logs hold, as text.
    pub struct LogStatisticsText = "log.statistics": Read, () => String;
    /// Returns some entries of the logs as text, a line each: those after as many as are given. Nothing is left if it is empty.
    pub struct LogEntriesText = "log.entries": Read, u64 => String;
    /// Returns the error that keeps the container from being repacked, if there is one.
    pub struct CheckRepack = "log.check_repack": Write, () => ();
    /// Rewrites the logs as one, without what was overwritten.
    pub struct CompactLog = "log.compact": Write, () => ();
}
