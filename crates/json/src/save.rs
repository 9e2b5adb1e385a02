//! Objects of a container as JSON.

use algorithms::transfer;
use model::convert::Conversions;
use model::properties::{CreationOrder, FillValue, Layout};
use model::{
    CharacterSet, Dataspace, Datatype, Heap, Index, Limits, Link, LinkTarget, Result, Selection, Token,
    Within,
};
use vol::{Allocation, AttributeInfo, Container, DatasetInfo, OpList, OpRead, Pin};

use crate::datatype::datatype_to_json;
use crate::ids::collection;
use crate::names::{Word, hex};
use crate::properties;
use crate::space::dataspace_to_json;
use crate::text::{Fields, Value, list};
use crate::value_budget::ValueBudget;
use crate::values::{Codec, Objects};

/// Turns objects into JSON.
pub struct Saver<'a> {
    /// Where they are.
    pub container: &'a dyn Container,
    /// The names of objects.
    pub objects: &'a dyn Objects,
    /// The limits of one value.
    pub limits: &'a Limits,
    budget: ValueBudget,
    /// Elements may be overwritten while they are turned into text.
    _pin: Pin<'a>,
}

impl<'a> Saver<'a> {
    /// Turns objects of `container`, which `objects` names, into JSON.
    pub fn new(container: &'a dyn Container, objects: &'a dyn Objects, limits: &'a Limits) -> Result<Self> {
        Ok(Saver { container, objects, limits, budget: ValueBudget::new(limits), _pin: Pin::new(container)? })
    }
}

impl std::fmt::Debug for Saver<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Saver").finish_non_exhaustive()
    }
}

/// Keys of a map taken at a time.
const KEYS_PER_PAGE: u64 = 1024;

/// Returns the character set that a name has if nothing else is said.
pub(crate) fn usual_charset(name: &str) -> CharacterSet {
    if name.is_ascii() { CharacterSet::Ascii } else { CharacterSet::Utf8 }
}

/// Returns the word for the character set of a name, where it is not the usual one.
pub fn charset_to_json(name: &str, charset: CharacterSet) -> Option<&'static str> {
    (charset != usual_charset(name)).then(|| charset.word())
}

/// Returns the character set of a name: what is said, or the usual one.
pub fn charset_from_json(name: &str, said: Option<&Value<'_>>) -> Result<CharacterSet> {
    said.map_or(Ok(usual_charset(name)), Word::from_word)
}

fn sizes(space: &Dataspace) -> Result<Vec<usize>> {
    space.dims().iter().map(|&dim| dim.within(u64::MAX, "extent")).collect()
}

impl Saver<'_> {
    /// Returns the elements in the file datatype as JSON, in lists of lists.
    fn values(&self, datatype: &Datatype, dims: &[usize], raw: &[u8]) -> Result<Value<'static>> {
        let (memory, mut heap) = (datatype.memory_type(), Heap::new());
        let none = Conversions::default();
        let bytes = transfer::from_file_type(self.container, datatype, raw, &memory, &none, &mut heap)?;
        // What could not be read again is not written.
        self.budget.take(bytes.len() as u64 + heap.len() as u64)?;
        Codec::new(datatype).show_all(dims, &bytes, &heap, self.objects)
    }

    /// Returns a type, or the name of the committed one that it is.
    fn datatype(&self, datatype: &Datatype, committed: Option<Token>) -> Result<Value<'static>> {
        match committed {
            Some(token) => self.objects.name_of(token).map(Value::from),
            None => Ok(datatype_to_json(datatype)),
        }
    }

    /// Returns what every object has.
    fn common(&self, object: Token, create: Option<Value<'static>>) -> Result<Fields<'static>> {
        let info = self.container.object_info(object)?;
        let attributes = self.attributes(object, info.create.attribute_order)?;
        Ok(Fields::new()
            .some("comment", info.comment)
            .some("creationProperties", create)
            .some("attributes", (!attributes.is_empty()).then_some(attributes)))
    }

    fn attributes(&self, object: Token, order: CreationOrder) -> Result<Vec<Value<'static>>> {
        let index = if order == CreationOrder::Untracked { Index::Name } else { Index::CreationOrder };
        let op = OpList { index, count_max: u64::MAX, ..OpList::default() };
        let all = self.container.attribute_list(object, &op)?.entries;
        all.iter().map(|info| self.attribute(object, info)).collect()
    }

    fn attribute(&self, object: Token, info: &AttributeInfo) -> Result<Value<'static>> {
        let value = match info.space {
            Dataspace::Null => None,
            _ => {
                let raw = self.container.attribute_read(object, &[&info.name])?.pop().unwrap_or_default();
                Some(self.values(&info.datatype, &sizes(&info.space)?, &raw)?)
            }
        };
        Ok(Fields::new()
            .with("name", info.name.clone())
            .some("charSet", charset_to_json(&info.name, info.charset))
            .with("type", self.datatype(&info.datatype, info.committed)?)
            .with("shape", dataspace_to_json(&info.space))
            .some("value", value)
            .into())
    }

    /// Returns a group, without its links.
    pub fn group(&self, group: Token) -> Result<Fields<'static>> {
        let create = self.container.group_info(group)?.create;
        self.common(group, properties::group_to_json(&create).filled())
    }

    /// Returns all links of a group: in the order of their creation, where that is tracked.
    pub fn all_links(&self, group: Token) -> Result<Vec<Link>> {
        let tracked = self.container.group_info(group)?.create.link_order != CreationOrder::Untracked;
        let index = if tracked { Index::CreationOrder } else { Index::Name };
        let op = OpList { index, count_max: u64::MAX, ..OpList::default() };
        Ok(self.container.link_list(group, &op)?.entries)
    }

    /// Returns a link.
    pub fn link(&self, link: &Link) -> Result<Fields<'static>> {
        let fields = match &link.target {
            LinkTarget::Hard(token) => {
                let name = self.objects.name_of(*token)?;
                let kind = collection(self.container.object_info(*token)?.kind);
                let id = name.rsplit_once('/').map_or(name.as_str(), |(_, id)| id).to_owned();
                Fields::class("H5L_TYPE_HARD").with("collection", kind).with("id", id)
            }
            LinkTarget::Soft(path) => Fields::class("H5L_TYPE_SOFT").with("h5path", path.clone()),
            LinkTarget::External { file, path } => {
                Fields::class("H5L_TYPE_EXTERNAL").with("file", file.clone()).with("h5path", path.clone())
            }
            LinkTarget::User { class, data } => {
                Fields::class("H5L_TYPE_USER_DEFINED").with("userClass", *class).with("data", hex(data))
            }
        };
        let title = Fields::new().with("title", link.name.clone());
        Ok(title.append(fields).some("charSet", charset_to_json(&link.name, link.charset)))
    }

    /// Returns a dataset, without its elements.
    pub fn dataset(&self, dataset: Token) -> Result<Fields<'static>> {
        let info = self.container.dataset_info(dataset)?;
        let fill = self.fill(&info)?;
        let create = properties::dataset_to_json(&info.create, fill)?;
        Ok(Fields::new()
            .with("type", self.datatype(&info.datatype, info.committed)?)
            .with("shape", dataspace_to_json(&info.space))
            .append(self.common(dataset, create.filled())?))
    }

    fn fill(&self, info: &DatasetInfo) -> Result<Option<Value<'static>>> {
        let FillValue::Value(value) = &info.create.fill.value else { return Ok(None) };
        let has_references = info.datatype.any(&|t| matches!(t, Datatype::Reference(_)));
        // Whom they mean may not be there yet when the dataset is created again.
        let zeros = vec![0; value.len()];
        self.values(&info.datatype, &[], if has_references { &zeros } else { value }).map(Some)
    }

    /// Returns the elements of a dataset; nothing where it has none of its own.
    pub fn elements(&self, dataset: Token) -> Result<Option<Value<'static>>> {
        let info = self.container.dataset_info(dataset)?;
        let external = matches!(info.create.layout, Layout::External(_) | Layout::Virtual(_));
        let storage = self.container.dataset_storage(dataset)?;
        if external || info.space == Dataspace::Null || storage.allocation == Allocation::None {
            return Ok(None);
        }
        let count = info.space.element_count()?;
        let bytes = count.saturating_mul(u64::from(info.datatype.size()));
        let budget = self.container.budget();
        let mut raw = budget.zeroed(
            bytes.within(self.limits.metadata_bytes_max, "dataset stored as text")?,
            "dataset stored as text",
        )?;
        let _values =
            budget.charge(count.saturating_mul(size_of::<Value<'_>>() as u64), "dataset stored as text")?;
        let read = OpRead { dataset, selection: &Selection::All, into: &mut raw };
        self.container.dataset_read(&mut [read])?;
        self.values(&info.datatype, &sizes(&info.space)?, &raw).map(Some)
    }

    /// Returns a committed datatype.
    pub fn committed(&self, datatype: Token) -> Result<Fields<'static>> {
        let create = self.container.object_info(datatype)?.create;
        let own = Fields::new().with("type", datatype_to_json(&self.container.datatype_get(datatype)?));
        Ok(own.append(self.common(datatype, properties::object_to_json(&create).filled())?))
    }

    /// Returns a map with its pairs.
    pub fn map(&self, map: Token) -> Result<Fields<'static>> {
        let create = self.container.object_info(map)?.create;
        let info = self.container.map_info(map)?;
        let own = Fields::new()
            .with("keyType", datatype_to_json(&info.key))
            .with("valueType", datatype_to_json(&info.value));
        let pairs = self.pairs(map, &info.key, &info.value)?;
        let common = self.common(map, properties::object_to_json(&create).filled())?;
        Ok(own.append(common).with("pairs", pairs))
    }

    fn pairs(&self, map: Token, key_type: &Datatype, value_type: &Datatype) -> Result<Vec<Value<'static>>> {
        let mut pairs = Vec::new();
        algorithms::maps::each_page(self.container, map, KEYS_PER_PAGE, |keys| {
            for (key, value) in keys.iter().zip(self.container.map_get(map, keys)?) {
                let value = self.values(value_type, &[], &value.unwrap_or_default())?;
                pairs.push(list([key_to_json(key_type, key)?, value]));
            }
            Ok(())
        })?;
        Ok(pairs)
    }
}

/// Returns a key: its element or, where its length varies, its value.
fn key_to_json(datatype: &Datatype, key: &[u8]) -> Result<Value<'static>> {
    let (codec, mut heap) = (Codec::new(datatype), Heap::new());
    let mut descriptor = [0; 16];
    let element = match datatype {
        Datatype::VarLen(_) => {
            let unit = datatype.children().first().map_or(1, |base| u64::from(base.size()).max(1));
            heap.push(key, key.len() as u64 / unit).store(&mut descriptor)?;
            &descriptor[..]
        }
        _ => key,
    };
    codec.show(element, &heap, &crate::values::Strangers)
}
