//! Operations that only the log connector has.

use vol::{Access, Extension};

/// Returns a table of what the logs hold, as text.
#[derive(Debug)]
pub struct LogStatisticsText;

impl Extension for LogStatisticsText {
    const NAME: &'static str = "log.statistics";
    const ACCESS: Access = Access::Read;
    type Request = ();
    type Answer = String;
}

/// Returns the error that keeps the container from being repacked, if there is one.
#[derive(Debug)]
pub struct CheckRepack;

impl Extension for CheckRepack {
    const NAME: &'static str = "log.check_repack";
    const ACCESS: Access = Access::Write;
    type Request = ();
    type Answer = ();
}

/// Rewrites the logs as one, without what was overwritten.
#[derive(Debug)]
pub struct CompactLog;

impl Extension for CompactLog {
    const NAME: &'static str = "log.compact";
    const ACCESS: Access = Access::Write;
    type Request = ();
    type Answer = ();
}
