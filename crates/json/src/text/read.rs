//! Reading JSON (RFC 8259). Nesting has a limit; all else takes time and memory in proportion to the text.

use std::borrow::Cow;

use model::{Error, Result};

use super::Value;

/// Lists and objects inside of each other: more than any type and value of the model takes.
pub const DEPTH_MAX: u32 = 512;

/// Returns the value that a text is.
pub fn read(text: &str) -> Result<Value<'_>> {
    let mut reader = Reader { text, at: 0 };
    // A byte order mark is no part of JSON, but editors leave it.
    reader.at = if text.starts_with('\u{FEFF}') { 3 } else { 0 };
    let value = reader.value(0)?;
    reader.space();
    match reader.at == text.len() {
        true => Ok(value),
        false => Err(reader.wrong("more text after the end")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    #[cold]
    fn wrong(&self, problem: &str) -> Error {
        let before = self.text.as_bytes().get(..self.at).unwrap_or_default();
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|&&b| b != b'\n').count();
        Error::corrupt("read JSON").with("problem", problem).with("line", line).with("column", column)
    }

    fn value(&mut self, depth: u32) -> Result<Value<'a>> {
        if depth > DEPTH_MAX {
            let error = Error::limit("read JSON").with("problem", "nested too deep");
            return Err(error.with("limit", DEPTH_MAX).with("offset", self.at));
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err(self.wrong("no value starts like this")),
            None => Err(self.wrong("the text ends too early")),
        }
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Result<Value<'a>> {
        match self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            true => {
                self.at += word.len();
                Ok(value)
            }
            false => Err(self.wrong("no such word")),
        }
    }

    /// Consumes a byte if it is the next one, after space.
    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn object(&mut self, depth: u32) -> Result<Value<'a>> {
        self.at += 1;
        let mut members = Vec::new();
        if self.take(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("a name in quotes is missing"));
            }
            let name = self.string()?;
            if !self.take(b':') {
                return Err(self.wrong("a colon is missing"));
            }
            members.push((name, self.value(depth + 1)?));
            if self.take(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.take(b',') {
                return Err(self.wrong("a comma or a closing brace is missing"));
            }
        }
    }

    fn array(&mut self, depth: u32) -> Result<Value<'a>> {
        self.at += 1;
        let mut entries = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(entries));
        }
        loop {
            entries.push(self.value(depth + 1)?);
            if self.take(b']') {
                return Ok(Value::Array(entries));
            }
            if !self.take(b',') {
                return Err(self.wrong("a comma or a closing bracket is missing"));
            }
        }
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.wrong("a digit is missing")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Value<'a>> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(Value::Number(Cow::Borrowed(&self.text[start..self.at])))
    }

    fn string(&mut self) -> Result<Cow<'a, str>> {
        self.at += 1;
        let start = self.at;
        let mut owned: Option<String> = None;
        loop {
            let from = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1F)) {
                self.at += 1;
            }
            let plain = &self.text[from..self.at];
            match self.peek() {
                Some(b'"') => {
                    let end = self.at;
                    self.at += 1;
                    return Ok(match owned {
                        Some(text) => Cow::Owned(text + plain),
                        None => Cow::Borrowed(&self.text[start..end]),
                    });
                }
                Some(b'\\') => {
                    let text = owned.get_or_insert_with(String::new);
                    text.push_str(plain);
                    let c = self.escape()?;
                    owned.get_or_insert_with(String::new).push(c);
                }
                Some(_) => return Err(self.wrong("a control character in a string")),
                None => return Err(self.wrong("a string without its end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        self.at += 1;
        let escaped = self.peek();
        self.at += 1;
        Ok(match escaped {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{C}',
            Some(b @ (b'"' | b'\\' | b'/')) => char::from(b),
            Some(b'u') => return self.code_point(),
            _ => {
                self.at = (self.at - 1).min(self.text.len());
                return Err(self.wrong("no such escape"));
            }
        })
    }

    fn four_digits(&mut self) -> Result<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let digits = digits.filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|d| std::str::from_utf8(d).ok());
        let found = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let found = found.ok_or_else(|| self.wrong("four hexadecimal digits are missing"))?;
        self.at += 4;
        Ok(found)
    }

    fn code_point(&mut self) -> Result<char> {
        let first = self.four_digits()?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.wrong("half of a character"));
        }
        if !self.text.as_bytes()[self.at..].starts_with(b"\\u") {
            return Err(self.wrong("half of a character"));
        }
        self.at += 2;
        let second = self.four_digits()?;
        let low = second.checked_sub(0xDC00).filter(|low| *low < 0x400);
        let found = low.and_then(|low| char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + low));
        found.ok_or_else(|| self.wrong("half of a character"))
    }
}

#[cfg(test)]
mod tests {
    use model::Kind;

    use super::*;

    #[test]
    fn values_of_every_kind_are_read() {
        let value = read(" {\"a\": [1, -2.50e+3, true, null], \"b\\u00e9\\ud83d\\ude00\\n\": {}}\n").unwrap();
        let numbers = value.need("a").unwrap().array().unwrap();
        assert_eq!(numbers[1], Value::Number("-2.50e+3".into()));
        assert!(value.get("bé😀\n").is_some());
        assert_eq!(read("18446744073709551615").unwrap().uint::<u64>().unwrap(), u64::MAX);
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\" 1}",
            "{a: 1}",
            "01",
            "1.",
            "-",
            "\"a",
            "\"\\x\"",
            "\"\\ud800\"",
            "tru",
            "[1] 2",
            "\"\u{1}\"",
            "\"\\u12\"",
            "\"\\",
        ] {
            assert_eq!(read(text).unwrap_err().kind(), Kind::Corrupt, "{text}");
        }
        assert!(read("[1,\n  x]").unwrap_err().to_string().contains("line: 2, column: 3"));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_crash() {
        let text = "[".repeat(1_000_000);
        assert_eq!(read(&text).unwrap_err().kind(), Kind::Limit);
        let fits = "[".repeat(500) + &"]".repeat(500);
        read(&fits).unwrap();
    }
}
