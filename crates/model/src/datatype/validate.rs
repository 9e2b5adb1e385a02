//! Conditions that a type must satisfy before it is stored.

use super::*;
use crate::Limits;

impl Datatype {
    /// Checks sizes, members and nesting, without recursion: nesting cannot exhaust the stack.
    pub fn validate(&self, limits: &Limits) -> Result<()> {
        // Most types have no others inside, and need no list of them.
        let (mut pending, mut next) = (Vec::new(), Some((self, 1)));
        while let Some((inner, depth)) = next {
            if depth > limits.depth_max {
                return Err(Error::limit("check datatype").with("nesting", depth));
            }
            if let Some(problem) = problem(inner) {
                return Err(Error::invalid("check datatype").with("problem", problem));
            }
            pending.extend(inner.children().into_iter().map(|child| (child, depth + 1)));
            next = pending.pop();
        }
        Ok(())
    }
}

fn problem(datatype: &Datatype) -> Option<&'static str> {
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
    problem.or((datatype.size() == 0).then_some("size is zero"))
}

fn array_bytes(array: &Array) -> Option<u32> {
    array.dims.iter().try_fold(array.base.size(), |bytes, &dim| bytes.checked_mul(dim))
}

fn compound_problem(compound: &Compound) -> Option<&'static str> {
    let end = |m: &Member| u64::from(m.offset) + u64::from(m.datatype.size());
    let mut spans: Vec<(u64, u64)> = compound.members.iter().map(|m| (m.offset.into(), end(m))).collect();
    spans.sort_unstable();
    let mut names: Vec<&str> = compound.members.iter().map(|m| m.name.as_str()).collect();
    names.sort_unstable();
    if spans.is_empty() {
        Some("compound without members")
    } else if spans.iter().any(|&(_, end)| end > compound.size.into()) {
        Some("member ends outside of its compound")
    } else if spans.windows(2).any(|pair| pair[1].0 < pair[0].1) {
        Some("members overlap")
    } else if names.windows(2).any(|pair| pair[0] == pair[1]) {
        Some("two members with one name")
    } else {
        None
    }
}
