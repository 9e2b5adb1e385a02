//! Dimension scales: datasets that give the coordinates of another dataset's dimensions.
//!
//! They are attributes by the conventions of libhdf5's high-level library (`H5DS`), which netCDF-4, h5py and xarray use: a
//! scale has `CLASS`, perhaps `NAME`, and lists its users in `REFERENCE_LIST`; a dataset lists the scales of each of
//! its dimensions in `DIMENSION_LIST` and their labels in `DIMENSION_LABELS`.

use std::sync::Arc;

use model::datatype::{Compound, Datatype, ReferenceKind, StringPad};
use model::{CharacterSet, Dataspace, Error, Reference, Result, Token};

use crate::object::Object;
use crate::{Dataset, H5Type, ObjectHandle};

const CLASS: &str = "CLASS";
const CLASS_SCALE: &str = "DIMENSION_SCALE";
const NAME: &str = "NAME";
const USERS: &str = "REFERENCE_LIST";
const SCALES: &str = "DIMENSION_LIST";
const LABELS: &str = "DIMENSION_LABELS";

/// One dimension of one dataset that a scale is attached to.
#[derive(Debug, Clone, PartialEq, H5Type)]
struct ScaleUser {
    dataset: Reference,
    dimension: u32,
}

/// The references to the scales of one dimension.
type References = Vec<Reference>;

impl Dataset {
    /// Turns the dataset into a dimension scale, with a name or without. A dataset that is a scale already gets the name.
    ///
    /// # Errors
    /// Returns `Invalid` if the dataset's own dimensions have scales.
    pub fn make_scale(&self, name: Option<&str>) -> Result<()> {
        if self.has_attr(SCALES)? {
            let error = Error::invalid("create dimension scale").with("dataset", self.name());
            return Err(error.with("problem", "its dimensions have scales"));
        }
        if !self.is_scale()? {
            self.set_fixed_text(CLASS, CLASS_SCALE)?;
        }
        name.map_or(Ok(()), |name| self.set_fixed_text(NAME, name))
    }

    /// Returns whether the dataset is a dimension scale.
    ///
    /// # Errors
    /// Returns the error of reading the attribute `CLASS`.
    pub fn is_scale(&self) -> Result<bool> {
        Ok(self.text(CLASS)?.is_some_and(|class| class == CLASS_SCALE))
    }

    /// Returns the name of a dimension scale, if it has one.
    ///
    /// # Errors
    /// Returns the error of reading the attribute `NAME`.
    pub fn scale_name(&self) -> Result<Option<String>> {
        self.text(NAME)
    }

    /// Attaches a scale to a dimension, after the scales that it has. A dataset that is not a scale yet becomes one.
    ///
    /// ```
    /// # fn main() -> hyperslab::Result<()> {
    /// let file = hyperslab::File::create("memory:scales")?;
    /// let hours = file.new_dataset_builder().with_data(&[0.0, 6.0, 12.0]).create("hours")?;
    /// let wind = file.new_dataset::<f32>().shape([3, 40]).create("wind")?;
    /// hours.make_scale(Some("hours since midnight"))?;
    /// wind.attach_scale(0, &hours)?;
    /// wind.set_label(0, "time")?;
    /// let scales = wind.scales(0)?;
    /// assert_eq!(scales[0].read_raw::<f64>()?, [0.0, 6.0, 12.0]);
    /// assert_eq!(scales[0].scale_name()?.as_deref(), Some("hours since midnight"));
    /// assert!(wind.is_attached(0, &hours)? && wind.scales(1)?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns `Invalid` if the dimension does not exist, if the dataset is a scale itself, or if `scale` is of another
    /// container, is the dataset itself or has scales of its own.
    pub fn attach_scale(&self, dimension: usize, scale: &Dataset) -> Result<()> {
        self.check_scale("attach dimension scale", dimension, scale)?;
        if !scale.is_scale()? {
            scale.make_scale(None)?;
        }
        let mut lists = self.scale_lists()?;
        if !lists[dimension].iter().any(|found| found.token() == Some(scale.token())) {
            lists[dimension].push(Reference::object(scale.token()));
            self.set_scale_lists(&lists)?;
        }
        let (mut users, user) = (scale.users()?, self.as_user(dimension));
        if !users.contains(&user) {
            users.push(user);
            scale.set_users(&users)?;
        }
        Ok(())
    }

    /// Detaches a scale from a dimension. The dataset stays a dimension scale.
    ///
    /// # Errors
    /// Returns `NotFound` if the scale is not attached to the dimension, and `Invalid` if it could not be.
    pub fn detach_scale(&self, dimension: usize, scale: &Dataset) -> Result<()> {
        const OP: &str = "detach dimension scale";
        self.check_scale(OP, dimension, scale)?;
        let mut lists = self.scale_lists()?;
        let attached = lists[dimension].len();
        lists[dimension].retain(|found| found.token() != Some(scale.token()));
        if lists[dimension].len() == attached {
            return Err(Error::not_found(OP).with("scale", scale.name()).with("dimension", dimension));
        }
        self.set_scale_lists(&lists)?;
        let (mut users, user) = (scale.users()?, self.as_user(dimension));
        users.retain(|found| *found != user);
        scale.set_users(&users)
    }

    /// Returns whether a scale is attached to a dimension: the dataset and the scale refer to each other.
    ///
    /// # Errors
    /// Returns `Invalid` if the dimension does not exist, or if `scale` cannot be attached to it.
    pub fn is_attached(&self, dimension: usize, scale: &Dataset) -> Result<bool> {
        self.check_scale("look for dimension scale", dimension, scale)?;
        let lists = self.scale_lists()?;
        let known = lists[dimension].iter().any(|found| found.token() == Some(scale.token()));
        Ok(known && scale.users()?.contains(&self.as_user(dimension)))
    }

    /// Returns the scales of a dimension, in the order in which they were attached.
    ///
    /// # Errors
    /// Returns `Invalid` if the dimension does not exist, and otherwise the error of opening a scale.
    pub fn scales(&self, dimension: usize) -> Result<Vec<Dataset>> {
        self.check_dimension("list dimension scales", dimension)?;
        let lists = self.scale_lists()?;
        let tokens = lists[dimension].iter().filter_map(Reference::token);
        tokens.map(|token| self.open_scale(token)).collect()
    }

    /// Returns the label of a dimension, if it has one.
    ///
    /// # Errors
    /// Returns `Invalid` if the dimension does not exist.
    pub fn label(&self, dimension: usize) -> Result<Option<String>> {
        self.check_dimension("read dimension label", dimension)?;
        Ok(Some(self.labels()?.swap_remove(dimension)).filter(|label| !label.is_empty()))
    }

    /// Sets the label of a dimension. An empty label removes it.
    ///
    /// # Errors
    /// Returns `Invalid` if the dimension does not exist, and `Denied` if the file is open for reading.
    pub fn set_label(&self, dimension: usize, label: &str) -> Result<()> {
        self.check_dimension("label dimension", dimension)?;
        let mut labels = self.labels()?;
        label.clone_into(&mut labels[dimension]);
        let charset = charset_of(&labels.concat());
        self.replace_list(LABELS, Datatype::var_string(charset), &labels)
    }

    fn check_dimension(&self, op: &'static str, dimension: usize) -> Result<()> {
        if dimension < self.ndim() {
            return Ok(());
        }
        let error = Error::invalid(op).with("dataset", self.name());
        Err(error.with("dimension", dimension).with("rank", self.ndim()))
    }

    fn check_scale(&self, op: &'static str, dimension: usize, scale: &Dataset) -> Result<()> {
        self.check_dimension(op, dimension)?;
        let problem = match () {
            () if !Arc::ptr_eq(self.container(), scale.container()) => "it is of another container",
            () if self.token() == scale.token() => "it is the dataset itself",
            () if self.is_scale()? => "the dataset is a scale itself",
            () if scale.has_attr(SCALES)? => "its own dimensions have scales",
            () => return Ok(()),
        };
        Err(Error::invalid(op).with("scale", scale.name()).with("problem", problem))
    }

    fn open_scale(&self, token: Token) -> Result<Dataset> {
        let object = Object::new(self.session.clone(), token, model::ObjectPath::start(""));
        match ObjectHandle::open(object)? {
            ObjectHandle::Dataset(scale) => Ok(scale),
            _ => Err(Error::invalid("open dimension scale").with("problem", "it is no dataset")),
        }
    }

    /// Returns the scales of each dimension.
    fn scale_lists(&self) -> Result<Vec<References>> {
        self.list(SCALES)
    }

    /// Returns the label of each dimension, which is empty if it has none.
    fn labels(&self) -> Result<Vec<String>> {
        self.list(LABELS)
    }

    /// Returns the values of an attribute with one value for each dimension. Missing values are empty.
    fn list<T: H5Type + Default + Clone>(&self, name: &str) -> Result<Vec<T>> {
        let mut values = match self.has_attr(name)? {
            true => self.attr(name)?.read_raw()?,
            false => Vec::new(),
        };
        values.resize(self.ndim(), T::default());
        Ok(values)
    }

    fn set_scale_lists(&self, lists: &[References]) -> Result<()> {
        let stored = Datatype::var_sequence(Datatype::reference(ReferenceKind::Object1));
        match lists.iter().all(Vec::is_empty) {
            true => self.delete_if_there(SCALES),
            false => self.replace_list(SCALES, stored, lists),
        }
    }

    fn as_user(&self, dimension: usize) -> ScaleUser {
        ScaleUser { dataset: Reference::object(self.token()), dimension: dimension as u32 }
    }

    /// Returns the dimensions that this scale is attached to.
    fn users(&self) -> Result<Vec<ScaleUser>> {
        if self.has_attr(USERS)? { self.attr(USERS)?.read_raw() } else { Ok(Vec::new()) }
    }

    fn set_users(&self, users: &[ScaleUser]) -> Result<()> {
        match users.is_empty() {
            true => self.delete_if_there(USERS),
            false => self.replace_list(USERS, user_type(), users),
        }
    }

    fn replace_list<T: H5Type>(&self, name: &str, stored: Datatype, values: &[T]) -> Result<()> {
        self.delete_if_there(name)?;
        let space = Dataspace::simple(&[values.len() as u64])?;
        self.create_attr(name, stored, space)?.write_raw(values)
    }

    fn delete_if_there(&self, name: &str) -> Result<()> {
        if self.has_attr(name)? { self.delete_attr(name) } else { Ok(()) }
    }

    fn has_attr(&self, name: &str) -> Result<bool> {
        Ok(self.container().attribute_info(self.token(), name)?.is_some())
    }

    /// Returns the text of an attribute, or `None` if there is none or it is not a string.
    fn text(&self, name: &str) -> Result<Option<String>> {
        if !self.has_attr(name)? {
            return Ok(None);
        }
        let attribute = self.attr(name)?;
        let is_text = attribute.dtype()?.is_string() && attribute.size() == 1;
        is_text.then(|| attribute.read_string()).transpose()
    }

    /// Sets a text that ends with a NUL, as libhdf5's high-level library stores these attributes.
    fn set_fixed_text(&self, name: &str, text: &str) -> Result<()> {
        self.delete_if_there(name)?;
        let stored =
            Datatype::fixed_string(text.len() as u32 + 1, StringPad::NullTerminated, charset_of(text));
        self.create_attr(name, stored, Dataspace::Scalar)?.write_raw(&[text.to_owned()])
    }
}

fn charset_of(text: &str) -> CharacterSet {
    if text.is_ascii() { CharacterSet::Ascii } else { CharacterSet::Utf8 }
}

/// Returns the stored type of a scale's users.
fn user_type() -> Datatype {
    Datatype::Compound(Compound::packed([
        ("dataset".to_owned(), Datatype::reference(ReferenceKind::Object1)),
        ("dimension".to_owned(), Datatype::native_uint(4)),
    ]))
}
