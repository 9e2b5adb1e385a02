//! Texts, lists and references that are written in a scope of an event set: their values are stored before the
//! element that names them, and neither is waited for.

use algorithms::transfer::to_file_type;
use layers::asynchronous::{queue_prepared, queues_changes};
use model::{Datatype, Heap, Result, Selection, Token};
use vol::{Container, OpWrite, Operation};

use crate::element::store_all;
use crate::session::Session;
use crate::{Dataset, H5Type};

/// Elements are converted again for each level of nesting, so that only few are.
const PREPARED_BYTES_MAX: usize = 64 << 10;

type Call = Box<dyn FnMut(&dyn Container) -> Result<()> + Send>;

/// Packed elements in the memory datatype, which are stored as another one.
pub(crate) struct Packed {
    pub(crate) memory: Datatype,
    pub(crate) elements: Vec<u8>,
    pub(crate) heap: Heap,
    pub(crate) file_type: Datatype,
}

/// The object that is changed, and how.
pub(crate) struct Change {
    pub(crate) operation: Operation,
    pub(crate) object: Token,
}

impl Session {
    /// Returns whether elements with values of variable length are queued: the caller looks for failures, and they
    /// are few.
    pub(crate) fn queues_values(&self, file_type: &Datatype, bytes: usize) -> bool {
        let is_small = bytes <= PREPARED_BYTES_MAX;
        is_small && file_type.has_descriptors() && queues_changes(&*self.container)
    }

    /// Queues a change with packed elements: `change` calls the operation with them as they are stored.
    pub(crate) fn queue_values(
        &self,
        Change { operation, object }: Change,
        packed: Packed,
        change: impl Fn(&dyn Container, &[u8]) -> Result<()> + Clone + Send + 'static,
    ) {
        let (bytes, conversions) = (packed.elements.len(), self.registered.conversions.clone());
        let make = move |container: &dyn Container| -> Result<Call> {
            let Packed { memory, elements, heap, file_type } = &packed;
            let (mut heap, change) = (heap.clone(), change.clone());
            let stored = to_file_type(container, memory, elements, file_type, &conversions, &mut heap)?;
            Ok(Box::new(move |container| change(container, &stored)))
        };
        queue_prepared(&*self.container, operation, object, bytes, make);
    }
}

impl Dataset {
    /// Queues values for a selection, if they are queued; whether they are.
    pub(crate) fn queue_selection<T: H5Type>(&self, selection: &Selection, values: &[T]) -> Result<bool> {
        let info = self.dataset_info();
        let bytes = values.len().saturating_mul(info.datatype.size() as usize);
        let is_queued = self.session.queues_values(&info.datatype, bytes)
            && !self.is_of_caller(&info)
            && self.is_startable(&info, bytes as u64)
            && !self.keeps_members::<T>(&info)?;
        if !is_queued {
            return Ok(false);
        }
        let (memory, mut heap, file_type) = (T::datatype(), Heap::new(), info.datatype.clone());
        let packed = Packed { memory, elements: store_all(values, &mut heap)?, heap, file_type };
        let (dataset, selection) = (self.token, selection.clone());
        let change = Change { operation: Operation::dataset_write, object: dataset };
        self.session.queue_values(change, packed, move |container, from| {
            container.dataset_write(&[OpWrite { dataset, selection: &selection, from }])
        });
        Ok(true)
    }
}
