//! Undoes the filters of damaged chunks, as far as a caller accepts what comes out.

use std::fmt;

use crate::error::Error;
use crate::registry::{check_count, check_length, performed};
use crate::{Codecs, Filter, FilterId, Params, Registry, Size, Stage, to_vec};

/// A function that is asked about a filter that failed, and the bytes that it should have undone.
pub type OnFailure<'a> = dyn FnMut(FilterId, &mut [u8]) -> bool + 'a;

/// What a caller accepts of a damaged chunk.
#[derive(Default)]
pub struct Tolerance<'a> {
    /// Checksums are not verified.
    pub is_unverified: bool,
    /// Returns whether to go on with the bytes as they are where a filter failed. It may change them.
    pub on_failure: Option<&'a mut OnFailure<'a>>,
}

impl fmt::Debug for Tolerance<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tolerance").field("is_unverified", &self.is_unverified).finish_non_exhaustive()
    }
}

impl Tolerance<'_> {
    fn accepts(&mut self, filter: FilterId, bytes: &mut [u8]) -> bool {
        self.on_failure.as_mut().is_some_and(|accepts| accepts(filter, bytes))
    }

    fn undo(&self, filter: &dyn Filter, values: &[u32], input: &[u8], size: Size) -> Result<Vec<u8>, Error> {
        let params = Params { values };
        to_vec(filter.id(), input, size, |out, codecs: &mut Codecs| match self.is_unverified {
            true => filter.decode_unverified_into(&params, input, out, codecs),
            false => filter.decode_into(&params, input, out, codecs),
        })
    }
}

impl Registry {
    /// Undoes a pipeline as [`Registry::decode`] does, for a chunk that may be damaged. `tolerance` says which damage
    /// is accepted.
    ///
    /// # Errors
    /// Returns the error of a filter that is not available, or whose failure is not accepted.
    pub fn decode_tolerantly(
        &self,
        stages: &[Stage<'_>],
        mask: u32,
        input: Vec<u8>,
        (chunk_bytes, bytes_max): (usize, usize),
        tolerance: &mut Tolerance<'_>,
    ) -> Result<Vec<u8>, Error> {
        check_count(stages)?;
        let size = Size { hint: chunk_bytes, max: bytes_max };
        let mut bytes = input;
        for stage in performed(stages, mask).rev() {
            let filter = self.get(stage.id)?;
            match tolerance.undo(filter, stage.values, &bytes, size) {
                Ok(undone) => bytes = undone,
                Err(_) if tolerance.accepts(stage.id, &mut bytes) => {}
                Err(error) => return Err(error),
            }
        }
        check_length(stages, bytes.len(), chunk_bytes)?;
        bytes.truncate(chunk_bytes);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::id::{FLETCHER32, SHUFFLE};

    const STAGES: [Stage<'_>; 2] = [
        Stage { id: SHUFFLE, optional: false, values: &[4] },
        Stage { id: FLETCHER32, optional: false, values: &[] },
    ];

    fn undo(stored: &[u8], tolerance: &mut Tolerance<'_>) -> Result<Vec<u8>, Error> {
        Registry::default().decode_tolerantly(&STAGES, 0, stored.to_vec(), (400, 1000), tolerance)
    }

    #[test]
    fn a_wrong_checksum_is_accepted_only_where_it_is_not_verified_or_a_function_says_so() {
        let chunk: Vec<u8> = (0..100u32).flat_map(u32::to_le_bytes).collect();
        let (mut stored, _) = Registry::default().encode(&STAGES, chunk.clone()).unwrap();
        stored[401] ^= 1;
        assert!(undo(&stored, &mut Tolerance::default()).is_err());
        let unverified = &mut Tolerance { is_unverified: true, on_failure: None };
        assert_eq!(undo(&stored, unverified).unwrap(), chunk);
        assert!(undo(&stored[..3], unverified).is_err());
        let mut asked = Vec::new();
        for answer in [false, true] {
            let on_failure = &mut |filter, bytes: &mut [u8]| {
                asked.push((filter, bytes.len()));
                answer
            };
            let done = undo(&stored, &mut Tolerance { is_unverified: false, on_failure: Some(on_failure) });
            assert_eq!(done.is_ok(), answer);
        }
        assert_eq!(asked, [(FLETCHER32, 404); 2]);
    }
}
