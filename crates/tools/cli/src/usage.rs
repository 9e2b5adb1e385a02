//! Help texts, taken apart.
//!
//! A help text begins with `usage:` and lines that go on with `hyperslab`. A line that begins with `-` has one or more
//! options, two spaces and what they do; lines that are indented further than it go on with that. The rest is text.

/// A part of a help text.
#[derive(Debug, PartialEq)]
pub(crate) enum Part<'a> {
    /// How the command is called.
    Synopsis(&'a str),
    /// Options as they are written, and what they do.
    Option { flags: &'a str, about: String },
    /// A line of text; empty between paragraphs.
    Text(&'a str),
}

/// Returns the parts of a help text.
pub(crate) fn parts(usage: &str) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    let mut option_indent = 0;
    for line in usage.lines() {
        let (text, indent) = (line.trim(), line.len() - line.trim_start().len());
        let is_more = indent > option_indent + 2 && !text.starts_with('-');
        match found.last_mut() {
            Some(Part::Option { about, .. }) if is_more => {
                about.push_str(if about.is_empty() { "" } else { " " });
                about.push_str(text);
            }
            _ => {
                option_indent = indent;
                found.push(part(text));
            }
        }
    }
    found
}

fn part(text: &str) -> Part<'_> {
    let synopsis = text.strip_prefix("usage:").map(str::trim);
    match synopsis.or_else(|| Some(text).filter(|text| text.starts_with("hyperslab "))) {
        Some(synopsis) => Part::Synopsis(synopsis),
        None if text.starts_with('-') => {
            let (flags, about) = text.split_once("  ").unwrap_or((text, ""));
            Part::Option { flags, about: about.trim().to_owned() }
        }
        None => Part::Text(text),
    }
}

/// Returns the words of an option's line that begin with `-`, without their values.
pub(crate) fn names(flags: &str) -> impl Iterator<Item = &str> {
    let words = flags.split([' ', ',', '=', '[', ']']);
    words.filter(|word| word.len() > 1 && word.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::COMMANDS;

    #[test]
    fn every_command_has_a_synopsis_and_options_say_what_they_do() {
        for command in COMMANDS {
            let parts = parts(command.usage);
            let is_synopsis =
                |part: &Part| matches!(part, Part::Synopsis(text) if text.contains(command.name));
            assert!(parts.iter().any(is_synopsis), "{}", command.name);
        }
    }

    #[test]
    fn options_are_found_with_what_follows_on_other_lines() {
        let usage = "usage: hyperslab x [OPTIONS]\n  Text.\n  -s, --source PATH  one\n                     and more\n";
        let option = Part::Option { flags: "-s, --source PATH", about: "one and more".to_owned() };
        assert_eq!(parts(usage), [Part::Synopsis("hyperslab x [OPTIONS]"), Part::Text("Text."), option]);
        assert_eq!(names("-n, --contents[=1]").collect::<Vec<_>>(), ["-n", "--contents"]);
    }
}
