//! The objects that a traversal has seen. There is an entry for each, which is charged to the account of the
//! container.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use hyperslab::vol::model::{Charge, ObjectPath};
use hyperslab::{Result, Token};

use super::source::ObjectAt;

/// Memory of an object that is listed, besides its name: its token in a table and in the set of what was printed, and its path.
const OBJECT_BYTES: u64 = 256;

/// Charges one object more.
pub(crate) fn charge_object(charge: &mut Charge, path: &ObjectPath) -> Result<()> {
    charge.resize(charge.bytes() + OBJECT_BYTES + path.name().len() as u64, "list of objects")
}

/// Where each object of one traversal was seen first. Clones share it.
#[derive(Clone)]
pub(crate) struct Seen(Rc<RefCell<Objects>>);

struct Objects {
    paths: HashMap<Token, ObjectPath>,
    charge: Charge,
}

impl Seen {
    /// Returns a traversal that starts at a place.
    pub(crate) fn from(start: &ObjectAt, path: &ObjectPath) -> Seen {
        let (paths, charge) =
            (HashMap::from([(start.token, path.clone())]), start.container().budget().empty_charge());
        Seen(Rc::new(RefCell::new(Objects { paths, charge })))
    }

    /// Returns the path under which an object was seen.
    pub(crate) fn path(&self, object: Token) -> Option<ObjectPath> {
        self.0.borrow().paths.get(&object).cloned()
    }

    /// Notes an object; whether it is a new one.
    pub(crate) fn insert(&self, object: Token, path: &ObjectPath) -> Result<bool> {
        let objects = &mut *self.0.borrow_mut();
        if objects.paths.contains_key(&object) {
            return Ok(false);
        }
        charge_object(&mut objects.charge, path)?;
        objects.paths.insert(object, path.clone());
        Ok(true)
    }

    /// Returns whether this is of the same traversal.
    pub(crate) fn is_of(&self, other: &Seen) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}
