//! Locations and stacks: where a container lives, as one string.

use std::collections::BTreeMap;

use model::{Error, Result};

/// `file.h5`, `log:run.h5`, `object+rados:pool/container`, `h5s://host:port/name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The connector, where one is named.
    pub connector: Option<String>,
    /// The engine beneath it (`rados` in `object+rados:`).
    pub engine: Option<String>,
    /// The rest, in the connector's own terms.
    pub path: String,
}

impl Location {
    /// Reads a location. A prefix is a connector's name of two letters or more, so `C:\x` stays a path.
    pub fn parse(text: &str) -> Location {
        if let Some(rest) = text.strip_prefix("h5s://") {
            return Location { connector: Some("remote".into()), engine: None, path: rest.to_owned() };
        }
        match text.split_once(':') {
            Some((prefix, path)) if is_prefix(prefix) => {
                let (connector, engine) = match prefix.split_once('+') {
                    Some((connector, engine)) => (connector, Some(engine.to_owned())),
                    None => (prefix, None),
                };
                Location { connector: Some(connector.to_owned()), engine, path: path.to_owned() }
            }
            _ => Location { connector: None, engine: None, path: text.to_owned() },
        }
    }
}

fn is_prefix(text: &str) -> bool {
    let mut parts = text.split('+');
    text.len() >= 2
        && text.split('+').count() <= 2
        && parts.all(|p| p.starts_with(|c: char| c.is_ascii_lowercase()) && p.bytes().all(is_name_byte))
}

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-'
}

/// One layer of a stack: its name and parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackEntry {
    /// The layer's name.
    pub name: String,
    /// What stands in its braces.
    pub parameters: BTreeMap<String, String>,
}

/// Layers, outermost first: `stats | mirror{to=raw:copy/}`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stack(pub Vec<StackEntry>);

impl Stack {
    /// Reads a stack; an error says at which character it stopped making sense.
    pub fn parse(text: &str) -> Result<Stack> {
        let mut entries = Vec::new();
        let mut at = 0;
        for part in split_outside_braces(text)? {
            if !part.trim().is_empty() || text.contains('|') {
                entries.push(entry(part, at)?);
            }
            at += part.len() + 1;
        }
        Ok(Stack(entries))
    }
}

fn bad(problem: &str, at: usize) -> Error {
    Error::invalid("read stack").with("problem", problem).with("character", at + 1)
}

fn split_outside_braces(text: &str) -> Result<Vec<&str>> {
    let (mut depth, mut start, mut parts) = (0usize, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth =
                    depth.checked_sub(1).ok_or_else(|| bad("closing brace without an opening one", at))?;
            }
            '|' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(bad("brace is not closed", text.len()));
    }
    parts.push(&text[start..]);
    Ok(parts)
}

fn entry(part: &str, at: usize) -> Result<StackEntry> {
    let indent = at + part.len() - part.trim_start().len();
    let part = part.trim();
    let (name, inside) = match part.split_once('{') {
        Some((name, rest)) => match rest.strip_suffix('}') {
            Some(inside) => (name.trim_end(), inside),
            None => return Err(bad("text after the closing brace", indent + part.len())),
        },
        None => (part, ""),
    };
    if name.is_empty() || !name.bytes().all(is_name_byte) {
        return Err(bad("a layer's name is expected", indent));
    }
    let mut parameters = BTreeMap::new();
    for pair in inside.split(',').filter(|p| !p.trim().is_empty()) {
        let (key, value) =
            pair.split_once('=').ok_or_else(|| bad("key=value is expected", indent + name.len() + 1))?;
        parameters.insert(key.trim().to_owned(), value.trim().to_owned());
    }
    Ok(StackEntry { name: name.to_owned(), parameters })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_names_connector_and_engine() {
        let l = Location::parse("object+rados:pool/x");
        assert_eq!(
            (l.connector.as_deref(), l.engine.as_deref(), l.path.as_str()),
            (Some("object"), Some("rados"), "pool/x")
        );
        assert_eq!(Location::parse("dir/file.h5").connector, None);
        assert_eq!(Location::parse("C:/data.h5").connector, None);
        assert_eq!(Location::parse("h5s://h:1/n").path, "h:1/n");
    }

    #[test]
    fn a_stack_keeps_order_and_parameters() {
        let s = Stack::parse("stats | mirror{to=raw:copy/, policy=stop}").unwrap();
        assert_eq!(s.0.len(), 2);
        assert_eq!(s.0[1].parameters["to"], "raw:copy/");
        assert!(Stack::parse("").unwrap().0.is_empty());
    }

    #[test]
    fn a_broken_stack_says_where() {
        for (text, place) in [("stats | {x=1}", "9"), ("a{b", "4"), ("a}", "2"), ("stats||x", "7")] {
            let e = Stack::parse(text).unwrap_err().to_string();
            assert!(e.contains(&format!("character: {place}")), "{text}: {e}");
        }
    }
}
