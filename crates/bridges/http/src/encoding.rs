//! Compression and ranges of answers, as the headers of a request ask for them.

use std::io::Write;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::answer::Answer;

/// Answers of fewer bytes are not worth compressing.
const BYTES_MIN: usize = 1 << 10;
/// Bytes of elements that are compressed to see whether it is worth it: many numbers hardly get smaller.
const TRIAL_BYTES: usize = 64 << 10;
/// Elements are compressed if the trial gets shorter than so many hundredths.
const TRIAL_PERCENT_MAX: usize = 70;

/// A content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
}

impl Coding {
    fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
        }
    }

    /// Returns the best coding that a client accepts.
    fn accepted(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        let accepted: Vec<&str> = values.flat_map(|value| value.split(',')).filter_map(wanted).collect();
        let has = |coding: Coding| accepted.iter().any(|name| name.eq_ignore_ascii_case(coding.name()));
        [Coding::Gzip, Coding::Deflate].into_iter().find(|coding| has(*coding))
    }

    fn encode(self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        // The fastest level: a network is rarely slower.
        let (out, level) = (Vec::with_capacity(bytes.len() / 2), Compression::fast());
        match self {
            Coding::Gzip => {
                let mut encoder = GzEncoder::new(out, level);
                encoder.write_all(bytes)?;
                encoder.finish()
            }
            Coding::Deflate => {
                let mut encoder = ZlibEncoder::new(out, level);
                encoder.write_all(bytes)?;
                encoder.finish()
            }
        }
    }
}

/// Returns the name of a coding, unless its quality is zero.
fn wanted(item: &str) -> Option<&str> {
    let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
    let is_refused =
        parameters.trim().strip_prefix("q=").is_some_and(|q| q.parse::<f32>().is_ok_and(|q| q == 0.0));
    (!is_refused).then(|| name.trim())
}

/// Returns whether a tag is that of an answer, however it was encoded.
pub(crate) fn is_same(tag: &str, etag: &str) -> bool {
    let tag = tag.strip_prefix("W/").unwrap_or(tag);
    tag == etag || [Coding::Gzip, Coding::Deflate].into_iter().any(|coding| tag == tag_of(etag, coding))
}

/// Bytes that differ have tags that differ.
fn tag_of(etag: &str, coding: Coding) -> String {
    format!("{}-{}\"", etag.trim_end_matches('"'), coding.name())
}

/// Returns an answer as a request asks for it: a range of it, or all of it compressed.
pub(crate) fn fitted(answer: Answer, request: &HeaderMap, etag: Option<String>) -> Answer {
    if answer.status != StatusCode::OK {
        return answer;
    }
    let is_binary = answer.content_type == "application/octet-stream";
    if is_binary && let Some((status, body, range)) = range_of(&answer.body, request, etag.as_deref()) {
        return tagged(answer.with_status(status).with_body(body).with(header::CONTENT_RANGE, range), etag);
    }
    let answer = if is_binary { answer.with(header::ACCEPT_RANGES, "bytes") } else { answer };
    let answer = answer.with(header::VARY, "Accept-Encoding, Origin");
    match Coding::accepted(request).and_then(|coding| Some((coding, compressed(&answer, coding, is_binary)?)))
    {
        Some((coding, body)) => {
            let etag = etag.map(|etag| tag_of(&etag, coding));
            tagged(answer.with_body(body).with(header::CONTENT_ENCODING, coding.name()), etag)
        }
        None => tagged(answer, etag),
    }
}

fn tagged(answer: Answer, etag: Option<String>) -> Answer {
    match etag {
        Some(etag) => answer.with(header::ETAG, etag),
        None => answer,
    }
}

fn compressed(answer: &Answer, coding: Coding, is_binary: bool) -> Option<Bytes> {
    if answer.body.len() < BYTES_MIN {
        return None;
    }
    let trial = &answer.body[..answer.body.len().min(TRIAL_BYTES)];
    if is_binary && coding.encode(trial).ok()?.len() * 100 > trial.len() * TRIAL_PERCENT_MAX {
        return None;
    }
    coding.encode(&answer.body).ok().filter(|body| body.len() < answer.body.len()).map(Bytes::from)
}

/// Returns the status, the bytes and the place of the range that a request asks for; `None` where it asks for none that
/// can be answered alone.
fn range_of(body: &Bytes, request: &HeaderMap, etag: Option<&str>) -> Option<(StatusCode, Bytes, String)> {
    let text = |name: header::HeaderName| request.get(name).and_then(|value| value.to_str().ok());
    let range = text(header::RANGE)?.strip_prefix("bytes=")?;
    // A range of another version is of no use to its client, which gets all of this one.
    if text(header::IF_RANGE).is_some_and(|tag| Some(tag) != etag) {
        return None;
    }
    let len = body.len();
    Some(match parsed(range, len)? {
        (first, last) if first <= last => {
            let place = format!("bytes {first}-{last}/{len}");
            (StatusCode::PARTIAL_CONTENT, body.slice(first..=last), place)
        }
        _ => (StatusCode::RANGE_NOT_SATISFIABLE, Bytes::new(), format!("bytes */{len}")),
    })
}

/// Reads `a-b`, `a-` or `-n`: the first and the last byte. The first is after the last where there is no such range.
fn parsed(range: &str, len: usize) -> Option<(usize, usize)> {
    let (first, last) = range.split_once('-')?;
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let nothing = (1, 0);
    let Some(end) = len.checked_sub(1) else { return Some(nothing) };
    match (first.trim(), last.trim()) {
        ("", suffix) => Some(match number(suffix)? {
            0 => nothing,
            count => (len.saturating_sub(count), end),
        }),
        (first, last) => {
            let first = number(first)?;
            let last = if last.is_empty() { end } else { number(last)?.min(end) };
            Some(if first > end { nothing } else { (first, last) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_the_end() {
        assert_eq!(parsed("0-3", 10), Some((0, 3)));
        assert_eq!(parsed("8-", 10), Some((8, 9)));
        assert_eq!(parsed("-4", 10), Some((6, 9)));
        assert_eq!(parsed("5-99", 10), Some((5, 9)));
        assert_eq!(parsed("10-", 10), Some((1, 0)));
        assert_eq!(parsed("0-", 0), Some((1, 0)));
        for text in ["", "x", "1-x", "0-1,3-4"] {
            assert_eq!(parsed(text, 10), None, "{text}");
        }
    }

    #[test]
    fn tags_of_all_codings_are_one_version() {
        assert!(is_same("\"a-1\"", "\"a-1\"") && is_same("\"a-1-gzip\"", "\"a-1\""));
        assert!(is_same("W/\"a-1-deflate\"", "\"a-1\"") && !is_same("\"a-2\"", "\"a-1\""));
    }
}
