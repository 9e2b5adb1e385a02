//! Shuffle (2): byte planes, so that a compressor after it sees like bytes together.
//!
//! Values: element size. Bytes after the last whole element stay at the end.

use crate::error::{Error, Origin};
use crate::{Filter, FilterId, Params, Size, transpose};

const AT: Origin = Origin(2);

/// The shuffle filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shuffle;

impl Filter for Shuffle {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn name(&self) -> &'static str {
        "shuffle"
    }

    fn decode(&self, params: &Params<'_>, input: &[u8], size: Size) -> Result<Vec<u8>, Error> {
        AT.within(input.len() as u64, size.max)?;
        apply(params, input, transpose::unshuffle)
    }

    fn encode(&self, params: &Params<'_>, input: &[u8]) -> Result<Vec<u8>, Error> {
        apply(params, input, transpose::shuffle)
    }

    fn decode_owned(&self, params: &Params<'_>, input: Vec<u8>, size: Size) -> Result<Vec<u8>, Error> {
        AT.within(input.len() as u64, size.max)?;
        if is_noop(element_bytes(params)?, input.len()) {
            Ok(input)
        } else {
            self.decode(params, &input, size)
        }
    }

    fn encode_owned(&self, params: &Params<'_>, input: Vec<u8>) -> Result<Vec<u8>, (Error, Vec<u8>)> {
        if params.values.is_empty() {
            // libhdf5 leaves variable-length data without an element size, and its chunks without the filter.
            return Err((AT.incompressible("no element size"), input));
        }
        match element_bytes(params) {
            Ok(element) if is_noop(element, input.len()) => Ok(input),
            _ => self.encode(params, &input).map_err(|error| (error, input)),
        }
    }
}

fn element_bytes(params: &Params<'_>) -> Result<usize, Error> {
    match params.values {
        [size] if *size > 0 => Ok(*size as usize),
        _ => Err(AT.invalid("needs one value, a non-zero element size")),
    }
}

fn is_noop(element: usize, len: usize) -> bool {
    element == 1 || len / element <= 1
}

fn apply(params: &Params<'_>, input: &[u8], kernel: fn(usize, &[u8], &mut [u8])) -> Result<Vec<u8>, Error> {
    let element = element_bytes(params)?;
    if is_noop(element, input.len()) {
        return Ok(input.to_vec());
    }
    let whole = input.len() - input.len() % element;
    let mut out = AT.zeroed(input.len())?;
    kernel(element, &input[..whole], &mut out[..whole]);
    out[whole..].copy_from_slice(&input[whole..]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_bytes_stay_at_the_end() {
        let params = Params { values: &[2] };
        let out = Shuffle.encode(&params, &[1, 2, 3, 4, 5]).unwrap();
        assert_eq!(out, [1, 3, 2, 4, 5]);
        let back = Shuffle.decode(&params, &out, Size { hint: 5, max: 5 }).unwrap();
        assert_eq!(back, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn noop_keeps_the_buffer() {
        let input = vec![1, 2, 3];
        let pointer = input.as_ptr();
        let out = Shuffle.encode_owned(&Params { values: &[1] }, input).unwrap();
        assert_eq!(out.as_ptr(), pointer);
    }

    #[test]
    fn without_an_element_size_it_does_not_apply() {
        let (error, unchanged) = Shuffle.encode_owned(&Params { values: &[] }, vec![1, 2]).unwrap_err();
        assert_eq!((error.kind(), unchanged), (crate::ErrorKind::Incompressible, vec![1, 2]));
    }

    #[test]
    fn zero_element_size_is_refused() {
        assert!(Shuffle.encode(&Params { values: &[0] }, &[1]).is_err());
    }
}
