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

/// The first byte of every character of the private range: text without it needs no closer look.
const ESCAPE_LEAD: u8 = 0xEF;

#[inline]
fn has_escapes(text: &str) -> bool {
    !text.is_ascii() && text.as_bytes().contains(&ESCAPE_LEAD) && text.chars().any(is_escape)
}

/// Text from bytes; [`to_bytes`] gives exactly these bytes back.
#[inline]
pub fn from_bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !has_escapes(text) => text.to_owned(),
        _ => from_odd_bytes(bytes),
    }
}

/// The same up to the first NUL, where there is one.
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

/// The bytes that stand in the file for this text.
pub fn to_bytes(text: &str) -> Vec<u8> {
    as_bytes(text).into_owned()
}

/// As [`to_bytes`], where nothing need be changed without a copy.
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

/// The path of a file as text: [`to_path`] gives exactly this path back, whatever bytes are in it.
pub fn from_path(path: &Path) -> String {
    from_bytes(path.as_os_str().as_encoded_bytes())
}

/// The path that a text stands for.
#[cfg(unix)]
pub fn to_path(text: &str) -> Cow<'_, Path> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    match as_bytes(text) {
        Cow::Borrowed(_) => Cow::Borrowed(Path::new(text)),
        Cow::Owned(bytes) => Cow::Owned(PathBuf::from(OsString::from_vec(bytes))),
    }
}

/// The path that a text stands for. Paths of this system are Unicode.
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
}
