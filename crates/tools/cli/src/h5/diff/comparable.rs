//! Checks whether values of two types and extents can be compared at all.

use hyperslab::vol::model::datatype::{Float, Integer};
use hyperslab::{Dataspace, Datatype};

use super::native;
use super::report::Report;
use super::table::dimensions;
use crate::h5::dump::datatype::{float_name, integer_name};

/// Type and extent of a dataset or an attribute, and the name in messages.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub(crate) name: &'a str,
    pub(crate) datatype: &'a Datatype,
    pub(crate) space: &'a Dataspace,
}

/// Returns whether two can be compared; says why not, and warns where only their form differs.
pub(crate) fn check(report: &mut Report<'_>, shapes: [Shape<'_>; 2]) -> bool {
    let [a, b] = shapes;
    classes(report, shapes, [a.datatype, b.datatype], false)
        && extents(report, shapes)
        && members(report, shapes, [a.datatype, b.datatype])
}

fn classes(report: &mut Report<'_>, [a, b]: [Shape<'_>; 2], types: [&Datatype; 2], inside: bool) -> bool {
    let classes = types.map(Datatype::class_name);
    let (first, second) = (a.name, b.name);
    if classes[0] != classes[1] {
        let [one, other] = classes;
        let is = if inside { "has a class" } else { "is of class" };
        report.cannot_compare(&format!("Not comparable: <{first}> {is} {one} and <{second}> {is} {other}\n"));
        return false;
    }
    if matches!(types[0], Datatype::Time(_)) {
        let text = format!("Not comparable: <{first}> and <{second}> are of class {}\n", classes[1]);
        report.cannot_compare(&text);
        return false;
    }
    if !native::equal(types[0], types[1]) {
        report.remark("Warning: different storage datatype\n");
        if let (Some(one), Some(other)) = (number_name(types[0]), number_name(types[1])) {
            report.remark(&format!(
                "<{first}> has file datatype {one}\n<{second}> has file datatype {other}\n"
            ));
        }
    }
    true
}

fn extents(report: &mut Report<'_>, [a, b]: [Shape<'_>; 2]) -> bool {
    let text = |shape: &Shape<'_>| {
        let (dims, max) = (dimensions(shape.space.dims()), dimensions(shape.space.max_dims()));
        format!("<{}> has rank {}, dimensions {dims}, max dimensions {max}\n", shape.name, shape.space.rank())
    };
    if a.space.dims() != b.space.dims() {
        report.cannot_compare(&format!("Not comparable: {}and {}", text(&a), text(&b)));
        return false;
    }
    if a.space.max_dims() != b.space.max_dims() {
        let text = |shape: &Shape<'_>| {
            format!("<{}> has max dimensions {}\n", shape.name, dimensions(shape.space.max_dims()))
        };
        report.remark(&format!("Warning: different maximum dimensions\n{}{}", text(&a), text(&b)));
    }
    true
}

/// Compares what types contain: strings of the same kind, compounds of members that can be compared.
fn members(report: &mut Report<'_>, shapes: [Shape<'_>; 2], types: [&Datatype; 2]) -> bool {
    let (first, second) = (shapes[0].name, shapes[1].name);
    if types[0].is_string() {
        let variable = types.map(|t| matches!(t, Datatype::VarLen(_)));
        if variable[0] != variable[1] {
            report.cannot_compare(&format!(
                "Not comparable: <{first}> or <{second}> is of mixed string type\n"
            ));
        }
        return variable[0] == variable[1];
    }
    let (Datatype::Compound(a), Datatype::Compound(b)) = (types[0], types[1]) else { return true };
    let counts = [a.members.len(), b.members.len()];
    if counts[0] != counts[1] {
        let [one, other] = counts;
        report.cannot_compare(&format!(
            "Not comparable: <{first}> has {one} members <{second}> has {other} members \n"
        ));
        return false;
    }
    a.members.iter().zip(&b.members).all(|(a, b)| {
        let types = [&a.datatype, &b.datatype];
        let fine =
            classes(report, shapes, types, true) && extents(report, shapes) && members(report, shapes, types);
        report.incomparable |= !fine;
        fine
    })
}

/// Returns whether numbers of both have a sign, or neither.
pub(crate) fn same_sign(report: &mut Report<'_>, [a, b]: [Shape<'_>; 2]) -> bool {
    let (one, other) = (sign_name(a.datatype), sign_name(b.datatype));
    if one != other {
        report.cannot_compare(&format!(
            "Not comparable: <{}> has sign {one} and <{}> has sign {other}\n",
            a.name, b.name
        ));
    }
    one == other
}

fn sign_name(datatype: &Datatype) -> &'static str {
    match datatype {
        Datatype::Integer(Integer { signed: true, .. }) => "H5T_SGN_2",
        Datatype::Integer(_) => "H5T_SGN_NONE",
        Datatype::Enum(t) => sign_name(&t.base),
        Datatype::Array(t) => sign_name(&t.base),
        Datatype::VarLen(_) => datatype.children().first().map_or("H5T_SGN_ERROR", |base| sign_name(base)),
        _ => "H5T_SGN_ERROR",
    }
}

/// Returns the name of a number's type; others have none here.
fn number_name(datatype: &Datatype) -> Option<String> {
    let standard = |name: String, other: &str| if name.starts_with("H5T_") { name } else { other.to_owned() };
    match datatype {
        Datatype::Integer(t) => Some(standard(integer_name(t), "undefined integer")),
        Datatype::Float(t) if is_long_double(t) => Some("H5T_NATIVE_LDOUBLE".to_owned()),
        Datatype::Float(t) => Some(standard(float_name(t), "undefined float")),
        _ => None,
    }
}

fn is_long_double(t: &Float) -> bool {
    *t == native::long_double()
}
