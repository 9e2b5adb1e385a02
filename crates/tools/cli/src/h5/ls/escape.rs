//! Names as h5ls shows them: one line, printable characters only.

use std::fmt::Write;

use hyperslab::vol::model::text::to_bytes;

use crate::common::prints_utf8;

/// Returns a name with C's escapes, and octal numbers for what is not printable ASCII.
pub(crate) fn escape(name: &str, spaces: bool) -> String {
    shown(name, spaces, prints_utf8())
}

fn shown(name: &str, spaces: bool, is_utf8: bool) -> String {
    let mut out = String::with_capacity(name.len());
    let mut buffer = [0; 4];
    for c in name.chars() {
        let text: &str = c.encode_utf8(&mut buffer);
        // Some characters stand for bytes that are no UTF-8.
        match to_bytes(text) {
            bytes if is_utf8 && !c.is_ascii() && bytes == text.as_bytes() => out.push(c),
            bytes => bytes.into_iter().for_each(|byte| push(&mut out, byte, spaces)),
        }
    }
    out
}

fn push(out: &mut String, byte: u8, spaces: bool) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        8 => out.push_str("\\b"),
        12 => out.push_str("\\f"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        b' ' if spaces => out.push_str("\\ "),
        b' '..=b'~' => out.push(byte.into()),
        // Writing to a string cannot fail.
        _ => _ = write!(out, "\\{byte:03o}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_characters_are_escaped() {
        assert_eq!(escape("naïve \"n\"\t", true), "na\\303\\257ve\\ \\\"n\\\"\\t");
        assert_eq!(escape("a b", false), "a b");
        assert_eq!(shown("naïve \"n\"", false, true), "naïve \\\"n\\\"");
    }
}
