//! Who is let in: connections that did not say yet who they are, and those that did.
//!
//! Strangers have slots of their own. Where these are full, the oldest stranger of the address with the most of them goes,
//! after a moment that is long enough to say hello: a caller that does gets in next to any number that say nothing.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use system::clock::Instant;

use model::{Error, Result};
use system::socket::{IpAddr, Shutdown, Socket};
use system::sync::Mutex;

use crate::config::ServerLimits;

/// Addresses and tokens whose rates are remembered; more are looked through for those at rest.
const RATES_MAX: usize = 1024;

/// Every stranger has its slot for so long, however many come.
const SLOT_MIN: Duration = Duration::from_millis(100);

/// A connection that did not say hello yet.
#[derive(Debug)]
struct Stranger {
    from: Option<IpAddr>,
    since: Instant,
    socket: Socket,
}

/// A connection of a caller.
#[derive(Debug)]
struct Client {
    from: Option<IpAddr>,
    who: String,
    socket: Socket,
}

#[derive(Debug, Default)]
struct AdmissionState {
    strangers: BTreeMap<u64, Stranger>,
    clients: HashMap<u64, Client>,
    addresses: Rates<IpAddr>,
    tokens: Rates<String>,
}

/// The connections of a server, by number. Several servers of a process may count theirs together.
#[derive(Debug)]
pub struct Admission {
    limits: ServerLimits,
    numbers: AtomicU64,
    state: Mutex<AdmissionState>,
}

impl Admission {
    /// Returns the account of a server with these limits, without connections.
    pub fn new(limits: &ServerLimits) -> Self {
        Admission { limits: limits.clone(), numbers: AtomicU64::default(), state: Mutex::default() }
    }

    /// Returns the number of a new connection.
    pub fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts a connection that was just made. `from` is its address if that tells clients apart; `socket` is shut down where
    /// the connection has to go.
    ///
    /// # Errors
    /// Returns `Busy` if the address connects too often, or if too many connections did not say yet who they are.
    pub fn arrive(&self, number: u64, from: Option<IpAddr>, socket: Socket) -> Result<()> {
        let state = &mut *self.state.lock();
        if from.is_some_and(|from| !state.addresses.take(from, self.limits.connects_per_second_max)) {
            return Err(busy("too many connections of this address in a second"));
        }
        if state.strangers.len() >= self.limits.handshakes_max && !state.evict() {
            return Err(busy("too many connections that did not say who they are"));
        }
        state.strangers.insert(number, Stranger { from, since: Instant::now(), socket });
        Ok(())
    }

    /// Counts a connection for the one that it says it is. Requests of one connection may say different names.
    ///
    /// # Errors
    /// Returns `Busy` if there are too many connections: of all, of its address, or of this name.
    pub fn know(&self, number: u64, who: &str) -> Result<()> {
        let state = &mut *self.state.lock();
        let limits = &self.limits;
        if state.clients.contains_key(&number) {
            return state.rename(number, who, limits);
        }
        let gone = || busy("the connection was given up");
        let from = state.strangers.get(&number).ok_or_else(gone)?.from;
        if state.clients.len() >= limits.connections_max {
            return Err(busy("too many connections"));
        }
        let of_address = state.clients.values().filter(|client| client.from == from).count();
        if from.is_some() && of_address >= limits.connections_per_address_max {
            return Err(busy("too many connections of this address"));
        }
        state.check_token(who, limits)?;
        if !state.tokens.take(who.to_owned(), limits.connects_per_second_max) {
            return Err(busy("too many connections with this token in a second"));
        }
        let Stranger { socket, .. } = state.strangers.remove(&number).ok_or_else(gone)?;
        state.clients.insert(number, Client { from, who: who.to_owned(), socket });
        Ok(())
    }

    /// Ends the count of a connection.
    pub fn leave(&self, number: u64) {
        let state = &mut *self.state.lock();
        state.strangers.remove(&number);
        state.clients.remove(&number);
    }

    pub(crate) fn count(&self) -> usize {
        let state = self.state.lock();
        state.strangers.len() + state.clients.len()
    }

    /// Ends connections that did not say in time who they are.
    pub(crate) fn expire(&self) {
        let state = self.state.lock();
        let is_late = |stranger: &&Stranger| stranger.since.elapsed() >= self.limits.handshake;
        state.strangers.values().filter(is_late).for_each(|late| drop(late.socket.shutdown(Shutdown::Both)));
    }

    /// Ends all of them, in one direction or both.
    pub(crate) fn shut(&self, how: Shutdown) {
        let state = self.state.lock();
        let strangers = state.strangers.values().map(|stranger| &stranger.socket);
        let all = strangers.chain(state.clients.values().map(|client| &client.socket));
        all.for_each(|socket| drop(socket.shutdown(how)));
    }
}

impl AdmissionState {
    /// Refuses one more connection with a token that has its share.
    fn check_token(&self, who: &str, limits: &ServerLimits) -> Result<()> {
        let of_token = self.clients.values().filter(|client| client.who == who).count();
        match of_token >= limits.connections_per_token_max {
            true => Err(busy("too many connections with this token")),
            false => Ok(()),
        }
    }

    /// Counts a connection that is known for another name, if it says one.
    fn rename(&mut self, number: u64, who: &str, limits: &ServerLimits) -> Result<()> {
        if self.clients.get(&number).is_some_and(|client| client.who != who) {
            self.check_token(who, limits)?;
        }
        if let Some(client) = self.clients.get_mut(&number).filter(|client| client.who != who) {
            client.who = who.to_owned();
        }
        Ok(())
    }

    /// Makes a slot, if a caller had one for long enough.
    fn evict(&mut self) -> bool {
        let mut counts: HashMap<Option<IpAddr>, usize> = HashMap::new();
        self.strangers.values().for_each(|stranger| *counts.entry(stranger.from).or_default() += 1);
        let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(from, _)| from);
        // Numbers grow: the first is the oldest.
        let mut of_address = self.strangers.iter().filter(|(_, stranger)| Some(stranger.from) == most);
        let oldest = of_address.next().filter(|(_, oldest)| oldest.since.elapsed() >= SLOT_MIN);
        let evicted = oldest.map(|(number, _)| *number).and_then(|number| self.strangers.remove(&number));
        evicted.is_some_and(|stranger| stranger.socket.shutdown(Shutdown::Both).is_ok())
    }
}

fn busy(problem: &'static str) -> Error {
    Error::busy("connect").with("problem", problem)
}

/// How many each may do in a second, and twice as many at once.
#[derive(Debug)]
struct Rates<K>(HashMap<K, (f64, Instant)>);

impl<K> Default for Rates<K> {
    fn default() -> Self {
        Rates(HashMap::new())
    }
}

impl<K: Eq + Hash> Rates<K> {
    /// Returns whether one more is allowed now.
    fn take(&mut self, of: K, per_second: u32) -> bool {
        let (rate, now) = (f64::from(per_second), Instant::now());
        let left = |(left, at): (f64, Instant)| (left + (now - at).as_secs_f64() * rate).min(2.0 * rate);
        if self.0.len() >= RATES_MAX {
            self.0.retain(|_, entry| left(*entry) < 2.0 * rate);
        }
        let entry = self.0.entry(of).or_insert((2.0 * rate, now));
        let before = left(*entry);
        *entry = ((before - 1.0).max(0.0), now);
        before >= 1.0
    }
}

/// Time that a connection has to say who it is, where none is configured.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(5);

#[cfg(all(test, unix))]
mod tests {
    use system::socket::UnixStream;

    use super::*;

    fn socket() -> Socket {
        UnixStream::pair().expect("a pair").0.into()
    }

    fn limits() -> ServerLimits {
        let few = ServerLimits { handshakes_max: 3, connections_max: 3, ..ServerLimits::default() };
        ServerLimits { connections_per_address_max: 2, connections_per_token_max: 2, ..few }
    }

    #[test]
    fn the_oldest_stranger_of_the_busiest_address_goes_first() {
        let admission = Admission::new(&limits());
        let [busy, quiet] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(|octets| Some(IpAddr::from(octets)));
        admission.arrive(0, quiet, socket()).unwrap();
        for number in 1..3 {
            admission.arrive(number, busy, socket()).unwrap();
        }
        assert!(admission.arrive(3, busy, socket()).is_err(), "each has a moment to say hello");
        system::thread::sleep(SLOT_MIN);
        for number in 3..6 {
            let _ = admission.arrive(number, busy, socket());
            system::thread::sleep(SLOT_MIN);
        }
        assert_eq!(admission.count(), 3);
        admission.know(0, "ann").unwrap();
        assert!(admission.know(3, "ann").is_err());
        admission.know(5, "ann").unwrap();
    }

    #[test]
    fn addresses_and_tokens_have_their_share() {
        let admission = Admission::new(&limits());
        let [one, two] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(|octets| Some(IpAddr::from(octets)));
        for (number, (from, who, is_let_in)) in [
            (one, "ann", true),
            (one, "bob", true),
            (one, "cid", false),
            (two, "ann", true),
            (None, "ann", false),
            (two, "cid", false),
        ]
        .into_iter()
        .enumerate()
        {
            let number = number as u64;
            admission.arrive(number, from, socket()).unwrap();
            let known = admission.know(number, who);
            assert_eq!(known.is_ok(), is_let_in, "{number}: {known:?}");
            if known.is_err() {
                admission.leave(number);
            }
        }
    }

    #[test]
    fn a_connection_that_says_another_name_counts_for_that() {
        let admission = Admission::new(&limits());
        let numbers: Vec<u64> = (0..3).map(|_| admission.number()).collect();
        for (number, who) in numbers.iter().zip(["ann", "ann", "bob"]) {
            admission.arrive(*number, None, socket()).unwrap();
            admission.know(*number, who).unwrap();
            admission.know(*number, who).unwrap();
        }
        assert!(admission.know(numbers[2], "ann").is_err());
        admission.know(numbers[0], "bob").unwrap();
        admission.know(numbers[2], "ann").unwrap();
    }

    #[test]
    fn an_address_connects_at_a_rate() {
        let limits = ServerLimits { connects_per_second_max: 5, ..ServerLimits::default() };
        let admission = Admission::new(&limits);
        let from = Some(IpAddr::from([10, 0, 0, 1]));
        let count = (0..100).filter(|n| admission.arrive(*n, from, socket()).is_ok()).count();
        assert!((10..20).contains(&count), "{count}");
        admission.arrive(100, Some(IpAddr::from([10, 0, 0, 2])), socket()).unwrap();
    }
}
