//! Names and strings from files as Rust text, without losing a byte.
//!
//! Old files hold names in Latin-1 and worse. Bytes that are not UTF-8 become characters of a small
//! private range (U+F780 to U+F7FF, one for each byte 0x80 to 0xFF) and go back unchanged, so that a
//! name read from a file can be looked up in it again.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

const ESCAPE_BASE: u32 = 0xF700;

fn is_escape(c: char) -> bool {
    (0xF780..=0xF7FF).contains(&u32::from(c))
}

fn escape(byte: u8) -> char {
    char::from_u32(ESCAPE_BASE + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Returns whether a terminal may act upon a character instead of showing it: control characters, and those that turn the direction of
/// what follows or break lines.
pub fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Appends bytes as text that is safe to show: each byte of a [control character](is_control), and each that is no UTF-8, becomes
/// a backslash and three octal digits, as in the HDF5 tools. `is_kept` says which control characters stay.
///
/// Returns how many bytes were taken: the start of a character at the end is left for the next call.
pub fn push_printable(bytes: &[u8], is_kept: impl Fn(char) -> bool, out: &mut Vec<u8>) -> usize {
    let octal = |byte: &u8, out: &mut Vec<u8>| {
        out.extend([b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]);
    };
    let (mut taken, mut chunks) = (0, bytes.utf8_chunks().peekable());
    while let Some(chunk) = chunks.next() {
        let mut plain = 0;
        for (at, c) in chunk.valid().char_indices().filter(|(_, c)| is_control(*c) && !is_kept(*c)) {
            out.extend_from_slice(&chunk.valid().as_bytes()[plain..at]);
            plain = at + c.len_utf8();
            chunk.valid().as_bytes()[at..plain].iter().for_each(|byte| octal(byte, out));
        }
        out.extend_from_slice(&chunk.valid().as_bytes()[plain..]);
        taken += chunk.valid().len();
        let is_begun = chunks.peek().is_none()
            && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
        if !is_begun {
            chunk.invalid().iter().for_each(|byte| octal(byte, out));
            taken += chunk.invalid().len();
        }
    }
    taken
}

/// Returns text that is safe to show on one line: see [`push_printable`].
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_safe = |c: char| !is_control(c) && !is_escape(c);
    if text.chars().all(is_safe) {
        return Cow::Borrowed(text);
    }
    let (bytes, mut out) = (as_bytes(text), Vec::with_capacity(text.len()));
    let taken = push_printable(&bytes, |_| false, &mut out);
    // A character that the text breaks off in is no character.
    for byte in &bytes[taken..] {
        out.extend_from_slice(format!("\\{byte:03o}").as_bytes());
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// The first byte of every character of the private range: text without it needs no closer look.
const ESCAPE_LEAD: u8 = 0xEF;

#[inline]
fn has_escapes(text: &str) -> bool {
    !text.is_ascii() && text.as_bytes().contains(&ESCAPE_LEAD) && text.chars().any(is_escape)
}

/// Returns text from bytes; [`to_bytes`] gives exactly these bytes back.
#[inline]
pub fn from_bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !has_escapes(text) => text.to_owned(),
        _ => from_odd_bytes(bytes),
    }
}

/// Does what [`from_bytes`] does, up to the first NUL, if there is one.
pub fn from_bytes_to_nul(bytes: &[u8]) -> String {
    // As a rule there are only plain characters, and few: one look at all of them says so.
    if bytes.iter().fold(true, |plain, &b| plain & (b.wrapping_sub(1) < 0x7F))
        && let Ok(text) = String::from_utf8(bytes.to_vec())
    {
        return text;
    }
    let end = bytes.iter().position(|&b| b == 0);
    from_bytes(&bytes[..end.unwrap_or(bytes.len())])
}

fn from_odd_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for part in bytes.utf8_chunks() {
        for c in part.valid().chars() {
            // A stored character of the private range is escaped too, or it would come back as one byte.
            if is_escape(c) {
                text.extend(c.encode_utf8(&mut [0; 4]).bytes().map(escape));
            } else {
                text.push(c);
            }
        }
        text.extend(part.invalid().iter().map(|&b| escape(b)));
    }
    text
}

/// Returns the bytes that stand in the file for this text.
pub fn to_bytes(text: &str) -> Vec<u8> {
    as_bytes(text).into_owned()
}

/// Does what [`to_bytes`] does, without a copy if nothing need be changed.
#[inline]
pub fn as_bytes(text: &str) -> Cow<'_, [u8]> {
    if has_escapes(text) { Cow::Owned(unescape(text)) } else { Cow::Borrowed(text.as_bytes()) }
}

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        if is_escape(c) {
            bytes.push((u32::from(c) - ESCAPE_BASE) as u8);
        } else {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    bytes
}

/// Returns the path of a file as text: [`to_path`] gives exactly this path back, whatever bytes are in it.
pub fn from_path(path: &Path) -> String {
    from_bytes(path.as_os_str().as_encoded_bytes())
}

/// Returns the path that a text stands for.
#[cfg(unix)]
pub fn to_path(text: &str) -> Cow<'_, Path> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    match as_bytes(text) {
        Cow::Borrowed(_) => Cow::Borrowed(Path::new(text)),
        Cow::Owned(bytes) => Cow::Owned(PathBuf::from(OsString::from_vec(bytes))),
    }
}

/// Returns the path that a text stands for. Paths of this system are Unicode.
#[cfg(not(unix))]
pub fn to_path(text: &str) -> Cow<'_, Path> {
    match as_bytes(text) {
        Cow::Borrowed(_) => Cow::Borrowed(Path::new(text)),
        Cow::Owned(bytes) => Cow::Owned(PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_survive() {
        for bytes in [
            &b"plain"[..],
            b"caf\xe9",
            "\u{F780}\u{F7FF}x".as_bytes(),
            b"\xff\xfe\x80",
            "žluť".as_bytes(),
            "\u{FEFF}ﬁ".as_bytes(),
            b"\xef\xff",
        ] {
            assert_eq!(to_bytes(&from_bytes(bytes)), bytes);
            assert_eq!(to_bytes(&from_bytes_to_nul(bytes)), bytes);
            assert_eq!(to_bytes(&from_bytes_to_nul(&[bytes, b"\0x"].concat())), bytes);
        }
    }

    #[cfg(unix)]
    #[test]
    fn any_path_survives() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        for bytes in [&b"a/plain.h5"[..], b"out\xff.h5", "\u{F780}.h5".as_bytes(), b"\xef\x9e\xff"] {
            let path = Path::new(OsStr::from_bytes(bytes));
            assert_eq!(to_path(&from_path(path)), path);
        }
    }

    #[test]
    fn what_a_terminal_acts_upon_is_shown_as_octal_numbers() {
        assert_eq!(printable("a\u{1b}[2J\n\u{7f}"), "a\\033[2J\\012\\177");
        assert_eq!(printable("\u{9b}x\u{202e}y"), "\\302\\233x\\342\\200\\256y");
        assert_eq!(printable(&from_bytes(b"na\xefve\x9b\xc3")), "na\\357ve\\233\\303");
        assert!(matches!(printable("žluť 😀"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_character_that_comes_in_two_parts_stays_whole() {
        let (mut out, text) = (Vec::new(), "é".as_bytes());
        assert_eq!(push_printable(&text[..1], |_| false, &mut out), 0);
        assert_eq!(push_printable(text, |_| false, &mut out), 2);
        assert_eq!(out, text);
        assert_eq!(push_printable(b"\n\t", |c| c == '\n', &mut out), 2);
        assert_eq!(&out[2..], b"\n\\011");
    }
}
