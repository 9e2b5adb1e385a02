//! Users' own conversions, and what they want to hear of values that do not fit.

use crate::{Datatype, Result};
use std::fmt;
use std::sync::Arc;

/// Converts so many elements from the first slice to the second.
pub type Convert = Arc<dyn Fn(&[u8], &mut [u8], usize) -> Result<()> + Send + Sync>;

/// Gives a conversion for a pair of types, if it knows one.
pub type SoftConvert = Arc<dyn Fn(&Datatype, &Datatype) -> Option<Convert> + Send + Sync>;

/// A callback for a number that does not fit. It gets what happened, the source element, and the target element to fill.
pub type OnException = Arc<dyn Fn(Exception, &[u8], &mut [u8]) -> Handling + Send + Sync>;

/// Gives the callback for numbers of a pair of types.
pub type ExceptionCallbacks = Arc<dyn Fn(&Datatype, &Datatype) -> OnException + Send + Sync>;

/// Why a number cannot be represented (`H5T_conv_except_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exception {
    /// Above the target's limit.
    RangeHigh,
    /// Below the target's limit.
    RangeLow,
    /// A fraction is lost.
    Truncate,
    /// Low bits are lost.
    Precision,
    /// Positive infinity for an integer.
    PlusInfinity,
    /// Negative infinity for an integer.
    MinusInfinity,
    /// Not a number, for an integer.
    NotANumber,
}

/// The decision of a user's callback about an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Handling {
    /// Nothing: the library's own rule holds.
    Default,
    /// It filled the target element.
    Handled,
    /// The transfer must fail.
    Abort,
}

/// Users' own conversions, asked before the built-in ones, for whole elements and for their members.
/// Only members of two equal types are not asked for: equal types are copied as a whole.
#[derive(Clone, Default)]
pub struct Conversions {
    entries: Vec<Entry>,
    on_exception: Option<ExceptionCallbacks>,
}

#[derive(Clone)]
struct Entry {
    name: String,
    rule: Rule,
}

#[derive(Clone)]
enum Rule {
    Hard(Box<(Datatype, Datatype)>, Convert),
    Soft(SoftConvert),
}

impl Rule {
    fn hard(&self, from: &Datatype, to: &Datatype) -> Option<Convert> {
        match self {
            Rule::Hard(pair, run) if pair.0 == *from && pair.1 == *to => Some(run.clone()),
            _ => None,
        }
    }

    fn soft(&self, from: &Datatype, to: &Datatype) -> Option<Convert> {
        match self {
            Rule::Soft(make) => make(from, to),
            Rule::Hard(..) => None,
        }
    }
}

impl Conversions {
    /// Adds a conversion for exactly this pair of types (in the memory datatype). The newest of a pair wins.
    pub fn register_hard(&mut self, name: impl Into<String>, from: Datatype, to: Datatype, run: Convert) {
        self.entries.push(Entry { name: name.into(), rule: Rule::Hard(Box::new((from, to)), run) });
    }

    /// Adds a rule that offers conversions for the pairs it knows; asked after every hard one, newest first.
    pub fn register_soft(&mut self, name: impl Into<String>, make: SoftConvert) {
        self.entries.push(Entry { name: name.into(), rule: Rule::Soft(make) });
    }

    /// Removes what was registered under `name`; says whether there was any.
    pub fn unregister(&mut self, name: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|e| e.name != name);
        self.entries.len() != before
    }

    /// Calls `callback` for every number that does not fit its target. Numeric conversions then go one by one.
    pub fn on_exception(&mut self, callback: Option<OnException>) {
        self.on_exception =
            callback.map(|callback| -> ExceptionCallbacks { Arc::new(move |_, _| callback.clone()) });
    }

    /// Does what [`Conversions::on_exception`] does, for callbacks that need to know the types.
    pub fn on_exception_of_types(&mut self, callbacks: ExceptionCallbacks) {
        self.on_exception = Some(callbacks);
    }

    pub(super) fn callback(&self, from: &Datatype, to: &Datatype) -> Option<OnException> {
        self.on_exception.as_ref().map(|callbacks| callbacks(from, to))
    }

    pub(super) fn find(&self, from: &Datatype, to: &Datatype) -> Option<User> {
        let newest = || self.entries.iter().rev();
        let hard = newest().find_map(|e| Some((e, e.rule.hard(from, to)?)));
        let found = hard.or_else(|| newest().find_map(|e| Some((e, e.rule.soft(from, to)?))));
        found.map(|(e, run)| User { name: e.name.clone(), run })
    }
}

impl fmt::Debug for Conversions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.entries.iter().map(|e| &e.name).collect();
        let callback = self.on_exception.is_some();
        f.debug_struct("Conversions").field("names", &names).field("on_exception", &callback).finish()
    }
}

/// A user's conversion in a plan.
#[derive(Clone)]
pub(super) struct User {
    name: String,
    run: Convert,
}

impl User {
    pub(super) fn run(&self, from: &[u8], to: &mut [u8], count: usize) -> Result<()> {
        (self.run)(from, to, count).map_err(|e| e.during(format!("convert with \"{}\"", self.name)))
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "User({:?})", self.name)
    }
}
