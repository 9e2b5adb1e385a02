//! Text of files never acts upon a terminal.

use std::process::{Command, Output};

use crate::{Folder, LOOKING, make, words};

pub(crate) fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hyperslab")).args(arguments).output().unwrap()
}

/// The first thing in a text that a terminal would act upon.
fn acts(text: &[u8]) -> Option<String> {
    let found = match std::str::from_utf8(text) {
        Ok(text) => {
            text.chars().find(|c| !matches!(c, '\n' | '\t') && hyperslab::vol::model::text::is_control(*c))
        }
        Err(error) => return Some(format!("no UTF-8 at {}", error.valid_up_to())),
    };
    found.map(|c| format!("{c:?}"))
}

#[test]
fn names_and_values_are_escaped_by_every_command() {
    let folder = Folder::new("terminals");
    for place in ["nasty.h5", "json:nasty.json", "object:nasty-object/", "iod:nasty-iod/"] {
        let location = folder.location(place);
        make::nasty(&location).unwrap();
        let broken = folder.at("broken.h5");
        let mut commands: Vec<Vec<&str>> =
            LOOKING.iter().map(|command| words(command, &location, &location)).collect();
        let (copied, lost) = (folder.at("copied.h5"), folder.location("log:lost.h5"));
        if !place.contains(':') {
            // Damage in the middle, so that errors name what is nasty.
            let mut bytes = std::fs::read(&location).unwrap();
            let middle = bytes.len() / 3;
            bytes[middle..middle + 600].fill(0xEE);
            std::fs::write(&broken, bytes).unwrap();
            commands.extend(LOOKING.iter().map(|command| words(command, &broken, &location)));
            commands.extend([vec!["copy", &location, &copied], vec!["copy", &location, &lost]]);
        }
        commands.push(vec!["dump", "-d", "/\u{1b}[2J", &location]);
        commands.push(vec!["ls", "\u{1b}[2J.h5"]);
        commands.push(vec!["\u{1b}[2J"]);
        for command in commands {
            let output = run(&command);
            let (out, err) = (acts(&output.stdout), acts(&output.stderr));
            assert!(out.is_none() && err.is_none(), "{command:?}: {out:?} {err:?}");
        }
    }
}

#[test]
fn raw_output_is_as_it_is() {
    let folder = Folder::new("raw-output");
    let location = folder.at("nasty.h5");
    make::nasty(&location).unwrap();
    let output = run(&["--raw-output", "dump", "-H", &location]);
    assert!(output.stdout.windows(4).any(|bytes| bytes == b"\x1b[2J"));
    assert!(!run(&["dump", "-H", &location]).stdout.contains(&0x1b));
}
