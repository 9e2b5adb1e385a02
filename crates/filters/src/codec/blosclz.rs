//! BloscLZ: an LZ77 stream like LZF's, with longer lengths and distances.
//!
//! A control byte below 32 starts that many + 1 literals (the first control byte's upper bits are a marker).
//! Any other is a match: 3 bits of length (7: bytes follow, up to one below 255), 13 bits of distance; the
//! largest distance means that two more bytes hold a far one.

use super::matching::{same_bytes, stride};
use crate::error::{Error, Origin};

const LITERALS_MAX: usize = 32;
const NEAR_MAX: usize = 8191;
const FAR_MAX: usize = 65535 + NEAR_MAX;
const MATCH_MIN: usize = 4;
/// A near match takes two bytes.
const REPEAT_MIN: usize = 3;
const HASH_BITS: u32 = 14;
/// Places that are tried for a match, and those of the highest level.
const DEPTH: usize = 2;
const DEPTH_MAX: usize = 16;
const MARKER: u8 = 1 << 5;
/// Inputs below this many bytes are not worth a stream, and decoders assume there is none.
const INPUT_MIN: usize = 16;
/// Readers take a stream that ends with a match for cut off: the last bytes are literals.
const TAIL_BYTES: usize = 4;

/// Decodes a stream into `out`; the number of bytes it had.
pub(crate) fn decode_into(at: Origin, input: &[u8], out: &mut [u8]) -> Result<usize, Error> {
    let mut decoder = Decoder { at, input, read: 0, out, written: 0 };
    let mut control = decoder.byte()? & 31;
    loop {
        match control {
            0..32 => decoder.literals(usize::from(control) + 1)?,
            _ => decoder.back_reference(control)?,
        }
        match decoder.input.get(decoder.read) {
            Some(&next) => control = next,
            None => return Ok(decoder.written),
        }
        decoder.read += 1;
    }
}

struct Decoder<'a> {
    at: Origin,
    input: &'a [u8],
    read: usize,
    out: &'a mut [u8],
    written: usize,
}

impl Decoder<'_> {
    fn byte(&mut self) -> Result<u8, Error> {
        let byte =
            self.input.get(self.read).ok_or_else(|| self.at.corrupt("BloscLZ stream ends too early"))?;
        self.read += 1;
        Ok(*byte)
    }

    /// Returns the next `len` bytes of the output.
    fn end_of(&self, len: usize) -> Result<usize, Error> {
        match self.written.checked_add(len) {
            Some(end) if end <= self.out.len() => Ok(end),
            _ => Err(self.at.corrupt("BloscLZ stream is longer than its block")),
        }
    }

    fn literals(&mut self, len: usize) -> Result<(), Error> {
        let end = self.end_of(len)?;
        let run = self.input.get(self.read..self.read + len);
        let run = run.ok_or_else(|| self.at.corrupt("BloscLZ stream ends inside literals"))?;
        self.out[self.written..end].copy_from_slice(run);
        self.read += len;
        self.written = end;
        Ok(())
    }

    fn back_reference(&mut self, control: u8) -> Result<(), Error> {
        let mut length = usize::from(control >> 5) + 2;
        if length == 9 {
            loop {
                let more = self.byte()?;
                length += usize::from(more);
                if more < 255 {
                    break;
                }
            }
        }
        let low = usize::from(self.byte()?);
        let mut distance = (usize::from(control & 31) << 8 | low) + 1;
        if distance == NEAR_MAX + 1 {
            distance = (usize::from(self.byte()?) << 8 | usize::from(self.byte()?)) + NEAR_MAX + 1;
        }
        self.copy(distance, length)
    }

    fn copy(&mut self, distance: usize, length: usize) -> Result<(), Error> {
        let end = self.end_of(length)?;
        let start = self.written.checked_sub(distance);
        let start = start.ok_or_else(|| self.at.corrupt("BloscLZ match before the start"))?;
        // An overlapping match repeats; each copy doubles what can be copied at once.
        while self.written < end {
            let run = (end - self.written).min(self.written - start);
            self.out.copy_within(start..start + run, self.written);
            self.written += run;
        }
        Ok(())
    }
}

/// Encodes a stream; `None` when the input is too small for one. The highest level looks further for matches.
pub(crate) fn encode(input: &[u8], level: u32) -> Option<Vec<u8>> {
    if input.len() < INPUT_MIN {
        return None;
    }
    let body = &input[..input.len() - TAIL_BYTES];
    let mut places = MatchTable::new(body, if level >= 9 { DEPTH_MAX } else { DEPTH });
    let mut out = Vec::with_capacity(input.len() / 2 + 64);
    let (mut at, mut literals_from, mut last_distance) = (0, 0, 0);
    while at + MATCH_MIN <= body.len() {
        let repeated = repeat_match(body, last_distance, at);
        let found = better(repeated, places.longest(at));
        places.note(at);
        match found {
            Some((distance, length)) => {
                push_literals(&mut out, &input[literals_from..at]);
                push_match(&mut out, distance - 1, length - 2);
                at += length;
                (literals_from, last_distance) = (at, distance);
                // The next match may start where this one ends.
                places.note(at - 2);
                places.note(at - 1);
            }
            None => at += stride(at - literals_from),
        }
    }
    push_literals(&mut out, &input[literals_from..]);
    // The first control byte always starts literals, so it has space.
    *out.first_mut()? |= MARKER;
    Some(out)
}

/// Places by the hash of what stands there, latest first. They are 1-based, so that 0 means none.
struct MatchTable<'a> {
    body: &'a [u8],
    heads: Vec<u32>,
    earlier: Vec<u32>,
    depth: usize,
}

impl<'a> MatchTable<'a> {
    fn new(body: &'a [u8], depth: usize) -> Self {
        MatchTable { body, heads: vec![0; 1 << HASH_BITS], earlier: vec![0; body.len()], depth }
    }

    fn hash(&self, at: usize) -> Option<usize> {
        let head = self.body.get(at..)?.first_chunk::<MATCH_MIN>()?;
        Some((u32::from_le_bytes(*head).wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize)
    }

    fn note(&mut self, at: usize) {
        let Some(hash) = self.hash(at) else { return };
        let head = &mut self.heads[hash];
        // A place that is noted twice in a row would lead to itself.
        if *head as usize != at + 1 {
            self.earlier[at] = std::mem::replace(head, at as u32 + 1);
        }
    }

    /// Returns the longest match of the latest places with the same hash.
    fn longest(&self, at: usize) -> Option<(usize, usize)> {
        let (mut best, mut place) = (None, self.heads[self.hash(at)?]);
        for _ in 0..self.depth {
            let Some(from) = (place as usize).checked_sub(1).filter(|from| at - from <= FAR_MAX) else {
                break;
            };
            best = better(best, find_match(self.body, from, at));
            place = self.earlier[from];
        }
        best
    }
}

/// Returns the longer of two matches.
fn better(one: Option<(usize, usize)>, other: Option<(usize, usize)>) -> Option<(usize, usize)> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.1 > one.1 { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// Returns a match at the distance of the one before: numbers that change in one byte go on at the distance of their size.
fn repeat_match(input: &[u8], distance: usize, at: usize) -> Option<(usize, usize)> {
    let from = at.checked_sub(distance).filter(|_| (1..=NEAR_MAX).contains(&distance))?;
    let same = same_bytes(&input[from..], &input[at..]);
    (same >= REPEAT_MIN).then_some((distance, same))
}

fn find_match(input: &[u8], from: usize, at: usize) -> Option<(usize, usize)> {
    let same = same_bytes(&input[from..], &input[at..]);
    // A far match costs two bytes more.
    let worth = if at - from > NEAR_MAX { MATCH_MIN + 2 } else { MATCH_MIN };
    (same >= worth).then_some((at - from, same))
}

fn push_literals(out: &mut Vec<u8>, literals: &[u8]) {
    for run in literals.chunks(LITERALS_MAX) {
        out.push((run.len() - 1) as u8);
        out.extend_from_slice(run);
    }
}

/// `back` is the distance less 1, `code` the length less 2.
fn push_match(out: &mut Vec<u8>, back: usize, code: usize) {
    let near = back.min(NEAR_MAX);
    let high = (near >> 8) as u8;
    if code < 7 {
        out.push((code << 5) as u8 | high);
    } else {
        out.push(7 << 5 | high);
        let more = code - 7;
        out.extend(std::iter::repeat_n(255, more / 255));
        out.push((more % 255) as u8);
    }
    out.push(near as u8);
    if near == NEAR_MAX {
        out.extend_from_slice(&((back - NEAR_MAX) as u16).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far_matches_round_trip() {
        let mut input: Vec<u8> = (0..90_000u32).map(|i| (i.wrapping_mul(i) >> 5) as u8).collect();
        input.extend_from_within(..40_000);
        input.extend(std::iter::repeat_n(9, 5000));
        input.extend_from_within(120_000..131_000);
        let stream = encode(&input, 5).unwrap();
        assert!(stream.len() < input.len());
        let mut out = vec![0; input.len()];
        assert_eq!(decode_into(Origin(32001), &stream, &mut out).unwrap(), input.len());
        assert!(out == input);
    }
}
