//! Functions and folders that all tests of the command share.

use std::process::{Command, Output};

pub(crate) use testkit::Folder;

pub(crate) fn hyperslab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hyperslab")).args(arguments).output().unwrap()
}

#[track_caller]
pub(crate) fn done(arguments: &[&str]) -> Output {
    let output = hyperslab(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    output
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
