//! Datatypes and dataspaces as JSON.

use hyperslab::model::UNLIMITED;
use hyperslab::model::datatype::{ReferenceKind, VarLenKind};
use hyperslab::model::text::to_bytes;
use hyperslab::{Dataspace, Datatype};

use super::super::datatype::{
    bitfield_name, charset_name, enum_value, float_name, integer_name, padding_name,
};
use super::string;

/// A dataspace.
pub(super) fn space_json(space: &Dataspace) -> String {
    match space {
        Dataspace::Null => "{\"class\": \"H5S_NULL\"}".to_owned(),
        Dataspace::Scalar => "{\"class\": \"H5S_SCALAR\"}".to_owned(),
        Dataspace::Simple(_) => {
            let max =
                |&dim: &u64| if dim == UNLIMITED { "\"H5S_UNLIMITED\"".to_owned() } else { dim.to_string() };
            let max: Vec<String> = space.max_dims().iter().map(max).collect();
            format!(
                "{{\"class\": \"H5S_SIMPLE\", \"dims\": {:?}, \"maxdims\": [{}]}}",
                space.dims(),
                max.join(", ")
            )
        }
    }
}

/// A datatype.
pub(super) fn type_json(datatype: &Datatype) -> String {
    match datatype {
        Datatype::Integer(t) => base("H5T_INTEGER", &integer_name(t)),
        Datatype::Float(t) => base("H5T_FLOAT", &float_name(t)),
        Datatype::Bitfield(t) => base("H5T_BITFIELD", &bitfield_name(t)),
        Datatype::Time(t) => format!("{{\"class\": \"H5T_TIME\", \"size\": {}}}", t.size),
        Datatype::String(t) => {
            text_json(&t.size.to_string(), padding_name(t.padding), charset_name(t.charset))
        }
        Datatype::Opaque(t) => {
            format!(
                "{{\"class\": \"H5T_OPAQUE\", \"size\": {}, \"tag\": {}}}",
                t.size,
                string(&to_bytes(&t.tag))
            )
        }
        Datatype::Reference(t) => base("H5T_REFERENCE", reference_name(t.kind)),
        Datatype::Compound(t) => {
            let fields = t.members.iter().map(|m| {
                format!("{{\"name\": {}, \"type\": {}}}", string(&to_bytes(&m.name)), type_json(&m.datatype))
            });
            format!(
                "{{\"class\": \"H5T_COMPOUND\", \"fields\": [{}]}}",
                fields.collect::<Vec<_>>().join(", ")
            )
        }
        Datatype::Enum(t) => {
            let members =
                t.members.iter().map(|(n, v)| format!("{}: {}", string(&to_bytes(n)), enum_value(t, v)));
            let members: Vec<String> = members.collect();
            let base = type_json(&t.base);
            format!("{{\"class\": \"H5T_ENUM\", \"base\": {base}, \"mapping\": {{{}}}}}", members.join(", "))
        }
        Datatype::VarLen(t) => match &t.kind {
            VarLenKind::Sequence(base) => {
                format!("{{\"class\": \"H5T_VLEN\", \"base\": {}}}", type_json(base))
            }
            VarLenKind::String { padding, charset } => {
                text_json("\"H5T_VARIABLE\"", padding_name(*padding), charset_name(*charset))
            }
        },
        Datatype::Array(t) => {
            format!("{{\"class\": \"H5T_ARRAY\", \"base\": {}, \"dims\": {:?}}}", type_json(&t.base), t.dims)
        }
        Datatype::Complex(t) => format!("{{\"class\": \"H5T_COMPLEX\", \"base\": {}}}", type_json(&t.base)),
    }
}

fn base(class: &str, name: &str) -> String {
    format!("{{\"class\": \"{class}\", \"base\": \"{name}\"}}")
}

fn text_json(length: &str, padding: &str, charset: &str) -> String {
    format!(
        "{{\"class\": \"H5T_STRING\", \"length\": {length}, \"strPad\": \"{padding}\", \"charSet\": \"{charset}\"}}"
    )
}

fn reference_name(kind: ReferenceKind) -> &'static str {
    match kind {
        ReferenceKind::ObjectOld => "H5T_STD_REF_OBJ",
        ReferenceKind::RegionOld => "H5T_STD_REF_DSETREG",
        _ => "H5T_STD_REF",
    }
}
