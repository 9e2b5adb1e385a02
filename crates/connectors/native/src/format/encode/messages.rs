//! Messages of a few bytes: comment, times, reference count (format spec IV.A.2.n, IV.A.2.s, IV.A.2.w).

use model::Result;

use super::Encoder;

/// Returns the comment message.
pub(crate) fn comment(text: &str) -> Result<Vec<u8>> {
    Encoder::plain("comment").nul_text(text).finish()
}

/// Returns the modification time message, in seconds since 1970.
pub(crate) fn modification_time(seconds: u32) -> Result<Vec<u8>> {
    Encoder::plain("modification time").u8(1).zeros(3).u32(seconds).finish()
}

/// Returns the reference count message, which version 2 headers have while the count is above 1.
pub(crate) fn references(count: u32) -> Result<Vec<u8>> {
    Encoder::plain("reference count").u8(0).u32(count).finish()
}
