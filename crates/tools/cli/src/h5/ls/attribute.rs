//! The info of an attribute.

use std::io::{self, Write};

use hyperslab::vol::AttributeInfo;
use hyperslab::{Dataspace, Error, Kind, Token};

use super::dataset::shared_type;
use super::escape::escape;
use super::options::Options;
use super::source::ObjectAt;
use super::{types, values};

/// Prints the name, extent and type of an attribute, and its value if data is wanted.
pub(crate) fn list(
    out: &mut dyn Write,
    place: &ObjectAt,
    attribute: &AttributeInfo,
    options: &Options,
) -> io::Result<()> {
    let datatype = types::in_memory(&attribute.datatype);
    let words = shared_type(place, &datatype, attribute.committed.map(Token::to_u64), options.simple);
    writeln!(out, "    Attribute: {} {}", escape(&attribute.name, true), extent(&attribute.space))?;
    writeln!(out, "        Type:      {words}")?;
    if options.data {
        writeln!(out, "        Data:")?;
        values::attribute(out, place, attribute, options)?;
    }
    Ok(())
}

fn extent(space: &Dataspace) -> String {
    match space {
        Dataspace::Null => "null".to_owned(),
        Dataspace::Scalar => "scalar".to_owned(),
        Dataspace::Simple(_) => {
            let dims: Vec<String> = space.dims().iter().map(u64::to_string).collect();
            format!("{{{}}}", dims.join(", "))
        }
    }
}

/// Says on stderr why something could not be shown, where the user wants to know.
pub(crate) fn complain(error: &Error, options: &Options) {
    if options.errors {
        eprint!("{}", error.stack());
    }
}

/// Reports that a limit was reached, which the user can raise: that is always said.
pub(crate) fn complain_of_limit(error: &Error, options: &Options) {
    match error.kind() {
        Kind::Limit if !options.errors => eprintln!("hyperslab ls: {error}"),
        _ => complain(error, options),
    }
}
