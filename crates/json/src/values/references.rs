//! References: objects by the identities they have in the text.

use model::{Error, Reference, ReferenceTarget, Result, Token};

use super::unfit;
use crate::names::{from_hex, hex};
use crate::space::{selection_from_json, selection_to_json};
use crate::text::{Fields, Value};

/// The names of objects in the text.
pub trait Objects {
    /// `datasets/ID`, as HDF5/JSON writes it.
    fn name_of(&self, token: Token) -> Result<String>;
    /// Returns the object that such a name means.
    fn token_of(&self, name: &str) -> Result<Token>;
}

/// Knows no object: for values without references.
#[derive(Debug, Clone, Copy)]
pub struct Strangers;

impl Objects for Strangers {
    fn name_of(&self, token: Token) -> Result<String> {
        Err(Error::not_found("name object").with("token", token))
    }

    fn token_of(&self, name: &str) -> Result<Token> {
        Err(Error::not_found("find object").with("name", name))
    }
}

/// Returns a reference as JSON; objects of other containers keep their token.
pub fn reference_to_json(reference: &Reference, objects: &dyn Objects) -> Result<Value<'static>> {
    let Some(token) = reference.token() else { return Ok(Value::Null) };
    let name = match &reference.file {
        Some(_) => format!("token/{}", hex(&token.0)),
        None => objects.name_of(token)?,
    };
    let fields = Fields::new().with("id", name.clone()).some("file", reference.file.clone());
    Ok(match &reference.target {
        ReferenceTarget::Null => Value::Null,
        ReferenceTarget::Object(_) if reference.file.is_none() => name.into(),
        ReferenceTarget::Object(_) => fields.into(),
        ReferenceTarget::Region { selection, .. } => {
            fields.with("region", selection_to_json(selection)?).into()
        }
        ReferenceTarget::Attribute { name, .. } => fields.with("attribute", name.clone()).into(),
    })
}

/// Returns the reference that JSON means.
pub fn reference_from_json(value: &Value<'_>, objects: &dyn Objects, blocks_max: u64) -> Result<Reference> {
    let file = value.maybe("file", |file| file.text().map(str::to_owned))?;
    let name = match value {
        Value::Null => return Ok(Reference::null()),
        Value::String(name) => name.as_ref(),
        Value::Object(_) => value.need("id")?.text()?,
        other => return Err(unfit("reference", other)),
    };
    let token = match name.strip_prefix("token/") {
        Some(digits) => {
            let bytes: Result<[u8; 16], _> = from_hex(digits)?.try_into();
            bytes.map(Token).map_err(|_| unfit("token of sixteen bytes", value))?
        }
        None => objects.token_of(name)?,
    };
    let target = match (value.get("region"), value.get("attribute")) {
        (Some(region), _) => {
            ReferenceTarget::Region { dataset: token, selection: selection_from_json(region, blocks_max)? }
        }
        (None, Some(name)) => ReferenceTarget::Attribute { object: token, name: name.text()?.to_owned() },
        (None, None) => ReferenceTarget::Object(token),
    };
    Ok(Reference { target, file })
}
