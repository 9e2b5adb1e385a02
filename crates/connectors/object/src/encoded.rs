//! A cache of the last encoded header: objects that are created in a row are mostly alike.

use std::sync::Arc;

use model::{CharacterSet, Dataspace, Datatype, Result, encode};
use system::sync::Mutex;
use vol::DatasetInfo;

/// The encoded parts of the header of a dataset or an attribute.
#[derive(Debug)]
pub(crate) struct EncodedParts {
    pub(crate) creation: Vec<u8>,
    pub(crate) datatype: Vec<u8>,
    pub(crate) space: Vec<u8>,
}

/// The header that was encoded last, and its parts.
#[derive(Debug)]
pub(crate) struct LastEncoded<T>(Mutex<Option<(T, Arc<EncodedParts>)>>);

impl<T> Default for LastEncoded<T> {
    fn default() -> Self {
        LastEncoded(Mutex::new(None))
    }
}

impl<T: PartialEq + Clone> LastEncoded<T> {
    fn of(&self, wanted: &T, make: impl FnOnce() -> Result<EncodedParts>) -> Result<Arc<EncodedParts>> {
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

/// Datatype, dataspace and the character set of the name.
pub(crate) type AttributeForm = (Datatype, Dataspace, CharacterSet);

impl LastEncoded<AttributeForm> {
    pub(crate) fn attribute(&self, form: &AttributeForm) -> Result<Arc<EncodedParts>> {
        let (datatype, space, charset) = form;
        self.of(form, || {
            Ok(EncodedParts {
                creation: encode::attribute_create(*charset),
                datatype: encode::datatype(datatype)?,
                space: encode::space(space)?,
            })
        })
    }
}

impl LastEncoded<Arc<DatasetInfo>> {
    pub(crate) fn dataset(&self, info: &Arc<DatasetInfo>) -> Result<Arc<EncodedParts>> {
        self.of(info, || {
            Ok(EncodedParts {
                creation: encode::dataset_create(&info.create, &info.datatype, &info.space)?,
                datatype: encode::datatype(&info.datatype)?,
                space: encode::space(&info.space)?,
            })
        })
    }
}
