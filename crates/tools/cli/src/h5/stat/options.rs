//! The command line.

use crate::h5::getopt::{Argument, Scanner, Spec, Takes};

pub(crate) const USAGE: &str = "\
usage: hyperslab stat [OPTIONS] FILE

Says what a file holds and where its bytes go. Takes h5stat's options and prints what h5stat prints;
without options, all of it.

  -f, --file            objects and links
  -F, --filemetadata    bytes of the file's metadata
  -g, --group           groups
  -G, --groupmetadata   bytes of groups' metadata
  -d, --dset            datasets
  -D, --dsetmetadata    bytes of datasets' metadata
  -T, --dtypemetadata   datatypes of datasets
  -A, --attribute       attributes
  -s, --freespace       free space
  -S, --summary         where the bytes of the file go

  -l, --links=N         groups of less than N links are small (10)
  -m, --dims=N          datasets of less than N elements are small (10)
  -a, --numattrs=N      up to N attributes are few (10)

      --json            all of it, as JSON for programs
      --enable-error-stack  say why something could not be read
      --page-buffer-size=N  accepted for scripts
  -h, --help            this text
  -V, --version         version
";

/// A part of what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    File,
    FileMetadata,
    Groups,
    GroupMetadata,
    Datasets,
    Datatypes,
    DatasetMetadata,
    Attributes,
    FreeSpace,
    Summary,
}

/// The options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// In the order in which they are printed; empty: all.
    parts: Vec<Section>,
    pub(crate) links_small: u64,
    pub(crate) dims_small: u64,
    pub(crate) attributes_small: u64,
    pub(crate) errors: bool,
    /// Print everything as JSON.
    pub(crate) json: bool,
    pub(crate) file: String,
}

impl Options {
    /// Returns whether a part is printed. What the file's metadata says already is left out where all is printed.
    pub(crate) fn shows(&self, part: Section) -> bool {
        let repeats = matches!(part, Section::GroupMetadata | Section::DatasetMetadata);
        if self.parts.is_empty() { !repeats } else { self.parts.contains(&part) }
    }
}

/// A parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Version,
    /// Nothing that can be done: a message for the user, and whether the help text follows.
    Wrong(String, bool),
    Tell(Options),
}

const SPECS: &[Spec] = &[
    Spec { letter: 'h', names: &["help"], takes: Takes::Nothing },
    Spec { letter: 'F', names: &["filemetadata"], takes: Takes::Nothing },
    Spec { letter: 'f', names: &["file"], takes: Takes::Nothing },
    Spec { letter: 'G', names: &["groupmetadata"], takes: Takes::Nothing },
    Spec { letter: 'g', names: &["group"], takes: Takes::Nothing },
    Spec { letter: 'l', names: &["links"], takes: Takes::Argument },
    Spec { letter: 'D', names: &["dsetmetadata"], takes: Takes::Nothing },
    Spec { letter: 'd', names: &["dset"], takes: Takes::Nothing },
    Spec { letter: 'm', names: &["dims"], takes: Takes::Argument },
    Spec { letter: 'T', names: &["dtypemetadata"], takes: Takes::Nothing },
    Spec { letter: 'V', names: &["version"], takes: Takes::Nothing },
    Spec { letter: 'A', names: &["attribute"], takes: Takes::Nothing },
    Spec { letter: 'a', names: &["numattrs"], takes: Takes::Argument },
    Spec { letter: 's', names: &["freespace"], takes: Takes::Nothing },
    Spec { letter: 'S', names: &["summary"], takes: Takes::Nothing },
    Spec { letter: 'E', names: &["enable-error-stack"], takes: Takes::Attached },
    Spec { letter: '\u{5}', names: &["json"], takes: Takes::Nothing },
    Spec { letter: 'K', names: &["page-buffer-size"], takes: Takes::Argument },
];

/// Reads the command line.
pub(crate) fn parse(words: &[String]) -> Command {
    let mut scanner = Scanner::new(words, SPECS);
    let mut options = Options {
        parts: Vec::new(),
        links_small: 10,
        dims_small: 10,
        attributes_small: 10,
        errors: false,
        json: false,
        file: String::new(),
    };
    loop {
        match scanner.next() {
            Err(message) => return Command::Wrong(message, true),
            Ok(Argument::Option('h', _)) => return Command::Help,
            Ok(Argument::Option('V', _)) => return Command::Version,
            Ok(Argument::Option(letter, value)) => {
                if let Err(wrong) = options.set(letter, &value.unwrap_or_default()) {
                    return Command::Wrong(wrong, false);
                }
            }
            Ok(Argument::Files(files)) => {
                let Some(file) = files.into_iter().next() else {
                    return Command::Wrong("missing file name".to_owned(), true);
                };
                options.file = file;
                return Command::Tell(options);
            }
        }
    }
}

impl Options {
    fn set(&mut self, letter: char, value: &str) -> Result<(), String> {
        match letter {
            'l' => self.links_small = threshold(value, "groups")?,
            'm' => self.dims_small = threshold(value, "datasets")?,
            'a' => self.attributes_small = threshold(value, "# of attributes")?,
            'E' => self.errors = true,
            '\u{5}' => self.json = true,
            _ => self.parts.extend(part(letter)),
        }
        Ok(())
    }
}

fn part(letter: char) -> Option<Section> {
    Some(match letter {
        'f' => Section::File,
        'F' => Section::FileMetadata,
        'g' => Section::Groups,
        'G' => Section::GroupMetadata,
        'd' => Section::Datasets,
        'D' => Section::DatasetMetadata,
        'T' => Section::Datatypes,
        'A' => Section::Attributes,
        's' => Section::FreeSpace,
        'S' => Section::Summary,
        _ => return None,
    })
}

/// C's `atoi`, above zero.
fn threshold(text: &str, what: &str) -> Result<u64, String> {
    let digits = text.trim_start();
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    match digits[..end].parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("Invalid threshold for small {what}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Options {
        match parse(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()) {
            Command::Tell(options) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn everything_is_printed_unless_parts_are_named() {
        let all = parsed(&["x.h5"]);
        assert!(all.shows(Section::Summary) && !all.shows(Section::GroupMetadata));
        let some = parsed(&["-gd", "-m", "5", "--links=20", "x.h5"]);
        assert!(
            some.shows(Section::Groups) && some.shows(Section::Datasets) && !some.shows(Section::Summary)
        );
        assert_eq!((some.dims_small, some.links_small), (5, 20));
    }

    #[test]
    fn thresholds_are_positive() {
        assert!(threshold("0", "groups").is_err());
        assert!(threshold("x", "groups").is_err());
        assert_eq!(threshold(" 12x", "groups"), Ok(12));
    }
}
