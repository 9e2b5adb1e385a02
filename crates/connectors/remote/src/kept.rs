//! Changes that a client of several nodes keeps until they are stored: another node makes them again.
//!
//! A change is kept from before it is sent. Once a later operation was answered that stores everything
//! (`protocol::stores`), the changes that were answered before that one was sent are stored, and go.

use std::collections::{HashMap, HashSet, VecDeque};

use model::Token;
use protocol::wire::Request;
use system::sync::Mutex;
use vol::Operation;

/// Bytes of a change besides those of its values.
const CHANGE_BYTES: u64 = 128;

/// A change that may have to be made again.
#[derive(Debug)]
pub(crate) struct KeptChange {
    number: u64,
    pub(crate) code: Operation,
    pub(crate) arguments: Vec<u8>,
    pub(crate) bulk: Vec<Vec<u8>>,
    /// The time when it was answered.
    answered: Option<u64>,
}

impl KeptChange {
    fn bytes(&self) -> u64 {
        change_bytes(self.arguments.len(), self.bulk.iter().map(Vec::len))
    }
}

fn change_bytes(arguments: usize, bulk: impl Iterator<Item = usize>) -> u64 {
    CHANGE_BYTES + (arguments + bulk.sum::<usize>()) as u64
}

#[derive(Debug, Default)]
struct KeptState {
    changes: VecDeque<KeptChange>,
    bytes: u64,
    /// Grows with every answer.
    time: u64,
    retained: HashMap<Token, u64>,
    pins: HashSet<u64>,
}

/// What a session has at its node that another one must have too.
#[derive(Debug)]
pub(crate) struct KeptChanges {
    bytes_max: u64,
    state: Mutex<KeptState>,
}

impl KeptChanges {
    pub(crate) fn new(bytes_max: u64) -> Self {
        KeptChanges { bytes_max, state: Mutex::default() }
    }

    /// Returns whether there is no space for a change: what is there must be stored first.
    pub(crate) fn is_full_for(&self, request: &Request<'_>) -> bool {
        let bytes = change_bytes(request.arguments.len(), request.bulk.iter().map(|bulk| bulk.len()));
        let state = self.state.lock();
        !state.changes.is_empty() && state.bytes.saturating_add(bytes) > self.bytes_max
    }

    /// Keeps a change that is about to be sent.
    pub(crate) fn keep(&self, number: u64, request: &Request<'_>) {
        let change = KeptChange {
            number,
            code: request.code,
            arguments: request.arguments.to_vec(),
            bulk: request.bulk.iter().map(|bulk| bulk.to_vec()).collect(),
            answered: None,
        };
        let mut state = self.state.lock();
        state.bytes += change.bytes();
        state.changes.push_back(change);
    }

    /// A change was answered; one that failed changed nothing.
    pub(crate) fn answered(&self, number: u64, failed: bool) {
        let mut state = self.state.lock();
        state.time += 1;
        let time = state.time;
        let Some(at) = state.changes.iter().rposition(|change| change.number == number) else { return };
        match failed {
            true => state.bytes -= state.changes.remove(at).map_or(0, |change| change.bytes()),
            false => state.changes[at].answered = Some(time),
        }
    }

    /// Returns the time now: what was answered until now is stored by an operation that is sent from now on.
    pub(crate) fn now(&self) -> u64 {
        self.state.lock().time
    }

    /// Everything is stored that was answered until `time`.
    pub(crate) fn stored(&self, time: u64) {
        let mut state = self.state.lock();
        state.changes.retain(|change| change.answered.is_none_or(|answered| answered > time));
        state.bytes = state.changes.iter().map(KeptChange::bytes).sum();
    }

    /// Calls `make` for every change that was answered, in the order in which they were sent.
    pub(crate) fn each<E>(&self, mut make: impl FnMut(&KeptChange) -> Result<(), E>) -> Result<(), E> {
        let state = self.state.lock();
        state.changes.iter().filter(|change| change.answered.is_some()).try_for_each(&mut make)
    }

    /// Notes what the session holds at its node.
    pub(crate) fn held(&self, code: Operation, arguments: &[u8]) {
        let mut state = self.state.lock();
        match (code, <[u8; 16]>::try_from(arguments), <[u8; 8]>::try_from(arguments)) {
            (Operation::retain, Ok(token), _) => *state.retained.entry(Token(token)).or_default() += 1,
            (Operation::release, Ok(token), _) => release(&mut state.retained, Token(token)),
            (Operation::blob_pin, _, Ok(pin)) => drop(state.pins.insert(u64::from_le_bytes(pin))),
            (Operation::blob_unpin, _, Ok(pin)) => drop(state.pins.remove(&u64::from_le_bytes(pin))),
            _ => {}
        }
    }

    /// Returns objects that are retained, and how often.
    pub(crate) fn retained(&self) -> Vec<(Token, u64)> {
        self.state.lock().retained.iter().map(|(token, count)| (*token, *count)).collect()
    }

    /// Returns pins of blobs.
    pub(crate) fn pins(&self) -> Vec<u64> {
        self.state.lock().pins.iter().copied().collect()
    }
}

fn release(retained: &mut HashMap<Token, u64>, token: Token) {
    if let Some(count) = retained.get_mut(&token) {
        *count -= 1;
        if *count == 0 {
            retained.remove(&token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(bytes: &[u8]) -> Request<'_> {
        Request { code: Operation::dataset_write, arguments: &[], bulk: vec![bytes], into: Vec::new() }
    }

    fn numbers(kept: &KeptChanges) -> Vec<u64> {
        let mut numbers = Vec::new();
        let done = kept.each(|change| {
            numbers.push(change.number);
            Ok::<(), ()>(())
        });
        done.map(|()| numbers).unwrap()
    }

    #[test]
    fn what_was_answered_before_a_commit_was_sent_goes_with_its_answer() {
        let kept = KeptChanges::new(1000);
        for number in 1..=3 {
            kept.keep(number, &write(b"value"));
        }
        kept.answered(1, false);
        let sent = kept.now();
        kept.answered(2, false);
        assert_eq!(numbers(&kept), [1, 2], "the third has no answer: its caller sends it again");
        kept.stored(sent);
        assert_eq!(numbers(&kept), [2]);
        kept.answered(3, true);
        kept.stored(kept.now());
        assert!(numbers(&kept).is_empty() && kept.state.lock().bytes == 0);
    }

    #[test]
    fn one_change_has_space_however_large_it_is() {
        let kept = KeptChanges::new(1000);
        let large = vec![0; 5000];
        assert!(!kept.is_full_for(&write(&large)));
        kept.keep(1, &write(&large));
        assert!(kept.is_full_for(&write(b"small")));
    }

    #[test]
    fn objects_are_held_as_often_as_they_were_retained() {
        let (kept, token) = (KeptChanges::new(0), [7; 16]);
        kept.held(Operation::retain, &token);
        kept.held(Operation::retain, &token);
        kept.held(Operation::release, &token);
        kept.held(Operation::blob_pin, &5u64.to_le_bytes());
        assert_eq!((kept.retained(), kept.pins()), (vec![(Token(token), 1)], vec![5]));
    }
}
