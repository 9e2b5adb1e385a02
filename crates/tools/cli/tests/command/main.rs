//! Tests of subcommands, one module for each. One program: linking takes longer than running.

#[path = "../common/mod.rs"]
mod common;
mod copy;
mod diff;
mod diff_maps;
mod dump;
mod dump_json;
mod filters;
mod help;
mod json;
mod log;
mod objects;
mod progress;
mod serve;
mod swmr;
mod vol;
mod watch;
