//! Anchors: a user's dataset as a scalar one, with its extent and properties in attributes.

use std::sync::Arc;

use algorithms::{checks, transfer};
use model::convert::Conversions;
use model::properties::{AllocTime, DatasetCreate, FillValue, Layout};
use model::{CharacterSet, Dataspace, Datatype, Error, Heap, Limits, Result, Token};
use vol::{AttributeInfo, Container, DatasetInfo, OpAttributeCreate, OpDatasetCreate, OpList};

use crate::{hidden, pipeline, properties};

/// Returns whether elements of a new dataset go to the log; others are the container's below.
///
/// Elements with variable-length values or references hold addresses of the file. In an ordinary dataset a caller that repacks
/// the file knows them, and brings them along; in a log no one would.
pub(crate) fn is_logged(create: &DatasetCreate, datatype: &Datatype) -> bool {
    !matches!(create.layout, Layout::External(_) | Layout::Virtual(_)) && !datatype.has_descriptors()
}

fn invalid(problem: &str) -> Error {
    Error::invalid("create dataset").with("problem", problem)
}

/// Returns an error where a dataset makes no sense; `datatype` is in the file datatype.
pub(crate) fn check(
    op: &OpDatasetCreate,
    datatype: &Datatype,
    limits: &Limits,
    filters: &filters::Registry,
) -> Result<()> {
    let count = op.space.element_count()?;
    let bytes = count.checked_mul(u64::from(datatype.size()));
    bytes.ok_or_else(|| Error::limit("create dataset").with("elements", count))?;
    if let FillValue::Value(value) = &op.create.fill.value
        && value.len() != datatype.size() as usize
    {
        let error = Error::invalid("set fill value").with("bytes", value.len());
        return Err(error.with("wanted", datatype.size()));
    }
    match &op.create.layout {
        Layout::Chunked { shape, .. } => checks::chunks(shape, &op.space, datatype.size(), limits)?,
        _ if op.space.is_resizable() => return Err(invalid("only a chunked dataset can change its extent")),
        _ if !op.create.filters.is_empty() => return Err(invalid("only a chunked dataset can have filters")),
        _ => {}
    }
    pipeline::check(filters, &op.create.filters)
}

/// Makes the anchor of a dataset.
pub(crate) fn create(inner: &dyn Container, op: &OpDatasetCreate, id: u64) -> Result<Token> {
    let space = if op.space == Dataspace::Null { Dataspace::Null } else { Dataspace::Scalar };
    let create = DatasetCreate {
        layout: Layout::Contiguous,
        filters: Vec::new(),
        alloc_time: AllocTime::Late,
        ..op.create.clone()
    };
    let anchor = inner.dataset_create(&OpDatasetCreate { space, create, ..op.clone() })?;
    let bytes = |numbers: &[u64]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let number = Datatype::native_uint(8);
    attribute(inner, anchor, hidden::ID, &number, Dataspace::Scalar, &bytes(&[id]))?;
    let list = |dims: &[u64]| {
        if dims.is_empty() { Ok(Dataspace::Null) } else { Dataspace::simple(&[dims.len() as u64]) }
    };
    let (dims, max) = (op.space.dims(), op.space.max_dims());
    attribute(inner, anchor, hidden::DIMS, &number, list(dims)?, &bytes(dims))?;
    attribute(inner, anchor, hidden::MAX_DIMS, &number, list(max)?, &bytes(max))?;
    let properties = properties::encode(&op.create);
    let space = Dataspace::simple(&[properties.len() as u64])?;
    attribute(inner, anchor, hidden::PROPERTIES, &Datatype::native_uint(1), space, &properties)?;
    Ok(anchor)
}

fn attribute(
    inner: &dyn Container,
    object: Token,
    name: &str,
    datatype: &Datatype,
    space: Dataspace,
    data: &[u8],
) -> Result<()> {
    inner.attribute_create(&OpAttributeCreate {
        object,
        name: name.to_owned(),
        charset: CharacterSet::Ascii,
        datatype: datatype.clone(),
        committed: None,
        space,
    })?;
    inner.attribute_write(object, name, data)
}

/// Sets a number that belongs to an object, and creates its attribute if it is missing.
pub(crate) fn set_number(inner: &dyn Container, object: Token, name: &str, number: u64) -> Result<()> {
    match inner.attribute_info(object, name)? {
        Some(_) => inner.attribute_write(object, name, &number.to_le_bytes()),
        None => {
            let datatype = Datatype::native_uint(8);
            attribute(inner, object, name, &datatype, Dataspace::Scalar, &number.to_le_bytes())
        }
    }
}

/// Returns the numbers in an attribute, whatever integers they are; `None` where there is no such attribute.
pub(crate) fn numbers(inner: &dyn Container, object: Token, name: &str) -> Result<Option<Vec<u64>>> {
    let Some(info) = inner.attribute_info(object, name)? else { return Ok(None) };
    check_numbers(&info)?;
    let raw = inner.attribute_read(object, &[name])?.pop().unwrap_or_default();
    numbers_of(inner, &info, &raw).map(Some)
}

/// Returns an error for an attribute that does not hold a few integers.
fn check_numbers(info: &AttributeInfo) -> Result<()> {
    let broken = |problem: &str| {
        Error::corrupt("read attribute of the log").with("name", &info.name).with("problem", problem)
    };
    match info.datatype {
        Datatype::Integer(_) if info.space.element_count()? <= model::RANK_MAX as u64 => Ok(()),
        Datatype::Integer(_) => Err(broken("too many")),
        _ => Err(broken("no integers")),
    }
}

/// Returns the numbers of an attribute from its value.
fn numbers_of(inner: &dyn Container, info: &AttributeInfo, raw: &[u8]) -> Result<Vec<u64>> {
    let number = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    if info.datatype == Datatype::native_uint(8) {
        return Ok(raw.as_chunks::<8>().0.iter().map(number).collect());
    }
    // A signed −1 is how programs write that there is no bound.
    let is_signed = matches!(&info.datatype, Datatype::Integer(kind) if kind.signed);
    let wide = if is_signed { Datatype::native_int(8) } else { Datatype::native_uint(8) };
    let (none, mut heap) = (Conversions::default(), Heap::new());
    let bytes = transfer::from_file_type(inner, &info.datatype, raw, &wide, &none, &mut heap)?;
    Ok(bytes.as_chunks::<8>().0.iter().map(number).collect())
}

/// The log's own attributes of an anchor, with their values.
struct OwnAttributes(Vec<(AttributeInfo, Vec<u8>)>);

impl OwnAttributes {
    /// Reads them in two operations where each is an exchange of processes, or else one by one: a user's dataset may have
    /// many others, which a list would decode as well.
    fn read(inner: &dyn Container, dataset: Token, is_alone: bool) -> Result<Self> {
        let names = [hidden::ID, hidden::DIMS, hidden::MAX_DIMS, hidden::PROPERTIES];
        if is_alone {
            return Self::read_each(inner, dataset, &names);
        }
        let page = inner.attribute_list(dataset, &OpList::default())?;
        let mut infos = page.entries;
        if page.more {
            let found = names.iter().map(|name| inner.attribute_info(dataset, name));
            infos = found.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        }
        infos.retain(|info| names.contains(&info.name.as_str()));
        for info in infos.iter().filter(|info| info.name != hidden::PROPERTIES) {
            check_numbers(info)?;
        }
        let names: Vec<&str> = infos.iter().map(|info| info.name.as_str()).collect();
        let values = if names.is_empty() { Vec::new() } else { inner.attribute_read(dataset, &names)? };
        Ok(OwnAttributes(infos.into_iter().zip(values).collect()))
    }

    /// Reads them one by one; none of a dataset that is no anchor.
    fn read_each(inner: &dyn Container, dataset: Token, names: &[&str]) -> Result<Self> {
        let mut found = Vec::with_capacity(names.len());
        for &name in names {
            match inner.attribute_info(dataset, name)? {
                Some(info) => {
                    if name != hidden::PROPERTIES {
                        check_numbers(&info)?;
                    }
                    found.push((info, inner.attribute_read(dataset, &[name])?.pop().unwrap_or_default()));
                }
                None if name == hidden::ID => break,
                None => {}
            }
        }
        Ok(OwnAttributes(found))
    }

    fn get(&self, name: &str) -> Option<&(AttributeInfo, Vec<u8>)> {
        self.0.iter().find(|(info, _)| info.name == name)
    }

    fn numbers(&self, inner: &dyn Container, name: &str) -> Result<Option<Vec<u64>>> {
        self.get(name).map(|(info, raw)| numbers_of(inner, info, raw)).transpose()
    }
}

/// Returns the number of a dataset and what it tells, if it is an anchor.
pub(crate) fn load(
    inner: &dyn Container,
    dataset: Token,
    is_alone: bool,
) -> Result<Option<(u64, Arc<DatasetInfo>)>> {
    let anchor = inner.dataset_info(dataset)?;
    let own = OwnAttributes::read(inner, dataset, is_alone)?;
    let Some(id) = own.numbers(inner, hidden::ID)? else { return Ok(None) };
    let broken = |name: &str| Error::corrupt("open logged dataset").with("attribute", name);
    let &[id] = id.as_slice() else { return Err(broken(hidden::ID)) };
    let dims = own.numbers(inner, hidden::DIMS)?.ok_or_else(|| broken(hidden::DIMS))?;
    let max = own.numbers(inner, hidden::MAX_DIMS)?.unwrap_or_else(|| dims.clone());
    if dims.len() != max.len() {
        return Err(broken(hidden::MAX_DIMS));
    }
    let space = match anchor.space {
        Dataspace::Null => Dataspace::Null,
        _ => Dataspace::resizable(&dims, &max).map_err(|e| broken(hidden::DIMS).because(e))?,
    };
    space.element_count().map_err(|e| broken(hidden::DIMS).because(e))?;
    let mut info = DatasetInfo { space, ..DatasetInfo::clone(&anchor) };
    match own.get(hidden::PROPERTIES) {
        Some((_, bytes)) => properties::decode(bytes, &mut info.create)?,
        None => (info.create.layout, info.create.alloc_time) = (Layout::Contiguous, AllocTime::Default),
    }
    Ok(Some((id, Arc::new(info))))
}
