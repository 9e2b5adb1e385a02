//! Operations that only the stats layer has.

use vol::{Access, Extension, ExtensionInfo};

macro_rules! text {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)+) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub struct $name;

            impl Extension for $name {
                const NAME: &'static str = $text;
                const ACCESS: Access = Access::Read;
                type Request = ();
                type Answer = String;
            }
        )+

        /// All of them.
        pub(crate) const ALL: &[ExtensionInfo] = &[$($name::INFO),+];
    };
}

text! {
    /// Returns the numbers as a table for people.
    StatsTable = "stats.table";
    /// Returns the numbers as JSON.
    StatsJson = "stats.json";
    /// Returns the numbers as rows that [`Stats::of`](super::Stats::of) reads.
    StatsRows = "stats.rows";
}
