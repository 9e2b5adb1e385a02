//! Threads that run what is queued, where the inner container has no pipeline.

use std::panic::{AssertUnwindSafe, catch_unwind};

use model::{Error, Result};
use system::sync::MutexGuard;

use super::{Queue, QueueState};
use crate::asynchronous::work::Work;

impl Queue {
    pub(super) fn wake_thread(&self, mut state: MutexGuard<'_, QueueState>) {
        if state.graph.ready() == 0 {
            return;
        }
        if state.graph.ready() > state.idle {
            self.start_thread(&mut state);
        }
        let has_nobody = state.threads.is_empty();
        drop(state);
        self.ready.notify_one();
        if has_nobody {
            // The system gave no thread: the caller does it all.
            while self.work_once(false) {}
        }
    }

    /// One more thread, while there are fewer than may be and than objects with something to do.
    fn start_thread(&self, state: &mut QueueState) {
        if state.threads.len() >= self.threads_max.min(state.graph.objects().max(1)) {
            return;
        }
        let Some(queue) = self.own.upgrade() else { return };
        let name = format!("hyperslab-async-{}", state.threads.len());
        let work = move || while queue.work_once(true) {};
        if let Ok(thread) = system::thread::Builder::named(name).spawn(work) {
            state.threads.push(thread);
        }
    }

    /// Runs what can begin next; `false` where there is nothing and nothing will come.
    fn work_once(&self, waits: bool) -> bool {
        let taken = self.next(waits);
        if taken.is_empty() {
            return false;
        }
        let (tickets, mut works): (Vec<u64>, Vec<Work>) = taken.into_iter().unzip();
        let joined = works.len() > 1 && self.run_joined(&mut works);
        for (ticket, mut work) in tickets.into_iter().zip(works.drain(..)) {
            let outcome = if joined { Ok(()) } else { self.run(&mut work) };
            self.end(ticket, work, outcome);
        }
        true
    }

    /// Makes writes or reads in one call; whether that went well. If not, each is made again, for an error of its own.
    fn run_joined(&self, works: &mut [Work]) -> bool {
        let run = || Work::run_joined(works, &*self.container);
        catch_unwind(AssertUnwindSafe(run)).is_ok_and(|done| done.is_some_and(|done| done.is_ok()))
    }

    fn run(&self, work: &mut Work) -> Result<()> {
        let container = &self.container;
        let outcome = catch_unwind(AssertUnwindSafe(|| work.run(&**container)));
        let panicked =
            |_| Err(Error::invalid("storage panicked").with("container", format!("{container:?}")));
        outcome.unwrap_or_else(panicked)
    }

    /// Returns the next operations that can begin.
    fn next(&self, waits: bool) -> Vec<(u64, Work)> {
        let mut state = self.state();
        loop {
            let taken = state.graph.next(self.threads_max);
            if !taken.is_empty() || state.is_stopped || !waits {
                return taken;
            }
            state.idle += 1;
            state = self.ready.wait(state);
            state.idle -= 1;
        }
    }

    /// Lets the threads go once all is done.
    pub(crate) fn stop(&self) {
        self.wait_for_all();
        let mut state = self.state();
        state.is_stopped = true;
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        self.ready.notify_all();
        for thread in threads {
            // The last owner may be a callback, on one of these threads. One that panicked is gone too.
            if thread.thread().id() != system::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}
