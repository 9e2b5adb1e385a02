//! Attributes that a program has open, and what is remembered of those that it opened before.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use hyperslab::vol::AttributeInfo;
use hyperslab::vol::model::text;
use system::sync::RwLock;

use crate::failure::Fallible;
use crate::handles::ObjectHandle;

/// Attributes of an object that are opened before any is remembered.
const OPENED_MIN: usize = 8;
/// Attributes of an object that are remembered.
const REMEMBERED_MAX: usize = 16;
/// Bytes of a value that is remembered after its attribute is closed.
const REMEMBERED_BYTES_MAX: u64 = 4096;

/// An attribute that a program has open.
#[derive(Debug)]
pub struct AttributeHandle {
    /// The object that it belongs to.
    pub object: Arc<ObjectHandle>,
    attribute: Arc<Attribute>,
    /// Its name since it was renamed.
    new_name: RwLock<Option<String>>,
}

/// What an attribute is: neither type nor extent of an attribute change.
#[derive(Debug)]
pub struct Attribute {
    info: AttributeInfo,
    /// Its value, where nothing can change it.
    value: OnceLock<Vec<u8>>,
}

impl AttributeHandle {
    /// Returns a handle of an attribute.
    pub fn new(object: Arc<ObjectHandle>, info: AttributeInfo) -> Self {
        Self::of(object, Arc::new(Attribute { info, value: OnceLock::new() }))
    }

    fn of(object: Arc<ObjectHandle>, attribute: Arc<Attribute>) -> Self {
        AttributeHandle { object, attribute, new_name: RwLock::new(None) }
    }

    /// Opens the attribute called `name`; `None` if there is none.
    pub fn open(object: Arc<ObjectHandle>, name: &str) -> Fallible<Option<Self>> {
        let Some(info) = object.container().attribute_info(object.token, name)? else { return Ok(None) };
        let handle = Self::new(object, info);
        let object = &handle.object;
        if object.file.shared.is_unchanging && super::data_bytes(handle.info()) <= REMEMBERED_BYTES_MAX {
            object.attributes.add(&handle.attribute);
        }
        Ok(Some(handle))
    }

    /// Opens an attribute that was opened before and cannot have changed.
    pub fn open_again(object: Arc<ObjectHandle>, name: &[u8]) -> Result<Self, Arc<ObjectHandle>> {
        match object.attributes.find(name).cloned() {
            Some(attribute) => Ok(Self::of(object, attribute)),
            None => Err(object),
        }
    }

    /// Returns the info of the attribute. Its name may be another by now.
    pub fn info(&self) -> &AttributeInfo {
        &self.attribute.info
    }

    /// Returns the name.
    pub fn name(&self) -> String {
        self.new_name.read().clone().unwrap_or_else(|| self.info().name.clone())
    }

    /// Returns whether this is the name.
    pub fn is_named(&self, name: &str) -> bool {
        self.new_name.read().as_ref().unwrap_or(&self.info().name) == name
    }

    /// Records that the attribute was renamed.
    pub fn set_name(&self, name: &str) {
        *self.new_name.write() = Some(name.to_owned());
    }

    /// Returns the value, in the file datatype, if it is in memory.
    pub fn value_in_memory(&self) -> Option<&[u8]> {
        self.attribute.value.get().map(Vec::as_slice)
    }

    /// Calls `work` with the value, in the file datatype. An open attribute has it in memory, as in libhdf5, where the file is
    /// only read.
    pub fn with_value<T>(&self, work: impl FnOnce(&[u8]) -> Fallible<T>) -> Fallible<T> {
        if let Some(value) = self.value_in_memory() {
            return work(value);
        }
        let name = self.name();
        let mut values = self.object.container().attribute_read(self.object.token, &[&name])?;
        let value = values.pop().ok_or_else(|| super::missing(&name))?;
        match self.object.file.shared.is_unchanging {
            true => work(self.attribute.value.get_or_init(|| value)),
            false => work(&value),
        }
    }
}

/// Attributes of an object that were opened, in a file that nothing changes: a list that threads add to and search without a
/// lock.
#[derive(Debug, Default)]
pub struct Attributes {
    /// How often one was opened that is not in the list.
    opened: AtomicUsize,
    first: OnceLock<Box<Link>>,
}

#[derive(Debug)]
struct Link {
    attribute: Arc<Attribute>,
    next: OnceLock<Box<Link>>,
}

impl Attributes {
    fn links(&self) -> impl Iterator<Item = &Link> {
        std::iter::successors(self.first.get(), |link| link.next.get()).map(|link| &**link)
    }

    /// Returns the attribute with this name.
    fn find(&self, name: &[u8]) -> Option<&Arc<Attribute>> {
        let is_it = |link: &&Link| *text::as_bytes(&link.attribute.info.name) == *name;
        self.links().find(is_it).map(|link| &link.attribute)
    }

    /// Adds an attribute, while they are few: a program that reads each once gains nothing. Two threads may add the same one.
    fn add(&self, attribute: &Arc<Attribute>) {
        if self.opened.fetch_add(1, Ordering::Relaxed) < OPENED_MIN {
            return;
        }
        let mut place = &self.first;
        for _ in 0..REMEMBERED_MAX {
            let mut is_added = false;
            let link = place.get_or_init(|| {
                is_added = true;
                Box::new(Link { attribute: attribute.clone(), next: OnceLock::new() })
            });
            if is_added {
                return;
            }
            place = &link.next;
        }
    }
}
