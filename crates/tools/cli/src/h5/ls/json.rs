//! `ls --json`: what a listing shows, for other programs.
//!
//! One document for each file: `{"file", "objects": [{"path", "kind", …}]}`. It is written while the file is walked, so that
//! it takes no more memory than a listing does.

use std::collections::HashSet;
use std::io::{self, Write};
use std::rc::Rc;

use hyperslab::filter_names::standard_name;
use hyperslab::vol::model::dataspace::{Dataspace, UNLIMITED};
use hyperslab::vol::model::properties::{FilterSpec, Layout};
use hyperslab::vol::{DatasetInfo, OpList};
use hyperslab::{Link, LinkTarget, ObjectKind, Result, Token};
use serde_json::{Map, Value, json};

use super::options::Options;
use super::source::{ObjectAt, Source};
use super::types::describe;
use super::walk::Outcome;

/// Links asked for at a time.
const PAGE_LINKS: u64 = 1024;

type Fields = Map<String, Value>;

/// Writes the document of a file, or of an object in it.
pub(crate) fn list(
    out: &mut dyn Write,
    source: &Rc<Source>,
    (file, object): (&str, Option<&str>),
    options: &Options,
) -> io::Result<Outcome> {
    let path = format!("/{}", object.unwrap_or("").trim_matches('/'));
    write!(out, "{{\"file\": {}, \"objects\": [", json!(file))?;
    let mut lister = Lister { out, options, seen: HashSet::new(), written: 0, is_whole: true };
    match ObjectAt::root(source).find(&path) {
        Ok(place) => lister.object(&place, path)?,
        Err(error) => lister.entry(failed(&path, &error))?,
    }
    let is_whole = lister.is_whole;
    writeln!(out, "\n]}}")?;
    Ok(if is_whole { Outcome::Fine } else { Outcome::Dangling })
}

struct Lister<'a> {
    out: &'a mut dyn Write,
    options: &'a Options,
    /// Groups whose members were listed: each is listed once.
    seen: HashSet<Token>,
    written: u64,
    is_whole: bool,
}

fn failed(path: &str, error: &hyperslab::Error) -> Fields {
    Fields::from_iter([("path".to_owned(), json!(path)), ("error".to_owned(), json!(error.to_string()))])
}

impl Lister<'_> {
    fn entry(&mut self, fields: Fields) -> io::Result<()> {
        self.is_whole &= !fields.contains_key("error");
        let comma = if self.written == 0 { "" } else { "," };
        self.written += 1;
        write!(self.out, "{comma}\n  {}", Value::Object(fields))
    }

    /// An object, and the members of groups: all of them, or those of the first.
    fn object(&mut self, place: &ObjectAt, path: String) -> io::Result<()> {
        let mut groups = Vec::new();
        self.found(place, path, &mut groups)?;
        let mut is_first = true;
        while let Some((group, path)) = groups.pop() {
            if !(is_first || self.options.recursive) || self.options.group {
                break;
            }
            is_first = false;
            if self.seen.insert(group.token) {
                self.members(&group, &path, &mut groups)?;
            }
        }
        Ok(())
    }

    /// Writes what an object is; a group is remembered.
    fn found(
        &mut self,
        place: &ObjectAt,
        path: String,
        groups: &mut Vec<(ObjectAt, String)>,
    ) -> io::Result<()> {
        match described(place, &path) {
            Ok((ObjectKind::Group, fields)) => {
                groups.push((place.clone(), path));
                self.entry(fields)
            }
            Ok((_, fields)) => self.entry(fields),
            Err(error) => self.entry(failed(&path, &error)),
        }
    }

    fn members(
        &mut self,
        group: &ObjectAt,
        path: &str,
        groups: &mut Vec<(ObjectAt, String)>,
    ) -> io::Result<()> {
        let mut skip = 0;
        loop {
            let op = OpList { skip, count_max: PAGE_LINKS, ..OpList::default() };
            let page = match group.container().link_list(group.token, &op) {
                Ok(page) => page,
                Err(error) => return self.entry(failed(path, &error)),
            };
            skip += page.entries.len() as u64;
            let is_last = !page.more || page.entries.is_empty();
            for link in page.entries {
                self.member(group, &link, path, groups)?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn member(
        &mut self,
        group: &ObjectAt,
        link: &Link,
        path: &str,
        groups: &mut Vec<(ObjectAt, String)>,
    ) -> io::Result<()> {
        let path = format!("{}/{}", path.trim_end_matches('/'), link.name);
        match &link.target {
            LinkTarget::Hard(token) => {
                let place = ObjectAt { token: *token, source: group.source.clone() };
                self.found(&place, path, groups)
            }
            target => self.entry(of_link(target, &path)),
        }
    }
}

fn of_link(target: &LinkTarget, path: &str) -> Fields {
    let mut fields = Fields::from_iter([("path".to_owned(), json!(path))]);
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    match target {
        LinkTarget::Hard(_) => {}
        LinkTarget::Soft(target) => {
            set("kind", json!("soft link"));
            set("target", json!(target));
        }
        LinkTarget::External { file, path } => {
            set("kind", json!("external link"));
            set("target_file", json!(file));
            set("target", json!(path));
        }
        LinkTarget::User { class, .. } => {
            set("kind", json!("user-defined link"));
            set("class", json!(class));
        }
    }
    fields
}

fn described(place: &ObjectAt, path: &str) -> Result<(ObjectKind, Fields)> {
    let info = place.container().object_info(place.token)?;
    let mut fields = Fields::from_iter([("path".to_owned(), json!(path))]);
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("kind", json!(kind_name(info.kind)));
    set("attributes", json!(info.attributes));
    set("references", json!(info.references));
    match info.kind {
        ObjectKind::Group => {
            set("links", json!(place.container().group_info(place.token)?.links));
        }
        ObjectKind::Dataset => {
            let info = place.container().dataset_info(place.token)?;
            fields.extend(of_dataset(&info));
        }
        ObjectKind::Datatype => {
            let datatype = place.container().datatype_get(place.token)?;
            set("type", json!(describe(&datatype, 0, true)));
        }
        ObjectKind::Map => {}
    }
    Ok((info.kind, fields))
}

fn kind_name(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Group => "group",
        ObjectKind::Dataset => "dataset",
        ObjectKind::Datatype => "datatype",
        ObjectKind::Map => "map",
    }
}

fn of_dataset(info: &DatasetInfo) -> Fields {
    let filter = |spec: &FilterSpec| {
        let stored = spec.name.as_deref().filter(|name| !name.is_empty());
        json!({"id": spec.id, "name": stored.or_else(|| standard_name(spec.id)), "values": spec.values})
    };
    let filters: Vec<Value> = info.create.filters.iter().map(filter).collect();
    let (shape, max_shape) = match &info.space {
        Dataspace::Null => (Value::Null, Value::Null),
        space => (json!(space.dims()), json!(max_dims(space))),
    };
    let chunks = match &info.create.layout {
        Layout::Chunked { shape, .. } => Some(shape),
        _ => None,
    };
    let mut fields = Fields::new();
    fields.insert("type".to_owned(), json!(describe(&info.datatype, 0, true)));
    fields.insert("shape".to_owned(), shape);
    fields.insert("max_shape".to_owned(), max_shape);
    fields.insert("chunks".to_owned(), json!(chunks));
    fields.insert("filters".to_owned(), json!(filters));
    fields
}

/// Returns how far each dimension may grow; `null` is without end.
fn max_dims(space: &Dataspace) -> Vec<Option<u64>> {
    space.max_dims().iter().map(|&max| Some(max).filter(|&max| max != UNLIMITED)).collect()
}
