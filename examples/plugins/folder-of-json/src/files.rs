//! Containers and objects as files.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use model::properties::{DatasetCreate, FileCreate, GroupCreate};
use model::{CharacterSet, Dataspace, Datatype, Error, Limits, LinkTarget, Result, Within};
use protocol::wire::{self, Wire};
use serde_json::{Map, Value, json};
use vol::{AttributeInfo, DatasetInfo, Durability};

use crate::attributes::{Attribute, Attributes};
use crate::datasets::{Dataset, check_type, space_bytes};
use crate::links::{Entry, Group};
use crate::objects::{Body, Object, ROOT, State};
use crate::text::*;

const CONTAINER: &str = "container.json";
const FORMAT: &str = "folder-of-json 1";

fn failed(operation: &str, path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |e| Error::io(operation, &e).with("path", path.display())
}

fn object_file(folder: &Path, id: u64) -> PathBuf {
    folder.join(format!("{id}.json"))
}

/// Returns the objects of a folder, by the names of their files.
fn object_ids(folder: &Path) -> Result<Vec<u64>> {
    let mut ids = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed("list container", folder))? {
        let path = entry.map_err(failed("list container", folder))?.path();
        let id = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
        ids.extend(id.filter(|&id| path == object_file(folder, id)));
    }
    Ok(ids)
}

/// Returns whether a folder is a container of ours.
pub(crate) fn is_container(folder: &Path) -> bool {
    read(&folder.join(CONTAINER), &Limits::default())
        .is_ok_and(|value| text(&value, "format").ok() == Some(FORMAT))
}

/// Removes the files of a container, and its folder unless there is something else in it.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    if !is_container(folder) {
        return Err(Error::not_found("find container").with("path", folder.display()));
    }
    let paths = object_ids(folder)?.into_iter().map(|id| object_file(folder, id));
    for path in paths.chain([folder.join(CONTAINER)]) {
        std::fs::remove_file(&path).map_err(failed("remove file", &path))?;
    }
    std::fs::remove_dir(folder).map_err(failed("remove folder", folder))
}

fn read(path: &Path, limits: &Limits) -> Result<Value> {
    let length = std::fs::metadata(path).map_err(failed("find file", path))?.len();
    length.within(limits.metadata_bytes_max, "file")?;
    let bytes = std::fs::read(path).map_err(failed("read file", path))?;
    serde_json::from_slice(&bytes)
        .map_err(|e| corrupt("no JSON").with("cause", e).with("path", path.display()))
}

/// A file as a whole or not at all.
fn write(path: &Path, value: &Value, durability: Durability) -> Result<()> {
    let new = path.with_extension("new");
    let mut file = std::fs::File::create(&new).map_err(failed("create file", &new))?;
    file.write_all(format!("{value:#}\n").as_bytes()).map_err(failed("write file", &new))?;
    if durability == Durability::Full {
        file.sync_all().map_err(failed("sync file", &new))?;
    }
    std::fs::rename(&new, path).map_err(failed("rename file", path))
}

/// New names of files are as durable as the files.
fn sync_folder(folder: &Path) -> Result<()> {
    match cfg!(unix) {
        true => std::fs::File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed("sync folder", folder)),
        false => Ok(()),
    }
}

/// Writes what changed.
pub(crate) fn save(state: &mut State, folder: &Path, durability: Durability) -> Result<()> {
    for &id in &state.changed {
        let path = object_file(folder, id);
        match state.objects.get(&id).filter(|object| object.references > 0) {
            Some(object) => write(&path, &object_to_json(object)?, durability)?,
            None if path.exists() => std::fs::remove_file(&path).map_err(failed("remove file", &path))?,
            None => {}
        }
    }
    let container =
        json!({"format": FORMAT, "next": state.next, "create": properties_to_json(&state.create)?});
    write(&folder.join(CONTAINER), &container, durability)?;
    if durability == Durability::Full {
        sync_folder(folder)?;
    }
    // Objects without a link are in no file until they get one.
    let is_unlinked = |id: &u64| state.objects.get(id).is_some_and(|object| object.references == 0);
    state.changed.retain(is_unlinked);
    Ok(())
}

/// Reads a whole container.
pub(crate) fn load(folder: &Path, limits: &Limits) -> Result<State> {
    let container = read(&folder.join(CONTAINER), limits)?;
    if text(&container, "format")? != FORMAT {
        return Err(Error::unsupported("read container").with("format", text(&container, "format")?));
    }
    let create: FileCreate = properties_from_json(&container)?;
    let ids = object_ids(folder)?;
    let next = ids
        .iter()
        .copied()
        .max()
        .unwrap_or(ROOT)
        .checked_add(1)
        .ok_or_else(|| corrupt("number of an object"))?;
    let mut state = State::of(create, BTreeMap::new(), next.max(number(&container, "next")?));
    for id in ids {
        let path = object_file(folder, id);
        let object = object_from_json(&state, &read(&path, limits)?, limits);
        let object = object.map_err(|e| e.during(format!("read {}", path.display())))?;
        state.objects.insert(id, object);
    }
    check_links(&state)?;
    Ok(state)
}

/// The root is a group, every hard link leads to an object, and no object counts fewer than there are.
fn check_links(state: &State) -> Result<()> {
    state.group(state.root())?;
    let mut links = BTreeMap::from([(ROOT, 1)]);
    for object in state.objects.values() {
        if let Body::Group(group) = &object.body {
            group.hard_links().for_each(|token| *links.entry(token.to_u64()).or_insert(0) += 1);
        }
    }
    for (id, count) in links {
        if state.object(state.token(id))?.references < count {
            return Err(corrupt("an object counts fewer references than there are links").with("object", id));
        }
    }
    Ok(())
}

fn object_to_json(object: &Object) -> Result<Value> {
    let mut attributes = Map::new();
    for (name, attribute) in &object.attributes {
        attributes.insert(name.clone(), attribute_to_json(attribute)?);
    }
    let mut value = match &object.body {
        Body::Group(group) => group_to_json(group)?,
        Body::Dataset(dataset) => dataset_to_json(dataset)?,
    };
    value["references"] = json!(object.references);
    value["attributes"] = Value::Object(attributes);
    Ok(value)
}

fn object_from_json(state: &State, value: &Value, limits: &Limits) -> Result<Object> {
    let body = match text(value, "kind")? {
        "group" => Body::Group(group_from_json(state, value)?),
        "dataset" => Body::Dataset(dataset_from_json(value, limits)?),
        kind => return Err(corrupt("not a kind of object").with("kind", kind)),
    };
    let references =
        u32::try_from(number(value, "references")?).map_err(|_| corrupt("number of references"))?;
    let mut attributes = Attributes::new();
    for (name, value) in entries(value, "attributes")? {
        attributes.insert(name.clone(), attribute_from_json(name, value, limits)?);
    }
    Ok(Object { references, handles: 0, attributes, body })
}

fn entries<'v>(value: &'v Value, name: &str) -> Result<&'v Map<String, Value>> {
    field(value, name)?.as_object().ok_or_else(|| corrupt("not an object").with("field", name))
}

/// Properties are kept whole, as the bytes in which they travel.
fn properties_to_json<T: Wire>(create: &T) -> Result<Value> {
    Ok(json!({"wire": wire::VERSION, "hex": to_hex(&wire::to_bytes(create)?)}))
}

fn properties_from_json<T: Wire>(value: &Value) -> Result<T> {
    let create = field(value, "create")?;
    match number(create, "wire")? == u64::from(wire::VERSION) {
        true => wire::from_bytes(&from_hex(text(create, "hex")?)?),
        false => Err(Error::unsupported("read properties").with("version", number(create, "wire")?)),
    }
}

fn charset_to_json(charset: CharacterSet) -> Value {
    json!(if charset == CharacterSet::Utf8 { "UTF-8" } else { "ASCII" })
}

fn charset_from_json(value: &Value) -> Result<CharacterSet> {
    match text(value, "charset")? {
        "UTF-8" => Ok(CharacterSet::Utf8),
        "ASCII" => Ok(CharacterSet::Ascii),
        other => Err(corrupt("not a character set").with("charset", other)),
    }
}

fn group_to_json(group: &Group) -> Result<Value> {
    let mut links = Map::new();
    for (name, entry) in &group.links {
        let charset = charset_to_json(entry.charset);
        let link = match &entry.target {
            LinkTarget::Hard(token) => json!({"object": token.to_u64(), "charset": charset}),
            LinkTarget::Soft(path) => json!({"path": path, "charset": charset}),
            _ => return Err(Error::unsupported("write link").with("name", name)),
        };
        links.insert(name.clone(), link);
    }
    Ok(json!({"kind": "group", "links": links, "create": properties_to_json(&group.create)?}))
}

fn group_from_json(state: &State, value: &Value) -> Result<Group> {
    let mut group = Group::new(properties_from_json::<GroupCreate>(value)?)?;
    for (name, link) in entries(value, "links")? {
        model::link::check_name(name).map_err(|e| corrupt("name of a link").because(e))?;
        let target = match link.get("path") {
            Some(_) => LinkTarget::Soft(text(link, "path")?.to_owned()),
            None => LinkTarget::Hard(state.token(number(link, "object")?)),
        };
        group.links.insert(name.clone(), Entry { target, charset: charset_from_json(link)? });
    }
    Ok(group)
}

fn dataset_to_json(dataset: &Dataset) -> Result<Value> {
    let DatasetInfo { datatype, space, create, .. } = &*dataset.info;
    let (shape, size) = (shape_of(datatype), datatype.size());
    let mut elements = Map::new();
    for (start, bytes) in dataset.elements.runs() {
        let first = start / u64::from(size);
        elements.insert(first.to_string(), elements_to_json(shape, size, bytes));
    }
    Ok(json!({
        "kind": "dataset",
        "type": type_to_text(datatype)?,
        "space": space_to_json(space),
        "elements": elements,
        "create": properties_to_json(create)?,
    }))
}

fn typed(value: &Value, limits: &Limits) -> Result<(Datatype, Dataspace, u64)> {
    let datatype = type_from_text(text(value, "type")?, limits)?;
    check_type(&datatype, None, limits)?;
    let space = space_from_json(field(value, "space")?)?;
    let bytes = space_bytes(&space, &datatype)?;
    Ok((datatype, space, bytes))
}

fn dataset_from_json(value: &Value, limits: &Limits) -> Result<Dataset> {
    let (datatype, space, bytes_max) = typed(value, limits)?;
    let (shape, size) = (shape_of(&datatype), datatype.size());
    let create: DatasetCreate = properties_from_json(value)?;
    let mut dataset = Dataset::new(DatasetInfo { datatype, committed: None, space, create }, limits)?;
    for (first, elements) in entries(value, "elements")? {
        let bytes = elements_from_json(shape, size, elements)?;
        let start = first.parse::<u64>().ok().and_then(|first| first.checked_mul(size.into()));
        let end =
            start.and_then(|start| start.checked_add(bytes.len() as u64)).filter(|&end| end <= bytes_max);
        let (Some(start), Some(_)) = (start, end) else {
            return Err(corrupt("elements outside the extent").with("first", first));
        };
        dataset.elements.write_run(start, &bytes);
    }
    Ok(dataset)
}

fn attribute_to_json(attribute: &Attribute) -> Result<Value> {
    let AttributeInfo { charset, datatype, space, .. } = &attribute.info;
    Ok(json!({
        "charset": charset_to_json(*charset),
        "type": type_to_text(datatype)?,
        "space": space_to_json(space),
        "elements": elements_to_json(shape_of(datatype), datatype.size(), &attribute.value),
    }))
}

fn attribute_from_json(name: &str, value: &Value, limits: &Limits) -> Result<Attribute> {
    let (datatype, space, bytes) = typed(value, limits)?;
    let elements = elements_from_json(shape_of(&datatype), datatype.size(), field(value, "elements")?)?;
    if elements.len() as u64 != bytes {
        return Err(corrupt("an attribute of another length").with("name", name));
    }
    let (name, charset) = (name.to_owned(), charset_from_json(value)?);
    let info = AttributeInfo { name, charset, creation_order: None, datatype, committed: None, space };
    Ok(Attribute { info, value: elements })
}
