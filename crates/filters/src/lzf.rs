//! LZF (32000): a bare LibLZF stream, as h5py writes.
//!
//! Values: filter revision, LZF version, chunk bytes. A control byte below 32 starts that many + 1 literals;
//! any other is a match: 3 bits of length (7: one more byte follows), 13 bits of distance.

use crate::codec::matching::{same_bytes, stride};
use crate::error::{Error, Origin};
use crate::names::id;
use crate::{Codecs, Done, Filter, FilterId, Output, Params};

const AT: Origin = Origin(id::LZF);
const LITERALS_MAX: usize = 32;
const MATCH_MIN: usize = 3;
const MATCH_MAX: usize = 264;
const DISTANCE_MAX: usize = 1 << 13;
const HASH_BITS: u32 = 14;

/// The LZF filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lzf;

impl Filter for Lzf {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn decode_into(
        &self,
        _params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        out.fill(|buffer| decode(input, buffer))
    }

    fn encode_into(
        &self,
        _params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        let stream = encode(input)?;
        if stream.len() >= input.len() {
            return Err(AT.incompressible("does not shrink"));
        }
        out.put(stream)
    }
}

/// Returns the bytes of the stream, or `None` when `out` is too short for it.
fn decode(input: &[u8], out: &mut [u8]) -> Result<Option<usize>, Error> {
    let (mut at, mut len) = (0, 0);
    while let Some(&control) = input.get(at) {
        let control = usize::from(control);
        at += 1;
        if control < LITERALS_MAX {
            let run = input.get(at..at + control + 1).ok_or_else(truncated)?;
            let Some(buffer) = out.get_mut(len..len + run.len()) else { return Ok(None) };
            buffer.copy_from_slice(run);
            at += run.len();
            len += run.len();
        } else {
            let (length, distance, used) = parse_match(control, &input[at..])?;
            let Some(buffer) = out.get_mut(..len + length) else { return Ok(None) };
            copy_match(buffer, len, distance)?;
            at += used;
            len += length;
        }
    }
    Ok(Some(len))
}

fn truncated() -> Error {
    AT.corrupt("stream ends inside a run")
}

/// Returns the length, distance and the bytes read after the control byte.
fn parse_match(control: usize, rest: &[u8]) -> Result<(usize, usize, usize), Error> {
    let byte = |i: usize| rest.get(i).map(|b| usize::from(*b)).ok_or_else(truncated);
    let (length, used) = match control >> 5 {
        7 => (9 + byte(0)?, 1),
        short => (short + 2, 0),
    };
    Ok((length, ((control & 31) << 8 | byte(used)?) + 1, used + 1))
}

/// Fills `out` from `len` on.
fn copy_match(out: &mut [u8], mut len: usize, distance: usize) -> Result<(), Error> {
    let start = len.checked_sub(distance).ok_or_else(|| AT.corrupt("match before the start"))?;
    // An overlapping match repeats; each copy doubles what can be copied at once.
    while len < out.len() {
        let run = (out.len() - len).min(len - start);
        out.copy_within(start..start + run, len);
        len += run;
    }
    Ok(())
}

fn hash(bytes: [u8; MATCH_MIN]) -> usize {
    let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
    (word.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
}

/// Greedy matching through a table of the last place of each 3-byte hash.
fn encode(input: &[u8]) -> Result<Vec<u8>, Error> {
    // Places are 1-based so that 0 means none.
    let mut table = vec![0usize; 1 << HASH_BITS];
    let mut out = AT.reserve(input.len() + input.len() / LITERALS_MAX + 1)?;
    let (mut at, mut literals_from) = (0, 0);
    while let Some(head) = input.get(at..).and_then(|rest| rest.first_chunk::<MATCH_MIN>()) {
        let slot = &mut table[hash(*head)];
        let candidate = std::mem::replace(slot, at + 1);
        match find_match(input, candidate, at) {
            Some((distance, length)) => {
                push_literals(&mut out, &input[literals_from..at]);
                push_match(&mut out, distance, length);
                at += length;
                literals_from = at;
                remember(&mut table, input, at);
            }
            None => at += stride(at - literals_from),
        }
    }
    push_literals(&mut out, &input[literals_from..]);
    Ok(out)
}

/// Notes the last places of a match that ends at `end`, where the next one may start.
fn remember(table: &mut [usize], input: &[u8], end: usize) {
    for at in end.saturating_sub(2)..end {
        if let Some(head) = input.get(at..).and_then(|rest| rest.first_chunk::<MATCH_MIN>()) {
            table[hash(*head)] = at + 1;
        }
    }
}

fn find_match(input: &[u8], candidate: usize, at: usize) -> Option<(usize, usize)> {
    let from = candidate.checked_sub(1)?;
    let distance = at - from;
    if distance > DISTANCE_MAX {
        return None;
    }
    let ahead = &input[at..];
    let same = same_bytes(&input[from..], &ahead[..ahead.len().min(MATCH_MAX)]);
    (same >= MATCH_MIN).then_some((distance, same))
}

fn push_literals(out: &mut Vec<u8>, literals: &[u8]) {
    for run in literals.chunks(LITERALS_MAX) {
        out.push((run.len() - 1) as u8);
        out.extend_from_slice(run);
    }
}

fn push_match(out: &mut Vec<u8>, distance: usize, length: usize) {
    let (far, code) = (distance - 1, length - 2);
    let high = (far >> 8) as u8;
    if code < 7 {
        out.push((code << 5) as u8 | high);
    } else {
        out.extend_from_slice(&[7 << 5 | high, (code - 7) as u8]);
    }
    out.push(far as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Size;

    #[test]
    fn reference_stream_of_zeros_decodes() {
        let stream = [0x01, 0, 0, 0xe0, 0xff, 0, 0xe0, 0x7b, 0, 0x01, 0, 0];
        let mut out = [9; 400];
        assert_eq!(decode(&stream, &mut out), Ok(Some(400)));
        assert_eq!(out, [0; 400]);
    }

    #[test]
    fn output_never_exceeds_the_limit() {
        let stream = encode(&[7; 401]).unwrap();
        let size = Size { hint: 400, max: 400 };
        let error = Lzf.decode(&Params::default(), &stream, size).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Limit);
    }

    #[test]
    fn incompressible_input_is_reported() {
        let error = Lzf.encode(&Params::default(), &[1, 2, 3, 4]).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Incompressible);
    }

    #[test]
    fn match_before_the_start_is_corrupt() {
        assert!(decode(&[0x20, 0x05], &mut [0; 400]).is_err());
    }
}
