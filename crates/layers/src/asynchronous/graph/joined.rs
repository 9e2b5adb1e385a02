//! What begins next, and what is done in the same call.

use super::{Entry, Graph};
use crate::asynchronous::work::Work;

/// Writes or reads that are made in one call, at most.
const JOINED_MAX: usize = 64;

impl Graph {
    /// Returns the next operation that can begin, and what can be done in the same call, as one of `threads` that
    /// share what is ready: for a write the following ones of its dataset, for a read the next ones of any datasets.
    pub(crate) fn next(&mut self, threads: usize) -> Vec<(u64, Work)> {
        let share = self.ready.len().div_ceil(threads.max(1));
        let Some(ticket) = self.ready.pop_front() else { return Vec::new() };
        let mut taken = vec![(ticket, self.begin(ticket))];
        match &taken[0].1 {
            _ if self.keeps_order => {}
            Work::Write { .. } => self.join_writes(&mut taken),
            Work::Read(read) if read.is_joinable() => self.join_reads(&mut taken, share.min(JOINED_MAX)),
            _ => {}
        }
        taken
    }

    fn join_writes(&mut self, taken: &mut Vec<(u64, Work)>) {
        let mut last = taken[0].0;
        while taken.len() < JOINED_MAX
            && let Some(next) = self.next_write(last)
        {
            taken.push((next, self.begin(next)));
            last = next;
        }
    }

    fn join_reads(&mut self, taken: &mut Vec<(u64, Work)>, count_max: usize) {
        let is_read = |entry: &Entry| matches!(&entry.work, Work::Read(read) if read.is_joinable());
        while taken.len() < count_max
            && let Some(&next) = self.ready.front()
            && self.entries.get(&next).is_some_and(is_read)
        {
            self.ready.pop_front();
            taken.push((next, self.begin(next)));
        }
    }

    /// Returns the write that waits for this one and for nothing else.
    fn next_write(&self, ticket: u64) -> Option<u64> {
        let entry = self.entries.get(&ticket)?;
        let can_join = |number: &&u64| {
            self.entries.get(number).is_some_and(|next| next.waits == 1 && next.work.as_write().is_some())
        };
        match entry.followers.first() {
            // A read between the two is a follower too, and comes before the write.
            Some(next) if can_join(&next) => Some(*next),
            _ => None,
        }
    }
}
