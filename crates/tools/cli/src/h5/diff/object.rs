//! Differences of two objects or links.

use std::sync::Arc;

use hyperslab::vol::algorithms::compare;
use hyperslab::vol::{Container, FileAccess};
use hyperslab::{File, LinkTarget, ObjectKind, Reference, ReferenceTarget, Result};

use super::options::Exclusions;
use super::report::Report;
use super::walk::{Entry, What};
use super::{attribute, dataset, native};
use crate::h5::ls::source::ObjectAt;
use crate::h5::subset::Subset;

/// Compares pairs of objects, and remembers what the user left out.
pub(crate) struct Objects<'r, 'o> {
    pub(crate) report: &'r mut Report<'o>,
    /// The files that are compared.
    pub(crate) files: [&'r ObjectAt; 2],
    /// Objects whose attributes are not compared.
    pub(crate) excluded_attributes: Exclusions,
}

impl Objects<'_, '_> {
    /// Compares what two paths lead to; returns how many differences there are.
    pub(crate) fn compare(&mut self, first: &Entry, second: &Entry) -> u64 {
        if self.report.options.follow && (is_link(first) || is_link(second)) {
            return self.dangling(first, second);
        }
        let kinds = [first.what.kind_name(), second.what.kind_name()];
        if kinds[0] != kinds[1] {
            self.report.cannot_compare(&format!(
                "Not comparable: <{}> is of type {} and <{}> is of type {}\n",
                first.path(),
                kinds[0],
                second.path(),
                kinds[1]
            ));
            return 0;
        }
        if first.what.is_same(&second.what, self.files) {
            if self.report.options.shows_data() {
                self.report.objects(kind_word(&first.what), &first.path(), &second.path());
                self.report.found(0);
            }
            return 0;
        }
        let result = match (&first.what, &second.what) {
            (What::Link(a), What::Link(b)) => Ok(self.links(first, second, a, b)),
            (What::Object(a, kind), What::Object(b, _)) => {
                self.objects(*kind, [a, b], [&first.path(), &second.path()])
            }
            _ => Ok(0),
        };
        result.unwrap_or_else(|error| {
            self.report.fail(&error);
            0
        })
    }

    /// Links of which at least one leads nowhere.
    fn dangling(&mut self, first: &Entry, second: &Entry) -> u64 {
        let options = self.report.options;
        if options.no_dangling {
            let path = if is_link(first) { first.path() } else { second.path() };
            self.report.remark(&format!("Warning: <{path}> is a dangling link.\n"));
            self.report.failed = true;
            return 0;
        }
        if is_link(first) && is_link(second) {
            self.report.objects_found("dangling link", &first.path(), &second.path(), 0);
            return 0;
        }
        let (number, path) = if is_link(first) { (1, first.path()) } else { (2, second.path()) };
        self.report.remark(&format!("obj{number} <{path}> is a dangling link.\n"));
        if !options.quiet {
            self.report.found(1);
        }
        1
    }

    fn links(&mut self, first: &Entry, second: &Entry, a: &LinkTarget, b: &LinkTarget) -> u64 {
        let differ = match (a, b) {
            // No one but its class knows what a user-defined link means.
            (LinkTarget::User { class: x, data: a }, LinkTarget::User { class: y, data: b }) => {
                x != y || a.len() != b.len()
            }
            _ => a != b,
        };
        let word = match (a, b) {
            (LinkTarget::Soft(_), _) => "link",
            (LinkTarget::External { .. }, LinkTarget::External { .. }) => "external link",
            _ => "user defined link",
        };
        self.report.objects_found(word, &first.path(), &second.path(), differ.into());
        differ.into()
    }

    fn objects(&mut self, kind: ObjectKind, places: [&ObjectAt; 2], paths: [&str; 2]) -> Result<u64> {
        let [first, second] = paths;
        let mut found = 0;
        match kind {
            ObjectKind::Dataset => {
                // One that cannot be opened is not named.
                places[0].container().dataset_info(places[0].token)?;
                places[1].container().dataset_info(places[1].token)?;
                found = self.datasets(places, paths);
            }
            ObjectKind::Datatype => {
                let types = [
                    places[0].container().datatype_get(places[0].token)?,
                    places[1].container().datatype_get(places[1].token)?,
                ];
                found = u64::from(!native::equal(&types[0], &types[1]));
                self.report.objects_found("datatype", first, second, found);
            }
            ObjectKind::Group => self.report.objects_found("group", first, second, 0),
            ObjectKind::Map => found = self.maps(places, paths)?,
        }
        if !self.excluded_attributes.contains(first, kind == ObjectKind::Group) {
            found += attribute::Pair { places, paths, depth: 0 }.compare_all(self.report)?;
        }
        Ok(found)
    }

    fn maps(&mut self, places: [&ObjectAt; 2], [first, second]: [&str; 2]) -> Result<u64> {
        let sides = places.map(|place| (place.container(), place.token));
        let containers = places.map(ObjectAt::shared);
        let same = |one: &Reference, other: &Reference| same_target(containers, [one, other]);
        let found = compare::maps(sides[0], sides[1], &same)?;
        if found.types {
            let why = format!("Not comparable: <{first}> and <{second}> are maps of different types\n");
            self.report.cannot_compare(&why);
            return Ok(0);
        }
        self.report.objects_found("map", first, second, found.count());
        let parts = [
            (found.only_first, "keys only in the first"),
            (found.only_second, "keys only in the second"),
            (found.values, "keys with different values"),
        ];
        for (count, what) in parts.into_iter().filter(|(count, _)| *count > 0) {
            self.report.remark(&format!("{count} {what}\n"));
        }
        Ok(found.count())
    }

    fn datasets(&mut self, places: [&ObjectAt; 2], names: [&str; 2]) -> u64 {
        let options = self.report.options;
        let pair = dataset::Pair { places, names, depth: 0 };
        let subsets = [0, 1].map(|side: usize| -> Option<&Subset> { options.subsets[side].as_ref() });
        if options.shows_data() {
            self.report.objects("dataset", names[0], names[1]);
        }
        let found = pair.compare(self.report, subsets).unwrap_or_else(|error| {
            self.report.fail(&error);
            0
        });
        if options.shows_data() {
            self.report.found(found);
        } else if found > 0 && !options.quiet {
            self.report.objects("dataset", names[0], names[1]);
            self.report.found(found);
        }
        found
    }
}

/// Returns whether two references lead to objects of the same path, and to the same part of them.
fn same_target(containers: [&Arc<dyn Container>; 2], references: [&Reference; 2]) -> Result<bool> {
    let [one, other] = references;
    if one.is_null() || other.is_null() || one.file.is_some() || other.file.is_some() {
        return Ok(one.is_null() == other.is_null() && one.file == other.file);
    }
    let is_same_part = match (&one.target, &other.target) {
        (ReferenceTarget::Object(_), ReferenceTarget::Object(_)) => true,
        (ReferenceTarget::Region { selection: a, .. }, ReferenceTarget::Region { selection: b, .. }) => {
            a == b
        }
        (ReferenceTarget::Attribute { name: a, .. }, ReferenceTarget::Attribute { name: b, .. }) => a == b,
        _ => false,
    };
    Ok(is_same_part && path_of(containers[0], one)? == path_of(containers[1], other)?)
}

fn path_of(container: &Arc<dyn Container>, reference: &Reference) -> Result<String> {
    let file = File::from_container(container.clone(), "", &FileAccess::read())?;
    Ok(file.dereference(reference)?.object().name().to_owned())
}

fn is_link(entry: &Entry) -> bool {
    matches!(entry.what, What::Link(_))
}

fn kind_word(what: &What) -> &'static str {
    match what {
        What::Object(_, ObjectKind::Dataset) => "dataset",
        What::Object(_, ObjectKind::Datatype) => "datatype",
        What::Object(_, kind) => kind.name(),
        What::Link(_) => "link",
    }
}
