//! The command line.

use crate::h5::getopt::{Argument, Scanner, Spec, Takes};
use crate::h5::subset::Subset;
use crate::h5::vfd::VfdChoice;

/// How far apart two numbers may be and still be the same.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) enum Tolerance {
    /// Not at all.
    #[default]
    Exact,
    /// Less than the smallest step from 1 of a floating-point type.
    Epsilon,
    /// At most this much.
    Delta(f64),
    /// At most this part of the first number.
    Relative(f64),
}

/// An object that is left out; as a group, what is in it goes too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excluded {
    path: String,
    is_group: bool,
}

/// Paths that are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Exclusions(Vec<Excluded>);

impl Exclusions {
    fn push(&mut self, path: String) {
        self.0.push(Excluded { path, is_group: false });
    }

    /// Returns whether the user named any.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a path is left out. A group that is met once is from then on a group.
    pub(crate) fn contains(&mut self, path: &str, is_group: bool) -> bool {
        for excluded in &mut self.0 {
            if excluded.is_group {
                if path.strip_prefix(&*excluded.path).is_some_and(|rest| rest.starts_with('/')) {
                    return true;
                }
            } else if excluded.path == path {
                excluded.is_group = is_group;
                return true;
            }
        }
        false
    }
}

/// The options.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Options {
    pub(crate) verbose: bool,
    /// How much about attributes and files.
    pub(crate) level: u32,
    pub(crate) report: bool,
    pub(crate) quiet: bool,
    /// Print a document for programs, and nothing else.
    pub(crate) json: bool,
    /// Name what cannot be compared.
    pub(crate) list_incomparable: bool,
    pub(crate) count_max: Option<u64>,
    pub(crate) tolerance: Tolerance,
    /// Two NaN are taken as different where their bits are.
    pub(crate) ignore_nan: bool,
    pub(crate) follow: bool,
    pub(crate) no_dangling: bool,
    pub(crate) excluded: Exclusions,
    pub(crate) excluded_attributes: Exclusions,
    pub(crate) errors: bool,
    pub(crate) files: [String; 2],
    pub(crate) vfds: [VfdChoice; 2],
    pub(crate) objects: Option<[String; 2]>,
    pub(crate) subsets: [Option<Subset>; 2],
}

impl Options {
    /// Returns whether each difference is printed.
    pub(crate) fn shows_data(&self) -> bool {
        self.verbose || self.report
    }

    /// Returns whether messages about what cannot be compared are printed.
    pub(crate) fn shows_incomparable(&self) -> bool {
        self.verbose || self.list_incomparable
    }
}

/// A parsed command line.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Help,
    Version,
    /// Nothing that can be done: a message for the user, and whether the help text follows.
    Wrong(String, bool),
    Compare(Box<Options>),
}

const SPECS: &[Spec] = &[
    Spec { letter: 'c', names: &["compare"], takes: Takes::Nothing },
    Spec { letter: 'd', names: &["delta"], takes: Takes::Argument },
    Spec { letter: 'e', names: &["use-system-epsilon"], takes: Takes::Nothing },
    Spec { letter: 'h', names: &["help"], takes: Takes::Nothing },
    Spec { letter: 'l', names: &["follow-symlinks"], takes: Takes::Nothing },
    Spec { letter: 'n', names: &["count"], takes: Takes::Argument },
    Spec { letter: 'p', names: &["relative"], takes: Takes::Argument },
    Spec { letter: 'q', names: &["quiet"], takes: Takes::Nothing },
    Spec { letter: 'r', names: &["report"], takes: Takes::Nothing },
    Spec { letter: 'v', names: &["verbose"], takes: Takes::Attached },
    Spec { letter: 'x', names: &["no-dangling-links"], takes: Takes::Nothing },
    Spec { letter: 'A', names: &["exclude-attribute"], takes: Takes::Argument },
    Spec { letter: 'C', names: &["no-compact-subset"], takes: Takes::Nothing },
    Spec { letter: 'E', names: &["exclude-path"], takes: Takes::Argument },
    Spec { letter: 'N', names: &["nan"], takes: Takes::Nothing },
    Spec { letter: 'S', names: &["enable-error-stack"], takes: Takes::Attached },
    Spec { letter: 'V', names: &["version"], takes: Takes::Nothing },
    Spec { letter: 'K', names: &["page-buffer-size"], takes: Takes::Argument },
    // Long options of later versions have no letter that a user could type.
    Spec { letter: '\u{1}', names: &["vfd-name-1"], takes: Takes::Argument },
    Spec { letter: '\u{2}', names: &["vfd-info-1"], takes: Takes::Argument },
    Spec { letter: '\u{3}', names: &["vfd-name-2"], takes: Takes::Argument },
    Spec { letter: '\u{4}', names: &["vfd-info-2"], takes: Takes::Argument },
    Spec { letter: '\u{5}', names: &["json"], takes: Takes::Nothing },
];

const EXCLUSIVE: &str = "\
h5diff error: -d, -p and --use-system-epsilon options are mutually-exclusive;
use no more than one.
Try '-h' or '--help' option for more information or see the h5diff entry in the 'HDF5 Reference Manual'.
";

/// The tolerances that the command line names, of which one may be left.
#[derive(Default)]
struct Tolerances {
    delta: Option<f64>,
    relative: Option<f64>,
    epsilon: bool,
}

impl Tolerances {
    fn only(&self) -> Option<Tolerance> {
        match (self.delta, self.relative, self.epsilon) {
            (None, None, false) => Some(Tolerance::Exact),
            (Some(delta), None, false) => Some(Tolerance::Delta(delta)),
            (None, Some(part), false) => Some(Tolerance::Relative(part)),
            (None, None, true) => Some(Tolerance::Epsilon),
            _ => None,
        }
    }
}

/// Reads the command line.
pub(crate) fn parse(words: &[String]) -> Command {
    let mut scanner = Scanner::new(words, SPECS);
    let (mut options, mut tolerances, mut compact) = (Options::default(), Tolerances::default(), true);
    loop {
        match scanner.next() {
            Err(message) => return Command::Wrong(format!("h5diff error: {message}\n"), true),
            Ok(Argument::Option('h', _)) => return Command::Help,
            Ok(Argument::Option('V', _)) => return Command::Version,
            Ok(Argument::Option('C', _)) => compact = false,
            Ok(Argument::Option(letter, value)) => {
                if let Err(wrong) = options.set(letter, value.unwrap_or_default(), &mut tolerances) {
                    return Command::Wrong(wrong, true);
                }
            }
            Ok(Argument::Files(files)) => {
                let Some(tolerance) = tolerances.only() else {
                    return Command::Wrong(EXCLUSIVE.to_owned(), false);
                };
                options.tolerance = tolerance;
                return options.operands(files, compact);
            }
        }
    }
}

impl Options {
    fn set(&mut self, letter: char, value: String, tolerances: &mut Tolerances) -> Result<(), String> {
        let invalid = || format!("<-{letter} {value}> is not a valid option\n");
        match letter {
            'v' => (self.verbose, self.level) = (true, leading_number(&value) as u32),
            'q' => self.quiet = true,
            'r' => self.report = true,
            'c' => self.list_incomparable = true,
            'N' => self.ignore_nan = true,
            'l' => self.follow = true,
            'x' => self.no_dangling = true,
            'S' => self.errors = true,
            'E' => self.excluded.push(value),
            'A' => self.excluded_attributes.push(value),
            'e' => tolerances.epsilon = true,
            'd' => tolerances.delta = Some(tolerance(&value).ok_or_else(invalid)?),
            // No part at all is the same as the default.
            'p' => tolerances.relative = Some(tolerance(&value).ok_or_else(invalid)?).filter(|&x| x != 0.0),
            'n' => self.count_max = Some(count(&value).ok_or_else(invalid)?),
            '\u{1}' => self.vfds[0].name = Some(value),
            '\u{2}' => self.vfds[0].info = Some(value),
            '\u{3}' => self.vfds[1].name = Some(value),
            '\u{4}' => self.vfds[1].info = Some(value),
            '\u{5}' => self.json = true,
            _ => {}
        }
        Ok(())
    }

    fn operands(mut self, words: Vec<String>, compact: bool) -> Command {
        let mut words = words.into_iter();
        let (Some(first), Some(second)) = (words.next(), words.next()) else {
            return Command::Wrong("h5diff error: missing file names\n".to_owned(), true);
        };
        self.files = [first, second];
        if let Some(first) = words.next() {
            let second = words.next().unwrap_or_else(|| first.clone());
            let split = |name: String| if compact { Subset::split(&name) } else { (name, None) };
            let ([a, b], [part_a, part_b]) = unzip([first, second].map(split));
            self.objects = Some([absolute(a), absolute(b)]);
            self.subsets = [part_a, part_b];
        }
        Command::Compare(Box::new(self))
    }
}

fn unzip<A, B>([(a, b), (c, d)]: [(A, B); 2]) -> ([A; 2], [B; 2]) {
    ([a, c], [b, d])
}

fn absolute(path: String) -> String {
    if path.starts_with('/') { path } else { format!("/{path}") }
}

/// C's `atof`: the number a text starts with, or zero.
fn leading_number(text: &str) -> f64 {
    let text = text.trim_start();
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.filter_map(|end| text[..end].parse().ok()).next_back().unwrap_or(0.0)
}

fn tolerance(text: &str) -> Option<f64> {
    let hexadecimal = text.len() > 2 && text.starts_with("0x");
    let number = leading_number(text);
    (!hexadecimal && number >= 0.0).then_some(number)
}

fn count(text: &str) -> Option<u64> {
    let digits = !text.starts_with('0') && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(words: &[&str]) -> Options {
        match parse(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()) {
            Command::Compare(options) => *options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_level_stands_at_its_letter_only() {
        let options = compared(&["-v", "-v2", "a", "b", "d"]);
        assert_eq!((options.verbose, options.level), (true, 2));
        assert_eq!(options.objects, Some(["/d".to_owned(), "/d".to_owned()]));
        assert_eq!(compared(&["--verbose", "a", "b"]).level, 0);
    }

    #[test]
    fn no_relative_difference_is_no_tolerance() {
        assert_eq!(compared(&["-p", "0", "-d", "2.5x", "a", "b"]).tolerance, Tolerance::Delta(2.5));
        assert_eq!(compared(&["-p", "u", "a", "b"]).tolerance, Tolerance::Exact);
    }

    #[test]
    fn an_excluded_group_takes_its_members_along() {
        let mut excluded = Exclusions::default();
        excluded.push("/g".to_owned());
        assert!(!excluded.contains("/g/d", false));
        assert!(excluded.contains("/g", true));
        assert!(excluded.contains("/g/d", false));
        assert!(!excluded.contains("/gx", false));
    }
}
