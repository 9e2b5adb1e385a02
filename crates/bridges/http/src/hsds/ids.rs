//! Identifiers of objects: `g-`, `d-` or `t-` and 32 digits.
//!
//! An identifier is the token of the object under a permutation whose key only this process knows, and which differs
//! between domains. So it says nothing about the file, the same object always has the same one, and one that a client
//! made up leads to no token that an object has. h5pyd brings identifiers of its own for objects that it creates; a table
//! keeps what they stand for.

use std::collections::{HashMap, VecDeque};
use std::hash::Hasher;
use std::sync::Arc;
use std::time::Duration;

use hyperslab::vol::model::{ObjectKind, Token};
use hyperslab::{Error, ObjectHandle, Result};
use system::clock::Instant;
use system::sync::Mutex;

/// Rounds of the permutation: four make it look random whichever tokens a client can choose.
const ROUNDS: u8 = 4;
/// Identifiers of clients' own that are kept for one domain.
const BROUGHT_MAX: usize = 1 << 16;
/// Domains for which such identifiers are kept.
const DOMAINS_MAX: usize = 256;
/// An object without a link lives for this long: clients create objects first, and link them with the next request.
const UNLINKED_TIME_MAX: Duration = Duration::from_secs(60);

/// Returns the letter that identifiers of a kind begin with.
pub(crate) fn letter(kind: ObjectKind) -> char {
    match kind {
        ObjectKind::Group => 'g',
        ObjectKind::Dataset => 'd',
        ObjectKind::Datatype => 't',
        // HSDS has no maps. The letter keeps them apart.
        ObjectKind::Map => 'm',
    }
}

/// Returns the word for a kind of objects in paths.
pub(crate) fn collection(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Group => "groups",
        ObjectKind::Dataset => "datasets",
        ObjectKind::Datatype => "datatypes",
        ObjectKind::Map => "maps",
    }
}

/// Returns the kind that an identifier says, and its number, if it has the form of one.
pub(crate) fn parse(id: &str) -> Option<(ObjectKind, u128)> {
    let kind = match id.as_bytes().first()? {
        b'g' => ObjectKind::Group,
        b'd' => ObjectKind::Dataset,
        b't' => ObjectKind::Datatype,
        _ => return None,
    };
    let digits: String = id.get(1..)?.chars().filter(|&c| c != '-').collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    (format(kind, number) == id).then_some((kind, number))
}

fn format(kind: ObjectKind, number: u128) -> String {
    let digits = format!("{number:032x}");
    let parts = [&digits[..8], &digits[8..16], &digits[16..20], &digits[20..26], &digits[26..]];
    format!("{}-{}", letter(kind), parts.join("-"))
}

/// The identifiers of all domains.
#[derive(Debug)]
pub(crate) struct IdentifierTable {
    secret: [u8; 32],
    domains: Mutex<VecDeque<(String, Arc<DomainIdentifiers>)>>,
}

impl IdentifierTable {
    pub(crate) fn new() -> Result<Self> {
        let mut secret = [0; 32];
        system::random::fill(&mut secret).map_err(|e| Error::io("create identifiers", &e))?;
        Ok(IdentifierTable { secret, domains: Mutex::default() })
    }

    /// Returns the identifiers of the container at a location.
    pub(crate) fn domain(&self, location: &str) -> Arc<DomainIdentifiers> {
        let mut domains = self.domains.lock();
        if let Some(at) = domains.iter().position(|(known, _)| known == location)
            && let Some(found) = domains.remove(at)
        {
            domains.push_front(found.clone());
            return found.1;
        }
        let made = Arc::new(DomainIdentifiers::new(&self.secret, location));
        domains.push_front((location.to_owned(), made.clone()));
        domains.truncate(DOMAINS_MAX);
        made
    }

    /// Forgets what clients brought for a container that is removed.
    pub(crate) fn forget(&self, location: &str) {
        self.domains.lock().retain(|(known, _)| known != location);
    }

    /// Lets go of objects that no one linked in time.
    pub(crate) fn release_unlinked(&self) {
        let domains: Vec<_> = self.domains.lock().iter().map(|(_, domain)| domain.clone()).collect();
        domains.iter().for_each(|domain| domain.release_unlinked());
    }
}

/// The identifiers of the objects of one domain.
#[derive(Debug)]
pub(crate) struct DomainIdentifiers {
    key: [u8; 40],
    brought: Mutex<Brought>,
}

/// Identifiers that clients brought.
#[derive(Debug, Default)]
struct Brought {
    tokens: HashMap<u128, Token>,
    order: VecDeque<u128>,
    /// Objects that have no link yet, and since when.
    unlinked: Vec<(Instant, ObjectHandle)>,
}

impl DomainIdentifiers {
    fn new(secret: &[u8; 32], location: &str) -> Self {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write(secret);
        hasher.write(location.as_bytes());
        let mut key = [0; 40];
        key[..32].copy_from_slice(secret);
        key[32..].copy_from_slice(&hasher.finish().to_le_bytes());
        DomainIdentifiers { key, brought: Mutex::default() }
    }

    /// Returns the identifier of the root group. Its second half follows from the first, as HSDS has it.
    pub(crate) fn root(&self) -> String {
        format(ObjectKind::Group, self.root_number())
    }

    fn root_number(&self) -> u128 {
        let prefix = u128::from(self.round(ROUNDS, 0));
        // Each digit is turned by eight: its highest bit changes.
        (prefix << 64) | (prefix ^ 0x8888_8888_8888_8888)
    }

    /// Returns the identifier of an object that is not the root group.
    pub(crate) fn id(&self, kind: ObjectKind, token: Token) -> String {
        format(kind, self.permute(u128::from_be_bytes(token.0)))
    }

    /// Returns the token that a number stands for: `None` is the root group. Whether there is such an object is not known yet.
    pub(crate) fn token(&self, number: u128) -> Option<Token> {
        if number == self.root_number() {
            return None;
        }
        let brought = self.brought.lock().tokens.get(&number).copied();
        Some(brought.unwrap_or_else(|| Token(self.undo(number).to_be_bytes())))
    }

    /// Remembers the identifier that a client brought for an object that it created, and keeps the object until it is linked.
    pub(crate) fn bring(&self, number: u128, object: ObjectHandle) {
        let mut brought = self.brought.lock();
        let token = object.object().token();
        if brought.tokens.insert(number, token).is_none() {
            brought.order.push_back(number);
        }
        if brought.order.len() > BROUGHT_MAX
            && let Some(oldest) = brought.order.pop_front()
        {
            brought.tokens.remove(&oldest);
        }
        brought.unlinked.push((Instant::now(), object));
    }

    /// Keeps an object that has no link yet.
    pub(crate) fn keep(&self, object: ObjectHandle) {
        self.brought.lock().unlinked.push((Instant::now(), object));
    }

    /// Returns whether a client brought this identifier.
    pub(crate) fn is_brought(&self, number: u128) -> bool {
        self.brought.lock().tokens.contains_key(&number)
    }

    /// Lets go of objects that have a link now, or were removed.
    pub(crate) fn release(&self, token: Token) {
        let mut brought = self.brought.lock();
        let released: Vec<_> =
            brought.unlinked.extract_if(.., |(_, object)| object.object().token() == token).collect();
        drop(brought);
        // An object that is let go of may be removed, which takes a while.
        drop(released);
    }

    fn release_unlinked(&self) {
        let is_late = |(since, _): &mut (Instant, ObjectHandle)| since.elapsed() > UNLINKED_TIME_MAX;
        let late: Vec<_> = self.brought.lock().unlinked.extract_if(.., is_late).collect();
        drop(late);
    }

    fn permute(&self, number: u128) -> u128 {
        let (mut left, mut right) = ((number >> 64) as u64, number as u64);
        for n in 0..ROUNDS {
            (left, right) = (right, left ^ self.round(n, right));
        }
        (u128::from(left) << 64) | u128::from(right)
    }

    fn undo(&self, number: u128) -> u128 {
        let (mut left, mut right) = ((number >> 64) as u64, number as u64);
        for n in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.round(n, left), left);
        }
        (u128::from(left) << 64) | u128::from(right)
    }

    fn round(&self, n: u8, half: u64) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write(&self.key);
        hasher.write_u8(n);
        hasher.write_u64(half);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_lead_back_to_their_tokens() {
        let table = IdentifierTable::new().unwrap();
        let (a, b) = (table.domain("a.h5"), table.domain("b.h5"));
        for n in [1, 96, u64::MAX] {
            let token = Token::from_u64(n);
            let id = a.id(ObjectKind::Dataset, token);
            let (kind, number) = parse(&id).unwrap();
            assert_eq!((kind, a.token(number)), (ObjectKind::Dataset, Some(token)));
            assert_ne!(b.token(number), Some(token), "an identifier of another domain");
        }
        let (_, root) = parse(&a.root()).unwrap();
        assert_eq!(a.token(root), None);
        assert_ne!(a.root(), b.root());
    }

    #[test]
    fn other_texts_are_no_identifiers() {
        for text in [
            "",
            "g",
            "g-",
            "x-00000000-00000000-0000-000000-000000",
            "g-0",
            "é-0",
            "g-00000000-00000000-0000-000000-00000G",
            "g-+0000000-00000000-0000-000000-000000",
            "g-00000000-0000-0000-0000-000000000000",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
