//! Parameters of a driver, as they stand in braces after its name.

use std::io;

use super::DriverInfo;

/// Keys and values: `member_bytes=1048576, backing_store=false`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriverParameters(Vec<(String, String)>);

impl FromIterator<(String, String)> for DriverParameters {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        DriverParameters(pairs.into_iter().collect())
    }
}

impl DriverParameters {
    /// Returns the last value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rfind(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// Returns all parameters, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns the value of `key` as a number.
    ///
    /// # Errors
    /// Returns `InvalidInput` if the value is not a number.
    pub fn number(&self, key: &str) -> io::Result<Option<u64>> {
        self.parsed(key, |text| text.parse().ok())
    }

    /// Returns the value of `key`, which is `true` or `false`.
    ///
    /// # Errors
    /// Returns `InvalidInput` for any other value.
    pub fn flag(&self, key: &str) -> io::Result<Option<bool>> {
        self.parsed(key, |text| match text {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        })
    }

    fn parsed<T>(&self, key: &str, parse: impl Fn(&str) -> Option<T>) -> io::Result<Option<T>> {
        let Some(text) = self.get(key) else { return Ok(None) };
        parse(text).map(Some).ok_or_else(|| wrong(format!("parameter {key} cannot be {text}")))
    }

    /// Checks that a driver takes all these parameters.
    ///
    /// # Errors
    /// Returns `InvalidInput` for the first that it does not take.
    pub fn only(&self, info: &DriverInfo) -> io::Result<()> {
        let known = |key: &str| info.parameters.iter().any(|(known, _)| *known == key);
        let Some((key, _)) = self.0.iter().find(|(key, _)| !known(key)) else { return Ok(()) };
        let names: Vec<&str> = info.parameters.iter().map(|(name, _)| *name).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Err(wrong(format!("driver {} has no parameter {key}; it has {known}", info.name)))
    }
}

fn wrong(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}
