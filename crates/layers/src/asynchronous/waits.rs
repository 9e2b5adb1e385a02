//! What a call that is waited for depends on.

use std::sync::Arc;

use model::{Error, Result};
use vol::{Call, Observer, Operation, Pipeline};

use crate::asynchronous::queue::Queue;
use crate::asynchronous::request::is_collecting;

/// Lets every call wait for what it depends on.
pub(crate) struct Waits {
    pub(crate) queue: Arc<Queue>,
    pub(crate) is_writable: bool,
}

impl Waits {
    /// Returns whether an operation is queued itself, where its caller looks for failures.
    fn is_queued(&self, operation: Operation) -> bool {
        use Operation as O;
        self.is_writable
            && is_collecting()
            && match operation {
                O::group_create | O::dataset_create | O::datatype_commit | O::map_create => {
                    self.queue.is_pipelined()
                }
                O::commit | O::link_create | O::link_delete | O::link_move | O::map_put => true,
                O::attribute_create | O::attribute_delete | O::attribute_rename => true,
                O::object_set_comment => true,
                _ => false,
            }
    }
}

impl Observer for Waits {
    type Begun = ();

    fn begin(&self, call: &Call) -> Result<()> {
        use Operation as O;
        if self.queue.is_empty() || self.is_queued(call.operation) {
            return Ok(());
        }
        match call.operation {
            // Nothing that is queued changes their answers, or they look for themselves.
            O::info
            | O::retain
            | O::release
            | O::dataset_info
            | O::dataset_write
            | O::dataset_resize
            | O::attribute_info
            | O::attribute_write
            | O::map_put
            | O::blob_put
            | O::blob_get
            | O::blob_pin
            | O::blob_unpin
            | O::reference_get => return Ok(()),
            // They may reach any object, or remove it.
            O::commit
            | O::close
            | O::optional
            | O::object_copy
            | O::object_adjust_references
            | O::link_delete
            | O::link_move
            | O::blob_delete
            | O::reference_put => self.queue.wait_for_all(),
            O::lookup | O::object_kinds => self.queue.wait_for_structure(),
            O::dataset_read => {}
            _ => call.object.into_iter().for_each(|object| self.queue.wait_for(object)),
        }
        // The last handle of an object that has no link goes with the object, and with all that is in it.
        if self.queue.is_pipelined() {
            self.queue.wait_for_releases(None);
        }
        Ok(())
    }

    fn end(&self, _call: &Call, _begun: (), _error: Option<&Error>) -> Result<()> {
        Ok(())
    }

    fn pipeline(&self) -> Option<&dyn Pipeline> {
        Some(&*self.queue)
    }
}
