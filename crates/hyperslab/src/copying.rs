//! Copies of objects.

use algorithms::copy::CopyContext;
use model::Result;
use vol::{CopyOptions, OpObjectCopy};

use crate::Group;
use crate::object::Object;

impl Object {
    /// Copies this object, with everything below it, to a path of a group, in this container or another. Groups that are
    /// missing on the path are created. On an error nothing of the copy stays.
    ///
    /// # Errors
    /// Returns the errors of [`Object::copy_with`].
    pub fn copy_to(&self, group: &Group, path: &str) -> Result<()> {
        self.copy_with(group, path, CopyOptions::default())
    }

    /// Copies this object as [`Object::copy_to`] does, with options (`H5Ocopy`).
    ///
    /// # Errors
    /// Returns `Error::Exists` if the path is used, and `Error::Denied` if external links are to be expanded and the container
    /// was opened without a resolver.
    pub fn copy_with(&self, group: &Group, path: &str, options: CopyOptions) -> Result<()> {
        let place = group.place(path)?;
        let (from, to) = (&self.session.container, &group.session.container);
        let location = self.session.location.as_str();
        let context = CopyContext { options, ..CopyContext::of(&self.session.access, location) };
        if std::sync::Arc::ptr_eq(from, to) {
            let op = OpObjectCopy { object: self.token, place, options };
            return algorithms::copy::object(to.as_ref(), &op, context).map(drop);
        }
        algorithms::copy::between((from.as_ref(), self.token), (to.as_ref(), &place), context).map(drop)
    }
}
