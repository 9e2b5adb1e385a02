//! From a container to the text of a document.

use std::collections::{HashSet, VecDeque};

use json_text::ids::collection;
use json_text::text::{self, Fields, Value, list};
use json_text::{Saver, Translated, file_to_json};
use model::path::SHOWN_BYTES_MAX;
use model::properties::FileCreate;
use model::{Limits, LinkTarget, ObjectKind, ObjectPath, Result, Token};
use vol::{Container, OpList};

/// The version of HDF5/JSON that the form follows.
const API_VERSION: &str = "1.1.1";

/// An object and the first path that leads to it.
struct ObjectWithPath {
    token: Token,
    kind: ObjectKind,
    path: Option<ObjectPath>,
}

/// Returns the text of all that links lead to, and of the types that it uses: in an order that depends on nothing else.
pub(crate) fn document(container: &Translated, create: &FileCreate, limits: &Limits) -> Result<String> {
    let objects = container.objects();
    let saver = Saver::new(container, &objects, limits)?;
    let root = container.info()?.root;
    let found = walk(&saver, root)?;
    let shared = container.shared();
    let number_next = shared.ids.read().number_next();
    let mut fields = Fields::new()
        .with("apiVersion", API_VERSION)
        .with("root", shared.id(root)?)
        .with("numberNext", number_next)
        .some("fileCreationProperties", file_to_json(create));
    for kind in [ObjectKind::Group, ObjectKind::Dataset, ObjectKind::Datatype, ObjectKind::Map] {
        let mut members = Fields::new();
        for object in found.iter().filter(|object| object.kind == kind) {
            members = members.with(shared.id(object.token)?, one(&saver, object)?);
        }
        if kind == ObjectKind::Group || !members.is_empty() {
            fields = fields.with(collection(kind), members);
        }
    }
    text::write(&fields.into())
}

fn one(saver: &Saver<'_>, object: &ObjectWithPath) -> Result<Value<'static>> {
    // Objects are found by their links. Paths for people, of groups nested very deeply, would outgrow all else.
    let path = object.path.as_ref().filter(|path| path.len() <= SHOWN_BYTES_MAX);
    let alias = Fields::new().some("alias", path.map(|path| list([path.to_string()])));
    let token = object.token;
    Ok(alias
        .append(match object.kind {
            ObjectKind::Group => {
                let links = saver
                    .all_links(token)?
                    .iter()
                    .map(|link| saver.link(link))
                    .collect::<Result<Vec<_>>>()?;
                saver.group(token)?.with("links", list(links))
            }
            ObjectKind::Dataset => saver.dataset(token)?.some("value", saver.elements(token)?),
            ObjectKind::Datatype => saver.committed(token)?,
            ObjectKind::Map => saver.map(token)?,
        })
        .into())
}

/// Returns all objects, nearest to the root first.
fn walk(saver: &Saver<'_>, root: Token) -> Result<Vec<ObjectWithPath>> {
    let mut found = Vec::new();
    let mut met = HashSet::from([root]);
    let mut pending = VecDeque::from([(root, Some(ObjectPath::root()))]);
    while let Some((token, path)) = pending.pop_front() {
        let kind = saver.container.object_info(token)?.kind;
        if kind == ObjectKind::Group {
            for link in saver.all_links(token)? {
                if let LinkTarget::Hard(member) = link.target
                    && met.insert(member)
                {
                    pending.push_back((member, path.as_ref().map(|path| path.join(&link.name))));
                }
            }
        }
        // Types that are used but not linked come last: a link may still be found for them.
        found.push(ObjectWithPath { token, kind, path });
        if pending.is_empty() {
            let unlinked = used_types(saver, &found)?.into_iter().filter(|t| met.insert(*t));
            pending.extend(unlinked.map(|token| (token, None)).collect::<Vec<_>>());
        }
    }
    Ok(found)
}

/// Returns the committed datatypes of datasets and attributes.
fn used_types(saver: &Saver<'_>, found: &[ObjectWithPath]) -> Result<Vec<Token>> {
    let op = OpList { count_max: u64::MAX, ..OpList::default() };
    let mut used = Vec::new();
    for object in found {
        if object.kind == ObjectKind::Dataset {
            used.extend(saver.container.dataset_info(object.token)?.committed);
        }
        let attributes = saver.container.attribute_list(object.token, &op)?.entries;
        used.extend(attributes.iter().filter_map(|info| info.committed));
    }
    Ok(used)
}
