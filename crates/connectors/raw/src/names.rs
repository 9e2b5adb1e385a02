//! Names of links as names of files, reversibly, and never out of their folder.
//!
//! Letters, digits and most else stay. What a file system may not hold or would read in its own way becomes `%XX`:
//! control characters, `% / \ : * ? " < > |`, bytes that are not UTF-8, a dot or a space at either end, and the dot of
//! an ending that is ours. A name that is too long is cut, with a digest; the metadata has it whole.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};

use json_text::ids::digest;
use model::text;

/// Endings of files that belong to an object.
pub(crate) const ENDINGS: [&str; 3] = [".bin", ".json", ".link"];
/// Where a digest begins: no escape looks like this.
const CUT: &str = "%~";
/// File systems have 255, and our endings take a few.
const STEM_BYTES_MAX: usize = 200;
/// Bytes that are left of a name that is too long.
const KEPT_BYTES: usize = 120;

fn is_plain(c: char) -> bool {
    !c.is_control() && !matches!(c, '%' | '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
}

fn push_escaped(byte: u8, out: &mut String) {
    out.push_str(&format!("%{byte:02X}"));
}

/// Returns the name of a link, as a file's; with capitals escaped where another name differs in them only.
fn stem(name: &str, escape_capitals: bool) -> String {
    let bytes = text::to_bytes(name);
    let ending = ENDINGS.iter().find(|ending| name.to_lowercase().ends_with(**ending));
    // Where the dot of an ending stands.
    let dot = ending.map(|ending| bytes.len().saturating_sub(ending.len()));
    let (mut out, mut at) = (String::new(), 0);
    for part in bytes.utf8_chunks() {
        for c in part.valid().chars() {
            let is_edge = matches!(c, '.' | ' ') && (at == 0 || at + 1 == bytes.len());
            if is_plain(c) && !is_edge && Some(at) != dot && !(escape_capitals && c.is_uppercase()) {
                out.push(c);
            } else {
                c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push_escaped(byte, &mut out));
            }
            at += c.len_utf8();
        }
        part.invalid().iter().for_each(|&byte| push_escaped(byte, &mut out));
        at += part.invalid().len();
    }
    if out.len() <= STEM_BYTES_MAX { out } else { cut(&out, &bytes) }
}

fn cut(stem: &str, name: &[u8]) -> String {
    let mut end = KEPT_BYTES;
    while !stem.is_char_boundary(end) {
        end -= 1;
    }
    // Not in the middle of an escape.
    let kept = &stem[..end];
    let kept = match kept.rfind('%') {
        Some(at) if at + 3 > kept.len() => &kept[..at],
        _ => kept,
    };
    let digest: String = digest(name).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{kept}{CUT}{digest}")
}

/// Returns whether the metadata must say what the name is.
pub(crate) fn is_cut(stem: &OsStr) -> bool {
    stem.to_str().is_some_and(|stem| stem.contains(CUT))
}

/// Returns the names of all links of a group, as files' names that differ on any file system.
pub(crate) fn stems<'n>(names: impl IntoIterator<Item = &'n str>) -> BTreeMap<String, OsString> {
    let mut names: Vec<&str> = names.into_iter().collect();
    // Small letters first: then every later one has a capital to escape.
    names.sort_unstable_by(|a, b| b.cmp(a));
    let (mut taken, mut stems) = (HashSet::new(), BTreeMap::new());
    for name in names {
        let plain = stem(name, false);
        let stem = if taken.insert(plain.to_lowercase()) { plain } else { stem(name, true) };
        stems.insert(name.to_owned(), OsString::from(stem));
    }
    stems
}

/// Returns the name that a file's name means. What is no escape of ours stands for itself.
pub(crate) fn name_of(stem: &OsStr) -> String {
    let bytes = stem.as_encoded_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|d| std::str::from_utf8(d).ok());
        let escaped = digits.filter(|d| byte == b'%' && d.bytes().all(|b| b.is_ascii_hexdigit()));
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(escaped) => {
                out.push(escaped);
                rest = &after[2..];
            }
            None => {
                out.push(byte);
                rest = after;
            }
        }
    }
    let name = text::from_bytes(&out);
    // No other caller's escapes make a name that is none.
    if model::link::check_name(&name).is_ok() { name } else { text::from_bytes(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_stay_in_their_folder() {
        for name in [
            "temperature",
            "Temp 2",
            "..",
            "...",
            ".hidden",
            "a.json",
            "a.BIN",
            "x.link",
            "a\\b",
            "c:d",
            "100%",
            "%41",
            "tab\there",
            " ",
            "end.",
            "end ",
            "žluť",
            "caf\u{F7E9}",
            "\u{F7FF}\u{F780}",
            "CON",
            "a.json.bin",
            ".json",
            ".bin",
        ] {
            let stem = stem(name, false);
            assert_eq!(name_of(OsStr::new(&stem)), name, "{stem}");
            assert!(!stem.starts_with('.') && !stem.contains('/') && !stem.contains('\0'), "{stem}");
            assert!(ENDINGS.iter().all(|ending| !stem.to_lowercase().ends_with(ending)), "{stem}");
            assert_eq!(name_of(OsStr::new(&super::stem(name, true))), name);
        }
    }

    #[test]
    fn long_names_are_cut_and_differ() {
        let (a, b) = ("é".repeat(400), "é".repeat(399) + "x");
        let (a, b) = (stem(&a, false), stem(&b, false));
        assert!(a.len() < STEM_BYTES_MAX && a != b && is_cut(OsStr::new(&a)));
        assert!(!is_cut(OsStr::new(&stem("%~", false))));
    }

    #[test]
    fn names_that_differ_in_case_only_get_stems_that_differ_in_more() {
        let stems = stems(["data", "Data", "DATA", "é", "É"]);
        let lower: HashSet<String> = stems.values().map(|s| s.to_str().unwrap().to_lowercase()).collect();
        assert_eq!(lower.len(), 5);
        assert!(stems.iter().all(|(name, stem)| name_of(stem) == *name));
    }

    #[test]
    fn escapes_that_make_no_name_stand_for_themselves() {
        assert_eq!(name_of(OsStr::new("a%2Fb")), "a%2Fb");
        assert_eq!(name_of(OsStr::new("a%00")), "a%00");
        assert_eq!(name_of(OsStr::new("%2E")), "%2E");
        assert_eq!(name_of(OsStr::new("50%")), "50%");
    }
}
