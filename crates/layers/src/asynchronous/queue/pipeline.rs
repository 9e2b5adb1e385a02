//! The queue and pipelines: operations in that of the inner container, and the queue as one itself.

use std::any::Any;
use std::sync::Arc;

use model::{Error, Result, Token};
use vol::{Container, Operation, Pipeline, Task, describe};

use super::{Queue, Queueing};
use crate::asynchronous::graph::{Foreseen, reach_of};
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

fn creates(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::group_create | O::dataset_create | O::datatype_commit | O::map_create)
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
        let is_creation = self.is_pipelined && creates(operation) && !reach.objects.is_empty();
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
