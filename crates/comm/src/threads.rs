//! Threads of one process as members of a group.

use std::sync::Arc;

use model::Result;
use system::sync::{Condvar, Mutex, MutexGuard};

use crate::{Comm, gone, joined, part};

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
    /// A member that will not come any more.
    gone: Option<usize>,
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
    let state = GroupState { waiting, done: 0, gathered: Arc::default(), gone: None };
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
        self.exchange(bytes.to_vec()).map(Arc::unwrap_or_clone)
    }

    fn alltoall(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let (lengths, bytes) = joined(&to, self.size)?;
        let all = self.exchange([lengths, bytes].concat())?;
        all.iter().map(|sent| part(sent, self.rank, self.size).map(<[u8]>::to_vec)).collect()
    }
}

impl Thread {
    /// Brings bytes, and returns those of all.
    fn exchange(&self, bytes: Vec<u8>) -> Result<Arc<Vec<Vec<u8>>>> {
        let mut state = self.board.state();
        let call = state.done;
        state.waiting[self.rank] = Some(bytes);
        if state.waiting.iter().all(Option::is_some) {
            state.gathered = Arc::new(state.waiting.iter_mut().filter_map(Option::take).collect());
            state.done += 1;
            self.board.changed.notify_all();
        }
        // A call that is complete counts, though a member may have left right after it.
        while state.done == call {
            if let Some(rank) = state.gone {
                return Err(gone().with("rank", rank));
            }
            state = self.board.changed.wait(state);
        }
        Ok(state.gathered.clone())
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.board.state().gone.get_or_insert(self.rank);
        self.board.changed.notify_all();
    }
}
