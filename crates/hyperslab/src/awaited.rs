//! Opens, reads and writes that their caller awaits: the `async` layer starts them, and many go on at once.
//!
//! Without the layer they are run when they are first polled.

use layers::asynchronous::{requests, start};
use model::properties::Layout;
use model::{Error, Link, Result, Selection};
use vol::{DatasetInfo, Lookup, OpLookup, OpRead, OpWrite};

use crate::object::Object;
use crate::{Attribute, Dataset, Group, H5Type};

impl Group {
    /// Opens a dataset, as [`Group::dataset`] does.
    ///
    /// # Errors
    /// Returns `NotFound` if the path leads to nothing, and `Invalid` if it leads to an object of another kind.
    pub async fn dataset_async(&self, path: &str) -> Result<Dataset> {
        let session = &self.session;
        let traversals_max = session.access.limits.link_traversals_max;
        let op = OpLookup { from: self.token, path: path.to_owned(), traversals_max };
        let Ok(Lookup::Object(token)) = start(&*session.container, move |c| c.lookup(&op)).await else {
            // The path leads to another file, the connector cannot follow it, or there is nothing: this one knows.
            return self.dataset(path);
        };
        let info = start(&*session.container, move |c| c.dataset_info(token)).await?;
        // The handle is counted in the background too.
        let (object, _) = requests(|| Object::new(session.clone(), token, self.path_to(path)));
        Ok(Dataset::with_info(object, info))
    }

    /// Returns the link named `name`, as [`Group::link`] does.
    ///
    /// # Errors
    /// Returns `NotFound` if the group has no such link.
    pub async fn link_async(&self, name: &str) -> Result<Link> {
        let (group, owned) = (self.token, name.to_owned());
        let link = start(&*self.session.container, move |c| c.link_get(group, &owned)).await?;
        let missing = || Error::not_found("find link").with("name", name).with("group", self.path.shown());
        link.ok_or_else(missing)
    }
}

impl Object {
    /// Returns an attribute by name, as [`Object::attr`] does.
    ///
    /// # Errors
    /// Returns `NotFound` if the object has no such attribute.
    pub async fn attr_async(&self, name: &str) -> Result<Attribute> {
        let (object, owned) = (self.token, name.to_owned());
        let info = start(&*self.session.container, move |c| c.attribute_info(object, &owned)).await?;
        let missing =
            || Error::not_found("open attribute").with("name", name).with("object", self.path.shown());
        Ok(Attribute::new(self.clone(), info.ok_or_else(missing)?))
    }
}

impl Dataset {
    /// Reads all elements, in C order, as [`Dataset::read_raw`] does. Elements that are stored as `T` are read in the
    /// background; others, which are converted, and those of other files and datasets are waited for.
    ///
    /// # Errors
    /// Returns the error of the storage, and `Conversion` if values do not fit.
    pub async fn read_async<T: H5Type + Send>(&self) -> Result<Vec<T>> {
        let info = self.dataset_info();
        let is_plain = T::datatype() == info.datatype && T::bytes(&[]).is_some();
        let is_background = is_plain && self.moves_in_background(&info);
        let Some(mut values) = T::zeroed(self.size()).filter(|_| is_background) else {
            return self.read_raw();
        };
        let (dataset, length) = (self.token, T::bytes(&values).map_or(0, <[u8]>::len));
        let mut bytes = vec![0; length];
        let read = start(&*self.session.container, move |container| {
            container.dataset_read(&mut [OpRead {
                dataset,
                selection: &Selection::All,
                into: &mut bytes,
            }])?;
            Ok(std::mem::replace(&mut bytes, vec![0; length]))
        });
        let bytes = read.await?;
        T::bytes_mut(&mut values).into_iter().for_each(|into| into.copy_from_slice(&bytes));
        Ok(values)
    }

    /// Writes all elements, in C order, as [`Dataset::write_raw`] does, and ends when the storage has them. Values are copied,
    /// or converted where they are stored otherwise, and written in the background; those of variable length, references
    /// and elements of other files and datasets are waited for.
    ///
    /// # Errors
    /// Returns `Invalid` if there are more or fewer values than elements, the error of the storage, and `Conversion` if values
    /// do not fit.
    pub async fn write_async<T: H5Type>(&self, values: &[T]) -> Result<()> {
        let info = self.dataset_info();
        if !self.moves_in_background(&info) || values.is_empty() || values.len() != self.size() {
            return self.write_raw(values);
        }
        let (dataset, bytes) = (self.token, self.in_file_type(&info, values)?.into_owned());
        let write = start(&*self.session.container, move |container| {
            container.dataset_write(&[OpWrite { dataset, selection: &Selection::All, from: &bytes }])
        });
        write.await
    }

    /// Returns whether elements are no more than bytes of this dataset, which another thread may move.
    fn moves_in_background(&self, info: &DatasetInfo) -> bool {
        let is_elsewhere = matches!(info.create.layout, Layout::Virtual(_) | Layout::External(_));
        !is_elsewhere && !self.is_collective() && !info.datatype.has_descriptors()
    }
}
