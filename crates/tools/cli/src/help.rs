//! `hyperslab help`: all commands, or the options of one; and which command may have been meant.

use std::process::ExitCode;

use crate::commands::{COMMANDS, find};
use crate::usage;

pub(crate) const USAGE: &str = "usage: hyperslab help [COMMAND]\n";

const LOCATIONS: &str = "
Files are locations: run.h5 is an HDF5 file, log:run.h5 one with a log, raw:folder/ a folder, json:run.json a text,
object:folder/ an object store, h5s://host:port/name a server's, memory:name nothing but memory.
--vol puts layers over what a command opens, or over what copy writes: --vol \"stats | check\". The variables HYPERSLAB_VOL,
HDF5_VOL_CONNECTOR and HDF5_PLUGIN_PATH are read.

Every command takes these too:
";

/// Options of every command.
pub(crate) const COMMON: &str = "\
  --memory BYTES     memory that the contents of files may take (768M; 512M, 2G, ...): more is an error
  --timeout SECONDS  end with an error after so long
  --expand           print very long paths, holes of datasets and deep indentation whole, and read what a few bytes
                     claim to be
  --swmr             read files while another program writes to them (SWMR: single writer, multiple readers)
  --style 1.10|utf-8  characters beyond ASCII in strings and names: as octal numbers, as the tools of HDF5 1.10 print
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
    text + LOCATIONS + COMMON
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
    match nearest_command(name) {
        Some(near) => eprintln!("hyperslab: no command {name:?}; did you mean `hyperslab {near}`?"),
        None => eprintln!("hyperslab: no command {name:?}; try `hyperslab help`"),
    }
    ExitCode::FAILURE
}

/// Refuses words that make no sense to a command: names the first option that it does not have, and prints its help text.
pub(crate) fn refuse(command: &str, words: &[String]) -> ExitCode {
    let Some(command) = find(command) else { return ExitCode::FAILURE };
    let known = option_names(command.usage);
    let words = words.iter().map(|word| word.split('=').next().unwrap_or(word));
    let mut options = words.take_while(|word| *word != "--").filter(|word| word.starts_with('-'));
    if let Some(option) = options.find(|option| !known.contains(option)) {
        eprintln!("hyperslab {}: {}", command.name, unknown_option(option, known));
    }
    eprint!("{}", command.usage);
    ExitCode::FAILURE
}

/// Returns what to say of an option that a command does not have.
pub(crate) fn unknown_option<'a>(option: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let own = known.into_iter().filter(|name| name.starts_with("--"));
    match nearest(option, own.chain(option_names(COMMON))) {
        Some(near) if option.len() > 2 => format!("unknown option \"{option}\"; did you mean \"{near}\"?"),
        _ => format!("unknown option \"{option}\""),
    }
}

/// Returns the options that a help text names.
pub(crate) fn option_names(usage: &'static str) -> Vec<&'static str> {
    let flags = usage::parts(usage).into_iter().filter_map(|part| match part {
        usage::Part::Option { flags, .. } => Some(flags),
        _ => None,
    });
    flags.flat_map(usage::names).collect()
}

/// Returns the command that a cut short or mistyped name is nearest to, if one is near.
fn nearest_command(name: &str) -> Option<&'static str> {
    nearest(name, COMMANDS.iter().map(|command| command.name))
}

/// Returns the name that a cut short or mistyped one is nearest to, if one is near.
pub(crate) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let names: Vec<&str> = names.into_iter().collect();
    if let Some(longer) = names.iter().find(|found| name.len() > 2 && found.starts_with(name)) {
        return Some(longer);
    }
    let far = |found: &&str| found.chars().count().div_ceil(3).min(2);
    let distances = names.into_iter().map(|found| (distance(name, found), found));
    distances
        .filter(|(distance, found)| *distance <= far(found))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, found)| found)
}

/// Returns how many letters have to be put in, left out or changed, or neighbours swapped.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
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
            assert_eq!(nearest_command(typed), Some(meant), "{typed}");
        }
        assert_eq!(nearest_command("elephant"), None);
        assert_eq!(nearest_command(""), None);
    }

    #[test]
    fn options_that_every_command_has_are_guessed_too() {
        let says = |option| unknown_option(option, ["--recursive", "-r"]);
        assert_eq!(says("--recusive"), "unknown option \"--recusive\"; did you mean \"--recursive\"?");
        assert_eq!(says("--timeot"), "unknown option \"--timeot\"; did you mean \"--timeout\"?");
        assert_eq!(says("--elephant"), "unknown option \"--elephant\"");
        assert_eq!(says("-q"), "unknown option \"-q\"");
    }

    #[test]
    fn every_name_of_an_option_is_found() {
        let names = option_names(find("repack").unwrap().usage);
        assert!(["-f", "--filter", "--cloud"].iter().all(|name| names.contains(name)), "{names:?}");
        assert!(option_names(COMMON).contains(&"--swmr"));
    }
}
