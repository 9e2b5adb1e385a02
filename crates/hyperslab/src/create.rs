//! Making objects: builders for datasets and attributes, in the manner that users of `hdf5-metno` know.

use model::properties::{CreationOrder, DatasetCreate, FillValue, FilterSpec, Layout, ObjectCreate};
use model::{Dataspace, Datatype, Error, Heap, LinkTarget, Result, Token, UNLIMITED};
use ndarray::{ArrayBase, ArrayView, Data, Dimension};
use vol::{
    OpAttributeCreate, OpDatasetCreate, OpDatatypeCommit, OpGroupCreate, OpLinkCreate, OpLinkMove, Place,
};

use crate::element::store_all;
use crate::object::{NamedDatatype, Object};
use crate::{Attribute, Dataset, Group, H5Type};

/// A dimension that can grow without end, for [`DatasetBuilder::max_shape`].
pub const UNLIMITED_DIM: usize = usize::MAX;

fn dimension(d: usize) -> u64 {
    if d == UNLIMITED_DIM { UNLIMITED } else { d as u64 }
}

/// A shape: a number, a tuple, an array or a slice of dimensions.
pub trait IntoShape {
    /// The dimensions, slowest first.
    fn into_shape(self) -> Vec<u64>;
}

impl IntoShape for usize {
    fn into_shape(self) -> Vec<u64> {
        vec![dimension(self)]
    }
}

impl<const N: usize> IntoShape for [usize; N] {
    fn into_shape(self) -> Vec<u64> {
        self.iter().map(|&d| dimension(d)).collect()
    }
}

impl IntoShape for &[usize] {
    fn into_shape(self) -> Vec<u64> {
        self.iter().map(|&d| dimension(d)).collect()
    }
}

impl IntoShape for Vec<usize> {
    fn into_shape(self) -> Vec<u64> {
        self.as_slice().into_shape()
    }
}

impl IntoShape for () {
    fn into_shape(self) -> Vec<u64> {
        Vec::new()
    }
}

macro_rules! tuple_shape {
    ($($name:ident: $t:ty),*) => {
        impl IntoShape for ($($t,)*) {
            fn into_shape(self) -> Vec<u64> {
                let ($($name,)*) = self;
                vec![$(dimension($name)),*]
            }
        }
    };
}
tuple_shape!(a: usize);
tuple_shape!(a: usize, b: usize);
tuple_shape!(a: usize, b: usize, c: usize);
tuple_shape!(a: usize, b: usize, c: usize, d: usize);

/// A dataset to be made.
#[derive(Debug, Clone)]
pub struct DatasetBuilder {
    group: Group,
    datatype: Datatype,
    committed: Option<Token>,
    dims: Option<Vec<u64>>,
    max_dims: Option<Vec<u64>>,
    create: DatasetCreate,
    problem: Option<Error>,
}

impl DatasetBuilder {
    fn new(group: &Group, datatype: Datatype) -> Self {
        DatasetBuilder {
            group: group.clone(),
            datatype,
            committed: None,
            dims: None,
            max_dims: None,
            create: DatasetCreate::default(),
            problem: None,
        }
    }

    /// The extent; without one the dataset is a scalar.
    #[must_use]
    pub fn shape(mut self, shape: impl IntoShape) -> Self {
        self.dims = Some(shape.into_shape());
        self
    }

    /// The largest extent, if it can grow.
    #[must_use]
    pub fn max_shape(mut self, shape: impl IntoShape) -> Self {
        self.max_dims = Some(shape.into_shape());
        self
    }

    /// Every dimension can grow without end.
    #[must_use]
    pub fn resizable(mut self) -> Self {
        self.max_dims = self.dims.as_ref().map(|d| vec![UNLIMITED; d.len()]);
        self
    }

    /// Chunks of a shape.
    #[must_use]
    pub fn chunk(mut self, shape: impl IntoShape) -> Self {
        self.create.layout = Layout::chunked(&shape.into_shape());
        self
    }

    /// Elements in the object's header.
    #[must_use]
    pub fn compact(mut self) -> Self {
        self.create.layout = Layout::Compact;
        self
    }

    /// One more filter, after those before it. Values that depend on datatype and chunks are added at creation; one
    /// that this build lacks is refused then. Chunks that a filter cannot shrink are stored without it.
    #[must_use]
    pub fn filter(self, id: u16, values: &[u32]) -> Self {
        let optional = pipeline::is_available(id);
        self.push_filter(Ok(FilterSpec { id, name: None, optional, values: values.to_vec() }))
    }

    /// One more filter by its name: `"ZSTD=3"`, `"BLOSC=lz4:5:shuffle"`, `"BITSHUFFLE"`; see
    /// [`named_filter`](crate::named_filter).
    ///
    /// ```
    /// # fn main() -> hyperslab::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("named-{}.h5", std::process::id()));
    /// let file = hyperslab::File::create(&path)?;
    /// let data = file.new_dataset::<f32>().shape([100, 100]).named_filter("BLOSC=lz4:5:shuffle").create("data")?;
    /// assert_eq!(data.filters()[0].values, [2, 2, 4, 40000, 5, 1, 1]);
    /// # file.close()?;
    /// # std::fs::remove_file(&path).ok();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn named_filter(self, text: &str) -> Self {
        self.push_filter(pipeline::named(text))
    }

    fn push_filter(mut self, filter: Result<FilterSpec>) -> Self {
        match filter.and_then(|filter| pipeline::check_level(&filter).map(|()| filter)) {
            Ok(filter) => self.create.filters.push(filter),
            Err(error) => self.problem = self.problem.or(Some(error)),
        }
        self
    }

    /// Deflate (gzip), level 0 to 9.
    #[must_use]
    pub fn deflate(self, level: u8) -> Self {
        self.filter(1, &[u32::from(level)])
    }

    /// Bytes of elements side by side, which compresses better.
    #[must_use]
    pub fn shuffle(self) -> Self {
        self.filter(2, &[])
    }

    /// A checksum on every chunk.
    #[must_use]
    pub fn fletcher32(mut self) -> Self {
        self.create.filters.push(FilterSpec { id: 3, name: None, optional: false, values: Vec::new() });
        self
    }

    /// What elements hold that nobody wrote.
    #[must_use]
    pub fn fill_value<T: H5Type>(mut self, value: &T) -> Self {
        match self.fill_bytes(value) {
            Ok(bytes) => self.create.fill.value = FillValue::Value(bytes),
            Err(error) => self.problem = Some(error),
        }
        self
    }

    fn fill_bytes<T: H5Type>(&self, value: &T) -> Result<Vec<u8>> {
        let container = self.group.container().as_ref();
        let file_type = self.datatype.with_slots(&container.info()?.slots);
        let mut heap = Heap::new();
        let element = store_all(std::slice::from_ref(value), &mut heap)?;
        vol::transfer::to_file_form(
            container,
            &T::datatype(),
            &element,
            &file_type,
            &Default::default(),
            &mut heap,
        )
    }

    /// Keeps the order in which attributes are made.
    #[must_use]
    pub fn track_attr_order(mut self) -> Self {
        self.create.object.attribute_order = CreationOrder::Indexed;
        self
    }

    /// The type of a committed datatype, which the dataset shares.
    pub fn committed(mut self, datatype: &NamedDatatype) -> Result<Self> {
        self.datatype = datatype.datatype()?;
        self.committed = Some(datatype.token());
        Ok(self)
    }

    /// All creation properties at once.
    #[must_use]
    pub fn properties(mut self, create: DatasetCreate) -> Self {
        self.create = create;
        self
    }

    fn space(&self) -> Result<Dataspace> {
        match (&self.dims, &self.max_dims) {
            (None, _) => Ok(Dataspace::Scalar),
            (Some(dims), _) if dims.is_empty() => Ok(Dataspace::Scalar),
            (Some(dims), Some(max)) => Dataspace::resizable(dims, max),
            (Some(dims), None) => Dataspace::simple(dims),
        }
    }

    /// Makes the dataset at a path; groups on the way are made too.
    pub fn create(self, path: &str) -> Result<Dataset> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let space = self.space()?;
        let mut create = self.create;
        let wants_chunks = space.is_resizable() || !create.filters.is_empty();
        if create.layout == Layout::Contiguous && wants_chunks && space.rank() > 0 {
            create.layout = Layout::chunked(&guess_chunk(&space, u64::from(self.datatype.size())));
        }
        let place = self.group.place(path)?;
        let full = model::link::join(self.group.name(), path);
        let op = OpDatasetCreate {
            place: Some(place),
            datatype: self.datatype,
            committed: self.committed,
            space,
            create,
        };
        let token = self.group.session.container.dataset_create(&op)?;
        Dataset::open(Object::new(self.group.session.clone(), token, full))
    }
}

/// Bytes of a chunk that nobody chose: enough to compress and to transfer well, few enough to change one.
const CHUNK_BYTES: std::ops::RangeInclusive<u64> = 16 << 10..=1 << 20;
/// Elements that a dimension without end is taken for.
const GROWING_DIM: u64 = 1024;

/// A chunk shape for a dataset: its own shape, halved where it is longest until a chunk is of a good size.
fn guess_chunk(space: &Dataspace, element_bytes: u64) -> Vec<u64> {
    let largest = space.dims().iter().zip(space.max_dims());
    let mut shape: Vec<u64> = largest
        .map(|(&dim, &max)| if max == UNLIMITED { dim.max(GROWING_DIM) } else { max.max(1) })
        .collect();
    let bytes = |shape: &[u64]| shape.iter().fold(element_bytes.max(1), |n, &d| n.saturating_mul(d));
    let target = (bytes(&shape) / 64).clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end());
    while bytes(&shape) > target {
        let Some(longest) = shape.iter_mut().rev().max().filter(|d| **d > 1) else { break };
        *longest = longest.div_ceil(2);
    }
    shape
}

impl Group {
    /// Where a new link goes; groups on the way are made.
    pub(crate) fn place(&self, path: &str) -> Result<Place> {
        let (parent, name) = model::link::split_last(path)?;
        let mut here = if model::link::is_absolute(path) { self.session.root } else { self.token };
        for part in model::link::components(parent) {
            here = match self.session.container.link_get(here, part)? {
                Some(_) => vol::path::token(
                    self.session.container.as_ref(),
                    here,
                    part,
                    self.session.access.limits.link_traversals_max,
                )?,
                None => {
                    let op =
                        OpGroupCreate { place: Some(Place::new(here, part)), create: Default::default() };
                    self.session.container.group_create(&op)?
                }
            };
        }
        Ok(Place::new(here, name))
    }

    /// Makes a group; groups on the way are made too.
    pub fn create_group(&self, path: &str) -> Result<Group> {
        let op = OpGroupCreate { place: Some(self.place(path)?), create: Default::default() };
        let token = self.session.container.group_create(&op)?;
        Ok(Group(Object::new(self.session.clone(), token, model::link::join(&self.path, path))))
    }

    /// A dataset of `T` to be made.
    pub fn new_dataset<T: H5Type>(&self) -> DatasetBuilder {
        DatasetBuilder::new(self, T::datatype())
    }

    /// A dataset of any type to be made.
    pub fn new_dataset_as(&self, datatype: Datatype) -> DatasetBuilder {
        DatasetBuilder::new(self, datatype)
    }

    /// Makes a dataset that holds an array.
    pub fn write_array<T, S, D>(&self, path: &str, array: &ArrayBase<S, D>) -> Result<Dataset>
    where
        T: H5Type + Clone,
        S: Data<Elem = T>,
        D: Dimension,
    {
        let dataset = self.new_dataset::<T>().shape(array.shape()).create(path)?;
        dataset.write(array)?;
        Ok(dataset)
    }

    /// Commits a datatype.
    pub fn commit_datatype(&self, path: &str, datatype: Datatype) -> Result<NamedDatatype> {
        let op =
            OpDatatypeCommit { place: Some(self.place(path)?), datatype, create: ObjectCreate::default() };
        let token = self.session.container.datatype_commit(&op)?;
        Ok(NamedDatatype(Object::new(self.session.clone(), token, model::link::join(&self.path, path))))
    }

    fn link_to(&self, path: &str, target: LinkTarget) -> Result<()> {
        self.session.container.link_create(&OpLinkCreate { place: self.place(path)?, target })
    }

    /// A soft link to a path.
    pub fn link_soft(&self, target: &str, path: &str) -> Result<()> {
        self.link_to(path, LinkTarget::Soft(target.to_owned()))
    }

    /// A second name for an object.
    pub fn link_hard(&self, target: &str, path: &str) -> Result<()> {
        let (_, token) = self.session.find(self.token, target)?;
        self.link_to(path, LinkTarget::Hard(token))
    }

    /// A link to an object of another container.
    pub fn link_external(&self, file: &str, target: &str, path: &str) -> Result<()> {
        self.link_to(path, LinkTarget::External { file: file.to_owned(), path: target.to_owned() })
    }

    /// Removes a link; the object goes with its last one.
    pub fn unlink(&self, path: &str) -> Result<()> {
        let (parent, name) = model::link::split_last(path)?;
        let (session, group) = self.session.find(self.token, if parent.is_empty() { "." } else { parent })?;
        session.container.link_delete(group, name)
    }

    /// Moves a link.
    pub fn relink(&self, from: &str, to: &str) -> Result<()> {
        let (parent, name) = model::link::split_last(from)?;
        let (session, group) = self.session.find(self.token, if parent.is_empty() { "." } else { parent })?;
        let op = OpLinkMove { from: group, name: name.to_owned(), to: self.place(to)?, copy: false };
        session.container.link_move(&op)
    }
}

impl Object {
    /// Makes an attribute of a type and extent; it reads as zeros until it is written.
    pub fn create_attr(&self, name: &str, datatype: Datatype, space: Dataspace) -> Result<Attribute> {
        let charset = if name.is_ascii() { model::CharacterSet::Ascii } else { model::CharacterSet::Utf8 };
        let op = OpAttributeCreate {
            object: self.token,
            name: name.to_owned(),
            charset,
            datatype,
            committed: None,
            space,
        };
        self.session.container.attribute_create(&op)?;
        self.attr(name)
    }

    /// Gives an attribute one value, whether it is there already or not.
    pub fn set_attr<T: H5Type>(&self, name: &str, value: T) -> Result<Attribute> {
        self.replace_attr(name, &[value], Dataspace::Scalar)
    }

    /// Gives an attribute an array, whether it is there already or not.
    pub fn set_attr_array<'a, T, D>(
        &self,
        name: &str,
        array: impl Into<ArrayView<'a, T, D>>,
    ) -> Result<Attribute>
    where
        T: H5Type + Clone + 'a,
        D: Dimension,
    {
        let array: ArrayView<'a, T, D> = array.into();
        let dims: Vec<u64> = array.shape().iter().map(|&d| d as u64).collect();
        let values: Vec<T> = array.iter().cloned().collect();
        self.replace_attr(
            name,
            &values,
            if dims.is_empty() { Dataspace::Scalar } else { Dataspace::simple(&dims)? },
        )
    }

    fn replace_attr<T: H5Type>(&self, name: &str, values: &[T], space: Dataspace) -> Result<Attribute> {
        if self.session.container.attribute_info(self.token, name)?.is_some() {
            self.delete_attr(name)?;
        }
        let attribute = self.create_attr(name, T::datatype(), space)?;
        attribute.write_raw(values)?;
        Ok(attribute)
    }

    /// Removes an attribute.
    pub fn delete_attr(&self, name: &str) -> Result<()> {
        self.session.container.attribute_delete(self.token, name)
    }

    /// Sets or removes the comment.
    pub fn set_comment(&self, comment: Option<&str>) -> Result<()> {
        self.session.container.object_set_comment(self.token, comment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_nobody_chose_are_of_a_good_size() {
        let guess =
            |dims: &[u64], max: &[u64], bytes| guess_chunk(&Dataspace::resizable(dims, max).unwrap(), bytes);
        assert_eq!(guess(&[0, 3], &[UNLIMITED, 3], 8), [512, 3]);
        assert_eq!(guess(&[100], &[100], 4), [100]);
        assert_eq!(guess(&[10_000, 10_000], &[10_000, 10_000], 4), [313, 625]);
        assert_eq!(guess(&[1], &[1], 1 << 30), [1]);
    }
}
