//! Command-line options in the way of the HDF5 tools: short and long, abbreviated, with optional arguments.

use crate::help::unknown_option;

/// Whether an option takes an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// No.
    Nothing,
    /// Always: the rest of the word, or the next one.
    Argument,
    /// Perhaps: a next word that is neither an option nor the last word.
    Perhaps,
    /// Perhaps: the rest of the word only.
    Attached,
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    /// The letter, which also names the option in code.
    pub(crate) letter: char,
    /// Long names.
    pub(crate) names: &'static [&'static str],
    /// Its argument.
    pub(crate) takes: Takes,
}

/// An option or the files of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// An option with its argument.
    Option(char, Option<String>),
    /// The first word that is no option; all others follow it.
    Files(Vec<String>),
}

/// Walks over the words of a command line.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    words: &'a [String],
    specs: &'a [Spec],
    at: usize,
    /// Letters left of a word such as `-pH`.
    letters: Vec<char>,
}

impl<'a> Scanner<'a> {
    /// At the first word.
    pub(crate) fn new(words: &'a [String], specs: &'a [Spec]) -> Self {
        Scanner { words, specs, at: 0, letters: Vec::new() }
    }

    /// Returns the next option, or the file names at the end; an error is a message for the user.
    pub(crate) fn next(&mut self) -> Result<Argument, String> {
        if !self.letters.is_empty() {
            return self.short();
        }
        let Some(word) = self.words.get(self.at) else { return Ok(Argument::Files(Vec::new())) };
        if let Some(long) = word.strip_prefix("--") {
            if long.is_empty() {
                return Ok(Argument::Files(self.words[self.at + 1..].to_vec()));
            }
            self.at += 1;
            return self.long(long);
        }
        if word.len() < 2 || !word.starts_with('-') {
            return Ok(Argument::Files(self.words[self.at..].to_vec()));
        }
        self.at += 1;
        self.letters = word.chars().skip(1).collect();
        self.short()
    }

    fn short(&mut self) -> Result<Argument, String> {
        let letter = self.letters.remove(0);
        let spec = self.specs.iter().find(|s| s.letter == letter);
        let spec = spec.ok_or_else(|| format!("unknown option \"-{letter}\""))?;
        if spec.takes == Takes::Nothing {
            return Ok(Argument::Option(letter, None));
        }
        let attached: String = self.letters.drain(..).collect();
        if !attached.is_empty() {
            return Ok(Argument::Option(letter, Some(attached)));
        }
        self.argument(spec, &format!("-{letter}"))
    }

    fn argument(&mut self, spec: &Spec, shown: &str) -> Result<Argument, String> {
        let next = self.words.get(self.at);
        let last = self.at + 1 >= self.words.len();
        let usable = match spec.takes {
            Takes::Argument => next.is_some(),
            Takes::Perhaps => next.is_some_and(|w| !w.starts_with('-')) && !last,
            Takes::Nothing | Takes::Attached => false,
        };
        match next {
            Some(word) if usable => {
                self.at += 1;
                Ok(Argument::Option(spec.letter, Some(word.clone())))
            }
            _ if spec.takes == Takes::Argument => Err(format!("option \"{shown}\" needs an argument")),
            _ => Ok(Argument::Option(spec.letter, None)),
        }
    }

    fn long(&mut self, word: &str) -> Result<Argument, String> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let spec = self.find_long(name).ok_or_else(|| self.unknown(name))?;
        match (spec.takes, value) {
            (Takes::Nothing, Some(_)) => Err(format!("option \"--{name}\" takes no argument")),
            (_, Some(value)) => Ok(Argument::Option(spec.letter, Some(value))),
            (Takes::Argument, None) => self.argument(&spec, &format!("--{name}")),
            (_, None) => Ok(Argument::Option(spec.letter, None)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let names = self.specs.iter().flat_map(|spec| spec.names).map(|name| format!("--{name}"));
        let names: Vec<String> = names.collect();
        unknown_option(&format!("--{name}"), names.iter().map(String::as_str))
    }

    /// Returns the whole name, or else an abbreviation; the first in the table wins.
    fn find_long(&self, name: &str) -> Option<Spec> {
        let whole = self.specs.iter().find(|s| s.names.contains(&name));
        let short =
            || self.specs.iter().find(|s| name.len() > 1 && s.names.iter().any(|n| n.starts_with(name)));
        whole.or_else(short).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[Spec] = &[
        Spec { letter: 'd', names: &["dataset"], takes: Takes::Argument },
        Spec { letter: 'p', names: &["properties"], takes: Takes::Nothing },
        Spec { letter: 'o', names: &["output"], takes: Takes::Perhaps },
    ];

    fn all(words: &[&str]) -> Vec<Result<Argument, String>> {
        let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        let mut scanner = Scanner::new(&words, SPECS);
        let mut found = Vec::new();
        loop {
            found.push(scanner.next());
            if matches!(found.last(), Some(Ok(Argument::Files(_)) | Err(_))) {
                return found;
            }
        }
    }

    fn option(letter: char, value: Option<&str>) -> Result<Argument, String> {
        Ok(Argument::Option(letter, value.map(str::to_owned)))
    }

    #[test]
    fn all_spellings_of_an_argument_work() {
        let found = all(&["-d", "a", "-db", "--dataset=c", "--datas", "e", "-pd", "f", "x.h5", "-p"]);
        for (found, value) in found.iter().zip(["a", "b", "c", "e"]) {
            assert_eq!(*found, option('d', Some(value)));
        }
        assert_eq!(found[4..6], [option('p', None), option('d', Some("f"))]);
        assert_eq!(found[6], Ok(Argument::Files(vec!["x.h5".into(), "-p".into()])));
    }

    #[test]
    fn optional_arguments_never_take_the_file_name() {
        assert_eq!(all(&["-o", "out", "x.h5"])[0], option('o', Some("out")));
        assert_eq!(all(&["-o", "x.h5"])[0], option('o', None));
        assert_eq!(all(&["--output", "out", "x.h5"])[0], option('o', None));
        assert!(all(&["--nonsense"])[0].is_err());
        let guess = "unknown option \"--propreties\"; did you mean \"--properties\"?";
        assert_eq!(all(&["--propreties"])[0], Err(guess.to_owned()));
    }
}
