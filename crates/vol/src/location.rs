//! Locations and stacks: where a container is, as one string.

use model::{Error, Result};

/// A location: `file.h5`, `log:run.h5`, `object+rados:pool/container`, `h5s://host:port/name`,
/// `h5s+direct://host:port/name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The connector, if the location names one.
    pub connector: Option<String>,
    /// The storage engine of the connector (`rados` in `object+rados:`), if the location names one.
    pub engine: Option<String>,
    /// The rest of the location, in the connector's own terms.
    pub path: String,
}

impl Location {
    /// Parses a location. A prefix is a connector's name of two letters or more, so `C:\x` stays a path.
    pub fn parse(text: &str) -> Location {
        for (prefix, engine) in [("h5s://", None), ("h5s+direct://", Some("direct"))] {
            if let Some(rest) = text.strip_prefix(prefix) {
                let (connector, engine) = (Some("remote".into()), engine.map(str::to_owned));
                return Location { connector, engine, path: rest.to_owned() };
            }
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
    /// The parameters in its braces.
    pub parameters: Parameters,
}

/// The parameters in a layer's braces: `key=value`, separated by commas. A key may come more than once; a value may
/// hold braces of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parameters(pub(crate) Vec<(String, String)>);

impl From<Vec<(String, String)>> for Parameters {
    fn from(pairs: Vec<(String, String)>) -> Self {
        Parameters(pairs)
    }
}

impl Parameters {
    /// Returns the last value given for `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rfind(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// Returns all values given for `key`, in their order.
    pub fn all<'p>(&'p self, key: &'p str) -> impl Iterator<Item = &'p str> {
        self.0.iter().filter(move |(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// Returns the value of `key` as `T`, or `default` if the key is not given.
    ///
    /// # Errors
    /// Returns `Invalid` if the value cannot be parsed.
    pub fn parsed<T: std::str::FromStr>(&self, key: &str, default: T) -> Result<T> {
        let Some(text) = self.get(key) else { return Ok(default) };
        let wrong = |_| Error::invalid("read parameter").with("parameter", key).with("value", text);
        text.parse().map_err(wrong)
    }

    /// Returns the keys and values, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Checks that no other keys than `known` are given.
    ///
    /// # Errors
    /// Returns `Invalid`, with the names of the unknown and the known keys.
    pub fn only(&self, known: &[&str]) -> Result<()> {
        let Some((key, _)) = self.0.iter().find(|(k, _)| !known.contains(&k.as_str())) else { return Ok(()) };
        Err(Error::invalid("read parameters").with("unknown", key).with("known", known.join(", ")))
    }
}

/// Layers, outermost first: `stats | mirror{to=raw:copy/}`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stack(pub Vec<StackEntry>);

impl Stack {
    /// Parses a stack.
    ///
    /// # Errors
    /// Returns `Invalid` with the number of the character at which the text stops making sense.
    pub fn parse(text: &str) -> Result<Stack> {
        let mut entries = Vec::new();
        let mut at = 0;
        for part in split_outside_braces(text, '|', 0)? {
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

/// Splits `text` at `separator`s outside of braces; `begin` is the position of `text` in the whole stack.
fn split_outside_braces(text: &str, separator: char, begin: usize) -> Result<Vec<&str>> {
    let (mut depth, mut start, mut parts) = (0usize, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                let inside = depth.checked_sub(1);
                depth = inside.ok_or_else(|| bad("closing brace without an opening one", begin + at))?;
            }
            c if c == separator && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(bad("brace is not closed", begin + text.len()));
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
    let inside_at = indent + part.find('{').map_or(part.len(), |brace| brace + 1);
    Ok(StackEntry { name: name.to_owned(), parameters: parameters(inside, inside_at)? })
}

fn parameters(text: &str, mut at: usize) -> Result<Parameters> {
    let mut found = Vec::new();
    for pair in split_outside_braces(text, ',', at)? {
        if !pair.trim().is_empty() {
            let place = at + pair.len() - pair.trim_start().len();
            let (key, value) = pair.split_once('=').ok_or_else(|| bad("key=value is expected", place))?;
            found.push((key.trim().to_owned(), value.trim().to_owned()));
        }
        at += pair.len() + 1;
    }
    Ok(Parameters(found))
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
        let direct = Location::parse("h5s+direct://h:1/n");
        assert_eq!((direct.engine.as_deref(), direct.path.as_str()), (Some("direct"), "h:1/n"));
    }

    #[test]
    fn a_stack_keeps_order_and_parameters() {
        let s = Stack::parse("stats | mirror{to=raw:copy/, policy=stop}").unwrap();
        assert_eq!(s.0.len(), 2);
        assert_eq!(s.0[1].parameters.get("to"), Some("raw:copy/"));
        let s = Stack::parse("mirror{to=a, to=b, under={stats{by=object, x=y} | trace}}").unwrap();
        let parameters = &s.0[0].parameters;
        assert_eq!(parameters.all("to").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(parameters.get("under"), Some("{stats{by=object, x=y} | trace}"));
        assert!(parameters.only(&["to"]).unwrap_err().to_string().contains("under"));
        assert!(Stack::parse("").unwrap().0.is_empty());
    }

    #[test]
    fn a_broken_stack_says_where() {
        for (text, place) in
            [("stats | {x=1}", "9"), ("a{b", "4"), ("a}", "2"), ("stats||x", "7"), ("a{x=1, y}", "8")]
        {
            let e = Stack::parse(text).unwrap_err().to_string();
            assert!(e.contains(&format!("character: {place}")), "{text}: {e}");
        }
    }
}
