//! The check layer: holds every call to the contract, and every answer too.
//!
//! ```text
//! check{handles=strict}
//! ```
//!
//! A caller that breaks a rule gets an error that names the operation, the rule and the value, and the inner container
//! never sees the call. A container that breaks one gives an error of kind `Corrupt`. With `handles=strict` closing fails
//! while objects are retained; without it that is allowed, as closing releases them.

mod answers;
mod arguments;
mod layer;
mod lifetimes;
#[cfg(test)]
mod tests;

use std::fmt::Display;

use model::{Error, Kind, Result};
use vol::Operation;

pub use layer::CheckLayer;

/// Returns an error unless the caller kept a rule.
fn caller(operation: Operation, rule: &'static str, kept: bool, value: impl Display) -> Result<()> {
    rule_of(Kind::Invalid, operation, rule, kept, value)
}

/// Returns an error unless the container kept a rule.
fn container(operation: Operation, rule: &'static str, kept: bool, value: impl Display) -> Result<()> {
    rule_of(Kind::Corrupt, operation, rule, kept, value)
}

fn rule_of(
    kind: Kind,
    operation: Operation,
    rule: &'static str,
    kept: bool,
    value: impl Display,
) -> Result<()> {
    match kept {
        true => Ok(()),
        false => Err(broken(kind, operation, rule).with("value", value)),
    }
}

/// Returns a rule that does not hold.
fn broken(kind: Kind, operation: Operation, rule: &'static str) -> Error {
    Error::new(kind, format!("check {}", operation.name())).with("rule", rule)
}
