//! Keys and values as text, for `storage_show`.

use model::{LinkTarget, Result, text};

/// Bytes of a value that are shown if its meaning is not known.
pub const BYTES_MAX: usize = 24;

/// Returns bytes in hexadecimal digits, up to [`BYTES_MAX`] of them.
pub fn hex(bytes: &[u8]) -> String {
    let shown: String = bytes.iter().take(BYTES_MAX).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > BYTES_MAX { format!("{shown}… ({} bytes)", bytes.len()) } else { shown }
}

/// Returns bytes as text in quotes if they are printable ASCII, and else in hexadecimal digits.
pub fn plain(bytes: &[u8]) -> String {
    match !bytes.is_empty() && bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') {
        true => format!("\"{}\"", text::from_bytes(bytes)),
        false => hex(bytes),
    }
}

/// Returns a decoded value as text, or why it could not be decoded.
pub fn decoded<T: std::fmt::Debug>(value: Result<T>) -> String {
    match value {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("broken: {error}"),
    }
}

/// Returns the target of a link as text; `object` is called for hard links.
pub fn link(target: Result<LinkTarget>, object: impl FnOnce(model::Token) -> String) -> String {
    match target {
        Ok(LinkTarget::Hard(token)) => object(token),
        Ok(LinkTarget::Soft(path)) => format!("soft link to \"{path}\""),
        Ok(LinkTarget::External { file, path }) => format!("external link to \"{path}\" in \"{file}\""),
        Ok(LinkTarget::User { class, data }) => format!("link of class {class}: {}", hex(&data)),
        Err(error) => format!("broken: {error}"),
    }
}
