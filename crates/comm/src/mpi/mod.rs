//! Processes of one MPI job.
//!
//! MPI is called by a thread of its own. A call of MPI has no end while a process of the job is missing, and cannot be
//! taken back; a caller that asked for it waits here instead, looks now and then whether the others are still there, and fails
//! when one is not.

mod calls;
mod peers;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use system::clock::Instant;

use calls::{Answer, Call};
use model::{Error, Result};
use peers::Peer;
use system::sync::Mutex;

use crate::{Comm, Reduce, gone};

/// How long a call waits for silent processes, unless the caller says otherwise: models compute for long between two flushes.
const WAIT_MAX: Duration = Duration::from_secs(3600);
/// How often a call looks for the others.
const LOOK: Duration = Duration::from_millis(50);
/// How long messages of a process that ended may still be on their way.
const LATE: Duration = Duration::from_millis(500);

/// All processes of the job (`MPI_COMM_WORLD`). MPI ends when this is dropped.
///
/// A process that died fails the calls of the others: at once where they run on one machine, else when they have waited as
/// long as they may. (`mpirun` ends all of them before that, unless it is told not to: `--enable-recovery` of Open MPI.)
pub struct Mpi {
    rank: usize,
    size: usize,
    wait_max: Duration,
    peers: Vec<Option<Peer>>,
    /// One call at a time, from whatever thread.
    line: Mutex<Line>,
}

/// The way to the thread that calls MPI.
struct Line {
    /// `None` when no more calls are to come.
    ask: Option<Sender<Call>>,
    answers: Receiver<Answer>,
    /// Why a call failed: none goes well after it.
    broken: Option<Error>,
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mpi").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Mpi {
    /// Begins MPI; an error where this process did so before. Calls wait for an hour at most.
    pub fn start() -> Result<Self> {
        Self::start_within(WAIT_MAX)
    }

    /// Returns a group whose calls wait at most so long for processes that keep silent.
    pub fn start_within(wait_max: Duration) -> Result<Self> {
        let (ask, asked) = channel();
        let (answer, answers) = channel();
        let (begin, begun) = channel();
        let named = system::thread::Builder::named("hyperslab-mpi");
        let thread = named.spawn(move || calls::serve(&begin, &asked, &answer));
        thread.map_err(|e| Error::io("begin MPI", &e))?;
        let (rank, size) = begun.recv().map_err(|_| gone())??;
        let line = Mutex::new(Line { ask: Some(ask), answers, broken: None });
        let mut mpi = Mpi { rank, size, wait_max, peers: Vec::new(), line };
        mpi.peers = mpi.allgather(&peers::own())?.iter().map(|bytes| peers::of(bytes)).collect();
        Ok(mpi)
    }

    fn call(&self, call: Call) -> Result<Answer> {
        let mut line = self.line.lock();
        if let Some(error) = &line.broken {
            return Err(error.clone());
        }
        let asked = line.ask.as_ref().is_some_and(|ask| ask.send(call).is_ok());
        let answer = if asked { self.wait(&line) } else { Err(gone()) };
        answer.inspect_err(|error| line.broken = Some(error.clone()))
    }

    /// Waits for the thread that calls MPI, as long as it makes sense.
    fn wait(&self, line: &Line) -> Result<Answer> {
        let begun = Instant::now();
        loop {
            match line.answers.recv_timeout(LOOK) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let missing = self.peers.iter().position(|peer| peer.as_ref().is_some_and(Peer::is_gone));
            if let Some(rank) = missing {
                return line.answers.recv_timeout(LATE).map_err(|_| gone().with("rank", rank));
            }
            if begun.elapsed() >= self.wait_max {
                let silence = std::io::Error::new(std::io::ErrorKind::TimedOut, "other members keep silent");
                let error = Error::io("wait for other members", &silence);
                return Err(error.with("seconds", begun.elapsed().as_secs_f64()));
            }
        }
    }

    fn all(&self, call: Call) -> Result<Vec<Vec<u8>>> {
        match self.call(call)? {
            Answer::All(all) => Ok(all),
            _ => Err(confused()),
        }
    }

    fn number(&self, call: Call) -> Result<u64> {
        match self.call(call)? {
            Answer::Number(number) => Ok(number),
            _ => Err(confused()),
        }
    }
}

fn confused() -> Error {
    Error::invalid("call MPI").with("problem", "another call was answered")
}

impl Drop for Mpi {
    /// Ends MPI, unless a caller is missing: that too waits for everyone.
    fn drop(&mut self) {
        let mut line = self.line.lock();
        line.ask = None;
        if line.broken.is_none() {
            // The thread has no answer when it is done: it hangs up.
            let _ = self.wait(&line);
        }
    }
}

impl Comm for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.all(Call::Gather(bytes.to_vec()))
    }

    fn allgather_equal(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.all(Call::GatherEqual(bytes.to_vec()))
    }

    fn gather(&self, root: usize, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        if root >= self.size {
            return Err(Error::invalid("gather").with("root", root));
        }
        self.all(Call::GatherTo(root, bytes.to_vec()))
    }

    fn alltoall(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        if to.len() != self.size {
            return Err(Error::invalid("send to all").with("messages", to.len()).with("members", self.size));
        }
        self.all(Call::ToAll(to))
    }

    fn bcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()> {
        if root >= self.size {
            return Err(Error::invalid("broadcast").with("root", root));
        }
        match self.call(Call::Broadcast(root, std::mem::take(bytes)))? {
            Answer::Bytes(found) => *bytes = found,
            _ => return Err(confused()),
        }
        Ok(())
    }

    fn allreduce(&self, number: u64, reduce: Reduce) -> Result<u64> {
        self.number(Call::Reduce(number, reduce))
    }

    fn exscan(&self, number: u64) -> Result<u64> {
        self.number(Call::Scan(number))
    }

    fn barrier(&self) -> Result<()> {
        self.number(Call::Barrier).map(drop)
    }
}
