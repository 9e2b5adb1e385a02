//! Threads of one process as members of a group.

use std::sync::Arc;

use model::Result;
use system::sync::{Condvar, Mutex, MutexGuard};

use crate::{Comm, gone};

/// Where members put their bytes and find those of all.
#[derive(Debug)]
struct Board {
    state: Mutex<GroupState>,
    changed: Condvar,
}

#[derive(Debug)]
struct GroupState {
    /// The data of each rank for the current call.
    waiting: Vec<Option<Vec<u8>>>,
    /// Calls that are complete.
    done: u64,
    /// The data that the last complete call gathered. No call is complete before everyone has left the one before it.
    gathered: Arc<Vec<Vec<u8>>>,
    /// A member will not come any more.
    is_broken: bool,
}

/// One member. Dropping it tells the others that it is gone.
#[derive(Debug)]
pub struct Thread {
    rank: usize,
    size: usize,
    board: Arc<Board>,
}

/// Returns a group of `size` members, by rank.
pub fn threads(size: usize) -> Vec<Thread> {
    let waiting = vec![None; size];
    let state = GroupState { waiting, done: 0, gathered: Arc::default(), is_broken: false };
    let board = Arc::new(Board { state: Mutex::new(state), changed: Condvar::new() });
    (0..size).map(|rank| Thread { rank, size, board: board.clone() }).collect()
}

impl Board {
    fn state(&self) -> MutexGuard<'_, GroupState> {
        self.state.lock()
    }
}

impl Comm for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut state = self.board.state();
        let call = state.done;
        state.waiting[self.rank] = Some(bytes.to_vec());
        if state.waiting.iter().all(Option::is_some) {
            state.gathered = Arc::new(state.waiting.iter_mut().filter_map(Option::take).collect());
            state.done += 1;
            self.board.changed.notify_all();
        }
        // A call that is complete counts, though a member may have left right after it.
        while state.done == call {
            if state.is_broken {
                return Err(gone().with("rank", self.rank));
            }
            state = self.board.changed.wait(state);
        }
        let gathered = state.gathered.clone();
        drop(state);
        Ok(Arc::unwrap_or_clone(gathered))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.board.state().is_broken = true;
        self.board.changed.notify_all();
    }
}
