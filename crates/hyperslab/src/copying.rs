//! Copies of objects.

use algorithms::copy::CopyOptions;
use model::Result;
use vol::OpObjectCopy;

use crate::Group;
use crate::object::Object;

impl Object {
    /// Copies this object, with all that is below it, to a path of a group, in this container or another. Groups on the way
    /// are made. On an error nothing of the copy stays.
    pub fn copy_to(&self, group: &Group, path: &str) -> Result<()> {
        let place = group.place(path)?;
        let (from, to) = (&self.session.container, &group.session.container);
        let limits = &self.session.access.limits;
        if std::sync::Arc::ptr_eq(from, to) {
            let op = OpObjectCopy::new(self.token, place);
            return to.object_copy(&op).map(drop);
        }
        let copied = algorithms::copy::between(
            (from.as_ref(), self.token),
            (to.as_ref(), &place),
            CopyOptions::new(limits),
        );
        copied.map(drop)
    }
}
