//! What was encoded last: things that are made in a row are mostly alike.

use std::sync::Arc;

use model::{CharacterSet, Dataspace, Datatype, Result, encode};
use system::sync::Mutex;
use vol::DatasetInfo;

/// The stored forms of what describes a dataset or an attribute.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) creation: Vec<u8>,
    pub(crate) datatype: Vec<u8>,
    pub(crate) space: Vec<u8>,
}

/// The last description, and what it came to.
#[derive(Debug)]
pub(crate) struct Last<T>(Mutex<Option<(T, Arc<Parts>)>>);

impl<T> Default for Last<T> {
    fn default() -> Self {
        Last(Mutex::new(None))
    }
}

impl<T: PartialEq + Clone> Last<T> {
    fn of(&self, wanted: &T, make: impl FnOnce() -> Result<Parts>) -> Result<Arc<Parts>> {
        let mut last = self.0.lock();
        if let Some((known, parts)) = &*last
            && known == wanted
        {
            return Ok(parts.clone());
        }
        let parts = Arc::new(make()?);
        *last = Some((wanted.clone(), parts.clone()));
        Ok(parts)
    }
}

/// Type, extent and the character set of the name.
pub(crate) type AttributeForm = (Datatype, Dataspace, CharacterSet);

impl Last<AttributeForm> {
    pub(crate) fn attribute(&self, form: &AttributeForm) -> Result<Arc<Parts>> {
        let (datatype, space, charset) = form;
        self.of(form, || {
            Ok(Parts {
                creation: encode::attribute_create(*charset),
                datatype: encode::datatype(datatype)?,
                space: encode::space(space)?,
            })
        })
    }
}

impl Last<Arc<DatasetInfo>> {
    pub(crate) fn dataset(&self, info: &Arc<DatasetInfo>) -> Result<Arc<Parts>> {
        self.of(info, || {
            Ok(Parts {
                creation: encode::dataset_create(&info.create, &info.datatype, &info.space)?,
                datatype: encode::datatype(&info.datatype)?,
                space: encode::space(&info.space)?,
            })
        })
    }
}
