//! Objects of a container from JSON.

use algorithms::transfer;
use model::convert::Conversions;
use model::properties::{FillValue, GroupCreate};
use model::{Dataspace, Datatype, Error, Heap, Limits, LinkTarget, Result, Selection, Token, Within};
use vol::{
    Container, LinkLocation, OpAttributeCreate, OpDatasetCreate, OpDatatypeCommit, OpGroupCreate,
    OpMapCreate, OpWrite,
};

use crate::datatype::datatype_from_json;
use crate::names::{Word, from_hex};
use crate::properties;
use crate::save::usual_charset;
use crate::space::dataspace_from_json;
use crate::text::Value;
use crate::value_budget::ValueBudget;
use crate::values::{Codec, Objects, Reading, Strangers};

/// Creates objects as JSON says.
pub struct Loader<'a> {
    /// Where they go.
    pub container: &'a dyn Container,
    /// The objects that names refer to.
    pub objects: &'a dyn Objects,
    /// The limits of memory and work.
    pub limits: &'a Limits,
    budget: ValueBudget,
}

impl<'a> Loader<'a> {
    /// Creates objects in `container`, which `objects` names.
    pub fn new(container: &'a dyn Container, objects: &'a dyn Objects, limits: &'a Limits) -> Self {
        Loader { container, objects, limits, budget: ValueBudget::new(limits) }
    }
}

impl std::fmt::Debug for Loader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}

const EMPTY: &Value<'static> = &Value::Object(Vec::new());

fn creation<'v, 'a>(value: &'v Value<'a>) -> &'v Value<'a> {
    value.get("creationProperties").unwrap_or(EMPTY)
}

/// Reads the creation properties of a group.
pub fn group_properties(value: &Value<'_>) -> Result<GroupCreate> {
    properties::group_from_json(creation(value))
}

impl Loader<'_> {
    /// Returns the elements in the file datatype that JSON stands for.
    fn values(&self, datatype: &Datatype, dims: &[u64], value: &Value<'_>) -> Result<Vec<u8>> {
        let dims = dims.iter().map(|&dim| dim.within(u64::MAX, "extent")).collect::<Result<Vec<_>>>()?;
        let (mut heap, mut bytes) = (Heap::new(), Vec::new());
        let budget = self.limits.metadata_bytes_max.min(self.budget.left());
        let mut reading = Reading { heap: &mut heap, objects: self.objects, budget, limits: self.limits };
        Codec::new(datatype).parse_all(&dims, value, &mut bytes, &mut reading)?;
        self.budget.take(budget - reading.budget)?;
        let (memory, none) = (datatype.memory_type(), Conversions::default());
        let stored = datatype.with_descriptors(&self.container.info()?.descriptors);
        transfer::to_file_type(self.container, &memory, &bytes, &stored, &none, &mut heap)
    }

    /// Returns a type, and the committed one that it is.
    fn datatype(&self, value: &Value<'_>) -> Result<(Datatype, Option<Token>)> {
        match value {
            Value::String(name) if name.contains('/') => {
                let token = self.objects.token_of(name)?;
                Ok((self.container.datatype_get(token)?, Some(token)))
            }
            own => Ok((datatype_from_json(own, self.limits)?, None)),
        }
    }

    /// Returns a group without links, at no place.
    pub fn group(&self, value: &Value<'_>) -> Result<Token> {
        self.container.group_create(&OpGroupCreate { place: None, create: group_properties(value)? })
    }

    /// Returns what is needed to create a dataset.
    pub fn dataset_op(&self, value: &Value<'_>) -> Result<OpDatasetCreate> {
        let (datatype, committed) = self.datatype(value.need("type")?)?;
        let space = dataspace_from_json(value.need("shape")?)?;
        let (mut create, fill) =
            properties::dataset_from_json(creation(value), self.limits.selection_blocks_max)?;
        if let Some(fill) = fill {
            create.fill.value = FillValue::Value(self.values(&datatype, &[], fill)?);
        }
        Ok(OpDatasetCreate { place: None, datatype, committed, space, create })
    }

    /// Returns a dataset without elements, at no place.
    pub fn dataset(&self, value: &Value<'_>) -> Result<Token> {
        self.container.dataset_create(&self.dataset_op(value)?)
    }

    /// Writes the elements of a dataset.
    pub fn elements(&self, dataset: Token, value: &Value<'_>) -> Result<()> {
        let info = self.container.dataset_info(dataset)?;
        if info.space == Dataspace::Null {
            return Ok(());
        }
        let from = &self.values(&info.datatype, info.space.dims(), value)?;
        self.container.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from }])
    }

    /// Returns a committed datatype, at no place.
    pub fn committed(&self, value: &Value<'_>) -> Result<Token> {
        let create = properties::object_from_json(creation(value))?;
        let datatype = datatype_from_json(value.need("type")?, self.limits)?;
        self.container.datatype_commit(&OpDatatypeCommit { place: None, datatype, create })
    }

    /// Returns a map without pairs, at no place.
    pub fn map(&self, value: &Value<'_>) -> Result<Token> {
        let create = properties::object_from_json(creation(value))?;
        let key = datatype_from_json(value.need("keyType")?, self.limits)?;
        let value = datatype_from_json(value.need("valueType")?, self.limits)?;
        self.container.map_create(&OpMapCreate { place: None, key, value, create })
    }

    /// Sets the pairs of a map.
    pub fn pairs(&self, map: Token, value: &Value<'_>) -> Result<()> {
        let info = self.container.map_info(map)?;
        for pair in value.get("pairs").map_or(Ok(&[][..]), Value::array)? {
            let [key, value] = pair.array()? else {
                return Err(Error::corrupt("read map").with("problem", "a pair has a key and a value"));
            };
            let key = self.key(&info.key, key)?;
            let value = self.values(&info.value, &[], value)?;
            self.container.map_put(map, &[(&key, &value)])?;
        }
        Ok(())
    }

    fn key(&self, datatype: &Datatype, value: &Value<'_>) -> Result<Vec<u8>> {
        let (mut heap, mut bytes) = (Heap::new(), Vec::new());
        let budget = self.limits.metadata_bytes_max;
        let mut reading = Reading { heap: &mut heap, objects: &Strangers, budget, limits: self.limits };
        Codec::new(datatype).parse(value, &mut bytes, &mut reading)?;
        let Datatype::VarLen(_) = datatype else { return Ok(bytes) };
        let unit = datatype.children().first().map_or(1, |base| u64::from(base.size()));
        Ok(heap.get(model::heap::VarLenDescriptor::load(&bytes)?, unit)?.to_vec())
    }

    /// Reads the comment and the attributes that any object may have.
    pub fn common(&self, object: Token, value: &Value<'_>) -> Result<()> {
        if let Some(comment) = value.maybe("comment", Value::text_owned)? {
            self.container.object_set_comment(object, Some(&comment))?;
        }
        let Some(attributes) = value.get("attributes") else { return Ok(()) };
        for attribute in attributes.array()? {
            self.attribute(object, attribute).map_err(|e| e.during("read attribute"))?;
        }
        Ok(())
    }

    fn attribute(&self, object: Token, value: &Value<'_>) -> Result<()> {
        let name = value.need("name")?.text()?.to_owned();
        let (datatype, committed) = self.datatype(value.need("type")?)?;
        let space = dataspace_from_json(value.need("shape")?)?;
        let charset = value.or("charSet", usual_charset(&name), Word::from_word)?;
        let given = value.get("value").filter(|_| space != Dataspace::Null);
        let bytes = given.map(|value| self.values(&datatype, space.dims(), value)).transpose()?;
        if bytes.is_none() {
            // Zeros take memory as well.
            self.budget.take(space.element_count()?.saturating_mul(u64::from(datatype.size())))?;
        }
        let op = OpAttributeCreate { object, name: name.clone(), charset, datatype, committed, space };
        self.container.attribute_create(&op)?;
        bytes.map_or(Ok(()), |bytes| self.container.attribute_write(object, &name, &bytes))
    }

    /// Reads a link of a group.
    pub fn link(&self, group: Token, value: &Value<'_>) -> Result<()> {
        let name = value.need("title")?.text()?;
        let target = self.link_target(value)?;
        let charset = value.or("charSet", usual_charset(name), Word::from_word)?;
        let place = LinkLocation { group, name: name.to_owned(), charset };
        self.container.link_create(&vol::OpLinkCreate { place, target })
    }

    /// Returns what a link points to.
    pub fn link_target(&self, value: &Value<'_>) -> Result<LinkTarget> {
        let text = |name| value.need(name).and_then(Value::text_owned);
        Ok(match value.need("class")?.text()? {
            "H5L_TYPE_HARD" => LinkTarget::Hard(self.objects.token_of(value.need("id")?.text()?)?),
            "H5L_TYPE_SOFT" => LinkTarget::Soft(text("h5path")?),
            "H5L_TYPE_EXTERNAL" => LinkTarget::External { file: text("file")?, path: text("h5path")? },
            "H5L_TYPE_USER_DEFINED" => LinkTarget::User {
                class: value.need("userClass")?.uint()?,
                data: from_hex(value.need("data")?.text()?)?,
            },
            other => return Err(Error::corrupt("read link").with("unknown class", other)),
        })
    }
}
