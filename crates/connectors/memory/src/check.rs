//! What is checked before anything is stored.

use model::datatype::{Array, Compound, SlotSizes};
use model::{Dataspace, Datatype, Error, Limits, Result, Token};

use crate::objects::State;

/// Slots of this connector: numbers of blobs and references, and whole tokens.
pub(crate) const SLOTS: SlotSizes = SlotSizes { varlen: 12, object_old: 16, region_old: 8, reference: 8 };

/// An error unless a buffer has the length that it must have.
pub(crate) fn length(operation: &str, wanted: u64, have: usize) -> Result<()> {
    match wanted == have as u64 {
        true => Ok(()),
        false => Err(Error::invalid(operation).with("bytes", have).with("wanted", wanted)),
    }
}

/// Bytes of all elements of an extent.
pub(crate) fn space_bytes(space: &Dataspace, datatype: &Datatype) -> Result<u64> {
    let count = space.element_count()?;
    let bytes = count.checked_mul(u64::from(datatype.size()));
    bytes.ok_or_else(|| Error::limit("count bytes").with("elements", count))
}

/// Checks a type without recursion, so that its nesting cannot exhaust the stack.
pub(crate) fn datatype(datatype: &Datatype, limits: &Limits) -> Result<()> {
    let mut pending = vec![(datatype, 1)];
    while let Some((inner, depth)) = pending.pop() {
        if depth > limits.depth_max {
            return Err(Error::limit("check datatype").with("nesting", depth));
        }
        check_one(inner)?;
        pending.extend(inner.children().into_iter().map(|child| (child, depth + 1)));
    }
    Ok(())
}

fn check_one(datatype: &Datatype) -> Result<()> {
    let problem = match datatype {
        Datatype::Array(array) if array_bytes(array).is_none() => Some("array is too large"),
        Datatype::Compound(compound) => compound_problem(compound),
        Datatype::Enum(t) if !matches!(*t.base, Datatype::Integer(_)) => {
            Some("enum of something else than integers")
        }
        Datatype::Enum(t) if t.members.iter().any(|(_, value)| value.len() != t.base.size() as usize) => {
            Some("value of an enum has another size")
        }
        Datatype::Complex(t) if !matches!(*t.base, Datatype::Float(_)) => {
            Some("complex of something else than floats")
        }
        _ => None,
    };
    let problem = problem.or((datatype.size() == 0).then_some("size is zero"));
    problem.map_or(Ok(()), |problem| Err(Error::invalid("check datatype").with("problem", problem)))
}

fn array_bytes(array: &Array) -> Option<u32> {
    array.dims.iter().try_fold(array.base.size(), |bytes, &dim| bytes.checked_mul(dim))
}

fn compound_problem(compound: &Compound) -> Option<&'static str> {
    let mut ends: Vec<(u64, u64)> = compound
        .members
        .iter()
        .map(|m| (m.offset.into(), u64::from(m.offset) + u64::from(m.datatype.size())))
        .collect();
    ends.sort_unstable();
    let mut names: Vec<&str> = compound.members.iter().map(|m| m.name.as_str()).collect();
    names.sort_unstable();
    if ends.is_empty() {
        Some("compound without members")
    } else if ends.iter().any(|&(_, end)| end > compound.size.into()) {
        Some("member ends outside of its compound")
    } else if ends.windows(2).any(|pair| pair[1].0 < pair[0].1) {
        Some("members overlap")
    } else if names.windows(2).any(|pair| pair[0] == pair[1]) {
        Some("two members with one name")
    } else {
        None
    }
}

impl State {
    /// A type as this container stores it; where it is a committed one's, it must be that type.
    pub(crate) fn file_type(
        &self,
        given: &Datatype,
        committed: Option<Token>,
        limits: &Limits,
    ) -> Result<Datatype> {
        datatype(given, limits)?;
        let file_type = given.with_slots(&SLOTS);
        // With other slots members move, and a size that fitted may not fit any more.
        datatype(&file_type, limits)?;
        match committed {
            Some(token) if *self.datatype(token)? != file_type => {
                Err(Error::invalid("share committed datatype").with("problem", "its type is another one"))
            }
            _ => Ok(file_type),
        }
    }
}
