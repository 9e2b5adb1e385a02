//! The state that the parts of a container that several processes have open share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::{Error, Result};
use protocol::wire;
use system::sync::{Mutex, RwLock};
use vol::{Container, ExtensionInfo, LeaderBytes, ParallelAccess, Replica};

use crate::ranks::{Call, Ranks};

/// How ranks share a container that they write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Rank 0 leads, and the others follow.
    Led,
    /// Every rank has a session of its own with a server, and sees at once what the others change.
    Served,
    /// Every rank opens the container by itself, and sees after a commit what the others committed.
    Concurrent,
}

/// One rank's part of a container.
pub(crate) struct Group {
    pub(crate) ranks: Ranks,
    pub(crate) replica: Arc<dyn Replica>,
    pub(crate) is_writable: bool,
    pub(crate) sharing: Sharing,
    /// Held while ranks do something together; shared by threads of this rank that read.
    pub(crate) turn: RwLock<()>,
    /// Why this rank can take part no more.
    broken: Mutex<Option<Error>>,
    pub(crate) is_closed: AtomicBool,
    pub(crate) options: ParallelAccess,
    /// Bytes that may wait for the next collective call.
    pub(crate) buffered_bytes_max: u64,
    /// Operations that only the connector has.
    pub(crate) extensions: &'static [ExtensionInfo],
    /// This rank made links to new datasets for itself since the last one was made.
    pub(crate) has_linked: AtomicBool,
}

/// The parts of a new group.
pub(crate) struct GroupParts {
    pub(crate) ranks: Ranks,
    pub(crate) replica: Arc<dyn Replica>,
    pub(crate) is_writable: bool,
    pub(crate) sharing: Sharing,
    pub(crate) options: ParallelAccess,
    pub(crate) buffered_bytes_max: u64,
    pub(crate) extensions: &'static [ExtensionInfo],
}

/// What a rank says when a call begins, next to what must be the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// Some of its elements have no space yet.
    pub(crate) space: bool,
    /// It is not done with the first exchange.
    pub(crate) more: bool,
    /// It looked for links to datasets that were created recently.
    pub(crate) links: bool,
    /// Rounds in which it sends elements to aggregators.
    pub(crate) rounds: u64,
}

impl Wishes {
    /// Returns the rank's own number in the header; the lowest bit says that it buffers bytes for the leader.
    fn number(self, keeps: bool) -> u64 {
        let flags = [keeps, self.space, self.more, self.links];
        let flags = flags.iter().enumerate().fold(0, |number, (bit, flag)| number | u64::from(*flag) << bit);
        flags | self.rounds << 4
    }

    /// Returns what any rank wishes, and whether any buffers bytes.
    fn of_all(numbers: &[u64]) -> (Wishes, bool) {
        let any = numbers.iter().fold(0, |any, number| any | number);
        let rounds = numbers.iter().map(|number| number >> 4).max().unwrap_or(0);
        // Buffered bytes go to the leader, who must say that it took them.
        (Wishes { space: any & 2 > 0, more: any & 5 > 0, links: any & 8 > 0, rounds }, any & 1 > 0)
    }
}

/// Bytes with where they go, as they travel.
type Message = (Vec<u64>, Vec<Vec<u8>>);

/// Returns bytes that only the leader may write, for the way there.
pub(crate) fn to_message(pieces: Vec<LeaderBytes>) -> Result<Vec<u8>> {
    if pieces.is_empty() {
        return Ok(Vec::new());
    }
    wire::to_bytes::<Message>(&pieces.into_iter().map(|piece| (piece.at, piece.bytes)).unzip())
}

fn from_message(bytes: &[u8]) -> Result<Message> {
    if bytes.is_empty() { Ok(Message::default()) } else { wire::from_bytes(bytes) }
}

impl Group {
    pub(crate) fn new(parts: GroupParts) -> Arc<Group> {
        let GroupParts { ranks, replica, is_writable, sharing, options, buffered_bytes_max, extensions } =
            parts;
        if options.elements_in_place {
            replica.write_in_place();
        }
        Arc::new(Group {
            ranks,
            replica,
            is_writable,
            sharing,
            turn: RwLock::new(()),
            broken: Mutex::new(None),
            is_closed: AtomicBool::new(false),
            options,
            buffered_bytes_max,
            extensions,
            has_linked: AtomicBool::new(false),
        })
    }

    /// Returns whether every rank's own container takes writes, and the storage puts them in order.
    pub(crate) fn is_shared(&self) -> bool {
        self.sharing != Sharing::Led
    }

    pub(crate) fn container(&self) -> &dyn Container {
        &**self.replica.container()
    }

    /// Returns whether elements are written where they lie, so that others may have written some at any time.
    fn is_in_place(&self) -> bool {
        self.options.elements_in_place && self.is_writable
    }

    /// Sees to it that elements are read as they are in the file now, if others may have written some.
    pub(crate) fn before_read(&self) -> Result<()> {
        if self.is_in_place() { self.replica.elements_changed() } else { Ok(()) }
    }

    /// Sees to it that others read the elements that this rank wrote alone, if they are to do so at once.
    pub(crate) fn after_write(&self) -> Result<()> {
        if self.is_in_place() { self.replica.end_write() } else { Ok(()) }
    }

    /// Returns an error if this rank can take part no more.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::invalid("use container").with("problem", "it is closed"));
        }
        self.broken.lock().clone().map_or(Ok(()), Err)
    }

    /// Remembers an error after which this rank no longer knows what the others see.
    pub(crate) fn note_broken<T>(&self, done: Result<T>) -> Result<T> {
        if let Err(error) = &done {
            self.broken.lock().get_or_insert_with(|| error.clone());
        }
        done
    }

    /// Agrees on a call, and hands to the leader what others buffered for it. The inner result is the leader's.
    pub(crate) fn begin(&self, call: Call, hash: u64, ready: Result<()>) -> Result<Result<()>> {
        self.begin_with(call, hash, ready, Wishes::default()).map(|(handed, _)| handed)
    }

    /// Agrees on a call as [`begin`](Group::begin) does, and returns what any rank wishes, too.
    pub(crate) fn begin_with(
        &self,
        call: Call,
        hash: u64,
        ready: Result<()>,
        wishes: Wishes,
    ) -> Result<(Result<()>, Wishes)> {
        let own = wishes.number(self.replica.buffered_bytes() > 0);
        let all = self.ranks.agree(call, hash, own, self.check().and(ready))?;
        let (wishes, is_buffering) = Wishes::of_all(&all);
        let handed = match is_buffering {
            true => self.to_leader(self.replica.take_buffered())?,
            false => Ok(()),
        };
        Ok((handed, wishes))
    }

    /// Sends bytes to the leader, which writes them. The inner result is the leader's.
    pub(crate) fn to_leader(&self, pieces: Vec<LeaderBytes>) -> Result<Result<()>> {
        let all = self.ranks.0.gather(0, &to_message(pieces)?)?;
        Ok(all.iter().try_for_each(|bytes| {
            let (places, pieces) = from_message(bytes)?;
            let pieces: Vec<_> = places.into_iter().zip(pieces.iter().map(Vec::as_slice)).collect();
            self.replica.write_for_commit(&pieces)
        }))
    }

    /// The leader does something to its container; all ranks get the answer, and see what changed.
    pub(crate) fn lead(&self, run: impl FnOnce(&dyn Container) -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        self.lead_and_tell(run, true)
    }

    /// As [`lead`](Group::lead); what does not change anything is no reason to say what changed before.
    pub(crate) fn lead_and_tell(
        &self,
        run: impl FnOnce(&dyn Container) -> Result<Vec<u8>>,
        changes: bool,
    ) -> Result<Vec<u8>> {
        let are_sent = changes || self.is_shared();
        let message = self.ranks.first_does(|| {
            let answer = match run(self.container()) {
                Ok(bytes) => [&[1], bytes.as_slice()].concat(),
                Err(error) => [vec![0], wire::to_bytes(&error)?].concat(),
            };
            // Also what failed may have changed something.
            let changes = if are_sent { self.replica.changes()? } else { Vec::new() };
            wire::to_bytes::<(Vec<u8>, Vec<u8>)>(&(changes, answer))
        });
        let (changes, answer) = wire::from_bytes::<(Vec<u8>, Vec<u8>)>(&self.note_broken(message)?)?;
        if are_sent && !self.ranks.is_first() {
            self.note_broken(self.replica.apply(&changes))?;
        }
        match answer.split_first() {
            Some((1, bytes)) => Ok(bytes.to_vec()),
            Some((_, error)) => Err(wire::from_bytes(error)?),
            None => Err(Error::invalid("run operation").with("problem", "no answer")),
        }
    }
}
