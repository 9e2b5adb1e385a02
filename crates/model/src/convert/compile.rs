//! From a pair of types to a plan.

use super::bits::other_order;
use super::cast::Cast;
use super::compound::{self, Segments};
use super::enumeration::Names;
use super::soft::Soft;
use super::string::Texts;
use super::{Conversions, Plan, Step};
use crate::datatype::{Array, Complex, Compound, Member, VarLen, VarLenKind};
use crate::{Datatype, Error, Result};

pub(super) fn plan(from: &Datatype, to: &Datatype, conversions: &Conversions) -> Result<Plan> {
    if from.size() == 0 || to.size() == 0 {
        return Err(refused(from, to).with("problem", "size is zero"));
    }
    if let Some(user) = conversions.find(from, to) {
        return Ok(Plan::whole(from, to, Step::User(user)));
    }
    if same(from, to) {
        return Ok(Plan::whole(from, to, Step::Copy));
    }
    if other_order(from).as_ref() == Some(to) {
        return Ok(Plan::whole(from, to, Step::Swap(from.size() as usize)));
    }
    differing(from, to, conversions)
}

impl Plan {
    /// Returns a plan that writes every byte of its target.
    fn whole(from: &Datatype, to: &Datatype, step: Step) -> Plan {
        let (from_bytes, to_bytes) = (from.size() as usize, to.size() as usize);
        let step = if matches!(step, Step::Swap(1)) { Step::Copy } else { step };
        Plan { from_bytes, to_bytes, background: false, step }
    }
}

fn refused(from: &Datatype, to: &Datatype) -> Error {
    Error::conversion("convert datatypes").with("from", name(from)).with("to", name(to))
}

fn name(t: &Datatype) -> String {
    let class = match t {
        Datatype::Integer(_) => "integer",
        Datatype::Float(_) => "float",
        Datatype::Time(_) => "time",
        Datatype::String(_) => "string",
        Datatype::Bitfield(_) => "bit field",
        Datatype::Opaque(_) => "opaque",
        Datatype::Compound(_) => "compound",
        Datatype::Reference(_) => "reference",
        Datatype::Enum(_) => "enum",
        Datatype::VarLen(t) if matches!(t.kind, VarLenKind::String { .. }) => "variable-length string",
        Datatype::VarLen(_) => "variable-length sequence",
        Datatype::Array(_) => "array",
        Datatype::Complex(_) => "complex",
    };
    format!("{class} of {} bytes", t.size())
}

/// Returns whether elements of both types have the same bytes.
fn same(from: &Datatype, to: &Datatype) -> bool {
    match (from, to) {
        (Datatype::Enum(a), Datatype::Enum(b)) => Names::same(a, b),
        // The heap holds references as values, so that a descriptor serves for any kind; a container refuses a target that a
        // kind of its own cannot hold.
        (Datatype::Reference(a), Datatype::Reference(b)) => a.size == b.size,
        _ => from == to,
    }
}

fn is_number(t: &Datatype) -> bool {
    matches!(t, Datatype::Integer(_) | Datatype::Float(_) | Datatype::Bitfield(_) | Datatype::Enum(_))
}

fn differing(from: &Datatype, to: &Datatype, conversions: &Conversions) -> Result<Plan> {
    match (from, to) {
        (Datatype::Enum(a), Datatype::Enum(b)) => Ok(Plan::whole(from, to, Step::Enum(Names::new(a, b)?))),
        (Datatype::Enum(e), _) if is_number(to) => plan(&e.base, to, conversions),
        (_, Datatype::Enum(e)) if is_number(from) => plan(from, &e.base, conversions),
        _ if is_number(from) && is_number(to) => numbers(from, to, conversions),
        (Datatype::Compound(a), Datatype::Compound(b)) => compounds(a, b, conversions),
        (Datatype::Array(a), Datatype::Array(b)) => arrays(a, b, conversions),
        (Datatype::VarLen(a), Datatype::VarLen(b)) if !from.is_string() && !to.is_string() => {
            sequences(a, b, conversions)
        }
        _ if from.is_string() && to.is_string() => {
            Ok(Plan::whole(from, to, Step::Text(Texts::new(from, to)?)))
        }
        _ => complexes(from, to, conversions),
    }
}

fn numbers(from: &Datatype, to: &Datatype, conversions: &Conversions) -> Result<Plan> {
    let callback = conversions.callback(from, to);
    let step = match Cast::new(from, to) {
        Some(cast) if callback.is_none() => Step::Cast(cast),
        _ => Step::Soft(Soft::new(from, to, callback.as_ref())?),
    };
    Ok(Plan::whole(from, to, step))
}

fn compounds(from: &Compound, to: &Compound, conversions: &Conversions) -> Result<Plan> {
    let segments = Segments::new(from, to, conversions)?;
    Ok(compound::plan(from.size as usize, to.size as usize, segments))
}

fn arrays(from: &Array, to: &Array, conversions: &Conversions) -> Result<Plan> {
    if from.dims != to.dims {
        let problem = format!("array {:?} to array {:?}", from.dims, to.dims);
        return Err(Error::conversion("convert arrays").with("problem", problem));
    }
    let times = from.dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d as usize));
    repeat(times, plan(&from.base, &to.base, conversions)?)
}

/// `times` elements of `unit` side by side; no times is a number beyond the machine's.
fn repeat(times: Option<usize>, unit: Plan) -> Result<Plan> {
    let bytes = |each: usize| times?.checked_mul(each).filter(|&n| n <= u32::MAX as usize);
    let (Some(times), Some(from_bytes), Some(to_bytes)) =
        (times, bytes(unit.from_bytes), bytes(unit.to_bytes))
    else {
        return Err(Error::limit("size of array type"));
    };
    let background = unit.background;
    let step = if unit.is_copy() { Step::Copy } else { Step::Repeat(times, Box::new(unit)) };
    Ok(Plan { from_bytes, to_bytes, background, step })
}

fn sequences(from: &VarLen, to: &VarLen, conversions: &Conversions) -> Result<Plan> {
    let (VarLenKind::Sequence(a), VarLenKind::Sequence(b)) = (&from.kind, &to.kind) else {
        return Err(Error::conversion("convert sequences"));
    };
    super::varlen::check_descriptors(from, to)?;
    let unit = plan(a, b, conversions)?;
    let step = if unit.is_copy() { Step::Copy } else { Step::Sequence(Box::new(unit)) };
    Ok(Plan { from_bytes: from.size as usize, to_bytes: to.size as usize, background: false, step })
}

fn complexes(from: &Datatype, to: &Datatype, conversions: &Conversions) -> Result<Plan> {
    match (from, to) {
        (Datatype::Complex(a), Datatype::Complex(b)) => repeat(Some(2), plan(&a.base, &b.base, conversions)?),
        (Datatype::Complex(a), Datatype::Compound(b)) => {
            let names = part_names(b).ok_or_else(|| refused(from, to))?;
            compounds(&as_compound(a, names), b, conversions)
        }
        (Datatype::Compound(a), Datatype::Complex(b)) => {
            let names = part_names(a).ok_or_else(|| refused(from, to))?;
            compounds(a, &as_compound(b, names), conversions)
        }
        (Datatype::Complex(a), _) if is_number(to) => {
            let real = plan(&a.base, to, conversions)?;
            Ok(compound::plan(from.size() as usize, to.size() as usize, Segments::member(0, 0, real)))
        }
        (_, Datatype::Complex(b)) if is_number(from) => {
            let real = plan(from, &b.base, conversions)?;
            let segments = Segments::with_zero(real, &b.base)?;
            Ok(compound::plan(from.size() as usize, to.size() as usize, segments))
        }
        _ => Err(refused(from, to)),
    }
}

/// Returns the names of the real and the imaginary part, if this compound is two floats: by the names that h5py and
/// others use, else the first in memory is the real one.
fn part_names(t: &Compound) -> Option<[&str; 2]> {
    let [a, b] = t.members.as_slice() else { return None };
    if !matches!((&a.datatype, &b.datatype), (Datatype::Float(_), Datatype::Float(_))) {
        return None;
    }
    let known = [["r", "i"], ["real", "imag"], ["re", "im"], ["real", "imaginary"]];
    let named = known.into_iter().find(|names| names.iter().all(|n| t.member(n).is_some()));
    let placed = if a.offset <= b.offset { [a, b] } else { [b, a] };
    Some(named.unwrap_or(placed.map(|m| m.name.as_str())))
}

fn as_compound(t: &Complex, names: [&str; 2]) -> Compound {
    let part = t.base.size();
    let member = |name: &str, offset| Member { name: name.to_owned(), offset, datatype: (*t.base).clone() };
    Compound { size: part.saturating_mul(2), members: vec![member(names[0], 0), member(names[1], part)] }
}
