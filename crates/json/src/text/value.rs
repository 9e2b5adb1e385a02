//! A JSON value, and short ways to take it apart and to make one.

use std::borrow::Cow;

use model::{Error, Result};

/// A JSON value. Text that needs no change is borrowed from what was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it is written.
    Number(Cow<'a, str>),
    /// A string.
    String(Cow<'a, str>),
    /// A list.
    Array(Vec<Value<'a>>),
    /// Names and values, in order.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

fn wrong(wanted: &str, found: &Value<'_>) -> Error {
    let error = Error::corrupt("read JSON value").with("wanted", wanted).with("found", found.kind());
    match found {
        Value::Number(text) | Value::String(text) => {
            error.with("value", text.chars().take(40).collect::<String>())
        }
        _ => error,
    }
}

impl<'a> Value<'a> {
    fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "truth value",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "list",
            Value::Object(_) => "object",
        }
    }

    /// Returns the member called `name`, where this is an object that has one.
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        match self {
            Value::Object(members) => members.iter().find(|(n, _)| n == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the member called `name`, which must be there.
    pub fn need(&self, name: &str) -> Result<&Value<'a>> {
        self.get(name).ok_or_else(|| match self {
            Value::Object(_) => Error::corrupt("read JSON object").with("missing", name),
            other => wrong("object", other),
        })
    }

    /// Returns a string.
    pub fn text(&self) -> Result<&str> {
        match self {
            Value::String(text) => Ok(text),
            other => Err(wrong("string", other)),
        }
    }

    /// Returns a string, as one's own.
    pub fn text_owned(&self) -> Result<String> {
        self.text().map(str::to_owned)
    }

    /// Returns a whole number that is not negative and fits.
    pub fn uint<T: TryFrom<u64>>(&self) -> Result<T> {
        let found = match self {
            Value::Number(text) => text.parse::<u64>().ok().and_then(|n| T::try_from(n).ok()),
            _ => None,
        };
        found.ok_or_else(|| wrong("whole number in range", self))
    }

    /// Returns a truth value.
    pub fn truth(&self) -> Result<bool> {
        match self {
            Value::Bool(truth) => Ok(*truth),
            other => Err(wrong("truth value", other)),
        }
    }

    /// Returns the entries of a list.
    pub fn array(&self) -> Result<&[Value<'a>]> {
        match self {
            Value::Array(entries) => Ok(entries),
            other => Err(wrong("list", other)),
        }
    }

    /// Returns the names and values of an object.
    pub fn members(&self) -> Result<&[(Cow<'a, str>, Value<'a>)]> {
        match self {
            Value::Object(members) => Ok(members),
            other => Err(wrong("object", other)),
        }
    }

    /// Returns what `take` makes of a member, where there is one.
    pub fn maybe<T>(&self, name: &str, take: impl FnOnce(&Value<'a>) -> Result<T>) -> Result<Option<T>> {
        self.get(name).map(take).transpose().map_err(|e| e.during(format!("read \"{name}\"")))
    }

    /// Returns what `take` makes of a member, or what is usual.
    pub fn or<T>(&self, name: &str, usual: T, take: impl FnOnce(&Value<'a>) -> Result<T>) -> Result<T> {
        Ok(self.maybe(name, take)?.unwrap_or(usual))
    }

    /// Returns the same value with text of its own.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Bool(truth) => Value::Bool(truth),
            Value::Number(text) => Value::Number(Cow::Owned(text.into_owned())),
            Value::String(text) => Value::String(Cow::Owned(text.into_owned())),
            Value::Array(entries) => Value::Array(entries.into_iter().map(Value::into_owned).collect()),
            Value::Object(members) => Value::Object(
                members.into_iter().map(|(n, v)| (Cow::Owned(n.into_owned()), v.into_owned())).collect(),
            ),
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::String(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Value::String(Cow::Owned(text))
    }
}

impl From<bool> for Value<'_> {
    fn from(truth: bool) -> Self {
        Value::Bool(truth)
    }
}

impl<'a> From<Vec<Value<'a>>> for Value<'a> {
    fn from(entries: Vec<Value<'a>>) -> Self {
        Value::Array(entries)
    }
}

macro_rules! whole_numbers {
    ($($ty:ty)*) => { $(
        impl From<$ty> for Value<'_> {
            fn from(n: $ty) -> Self {
                Value::Number(Cow::Owned(n.to_string()))
            }
        }
    )* };
}

whole_numbers! { u8 u16 u32 u64 i64 }

/// Returns a list of what can become values.
pub fn list<'a, T: Into<Value<'a>>>(entries: impl IntoIterator<Item = T>) -> Value<'a> {
    Value::Array(entries.into_iter().map(Into::into).collect())
}

/// An object that is being created.
#[derive(Debug, Default)]
pub struct Fields<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

impl<'a> Fields<'a> {
    /// Returns an object without members.
    pub fn new() -> Self {
        Fields(Vec::new())
    }

    /// Returns an object with a member that says what class of thing it is.
    pub fn class(class: &'static str) -> Self {
        Self::new().with("class", class)
    }

    /// Adds a member.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Value<'a>>) -> Self {
        self.0.push((name.into(), value.into()));
        self
    }

    /// Adds a member where it differs from what is usual.
    #[must_use]
    pub fn unless<T: PartialEq + Into<Value<'a>>>(self, usual: &T, name: &'static str, value: T) -> Self {
        if value == *usual { self } else { self.with(name, value) }
    }

    /// Adds a member, if there is a value.
    #[must_use]
    pub fn some(self, name: &'static str, value: Option<impl Into<Value<'a>>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds the members of another object.
    #[must_use]
    pub fn append(mut self, mut other: Fields<'a>) -> Self {
        self.0.append(&mut other.0);
        self
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the object, if it has members.
    pub fn filled(self) -> Option<Value<'a>> {
        if self.is_empty() { None } else { Some(self.into()) }
    }
}

impl<'a> From<Fields<'a>> for Value<'a> {
    fn from(fields: Fields<'a>) -> Self {
        Value::Object(fields.0)
    }
}
