//! Scripts and descriptions as text: words and lists in parentheses. Bytes are `x` and hexadecimal digits.

use model::{Error, Result};

/// A word or a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Word(String),
    List(Vec<Node>),
}

fn wrong(problem: &str, found: impl std::fmt::Debug) -> Error {
    Error::invalid("read script").with("problem", problem).with("found", format!("{found:?}"))
}

impl Node {
    /// One line.
    pub(crate) fn parse(line: &str) -> Result<Node> {
        let mut open: Vec<Vec<Node>> = vec![Vec::new()];
        for word in line.replace('(', " ( ").replace(')', " ) ").split_whitespace() {
            let done = match word {
                "(" => {
                    open.push(Vec::new());
                    continue;
                }
                ")" => Node::List(open.pop().unwrap_or_default()),
                word => Node::Word(word.to_owned()),
            };
            open.last_mut().ok_or_else(|| wrong("too many closed", line))?.push(done);
        }
        match open.pop().as_deref() {
            Some([node]) if open.is_empty() => Ok(node.clone()),
            _ => Err(wrong("not one list", line)),
        }
    }

    pub(crate) fn list(&self) -> Result<&[Node]> {
        match self {
            Node::List(nodes) => Ok(nodes),
            Node::Word(_) => Err(wrong("not a list", self)),
        }
    }

    pub(crate) fn word(&self) -> Result<&str> {
        match self {
            Node::Word(word) => Ok(word),
            Node::List(_) => Err(wrong("not a word", self)),
        }
    }

    /// The first word of a list, and the rest.
    pub(crate) fn call(&self) -> Result<(&str, &[Node])> {
        let (first, rest) = self.list()?.split_first().ok_or_else(|| wrong("empty list", self))?;
        Ok((first.word()?, rest))
    }

    pub(crate) fn number<T: TryFrom<i64>>(&self) -> Result<T> {
        let number: i64 = self.word()?.parse().map_err(|_| wrong("not a number", self))?;
        T::try_from(number).map_err(|_| wrong("number out of range", self))
    }

    /// All numbers of a list.
    pub(crate) fn numbers<T: TryFrom<i64>>(&self) -> Result<Vec<T>> {
        self.list()?.iter().map(Node::number).collect()
    }

    pub(crate) fn bytes(&self) -> Result<Vec<u8>> {
        let digits = self.word()?.strip_prefix('x').filter(|digits| digits.len().is_multiple_of(2));
        let digits = digits.ok_or_else(|| wrong("not bytes", self))?.as_bytes();
        let value = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|p| u8::from_str_radix(p, 16).ok());
        let bytes: Option<Vec<u8>> = digits.chunks_exact(2).map(value).collect();
        bytes.ok_or_else(|| wrong("not bytes", self))
    }

    pub(crate) fn text(&self) -> Result<String> {
        String::from_utf8(self.bytes()?).map_err(|_| wrong("not text", self))
    }
}

/// The node at `at` of some arguments.
pub(crate) fn argument(nodes: &[Node], at: usize) -> Result<&Node> {
    nodes.get(at).ok_or_else(|| wrong("an argument is missing", nodes))
}

/// Bytes as a word.
pub(crate) fn hex(bytes: impl AsRef<[u8]>) -> String {
    use std::fmt::Write;
    let mut out = String::from("x");
    for byte in bytes.as_ref() {
        // Writing to a string does not fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Words as one list.
pub(crate) fn list<S: AsRef<str>>(words: &[S]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    format!("({})", words.join(" "))
}
