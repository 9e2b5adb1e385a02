//! `hyperslab help`: all commands, or the options of one; and which command may have been meant.

use std::process::ExitCode;

use crate::commands::{COMMANDS, find};

pub(crate) const USAGE: &str = "usage: hyperslab help [COMMAND]\n";

const LOCATIONS: &str = "
Files are locations: run.h5 is an HDF5 file, log:run.h5 one with a log, raw:folder/ a folder, json:run.json a text,
object:folder/ an object store, h5s://host:port/name a server's, memory:name nothing but memory.
--vol puts layers over what a command opens, or over what copy writes: --vol \"stats | check\". The variables HYPERSLAB_VOL,
HDF5_VOL_CONNECTOR and HDF5_PLUGIN_PATH are read.

Every command takes these too:
  --memory BYTES     memory that the contents of files may take (768M; 512M, 2G, ...): more is an error
  --timeout SECONDS  end with an error after so long
  --expand           print very long paths, holes of datasets and deep indentation whole, and read what a few bytes
                     claim to be
  --style 1.10|utf-8 characters beyond ASCII in strings and names: as octal numbers, as the tools of HDF5 1.10 print
                     them, or as they are; on a terminal, as they are without this option, too
  --raw-output       print text of files as it is; without this, what could act upon a terminal is escaped
";

/// Returns the text about all commands.
pub(crate) fn overview() -> String {
    let width = COMMANDS.iter().map(|command| command.name.len()).max().unwrap_or(0);
    let mut text = "usage: hyperslab [--vol STACK] COMMAND [ARGUMENTS]\n\ncommands:\n".to_owned();
    for command in COMMANDS {
        text += &format!("  {:width$}  {}\n", command.name, command.about);
    }
    text + LOCATIONS
}

/// Prints the help text of the command that the words name, or the one about all.
pub(crate) fn run(words: &[String]) -> ExitCode {
    let Some(name) = words.first().filter(|word| !word.starts_with('-')) else {
        print!("{}", overview());
        return ExitCode::SUCCESS;
    };
    match find(name) {
        Some(command) => {
            print!("{}", command.usage);
            ExitCode::SUCCESS
        }
        None => unknown(name),
    }
}

/// Says that there is no such command, and which one is near.
pub(crate) fn unknown(name: &str) -> ExitCode {
    match nearest(name) {
        Some(near) => eprintln!("hyperslab: no command {name:?}; did you mean `hyperslab {near}`?"),
        None => eprintln!("hyperslab: no command {name:?}; try `hyperslab help`"),
    }
    ExitCode::FAILURE
}

/// Returns the command that a cut short or mistyped name is nearest to, if one is near.
fn nearest(name: &str) -> Option<&'static str> {
    let names = COMMANDS.iter().map(|command| command.name);
    if let Some(longer) = names.clone().find(|found| name.len() > 2 && found.starts_with(name)) {
        return Some(longer);
    }
    let is_near = |found: &&str| distance(name, found) <= found.len().div_ceil(3).min(2);
    names.filter(is_near).min_by_key(|found| distance(name, found))
}

/// Returns how many letters have to be put in, left out or changed, or neighbours swapped.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_commands_are_guessed_and_others_are_not() {
        for (typed, meant) in
            [("dmup", "dump"), ("chek", "check"), ("copyy", "copy"), ("compl", "completions")]
        {
            assert_eq!(nearest(typed), Some(meant), "{typed}");
        }
        assert_eq!(nearest("elephant"), None);
        assert_eq!(nearest(""), None);
    }
}
