//! Names that mean something other than a file on Windows: devices, streams of other files, other spellings of a name.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};

/// Characters that no name has. A colon separates a file from a stream of it.
const RESERVED: &[u8] = b"<>:\"/\\|?*";

/// Devices, with any extension.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// Returns an error unless a name is one of a file or directory on Windows.
///
/// # Errors
/// Returns `InvalidInput` for names of devices, for reserved characters, and for a dot or a space at the end, which Windows drops.
pub(crate) fn check(name: &OsStr) -> io::Result<()> {
    let bytes = name.as_encoded_bytes();
    let is_reserved = bytes.iter().any(|byte| *byte < 32 || RESERVED.contains(byte));
    match is_reserved || bytes.ends_with(b".") || bytes.ends_with(b" ") || is_device(name) {
        true => Err(io::Error::new(ErrorKind::InvalidInput, "Windows has no file of such a name")),
        false => Ok(()),
    }
}

fn is_device(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let is_port = |port: &str| stem.strip_prefix(port).is_some_and(|number| number.chars().count() == 1);
    DEVICES.contains(&&*stem) || is_port("COM") || is_port("LPT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_streams_and_names_that_change_are_refused() {
        for name in
            ["NUL", "nul.txt", "con", "COM1", "lpt9.h5", "a:b", "a*", "x.", "x ", "a\\b", "\u{1}", "com¹"]
        {
            assert!(check(OsStr::new(name)).is_err(), "{name}");
        }
        for name in ["data", "null", "COM", "COM10", ".hidden", "ä b", "console.h5", "a.b"] {
            assert!(check(OsStr::new(name)).is_ok(), "{name}");
        }
    }
}
