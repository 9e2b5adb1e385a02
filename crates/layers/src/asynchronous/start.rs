//! Operations that are started by their caller, and futures of their answers.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use model::{Error, Link, Result, Selection, Token};
use system::sync::Mutex;
use vol::{Container, DatasetInfo, OpRead, Operation, Task, describe};

use crate::asynchronous::graph::{Foreseen, Reach, reach_of};
use crate::asynchronous::queue::{Queue, Queueing};
use crate::asynchronous::request::{Request, is_collecting, requests};
use crate::asynchronous::work::{Read, Work};

/// A request with an answer. It is a future of the answer.
#[derive(Debug)]
pub struct Answer<T> {
    /// `None` where the operation was run at once, because the container has no `async` layer.
    request: Option<Request>,
    answer: Arc<Mutex<Option<Result<T>>>>,
}

impl<T> Answer<T> {
    /// Returns the request, to be put into an event set; `None` where the operation was run at once.
    pub fn request(&self) -> Option<&Request> {
        self.request.as_ref()
    }

    /// Waits for the answer, for so long at most; `None` where it is not there then.
    pub fn wait(&self, timeout: Duration) -> Option<Result<T>> {
        match &self.request {
            Some(request) => request.wait(timeout).map(|outcome| outcome.and_then(|()| self.take())),
            None => Some(self.take()),
        }
    }

    fn take(&self) -> Result<T> {
        let taken = || Err(Error::invalid("take answer").with("problem", "it was taken before"));
        self.answer.lock().take().unwrap_or_else(taken)
    }
}

impl<T> Future for Answer<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        match &mut self.request {
            None => Poll::Ready(self.take()),
            Some(request) => {
                Pin::new(request).poll(context).map(|outcome| outcome.and_then(|()| self.take()))
            }
        }
    }
}

/// A closure as a task.
struct ClosureTask<F>(F);

impl<F: FnMut(&dyn Container) -> Result<()> + Send> Task for ClosureTask<F> {
    fn run(&mut self, container: &dyn Container) -> Result<()> {
        (self.0)(container)
    }

    fn end(self: Box<Self>, _outcome: Result<()>) {}
}

/// Returns the queue of a container that has the layer as its outermost one.
pub(super) fn queue_of(container: &dyn Container) -> Option<&Queue> {
    container.pipeline()?.as_any().downcast_ref::<Queue>()
}

/// Returns whether [`start`] does not wait: the container has the layer as its outermost one.
pub fn is_queued(container: &dyn Container) -> bool {
    queue_of(container).is_some()
}

/// Returns whether changes of a container are queued on this thread, which is in a scope where the caller looks for failures.
pub fn queues_changes(container: &dyn Container) -> bool {
    let may_queue = |queue: &Queue| !queue.is_serial.load(Ordering::SeqCst);
    is_collecting() && queue_of(container).is_some_and(may_queue)
}

/// Starts one operation of a container: `start(&*container, |c| c.dataset_info(token))`.
///
/// It is run behind what it depends on, and the caller goes on. The closure calls one method of the container that it is
/// given, each time with the same arguments, because it may be run more than once. A container without an `async` layer
/// runs the operation at once.
///
/// If as many bytes are queued as may be, this waits.
pub fn start<T: Send + 'static>(
    container: &dyn Container,
    operation: impl FnMut(&dyn Container) -> Result<T> + Send + 'static,
) -> Answer<T> {
    start_narrowed(container, operation, |reach| reach)
}

/// Starts an operation of which more is known than the object that it names.
fn start_narrowed<T: Send + 'static>(
    container: &dyn Container,
    mut operation: impl FnMut(&dyn Container) -> Result<T> + Send + 'static,
    narrow: impl FnOnce(Reach) -> Reach,
) -> Answer<T> {
    match queue_of(container) {
        Some(queue) => start_counted(queue, operation, narrow, Queue::reserve),
        None => Answer { request: None, answer: Arc::new(Mutex::new(Some(operation(container)))) },
    }
}

/// Starts an operation that one in the queue needs, without waiting for space.
pub(super) fn start_needed<T: Send + 'static>(
    queue: &Queue,
    operation: impl FnMut(&dyn Container) -> Result<T> + Send + 'static,
) -> Answer<T> {
    start_counted(queue, operation, |reach| reach, Queue::overdraw)
}

fn start_counted<T: Send + 'static>(
    queue: &Queue,
    mut operation: impl FnMut(&dyn Container) -> Result<T> + Send + 'static,
    narrow: impl FnOnce(Reach) -> Reach,
    count: impl FnOnce(&Queue, usize) -> usize,
) -> Answer<T> {
    let answer = Arc::new(Mutex::new(None));
    let kept = answer.clone();
    let mut described = ClosureTask(move |container: &dyn Container| {
        let value = operation(container)?;
        *kept.lock() = Some(Ok(value));
        Ok(())
    });
    let Some(call) = describe(&mut described) else {
        let error = Error::invalid("start operation").with("problem", "the closure called no operation");
        *answer.lock() = Some(Err(error));
        return Answer { request: None, answer };
    };
    let bytes = count(queue, call.bytes as usize);
    let (operation, reach, work) =
        (call.operation, narrow(reach_of(call.operation, call.object)), Work::Call(Box::new(described.0)));
    let (foreseen, path, is_shown) = (Foreseen::Nothing, None, true);
    let request =
        queue.push(Queueing { operation, reach, foreseen, work, bytes, moved: call.bytes, path, is_shown });
    Answer { request: Some(request), answer }
}

/// Starts a query of a dataset's info. What comes is remembered while a handle is open of the dataset, so that writes
/// in a scope need not ask for it.
pub fn start_info(container: &dyn Container, dataset: Token) -> Answer<Arc<DatasetInfo>> {
    let queue = queue_of(container).map(Queue::weak);
    start(container, move |c| {
        let info = c.dataset_info(dataset)?;
        if let Some(queue) = queue.as_ref().and_then(Weak::upgrade) {
            queue.know_dataset(dataset, &info);
        }
        Ok(info)
    })
}

/// Starts a query of one link of a group. Changes of other links do not wait for it.
pub fn start_link(container: &dyn Container, group: Token, name: &str) -> Answer<Option<Link>> {
    let owned = name.to_owned();
    start_narrowed(container, move |c| c.link_get(group, &owned), |reach| reach.of_link(name))
}

/// Starts a read of selected elements, which are so many bytes in the file datatype. Reads that are queued together
/// may become one call.
///
/// A container without an `async` layer reads at once. If as many bytes are queued as may be, this waits.
pub fn start_read(
    container: &dyn Container,
    dataset: Token,
    selection: &Selection,
    bytes: usize,
) -> Answer<Vec<u8>> {
    let (answer, mut into) = (Arc::new(Mutex::new(None)), vec![0; bytes]);
    let Some(queue) = queue_of(container) else {
        let read = container.dataset_read(&mut [OpRead { dataset, selection, into: &mut into }]);
        *answer.lock() = Some(read.map(|()| into));
        return Answer { request: None, answer };
    };
    let work = Work::Read(Read { dataset, selection: selection.clone(), into, answer: answer.clone() });
    let (operation, reach, foreseen) = (Operation::dataset_read, Reach::read(dataset), Foreseen::Nothing);
    let (held, moved, path, is_shown) = (queue.reserve(bytes), bytes as u64, None, true);
    let request =
        queue.push(Queueing { operation, reach, foreseen, work, bytes: held, moved, path, is_shown });
    Answer { request: Some(request), answer }
}

/// Calls `f`, and returns a future that ends when everything has ended that it queued on this thread: its value, or the first
/// failure. Other failures are told by the next commit or close.
///
/// ```text
/// let dataset = queued(|| group.new_dataset::<f32>().shape(8).create("x")).await?;
/// ```
pub fn queued<R>(f: impl FnOnce() -> Result<R>) -> Queued<R> {
    let (value, requests) = requests(f);
    Queued { value: Some(value), requests, at: 0 }
}

/// A future of what [`queued`] queued.
#[derive(Debug)]
pub struct Queued<R> {
    value: Option<Result<R>>,
    requests: Vec<Request>,
    at: usize,
}

impl<R> Unpin for Queued<R> {}

impl<R> Future for Queued<R> {
    type Output = Result<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R>> {
        while let Some(request) = self.requests.get(self.at) {
            if !request.wake_at_end(context.waker()) {
                return Poll::Pending;
            }
            self.at += 1;
        }
        let ended = std::mem::take(&mut self.requests);
        let failure = ended.iter().find_map(|request| request.wait(Duration::ZERO)?.err());
        let taken = || Err(Error::invalid("poll future").with("problem", "it has ended"));
        let value = self.value.take().unwrap_or_else(taken);
        Poll::Ready(failure.map_or(value, Err))
    }
}

/// Wakes a thread.
struct Unpark(system::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread, for programs without an executor.
pub fn wait<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(system::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            // The longest wait that every system can express; the loop goes on after it.
            Poll::Pending => system::thread::park_timeout(Duration::from_secs(3600)),
        }
    }
}

/// Waits for many futures on this thread, all of which go on meanwhile; their values, in order.
pub fn wait_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    wait(All(futures.into_iter().map(|future| Progress::Going(Box::pin(future))).collect()))
}

enum Progress<F: Future> {
    Going(Pin<Box<F>>),
    Ended(Option<F::Output>),
}

struct All<F: Future>(Vec<Progress<F>>);

impl<F: Future> Unpin for All<F> {}

impl<F: Future> Future for All<F> {
    type Output = Vec<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<F::Output>> {
        for one in &mut self.0 {
            if let Progress::Going(future) = one
                && let Poll::Ready(value) = future.as_mut().poll(context)
            {
                *one = Progress::Ended(Some(value));
            }
        }
        if self.0.iter().any(|one| matches!(one, Progress::Going(_))) {
            return Poll::Pending;
        }
        let value = |one: &mut Progress<F>| match one {
            Progress::Ended(value) => value.take(),
            Progress::Going(_) => None,
        };
        Poll::Ready(self.0.iter_mut().filter_map(value).collect())
    }
}
