//! Code that waits, on threads of the library, so that the threads of an executor need not.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use model::{Error, Result};
use system::clock::Instant;
use system::sync::{Condvar, Mutex};

/// Threads at a time: each waits for one thing, and a server has a connection for each.
const THREADS_MAX: usize = 32;
/// A thread that had nothing to do for so long ends.
const IDLE: Duration = Duration::from_secs(5);

type Job = Box<dyn FnOnce() + Send>;

/// The threads, and what waits for one.
struct Threads {
    jobs: VecDeque<Job>,
    count: usize,
    idle: usize,
    /// The process that has them: a child that was forked has none.
    process: Option<u32>,
}

static THREADS: Mutex<Threads> =
    Mutex::new(Threads { jobs: VecDeque::new(), count: 0, idle: 0, process: None });
static CHANGED: Condvar = Condvar::new();

impl Threads {
    /// Forgets the threads of a parent, and what they had to do.
    fn check_process(&mut self) {
        let process = Some(system::process::id());
        if self.process != process {
            // What a job of the parent holds is of no use here, and dropping it might wait.
            std::mem::forget(std::mem::take(&mut self.jobs));
            (self.count, self.idle, self.process) = (0, 0, process);
        }
    }

    /// Starts one more thread if there are too few; whether there is any.
    fn grow(&mut self) -> bool {
        if self.jobs.len() > self.idle && self.count < THREADS_MAX {
            let started = system::thread::Builder::named("hyperslab-waits").spawn(run_jobs);
            self.count += usize::from(started.is_ok());
        }
        self.count > 0
    }
}

/// Gives a job to the threads; runs it here where the system has none.
pub(super) fn submit(job: Job) {
    let mut threads = THREADS.lock();
    threads.check_process();
    threads.jobs.push_back(job);
    if threads.grow() {
        drop(threads);
        CHANGED.notify_one();
        return;
    }
    let job = threads.jobs.pop_back();
    drop(threads);
    job.into_iter().for_each(|job| job());
}

fn run_jobs() {
    while let Some(job) = next_job() {
        // A panic is the job's own, and this thread counts on.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}

/// Waits for a job; `None` where there was none for a while.
fn next_job() -> Option<Job> {
    let (begun, mut threads) = (Instant::now(), THREADS.lock());
    loop {
        if let Some(job) = threads.jobs.pop_front() {
            return Some(job);
        }
        let left = IDLE.saturating_sub(begun.elapsed());
        if left.is_zero() {
            threads.count -= 1;
            return None;
        }
        threads.idle += 1;
        threads = CHANGED.wait_timeout(threads, left);
        threads.idle -= 1;
    }
}

/// A future of what [`background`] runs.
#[derive(Debug)]
pub struct Background<T>(Arc<Mutex<Outcome<T>>>);

#[derive(Debug)]
enum Outcome<T> {
    Pending(Option<Waker>),
    Ended(Result<T>),
    Taken,
}

/// Runs `f` on a thread of the library that may wait, and returns a future of what it returns. A panic in it is an
/// error.
///
/// If the future is dropped before `f` began, `f` is not run.
pub fn background<T: Send + 'static>(f: impl FnOnce() -> Result<T> + Send + 'static) -> Background<T> {
    let outcome = Arc::new(Mutex::new(Outcome::Pending(None)));
    let ours = outcome.clone();
    submit(Box::new(move || {
        if Arc::strong_count(&ours) > 1 {
            let panicked = || Err(Error::invalid("run in the background").with("problem", "it panicked"));
            let value = catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| panicked());
            let before = std::mem::replace(&mut *ours.lock(), Outcome::Ended(value));
            if let Outcome::Pending(Some(waker)) = before {
                waker.wake();
            }
        }
    }));
    Background(outcome)
}

impl<T> Future for Background<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let mut outcome = self.0.lock();
        if let Outcome::Pending(waker) = &mut *outcome {
            *waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        match std::mem::replace(&mut *outcome, Outcome::Taken) {
            Outcome::Ended(value) => Poll::Ready(value),
            _ => Poll::Ready(Err(Error::invalid("poll future").with("problem", "it has ended"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asynchronous::{wait, wait_all};

    #[test]
    fn what_waits_for_each_other_runs_at_once() {
        let (ready, changed) = (Arc::new(Mutex::new(0)), Arc::new(Condvar::new()));
        let meet = |_| {
            let (ready, changed) = (ready.clone(), changed.clone());
            background(move || {
                let mut count = ready.lock();
                *count += 1;
                changed.notify_all();
                drop(changed.wait_while(count, |count| *count < 4));
                Ok(std::thread::current().id())
            })
        };
        let threads: Vec<_> = wait_all((0..4).map(meet)).into_iter().map(Result::unwrap).collect();
        assert!(!threads.contains(&std::thread::current().id()));
    }

    #[test]
    fn more_jobs_than_threads_all_end() {
        let sum = |n: usize| background(move || Ok(n));
        let all: usize = wait_all((0..500).map(sum)).into_iter().map(Result::unwrap).sum();
        assert_eq!(all, 500 * 499 / 2);
    }

    #[test]
    fn a_panic_is_an_error() {
        let failed = wait(background(|| -> Result<()> { panic!("of the test") }));
        assert!(failed.unwrap_err().to_string().contains("it panicked"));
        assert_eq!(wait(background(|| Ok(1))).unwrap(), 1);
    }
}
