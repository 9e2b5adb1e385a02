//! Type conversion: a plan compiled once for a pair of types, run in tight loops.
//!
//! Both types are in the memory datatype (see [`crate::heap`]). Values follow HDF5: integers are clipped to the
//! target's limits, floats round to nearest even and overflow to infinity, compounds and enums are matched
//! by name, and what the source does not define stays as it was in the target.

mod bits;
mod cast;
mod compile;
mod compound;
mod enumeration;
mod half;
mod registry;
mod soft;
mod string;
mod swap;
#[cfg(test)]
mod tests;
mod varlen;

use crate::{Datatype, Error, Heap, Result};
pub use registry::{Conversions, Convert, Exception, ExceptionCallbacks, Handling, OnException, SoftConvert};

/// The conversion of elements of one type to elements of another. Both are in the memory datatype.
#[derive(Debug, Clone)]
pub struct Plan {
    from_bytes: usize,
    to_bytes: usize,
    background: bool,
    step: Step,
}

/// The conversion of a run of elements.
#[derive(Debug, Clone)]
enum Step {
    Copy,
    /// The bytes of each number of this width, reversed.
    Swap(usize),
    Cast(cast::Cast),
    Soft(soft::Soft),
    Compound(compound::Segments),
    Enum(enumeration::Names),
    /// So many elements of another plan in each element.
    Repeat(usize, Box<Plan>),
    Sequence(Box<Plan>),
    Text(string::Texts),
    User(registry::User),
}

impl Plan {
    /// Decides how to convert, or says why it cannot be done.
    pub fn compile(from: &Datatype, to: &Datatype, conversions: &Conversions) -> Result<Plan> {
        compile::plan(from, to, conversions)
    }

    /// Returns whether bytes go over as they are.
    pub fn is_copy(&self) -> bool {
        matches!(self.step, Step::Copy)
    }

    /// Returns whether parts of the target are left as they were, so that it must hold the old values before.
    pub fn needs_background(&self) -> bool {
        self.background
    }

    /// Returns whether parts of a buffer can be converted at the same time: no variable-length values, no users' code.
    pub fn is_parallel(&self) -> bool {
        match &self.step {
            Step::Copy | Step::Swap(_) | Step::Cast(_) | Step::Enum(_) => true,
            Step::Soft(soft) => !soft.has_callback(),
            Step::Compound(segments) => segments.is_parallel(),
            Step::Repeat(_, plan) => plan.is_parallel(),
            Step::Text(texts) => texts.is_fixed(),
            Step::Sequence(_) | Step::User(_) => false,
        }
    }

    /// Returns the number of bytes of one source element.
    pub fn from_bytes(&self) -> usize {
        self.from_bytes
    }

    /// Returns the number of bytes of one target element.
    pub fn to_bytes(&self) -> usize {
        self.to_bytes
    }

    /// Converts `count` elements. New variable-length values are appended to `heap`.
    pub fn run(&self, from: &[u8], to: &mut [u8], count: usize, heap: &mut Heap) -> Result<()> {
        let short = || Error::invalid("convert elements").with("count", count);
        let from_len = count.checked_mul(self.from_bytes).ok_or_else(short)?;
        let to_len = count.checked_mul(self.to_bytes).ok_or_else(short)?;
        let from = from.get(..from_len).ok_or_else(short)?;
        let to = to.get_mut(..to_len).ok_or_else(short)?;
        self.run_exact(from, to, count, heap)
    }

    /// Converts exactly `count` elements, as [`Plan::run`] does.
    fn run_exact(&self, from: &[u8], to: &mut [u8], count: usize, heap: &mut Heap) -> Result<()> {
        match &self.step {
            Step::Copy => to.copy_from_slice(from),
            Step::Swap(width) => swap::copy(*width, from, to),
            Step::Cast(cast) => cast.run(from, to),
            Step::Soft(soft) => soft.run(from, to)?,
            Step::Compound(segments) => segments.run(from, to, count, heap)?,
            Step::Enum(names) => names.run(from, to),
            Step::Repeat(times, plan) => plan.run_exact(from, to, count * times, heap)?,
            Step::Sequence(plan) => varlen::run(plan, from, to, heap)?,
            Step::Text(texts) => texts.run(from, to, heap)?,
            Step::User(user) => user.run(from, to, count)?,
        }
        Ok(())
    }
}
