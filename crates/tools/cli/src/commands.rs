//! The commands: one table, of which help, completions and manual pages are made too.

use std::process::ExitCode;

use crate::{
    check, compact, completions, copy, exec, h5, help, log, man, objects, recover, serve, tour, view, vol,
    watch,
};

/// One command.
#[derive(Clone, Copy)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// What it does, in a line.
    pub(crate) about: &'static str,
    /// Its help text; `usage.rs` says how it is written.
    pub(crate) usage: &'static str,
    pub(crate) run: fn(&[String]) -> ExitCode,
}

/// All commands, in the order of the help text.
pub(crate) const COMMANDS: &[Command] = &[
    Command {
        name: "tour",
        about: "see the same data in every kind of storage: a first look, in a temporary folder",
        usage: tour::USAGE,
        run: tour::run,
    },
    Command {
        name: "dump",
        about: "print a file's contents; takes the options of h5dump",
        usage: h5::dump::USAGE,
        run: h5::dump::run,
    },
    Command {
        name: "ls",
        about: "list a file's objects; takes the options of h5ls",
        usage: h5::ls::USAGE,
        run: h5::ls::run,
    },
    Command {
        name: "copy",
        about: "copy a container, an object or a subtree to any other container",
        usage: copy::USAGE,
        run: copy::run,
    },
    Command {
        name: "repack",
        about: "copy a file with other filters, layouts or versions",
        usage: copy::repack::USAGE,
        run: copy::repack::run,
    },
    Command {
        name: "diff",
        about: "compare two files; takes the options of h5diff",
        usage: h5::diff::USAGE,
        run: h5::diff::run,
    },
    Command {
        name: "stat",
        about: "print statistics of a file: what it holds, and where its bytes go; takes the options of h5stat",
        usage: h5::stat::USAGE,
        run: h5::stat::run,
    },
    Command {
        name: "check",
        about: "read everything in a file and say what is wrong",
        usage: check::USAGE,
        run: check::run,
    },
    Command {
        name: "objects",
        about: "list what a container stores in an object store: objects, dkeys, akeys",
        usage: objects::USAGE,
        run: objects::run,
    },
    Command {
        name: "recover",
        about: "finish a commit that a crash cut short",
        usage: recover::USAGE,
        run: recover::run,
    },
    Command {
        name: "log",
        about: "print what a log holds: flushes, entries, what was overwritten",
        usage: log::USAGE,
        run: log::run,
    },
    Command {
        name: "compact",
        about: "write a log anew without what was overwritten",
        usage: compact::USAGE,
        run: compact::run,
    },
    Command {
        name: "vol",
        about: "list connectors and layers, and explain stacks",
        usage: vol::USAGE,
        run: vol::run,
    },
    Command {
        name: "serve",
        about: "let clients on other machines use the containers of a folder",
        usage: serve::USAGE,
        run: serve::run,
    },
    Command {
        name: "view",
        about: "show what a container holds, in a browser or in the terminal",
        usage: view::USAGE,
        run: view::run,
    },
    Command {
        name: "watch",
        about: "follow a file that another program writes to: print new rows as they come",
        usage: watch::USAGE,
        run: watch::run,
    },
    Command {
        name: "exec",
        about: "run a program that was built for libhdf5 on this library",
        usage: exec::USAGE,
        run: exec::run_words,
    },
    Command {
        name: "completions",
        about: "print a script that completes commands and options in a shell",
        usage: completions::USAGE,
        run: completions::run,
    },
    Command { name: "man", about: "print the manual page of a command", usage: man::USAGE, run: man::run },
    Command { name: "help", about: "print the options of a command", usage: help::USAGE, run: help::run },
];

/// Returns the command of a name.
pub(crate) fn find(name: &str) -> Option<Command> {
    COMMANDS.iter().find(|command| command.name == name).copied()
}
