//! The command line: h5ls's options.

use crate::help::{option_names, unknown_option};

/// The options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) address: bool,
    pub(crate) data: bool,
    pub(crate) errors: bool,
    pub(crate) external: bool,
    pub(crate) follow: bool,
    pub(crate) full: bool,
    pub(crate) group: bool,
    pub(crate) hexdump: bool,
    pub(crate) json: bool,
    pub(crate) label: bool,
    pub(crate) no_dangling: bool,
    pub(crate) recursive: bool,
    pub(crate) simple: bool,
    pub(crate) string: bool,
    pub(crate) verbose: bool,
    pub(crate) driver: Option<String>,
    /// Columns of output; `None` puts each element on a line of its own.
    pub(crate) width: Option<usize>,
    pub(crate) files: Vec<String>,
}

/// A parsed command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// List.
    List(Options),
    /// Print the usage and end well.
    Help,
    /// Print the version.
    Version,
    /// Print why (to stderr) and the usage, and end badly.
    Wrong(String),
}

/// Shown for `--help`, and when the command line makes no sense.
pub(crate) const USAGE: &str = "\
usage: hyperslab ls [OPTIONS] FILE[/OBJECT]...
  -h, -?, --help         print this
  -V, --version          print the version
  -a, --address          with -v: where raw data and chunks are in the file
  -d, --data             print the elements of datasets
  -f, --full             print whole paths
  -g, --group            show the group itself instead of what is in it
  -l, --label            name the members of compound elements
  -r, --recursive        list groups in groups, each once
  -s, --string           print integers of one byte as characters
  -S, --simple           one element a line, for other programs
  -v, --verbose          everything about each object
  -wN, --width=N         columns of output; 0 gives each element its line
  -x, --hexdump          print elements as raw bytes
      --json             objects, types, extents and filters as JSON; with -r those of all groups
      --follow-symlinks  show what soft and external links lead to
      --no-dangling-links
                         with --follow-symlinks: links to nothing are an error
      --enable-error-stack, -e, --errors
                         print why something could not be read
      --vfd=DRIVER       open the file with this driver
  -E, --external         follow external links only
";

impl Default for Options {
    fn default() -> Self {
        Options {
            address: false,
            data: false,
            errors: false,
            external: false,
            follow: false,
            full: false,
            group: false,
            hexdump: false,
            json: false,
            label: false,
            no_dangling: false,
            recursive: false,
            simple: false,
            string: false,
            verbose: false,
            driver: None,
            width: Some(columns()),
            files: Vec::new(),
        }
    }
}

/// Returns the terminal's columns, as the environment tells them.
fn columns() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    columns.map_or(80, |n| n.max(1))
}

/// Reads the command line; options end at the first argument that does not start with `-`.
pub(crate) fn parse(args: &[String]) -> Command {
    let mut options = Options::default();
    let mut args = args.iter();
    while let Some(arg) = args.as_slice().first().filter(|arg| arg.starts_with('-')) {
        args.next();
        if arg == "--" {
            break;
        }
        let next = |args: &mut std::slice::Iter<'_, String>| args.next().cloned().unwrap_or_default();
        let done = if arg == "--width" {
            options.set_width(&next(&mut args))
        } else if let Some(width) = arg.strip_prefix("--width=") {
            options.set_width(width)
        } else if let Some(width) = arg.strip_prefix("-w") {
            let width = if width.is_empty() { next(&mut args) } else { width.to_owned() };
            options.set_width(&width)
        } else if arg.starts_with("--") {
            options.set_long(arg)
        } else {
            options.set_letters(&arg[1..])
        };
        if let Some(command) = done {
            return command;
        }
    }
    options.files = args.cloned().collect();
    options.checked()
}

impl Options {
    fn checked(self) -> Command {
        if self.files.is_empty() {
            return Command::Wrong(String::new());
        }
        if self.recursive && self.group {
            return Command::Wrong("--recursive and --group exclude each other".to_owned());
        }
        if self.no_dangling && !self.follow {
            return Command::Wrong("--no-dangling-links needs --follow-symlinks".to_owned());
        }
        Command::List(self)
    }

    fn set_width(&mut self, text: &str) -> Option<Command> {
        match text.parse::<usize>() {
            Ok(n) => {
                self.width = Some(n).filter(|&n| n > 0);
                None
            }
            Err(_) => Some(Command::Wrong(format!("not a width: {text:?}"))),
        }
    }

    fn set_letters(&mut self, letters: &str) -> Option<Command> {
        letters.chars().find_map(|letter| self.set_letter(letter))
    }

    fn set_letter(&mut self, letter: char) -> Option<Command> {
        let flag = match letter {
            '?' | 'h' => return Some(Command::Help),
            'V' => return Some(Command::Version),
            'r' => {
                self.full = true;
                &mut self.recursive
            }
            'a' => &mut self.address,
            'd' => &mut self.data,
            'e' => &mut self.errors,
            'E' => &mut self.external,
            'f' => &mut self.full,
            'g' => &mut self.group,
            'l' => &mut self.label,
            'S' => &mut self.simple,
            's' => &mut self.string,
            'v' => &mut self.verbose,
            'x' => &mut self.hexdump,
            _ => return Some(Command::Wrong(format!("unknown option -{letter}"))),
        };
        *flag = true;
        None
    }

    fn set_long(&mut self, arg: &str) -> Option<Command> {
        let letter = match arg {
            "--help" => 'h',
            "--version" => 'V',
            "--address" => 'a',
            "--data" => 'd',
            "--enable-error-stack" | "--errors" => 'e',
            "--external" => 'E',
            "--full" => 'f',
            "--group" => 'g',
            "--label" => 'l',
            "--recursive" => 'r',
            "--simple" => 'S',
            "--string" => 's',
            "--verbose" => 'v',
            "--hexdump" => 'x',
            "--follow-symlinks" => {
                self.follow = true;
                return None;
            }
            "--json" => {
                self.json = true;
                return None;
            }
            "--no-dangling-links" => {
                self.no_dangling = true;
                return None;
            }
            other => return self.set_driver(other),
        };
        self.set_letter(letter)
    }

    fn set_driver(&mut self, arg: &str) -> Option<Command> {
        match arg.strip_prefix("--vfd=") {
            Some(driver) => {
                self.driver = Some(driver.to_owned());
                None
            }
            None => Some(Command::Wrong(unknown_option(arg, option_names(USAGE)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Command {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn letters_join_and_width_takes_either_form() {
        let Command::List(options) = of("-rv -w40 --data a.h5/b -c") else { panic!("not a listing") };
        assert!(options.recursive && options.full && options.verbose && options.data);
        assert_eq!((options.width, options.files.len()), (Some(40), 2));
        let Command::List(options) = of("-w 0 -- -x") else { panic!("not a listing") };
        assert_eq!((options.width, &options.files[0][..]), (None, "-x"));
    }

    #[test]
    fn contradictions_are_refused() {
        for line in ["", "-rg f", "--no-dangling-links f", "-q f", "--width=x f", "--what f"] {
            assert!(matches!(of(line), Command::Wrong(_)), "{line}");
        }
    }
}
