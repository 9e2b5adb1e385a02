//! Shuffle (2): byte planes, so that a compressor after it sees like bytes together.
//!
//! Values: element size. Bytes after the last whole element stay at the end.

use crate::error::{Error, Origin};
use crate::names::id;
use crate::{Codecs, Done, Filter, FilterId, Output, Params, transpose};

const AT: Origin = Origin(id::SHUFFLE);

/// The shuffle filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shuffle;

impl Filter for Shuffle {
    fn id(&self) -> FilterId {
        AT.0
    }

    fn decode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        AT.within(input.len() as u64, out.size().max)?;
        apply(params, input, out, transpose::unshuffle)
    }

    fn encode_into(
        &self,
        params: &Params<'_>,
        input: &[u8],
        out: &mut Output<'_>,
        _codecs: &mut Codecs,
    ) -> Result<Done, Error> {
        if params.values.is_empty() {
            // libhdf5 leaves variable-length data without an element size, and its chunks without the filter.
            return Err(AT.incompressible("no element size"));
        }
        apply(params, input, out, transpose::shuffle)
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

fn apply(
    params: &Params<'_>,
    input: &[u8],
    out: &mut Output<'_>,
    kernel: fn(usize, &[u8], &mut [u8]),
) -> Result<Done, Error> {
    let element = element_bytes(params)?;
    if is_noop(element, input.len()) {
        return Ok(Done::Prefix(input.len()));
    }
    let whole = input.len() - input.len() % element;
    let buffer = out.buffer(input.len())?;
    kernel(element, &input[..whole], &mut buffer[..whole]);
    buffer[whole..].copy_from_slice(&input[whole..]);
    Ok(Done::Written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Size;

    #[test]
    fn trailing_bytes_stay_at_the_end() {
        let params = Params { values: &[2] };
        let out = Shuffle.encode(&params, &[1, 2, 3, 4, 5]).unwrap();
        assert_eq!(out, [1, 3, 2, 4, 5]);
        let back = Shuffle.decode(&params, &out, Size { hint: 5, max: 5 }).unwrap();
        assert_eq!(back, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn noop_copies_nothing() {
        let (mut vector, mut codecs) = (Vec::new(), Codecs::default());
        let size = Size { hint: 3, max: 3 };
        let mut out = Output::vector(AT.0, size, &mut vector);
        let done = Shuffle.encode_into(&Params { values: &[1] }, &[1, 2, 3], &mut out, &mut codecs);
        assert_eq!(done, Ok(Done::Prefix(3)));
    }

    #[test]
    fn without_an_element_size_it_does_not_apply() {
        let error = Shuffle.encode(&Params { values: &[] }, &[1, 2]).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Incompressible);
    }

    #[test]
    fn zero_element_size_is_refused() {
        assert!(Shuffle.encode(&Params { values: &[0] }, &[1]).is_err());
    }
}
