//! From the text of a document to a container.

use json_text::ids::collection;
use json_text::text::Value;
use json_text::{Loader, Objects, Translated, file_from_json, group_properties};
use model::properties::FileCreate;
use model::{Context, Error, Kind, Limits, ObjectKind, Result, Token};
use vol::{Container, OpGroupCreate};

/// Returns how the container is created.
pub(crate) fn file_create(value: &Value<'_>) -> Result<FileCreate> {
    let (_, root) = root(value)?;
    file_from_json(value.get("fileCreationProperties"), group_properties(root)?)
}

fn root<'v, 'a>(value: &'v Value<'a>) -> Result<(&'v str, &'v Value<'a>)> {
    let id = value.need("root")?.text()?;
    Ok((id, value.need("groups")?.need(id)?))
}

/// Returns the identities and descriptions of all objects of a kind.
fn all<'v, 'a>(value: &'v Value<'a>, kind: ObjectKind) -> Result<Vec<(&'v str, &'v Value<'a>)>> {
    let members = value.get(collection(kind)).map_or(Ok(&[][..]), Value::members)?;
    Ok(members.iter().map(|(id, object)| (id.as_ref(), object)).collect())
}

/// Objects by identity. What a reference meant may be gone: then it means something that is gone here too.
struct ObjectsById<'a, O> {
    objects: O,
    container: &'a Translated,
}

impl<O: Objects> Objects for ObjectsById<'_, O> {
    fn name_of(&self, token: Token) -> Result<String> {
        self.objects.name_of(token)
    }

    fn token_of(&self, name: &str) -> Result<Token> {
        match self.objects.token_of(name) {
            Err(error) if error.kind() == Kind::NotFound => {
                let id = name.rsplit_once('/').map_or(name, |(_, id)| id);
                self.container.shared().expect(id);
                let gone = self.container.group_create(&OpGroupCreate::default())?;
                self.container.retain(gone)?;
                self.container.release(gone)?;
                Ok(gone)
            }
            found => found,
        }
    }
}

/// Fills an empty container.
pub(crate) fn fill(container: &Translated, value: &Value<'_>, limits: &Limits) -> Result<()> {
    let objects = ObjectsById { objects: container.objects(), container };
    let loader = Loader::new(container, &objects, limits);
    let inner = container.inner().info()?;
    let (root_id, root_value) = root(value)?;
    let root = container.shared().add(root_id, inner.root)?;
    if let Some(number) = value.maybe("numberNext", Value::uint)? {
        container.shared().ids.write().skip_to(number);
    }
    let mut made = vec![(root, ObjectKind::Group, root_value)];
    // Types first: datasets and attributes use them.
    for kind in [ObjectKind::Datatype, ObjectKind::Group, ObjectKind::Dataset, ObjectKind::Map] {
        for (id, object) in all(value, kind)?.into_iter().filter(|(id, _)| *id != root_id) {
            let token = make(&loader, container, kind, id, object)
                .during(&format!("read {}/{id}", collection(kind)))?;
            made.push((token, kind, object));
        }
    }
    for (token, kind, object) in made {
        describe(&loader, token, kind, object).map_err(|e| {
            e.during(format!("read object {}", container.shared().id(token).unwrap_or_default()))
        })?;
    }
    Ok(())
}

/// Creates an object that nothing leads to yet.
fn make(
    loader: &Loader<'_>,
    container: &Translated,
    kind: ObjectKind,
    id: &str,
    object: &Value<'_>,
) -> Result<Token> {
    let ids = &container.shared().ids;
    if ids.read().by_id(id).is_ok() {
        return Err(Error::corrupt("read document").with("problem", "identity is used twice").with("id", id));
    }
    // Whatever else is made on the way has no identity of its own.
    let op = match kind {
        ObjectKind::Dataset => Some(loader.dataset_op(object)?),
        _ => None,
    };
    container.shared().expect(id);
    match (kind, op) {
        (ObjectKind::Dataset, Some(op)) => container.dataset_create(&op),
        (ObjectKind::Datatype, _) => loader.committed(object),
        (ObjectKind::Map, _) => loader.map(object),
        _ => loader.group(object),
    }
}

/// Attributes, values and links, now that all objects are there.
fn describe(loader: &Loader<'_>, token: Token, kind: ObjectKind, object: &Value<'_>) -> Result<()> {
    loader.common(token, object)?;
    match kind {
        ObjectKind::Dataset => object.get("value").map_or(Ok(()), |value| loader.elements(token, value)),
        ObjectKind::Map => loader.pairs(token, object),
        ObjectKind::Group => {
            let links = object.get("links").map_or(Ok(&[][..]), Value::array)?;
            links.iter().try_for_each(|link| loader.link(token, link))
        }
        ObjectKind::Datatype => Ok(()),
    }
}
