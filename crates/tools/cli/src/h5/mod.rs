//! The subcommands that take the options of the HDF5 tools and print what these print: `dump`, `ls`, `diff` and `stat`.

pub(crate) mod diff;
pub(crate) mod dump;
mod getopt;
mod holes;
pub(crate) mod ls;
mod render;
pub(crate) mod stat;
mod subset;
mod vfd;
