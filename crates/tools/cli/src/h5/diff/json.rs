//! `diff --json`: which objects differ, as one document for other programs.

use serde_json::{Value, json};

use super::report::Report;
use super::walk::Entry;

/// What was compared.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Objects with differences.
    different: Vec<Value>,
    compared: u64,
    /// Paths that only one of both has.
    only: [Vec<String>; 2],
}

impl Findings {
    /// Notes the differences of two objects.
    pub(crate) fn compared(&mut self, first: &Entry, second: &Entry, differences: u64) {
        self.compared += 1;
        if differences > 0 {
            self.different.push(json!({
                "first": first.path(),
                "second": second.path(),
                "kind": kind(first),
                "differences": differences,
            }));
        }
    }

    /// Notes an object that only one side has.
    pub(crate) fn only(&mut self, side: usize, entry: &Entry) {
        self.only[side].push(entry.path());
    }
}

fn kind(entry: &Entry) -> &'static str {
    match entry.what.kind_name() {
        "H5G_DATASET" => "dataset",
        "H5G_GROUP" => "group",
        "H5G_TYPE" => "datatype",
        "H5G_MAP" => "map",
        _ => "link",
    }
}

/// Returns the document.
pub(crate) fn document(report: &Report<'_>, differences: u64) -> String {
    let findings = &report.findings;
    let is_equal = differences == 0 && !report.contents_differ && !report.failed;
    let value = json!({
        "files": report.options.files,
        "equal": is_equal,
        "differences": differences,
        "compared": findings.compared,
        "objects": findings.different,
        "only_first": findings.only[0],
        "only_second": findings.only[1],
        "incomparable": report.incomparable,
        "failed": report.failed,
    });
    format!("{value:#}\n")
}
