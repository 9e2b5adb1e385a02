//! `/api/search`: names and attributes that contain a text.

use std::ops::ControlFlow;

use hyperslab::{Attribute, Link, LinkTarget, Object, ObjectKind, Result, Visit};
use serde_json::{Value, json};
use system::clock::Instant;

use crate::answer::{Answer, Failure};
use crate::call::{Call, Outcome};
use crate::grove::attribute_json;

/// Results, without the parameter.
const RESULTS: u64 = 100;
/// Results at most.
const RESULTS_MAX: u64 = 10_000;
/// Attributes with more bytes are looked for by their names only.
const VALUE_BYTES_MAX: u64 = 4096;

/// Answers a request.
pub(crate) fn answer(call: &Call<'_>) -> Outcome {
    let text = call.query.get("text").filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| Failure::argument("The parameter text is missing"))?.to_lowercase();
    let results_max = call.query.number("limit", RESULTS, RESULTS_MAX)?;
    let mut search =
        Search { call, text, results_max, results: Vec::new(), visited: 0, begun: Instant::now() };
    let root = call.container.file.as_group();
    search.look_at_attributes("/", "group", root)?;
    let mut is_complete = true;
    root.visit(|visit| {
        call.check_cancelled()?;
        is_complete = search.goes_on();
        if !is_complete {
            return Ok(ControlFlow::Break(()));
        }
        search.look_at(visit)?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(Answer::json(&json!({ "results": search.results, "complete": is_complete })))
}

/// A search, as far as it came.
struct Search<'c> {
    call: &'c Call<'c>,
    /// In lower case.
    text: String,
    results_max: u64,
    results: Vec<Value>,
    visited: u64,
    begun: Instant,
}

impl Search<'_> {
    /// Returns whether one more object may be looked at.
    fn goes_on(&self) -> bool {
        let limits = self.call.limits;
        self.has_space()
            && self.visited < limits.search_objects_max
            && self.begun.elapsed() < limits.search_time_max
    }

    fn has_space(&self) -> bool {
        (self.results.len() as u64) < self.results_max
    }

    fn look_at(&mut self, visit: &Visit<'_>) -> Result<()> {
        self.visited += 1;
        let path = format!("/{}", visit.path);
        let kind = kind(visit.link, visit.kind);
        if self.is_in(&visit.link.name) {
            self.results.push(json!({ "path": path, "kind": kind }));
        }
        match visit.object.filter(|_| !visit.again) {
            Some(object) => self.look_at_attributes(&path, kind, object),
            None => Ok(()),
        }
    }

    fn look_at_attributes(&mut self, path: &str, kind: &str, object: &Object) -> Result<()> {
        for attribute in object.attrs()? {
            let value = value(&attribute);
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if self.has_space() && (self.is_in(attribute.name()) || !value.is_null() && self.is_in(&shown)) {
                let name = attribute.name();
                self.results.push(json!({ "path": path, "kind": kind, "attribute": name, "value": value }));
            }
        }
        Ok(())
    }

    fn is_in(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.text)
    }
}

/// Returns the value of a small attribute; `null` of others, and of those that cannot be read.
fn value(attribute: &Attribute) -> Value {
    let info = attribute.info();
    let elements = info.space.element_count().unwrap_or(u64::MAX);
    match elements.saturating_mul(info.datatype.size().into()) {
        0..=VALUE_BYTES_MAX => attribute_json(attribute).unwrap_or(Value::Null),
        _ => Value::Null,
    }
}

fn kind(link: &Link, kind: Option<ObjectKind>) -> &'static str {
    match (kind, &link.target) {
        (Some(ObjectKind::Group), _) => "group",
        (Some(ObjectKind::Dataset), _) => "dataset",
        (Some(ObjectKind::Datatype), _) => "datatype",
        (_, LinkTarget::Soft(_)) => "soft_link",
        (_, LinkTarget::External { .. }) => "external_link",
        _ => "other",
    }
}
