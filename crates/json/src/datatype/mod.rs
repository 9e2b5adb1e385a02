//! Datatypes as HDF5/JSON.

mod read;
mod write;

pub use read::datatype_from_json;
pub use write::datatype_to_json;

use model::datatype::{Bits, Datatype, Float};
use model::{ByteOrder, Error, Result};

/// Returns the predefined name of a type, such as `H5T_STD_I32LE`.
fn predefined(datatype: &Datatype) -> Option<String> {
    let (family, bits) = match datatype {
        Datatype::Integer(t) if t.signed => ("STD_I", &t.bits),
        Datatype::Integer(t) => ("STD_U", &t.bits),
        Datatype::Bitfield(bits) => ("STD_B", bits),
        Datatype::Float(t) if t.is_ieee() => ("IEEE_F", &t.bits),
        _ => return None,
    };
    let name = format!("H5T_{family}{}{}", u64::from(bits.size) * 8, ending(bits.order)?);
    (from_predefined(&name).ok()? == *datatype).then_some(name)
}

fn ending(order: ByteOrder) -> Option<&'static str> {
    match order {
        ByteOrder::Little => Some("LE"),
        ByteOrder::Big => Some("BE"),
        ByteOrder::Vax => None,
    }
}

/// Returns the type that a predefined name means.
fn from_predefined(name: &str) -> Result<Datatype> {
    let unknown = || Error::corrupt("read datatype").with("unknown name", name);
    let (rest, order) = match (name.strip_suffix("LE"), name.strip_suffix("BE")) {
        (Some(rest), _) => (rest, ByteOrder::Little),
        (_, Some(rest)) => (rest, ByteOrder::Big),
        _ => return Err(unknown()),
    };
    let rest = rest.strip_prefix("H5T_").ok_or_else(unknown)?;
    let letters = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    let size = match &rest[letters.len()..] {
        "8" => 1,
        "16" => 2,
        "32" => 4,
        "64" => 8,
        _ => return Err(unknown()),
    };
    Ok(match (letters, size) {
        ("STD_I", size) => Datatype::integer(size, true, order),
        ("STD_U", size) => Datatype::integer(size, false, order),
        ("STD_B", size) => Datatype::Bitfield(Bits::full(size, order)),
        ("IEEE_F", 2) => Datatype::Float(Float::ieee(2, order, 5, 10)),
        ("IEEE_F", 4) => Datatype::Float(Float::ieee(4, order, 8, 23)),
        ("IEEE_F", 8) => Datatype::Float(Float::ieee(8, order, 11, 52)),
        _ => return Err(unknown()),
    })
}

#[cfg(test)]
mod tests;
