//! Type conversion: a plan compiled once for a pair of types, run in tight loops.

use crate::{Datatype, Error, Heap, Result};

/// Users' own conversions, asked before the built-in ones.
#[derive(Debug, Clone, Default)]
pub struct Conversions {}

/// How elements of one type become elements of another. Both are in memory form.
#[derive(Debug, Clone)]
pub struct Plan {
    bytes: usize,
}

impl Plan {
    /// Decides how to convert, or says why it cannot be done.
    pub fn compile(from: &Datatype, to: &Datatype, _conversions: &Conversions) -> Result<Plan> {
        if from != to {
            return Err(Error::unsupported("convert datatypes"));
        }
        Ok(Plan { bytes: from.size() as usize })
    }

    /// Whether bytes go over as they are.
    pub fn is_copy(&self) -> bool {
        true
    }

    /// Whether parts of the target are left as they were, so that it must hold the old values before.
    pub fn needs_background(&self) -> bool {
        false
    }

    /// Converts `count` elements. New variable-length values are appended to `heap`.
    pub fn run(&self, from: &[u8], to: &mut [u8], count: usize, _heap: &mut Heap) -> Result<()> {
        let bytes = count * self.bytes;
        if from.len() < bytes || to.len() < bytes {
            return Err(Error::invalid("convert elements").with("count", count));
        }
        to[..bytes].copy_from_slice(&from[..bytes]);
        Ok(())
    }
}
