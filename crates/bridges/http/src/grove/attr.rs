//! `/h5grove/attr`: values of attributes.

use hyperslab::Kind;

use super::value::write_attribute;
use crate::answer::Failure;
use crate::call::{Call, Outcome};
use crate::elements::json_text::JsonText;

/// Answers a request: all attributes of an object, or those that it names.
pub(crate) fn answer(call: &Call<'_>) -> Outcome {
    let handle = call.object()?;
    let object = handle.object();
    let mut names: Vec<String> = call.query.all("attr_keys").map(str::to_owned).collect();
    if names.is_empty() {
        names = object.attr_names()?;
    }
    let mut out = JsonText::new(call);
    out.push(b"{")?;
    for (at, name) in names.iter().enumerate() {
        call.check_cancelled()?;
        let attribute = object.attr(name).map_err(|error| match error.kind() {
            Kind::NotFound => Failure::missing(format!("{} has no attribute {name}", call.path())),
            _ => error.into(),
        })?;
        out.push(if at > 0 { b"," } else { b"" })?;
        out.push_string(name)?;
        out.push(b":")?;
        write_attribute(&attribute, &mut out)?;
    }
    out.push(b"}")?;
    Ok(out.into_answer())
}
