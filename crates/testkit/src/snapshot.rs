//! The content of a container as text that can be compared across reopening, copying and connectors.

use std::collections::{BTreeMap, VecDeque};

use model::convert::Conversions;
use model::heap::Heap;
use model::{Dataspace, Datatype, LinkTarget, ObjectKind, Result, Selection, Token, Within};
use vol::{Container, OpList};

/// Elements of one dataset that are compared.
const BYTES_MAX: u64 = 1 << 26;

/// Facts by path: what is linked there, and what it holds. Tokens and descriptors, which differ between containers, are
/// not in it: an object met again is told by the path where it was first met.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot(pub BTreeMap<String, String>);

impl Snapshot {
    /// Of everything that hard links lead to from a group.
    pub fn of(container: &dyn Container, group: Token) -> Result<Self> {
        let mut snapshot = Snapshot::default();
        let mut met = BTreeMap::from([(group, "/".to_owned())]);
        let mut pending = VecDeque::from([(String::new(), group)]);
        while let Some((path, token)) = pending.pop_front() {
            let fact = object_fact(container, token)?;
            snapshot.0.insert(format!("{path}/"), fact);
            snapshot.attributes(container, token, &path)?;
            if container.object_info(token)?.kind != ObjectKind::Group {
                continue;
            }
            for link in all(|op| container.link_list(token, op))? {
                let path = format!("{path}/{}", link.name);
                match link.target {
                    LinkTarget::Hard(member) => match met.get(&member) {
                        Some(first) => drop(snapshot.0.insert(path, format!("same as {first}"))),
                        None => {
                            met.insert(member, path.clone());
                            pending.push_back((path, member));
                        }
                    },
                    other => drop(snapshot.0.insert(path, format!("{other:?}"))),
                }
            }
        }
        Ok(snapshot)
    }

    fn attributes(&mut self, container: &dyn Container, token: Token, path: &str) -> Result<()> {
        if !container.info()?.capability.attributes {
            return Ok(());
        }
        for info in all(|op| container.attribute_list(token, op))? {
            let raw = container.attribute_read(token, &[&info.name])?.remove(0);
            let values = values(container, &info.datatype, &raw)?;
            let fact = format!("{:?} {:?} {values}", info.datatype.memory_type(), info.space);
            self.0.insert(format!("{path}/@{}", info.name), fact);
        }
        Ok(())
    }

    /// Returns the first difference from another snapshot, for a message.
    pub fn difference(&self, other: &Snapshot) -> Option<String> {
        let paths: std::collections::BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let path = paths.into_iter().find(|path| self.0.get(*path) != other.0.get(*path))?;
        Some(format!("{path}: {:?} and {:?}", self.0.get(path), other.0.get(path)))
    }
}

/// Returns all entries of a listing, page by page.
fn all<T>(list: impl Fn(&OpList) -> Result<vol::Page<T>>) -> Result<Vec<T>> {
    let mut entries = Vec::new();
    loop {
        let page = list(&OpList { skip: entries.len() as u64, ..OpList::default() })?;
        let is_last = !page.more || page.entries.is_empty();
        entries.extend(page.entries);
        if is_last {
            return Ok(entries);
        }
    }
}

fn object_fact(container: &dyn Container, token: Token) -> Result<String> {
    Ok(match container.object_info(token)?.kind {
        ObjectKind::Group => "group".to_owned(),
        ObjectKind::Dataset => dataset_fact(container, token)?,
        ObjectKind::Datatype => format!("type {:?}", container.datatype_get(token)?.memory_type()),
        ObjectKind::Map => map_fact(container, token)?,
    })
}

fn dataset_fact(container: &dyn Container, dataset: Token) -> Result<String> {
    let info = container.dataset_info(dataset)?;
    let bytes = info.space.element_count()?.saturating_mul(info.datatype.size().into());
    let mut raw = vec![0; bytes.within(BYTES_MAX, "snapshot of a dataset")?];
    if info.space != Dataspace::Null {
        container.dataset_read(&mut [vol::OpRead { dataset, selection: &Selection::All, into: &mut raw }])?;
    }
    let values = values(container, &info.datatype, &raw)?;
    Ok(format!("dataset {:?} {:?} {values}", info.datatype.memory_type(), info.space))
}

fn map_fact(container: &dyn Container, map: Token) -> Result<String> {
    let info = container.map_info(map)?;
    let mut pairs = BTreeMap::new();
    for key in container.map_keys(map, None, u64::MAX)?.entries {
        let value = container.map_get(map, &[&key])?.remove(0).unwrap_or_default();
        pairs.insert(key, values(container, &info.value, &value)?);
    }
    Ok(format!("map {:?} {:?} {pairs:?}", info.key.memory_type(), info.value.memory_type()))
}

/// Returns the elements as text: their bytes or, with variable-length values, the bytes in memory and what they stand for.
fn values(container: &dyn Container, datatype: &Datatype, raw: &[u8]) -> Result<String> {
    if datatype.any(&|t| matches!(t, Datatype::Reference(_))) {
        return Ok("references".to_owned());
    }
    if !datatype.has_descriptors() {
        return Ok(format!("{raw:02x?}"));
    }
    let (mut heap, conversions) = (Heap::new(), Conversions::default());
    let memory = datatype.memory_type();
    let data =
        algorithms::transfer::from_file_type(container, datatype, raw, &memory, &conversions, &mut heap)?;
    Ok(format!("{data:02x?} {heap:?}"))
}
