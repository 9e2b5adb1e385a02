//! Characters as h5dump shows them.

use crate::common::prints_utf8;

/// How the characters of strings are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escape {
    /// As they are.
    None,
    /// Quotes, backslashes and control characters as in C.
    C,
}

/// Spaces after a line break inside a string.
const CONTINUED: &str = "           ";

/// Appends one byte of a string.
pub(crate) fn push_char(out: &mut Vec<u8>, byte: u8, escape: Escape) {
    let escaped = escape == Escape::C;
    match byte {
        b'"' | b'\\' if escaped => out.extend([b'\\', byte]),
        b'\n' | b'\r' if !escaped => {
            out.push(byte);
            out.extend_from_slice(CONTINUED.as_bytes());
        }
        8 | 12 | b'\n' | b'\r' | b'\t' if escaped => out.extend([b'\\', letter(byte)]),
        8 | 12 | b'\t' | b' '..=b'~' => out.push(byte),
        // What is no UTF-8 is escaped when it is printed.
        0x80.. if prints_utf8() => out.push(byte),
        // C prints a signed char, so a byte above 127 comes out as a 32-bit negative number.
        _ => out.extend_from_slice(format!("\\{:03o}", i32::from(byte as i8) as u32).as_bytes()),
    }
}

fn letter(byte: u8) -> u8 {
    match byte {
        8 => b'b',
        12 => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        _ => b't',
    }
}

/// Returns a name of an enum's member, with C's escapes.
pub(crate) fn escape_name(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    for &byte in name {
        match byte {
            b'\'' | b'"' | b'\\' | b'?' => out.extend([b'\\', byte]),
            7 => out.extend(b"\\a"),
            11 => out.extend(b"\\v"),
            8 | 12 | b'\n' | b'\r' | b'\t' => out.extend([b'\\', letter(byte)]),
            b' '..=b'~' => out.push(byte),
            0x80.. if prints_utf8() => out.push(byte),
            _ => out.extend_from_slice(format!("\\{:03o}", byte).as_bytes()),
        }
    }
    out
}
