//! The queue and pipelines: operations in that of the inner container, and the queue as one itself.

use std::any::Any;
use std::sync::Arc;

use model::{Error, Result, Token};
use vol::{Container, Operation, Pipeline, Task, describe};

use super::{Queue, Queueing};
use crate::asynchronous::graph::{Foreseen, Reach};
use crate::asynchronous::work::Work;

/// An operation in the pipeline of the inner container.
pub(super) struct InPipeline {
    pub(super) queue: Arc<Queue>,
    pub(super) ticket: u64,
    pub(super) work: Work,
}

impl Task for InPipeline {
    fn run(&mut self, container: &dyn Container) -> Result<()> {
        self.work.run(container)
    }

    fn end(self: Box<Self>, outcome: Result<()>) {
        let InPipeline { queue, ticket, work } = *self;
        queue.end(ticket, work, outcome);
    }
}

/// Returns what an operation reads or changes, where only its first object is known.
pub(crate) fn reach_of(operation: Operation, object: Option<Token>) -> Reach {
    use Operation as O;
    let Some(object) = object else { return Reach::change_all() };
    match operation {
        O::object_info
        | O::group_info
        | O::link_get
        | O::link_list
        | O::attribute_info
        | O::attribute_list => Reach::read(object),
        O::attribute_read | O::dataset_info | O::dataset_storage | O::dataset_read | O::chunk_list => {
            Reach::read(object)
        }
        O::chunk_read | O::stored_blocks | O::datatype_get | O::map_info | O::map_get | O::map_keys => {
            Reach::read(object)
        }
        O::lookup => Reach::default(),
        O::attribute_create | O::attribute_rename => Reach::attributes(object),
        O::attribute_write | O::object_set_comment => Reach::change(object),
        O::dataset_write | O::dataset_resize | O::chunk_write | O::map_put | O::map_delete => {
            Reach::change(object)
        }
        O::retain => Reach::change(object),
        O::group_create | O::dataset_create | O::datatype_commit | O::map_create => Reach::structure(object),
        _ => Reach::change_all(),
    }
}

impl Pipeline for Queue {
    fn start(&self, mut task: Box<dyn Task>) -> Option<Token> {
        let Some(call) = describe(&mut *task) else {
            task.end(Err(Error::invalid("start operation").with("problem", "the task called no operation")));
            return None;
        };
        let (operation, bytes) = (call.operation, call.bytes as usize);
        let bytes = self.reserve(bytes);
        let reach = reach_of(operation, call.object);
        let is_creation = reach.is_structure && self.is_pipelined && !reach.objects.is_empty();
        let (foreseen, path, is_shown) = (Foreseen::Nothing, None, true);
        let work = Work::Task(task);
        let queueing =
            Queueing { operation, reach, foreseen, work, bytes, moved: call.bytes, path, is_shown };
        match is_creation {
            true => self.push_creation(queueing).ok(),
            false => {
                self.push(queueing);
                None
            }
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
