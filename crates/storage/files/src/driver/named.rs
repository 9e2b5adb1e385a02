//! Drivers as texts name them: `log{inner=family{member_bytes=1048576}}`.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Created, Driver, DriverParameters, Drivers, Target};
use crate::{Handle, Mode};

/// Drivers that pass requests on to one another, at most.
const DEPTH_MAX: usize = 16;

/// A driver with its parameters.
#[derive(Clone)]
pub struct NamedDriver {
    /// The driver.
    pub driver: Arc<dyn Driver>,
    /// The parameters in the braces after its name.
    pub parameters: DriverParameters,
}

impl std::fmt::Debug for NamedDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("NamedDriver").field(&self.driver.info().name).field(&self.parameters).finish()
    }
}

impl Drivers {
    /// Returns the driver that `text` names, with its parameters.
    ///
    /// # Errors
    /// Returns `InvalidInput` if the text cannot be read, and `Unsupported` if there is no such driver.
    pub fn named(&self, text: &str) -> io::Result<NamedDriver> {
        let (name, parameters) = split_name(text.trim())?;
        let driver = self.get(name).cloned().ok_or_else(|| {
            let known: Vec<_> = self.names().collect();
            let problem = format!("there is no driver {name}; there are {}", known.join(", "));
            io::Error::new(io::ErrorKind::Unsupported, problem)
        })?;
        Ok(NamedDriver { driver, parameters: DriverParameters::parse(parameters)? })
    }
}

impl NamedDriver {
    /// Returns the driver that a parameter of another driver names, or that of plain files.
    pub(super) fn of_parameter(target: &Target<'_>, key: &str) -> io::Result<NamedDriver> {
        target.drivers.named(target.parameters.get(key).unwrap_or("posix"))
    }

    /// Returns the error of [`NamedDriver::create`], as far as it can be known.
    pub fn check_create(&self, path: &Path, drivers: &Drivers) -> io::Result<()> {
        self.driver.check_create(&self.at(path, drivers))
    }

    /// Creates a file ([`Driver::create`]).
    pub fn create(&self, path: &Path, drivers: &Drivers, may_exist: bool) -> io::Result<Created> {
        self.driver.create(&self.at(path, drivers), may_exist)
    }

    /// Opens a file ([`Driver::open`]).
    pub fn open(&self, path: &Path, drivers: &Drivers, mode: Mode) -> io::Result<Handle> {
        self.driver.open(&self.at(path, drivers), mode)
    }

    /// Deletes a file ([`Driver::delete`]).
    pub fn delete(&self, path: &Path, drivers: &Drivers) -> io::Result<()> {
        self.driver.delete(&self.at(path, drivers))
    }

    fn at<'a>(&'a self, path: &'a Path, drivers: &'a Drivers) -> Target<'a> {
        Target { path, parameters: &self.parameters, drivers }
    }
}

impl DriverParameters {
    /// Reads `key=value`, separated by commas. A value may have braces of its own.
    ///
    /// # Errors
    /// Returns `InvalidInput` if a key has no value, or braces do not match or are too deep.
    pub fn parse(text: &str) -> io::Result<DriverParameters> {
        let pairs = split_at_commas(text)?.into_iter().filter(|pair| !pair.trim().is_empty());
        pairs
            .map(|pair| match pair.split_once('=') {
                Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
                None => Err(invalid(format!("parameter {} has no value", pair.trim()))),
            })
            .collect()
    }
}

/// Returns the name of a driver, and what is in its braces.
fn split_name(text: &str) -> io::Result<(&str, &str)> {
    let Some((name, rest)) = text.split_once('{') else { return Ok((text, "")) };
    match rest.strip_suffix('}') {
        Some(inside) => Ok((name.trim_end(), inside)),
        None => Err(invalid(format!("the braces of driver {name} are not closed"))),
    }
}

/// Returns the parts between commas that stand in no braces.
fn split_at_commas(text: &str) -> io::Result<Vec<&str>> {
    let (mut depth, mut start, mut parts) = (0usize, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' if depth == DEPTH_MAX => return Err(invalid("drivers are nested too deep".to_owned())),
            '{' => depth += 1,
            '}' => {
                depth = depth.checked_sub(1).ok_or_else(|| invalid("a brace too many".to_owned()))?;
            }
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    if depth == 0 { Ok(parts) } else { Err(invalid("a brace is not closed".to_owned())) }
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn values_may_have_braces_of_their_own() {
        let named = Drivers::default().named("core{increment=1, backing_store=family{a=1,b={2}} }").unwrap();
        assert_eq!(named.driver.info().name, "core");
        assert_eq!(named.parameters.get("increment"), Some("1"));
        assert_eq!(named.parameters.get("backing_store"), Some("family{a=1,b={2}}"));
        assert_eq!(Drivers::default().named("posix{}").unwrap().parameters, DriverParameters::default());
    }

    #[test]
    fn texts_that_name_no_driver_are_refused() {
        let kind = |text: &str| Drivers::default().named(text).unwrap_err().kind();
        for text in ["core{", "core{a}", "core{a=}}", "core{a={}"] {
            assert_eq!(kind(text), ErrorKind::InvalidInput, "{text}");
        }
        assert_eq!(kind("tape"), ErrorKind::Unsupported);
        assert_eq!(
            kind(&format!("core{{a={}{}}}", "{".repeat(100), "}".repeat(100))),
            ErrorKind::InvalidInput
        );
    }
}
