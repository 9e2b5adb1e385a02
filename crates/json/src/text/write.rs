//! Writing JSON for people: one member a line, numbers side by side, always the same text for the same value.

use std::fmt::Write;

use model::{Error, Result};

use super::{DEPTH_MAX, Value};

/// Characters of a line that small values share.
const LINE_CHARS: usize = 130;
const INDENT: usize = 2;

/// Returns the text of a value, with a line break at its end.
pub fn write(value: &Value<'_>) -> Result<String> {
    let mut out = String::new();
    put(value, 0, &mut out)?;
    out.push('\n');
    Ok(out)
}

fn new_line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', depth * INDENT));
}

fn put(value: &Value<'_>, depth: usize, out: &mut String) -> Result<()> {
    if depth as u64 > u64::from(DEPTH_MAX) {
        return Err(Error::limit("write JSON").with("problem", "nested too deep").with("limit", DEPTH_MAX));
    }
    let start = out.len();
    if put_short(value, start + LINE_CHARS.saturating_sub(depth * INDENT), out) {
        return Ok(());
    }
    out.truncate(start);
    match value {
        Value::Array(entries) if entries.iter().all(is_single) => put_singles(entries, depth, out),
        Value::Array(entries) => {
            out.push('[');
            for (n, entry) in entries.iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                new_line(depth + 1, out);
                put(entry, depth + 1, out)?;
            }
            new_line(depth, out);
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (n, (name, member)) in members.iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                new_line(depth + 1, out);
                put_text(name, out);
                out.push_str(": ");
                put(member, depth + 1, out)?;
            }
            new_line(depth, out);
            out.push('}');
        }
        single => {
            put_short(single, usize::MAX, out);
        }
    }
    Ok(())
}

fn is_single(value: &Value<'_>) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

/// As many entries on each line as fit.
fn put_singles(entries: &[Value<'_>], depth: usize, out: &mut String) {
    out.push('[');
    let mut line = LINE_CHARS;
    for (n, entry) in entries.iter().enumerate() {
        let mut text = String::new();
        put_short(entry, usize::MAX, &mut text);
        out.push_str(if n > 0 { "," } else { "" });
        if line + text.len() + 2 > LINE_CHARS.saturating_sub(depth * INDENT).max(20) {
            new_line(depth + 1, out);
            line = 0;
        } else {
            out.push(' ');
        }
        line += text.len() + 2;
        out.push_str(&text);
    }
    new_line(depth, out);
    out.push(']');
}

/// Returns whether the value went onto this line; if not, some of it did. Only flat things share a line.
fn put_short(value: &Value<'_>, end_max: usize, out: &mut String) -> bool {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(text) => out.push_str(text),
        Value::String(text) => put_text(text, out),
        Value::Array(entries) => {
            out.push('[');
            for (n, entry) in entries.iter().enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                if !is_single(entry) || out.len() > end_max || !put_short(entry, end_max, out) {
                    return false;
                }
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (n, (name, member)) in members.iter().enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                put_text(name, out);
                out.push_str(": ");
                let is_flat = is_single(member) || is_flat_array(member);
                if !is_flat || out.len() > end_max || !put_short(member, end_max, out) {
                    return false;
                }
            }
            out.push('}');
        }
    }
    is_single(value) || out.len() <= end_max
}

fn is_flat_array(value: &Value<'_>) -> bool {
    matches!(value, Value::Array(entries) if entries.iter().all(is_single))
}

/// Returns whether a character is shown as its number: bytes that are no UTF-8, and what a terminal or an editor acts upon.
fn is_hidden(c: char) -> bool {
    model::text::is_control(c) || matches!(c, '\u{F780}'..='\u{F7FF}' | '\u{FEFF}')
}

fn put_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_hidden(c) => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::super::{Fields, list, read};
    use super::*;

    fn again(value: &Value<'_>) -> String {
        let text = write(value).unwrap();
        assert_eq!(read(&text).unwrap(), *value, "{text}");
        text
    }

    #[test]
    fn numbers_stand_side_by_side() {
        let rows: Vec<Value<'_>> = (0..3u64).map(|row| list((0..40u64).map(|n| row * 1000 + n))).collect();
        let text = again(&Fields::new().with("value", rows).into());
        assert!(text.lines().count() < 20, "{text}");
        assert!(text.lines().all(|line| line.len() < 140), "{text}");
    }

    #[test]
    fn small_objects_take_one_line() {
        let shape = Fields::class("H5S_SIMPLE").with("dims", list([3u64, 4]));
        assert_eq!(again(&shape.into()), "{\"class\": \"H5S_SIMPLE\", \"dims\": [3, 4]}\n");
        assert_eq!(again(&Value::Array(Vec::new())), "[]\n");
    }

    #[test]
    fn any_text_survives() {
        again(&Value::from("\0\u{1}\"\\/\n\u{F7FF}\u{FEFF}žluť😀\u{7F}"));
        again(&list(["x".repeat(300), "y".repeat(300)]));
    }
}
