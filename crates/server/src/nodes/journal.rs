//! Intents of operations, in a container of their own next to the one that is served.
//!
//! It has one map. A key is the session, the number of the operation, and the number of a part; all integers are big-endian, so
//! that those of a session stand together and in order. A value has [`PART_BYTES`]: the length of the intent, and as much of it
//! as fits; what is longer goes on in the next part.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use model::datatype::Opaque;
use model::properties::{FileCreate, ObjectCreate};
use model::{Datatype, Error, Kind, LinkTarget, Result, Token};
use protocol::{Id, wire};
use system::clock::Instant;
use vol::{Container, Durability, FileAccess, LinkLocation, OpMapCreate, Registry};

use super::Intent;

/// Bytes of a value: most intents need one.
const PART_BYTES: usize = 256;
const LENGTH_BYTES: usize = 4;
const KEY_BYTES: usize = 25;
/// Keys of one listing.
const PAGE: u64 = 256;
/// The name of the map.
const MAP: &str = "intents";
/// Another server that creates the journal is waited for.
const CREATION_PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// The journal of a container.
#[derive(Debug)]
pub(crate) struct Journal {
    container: Arc<dyn Container>,
    map: Token,
}

fn key(session: Id, number: u64, part: u8) -> [u8; KEY_BYTES] {
    let mut key = [part; KEY_BYTES];
    key[..16].copy_from_slice(&session.0);
    key[16..24].copy_from_slice(&number.to_be_bytes());
    key
}

/// Returns the number and the part of a key, if it is one of the session.
fn key_of(session: Id, key: &[u8]) -> Option<(u64, u8)> {
    let (number, part) = key.strip_prefix(&session.0)?.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*number), *part.first()?))
}

/// Returns the parts of an intent.
fn parts(intent: &[u8]) -> Vec<[u8; PART_BYTES]> {
    let length = (intent.len() as u32).to_le_bytes();
    let part = |bytes: &[u8]| {
        let mut part = [0; PART_BYTES];
        part[..LENGTH_BYTES].copy_from_slice(&length);
        part[LENGTH_BYTES..][..bytes.len()].copy_from_slice(bytes);
        part
    };
    intent.chunks(PART_BYTES - LENGTH_BYTES).map(part).collect()
}

/// Returns the intent of parts, or `None` if one is missing: then its operation did not begin.
fn whole(parts: &BTreeMap<u8, Vec<u8>>) -> Result<Option<Intent>> {
    let length = parts.get(&0).and_then(|part| part.first_chunk()).map(|n| u32::from_le_bytes(*n) as usize);
    let mut bytes: Vec<u8> = Vec::new();
    for (number, (part, value)) in parts.iter().enumerate() {
        if number != usize::from(*part) {
            return Ok(None);
        }
        bytes.extend(value.get(LENGTH_BYTES..).unwrap_or_default());
    }
    let intent = length.and_then(|length| bytes.get(..length));
    intent.map(wire::from_bytes).transpose()
}

impl Journal {
    /// Opens the journal at a location, or creates it.
    pub(crate) fn open(registry: &Registry, location: &str) -> Result<Self> {
        let since = Instant::now();
        loop {
            match Self::try_open(registry, location) {
                Ok(journal) => return Ok(journal),
                // Another server creates it.
                Err(error) if is_other(&error) && since.elapsed() < CREATION_PATIENCE => {
                    system::thread::sleep(PAUSE);
                }
                Err(error) => return Err(error.during("open journal of sessions")),
            }
        }
    }

    fn try_open(registry: &Registry, location: &str) -> Result<Self> {
        let access = FileAccess::write();
        let container = match registry.open(location, &access) {
            Err(error) if error.kind() == Kind::NotFound => {
                registry.create(location, &FileCreate::default(), &access, false)?
            }
            opened => opened?,
        };
        container.commit(Durability::Full)?;
        let root = container.info()?.root;
        let map = match container.link_get(root, MAP)?.map(|link| link.target) {
            Some(LinkTarget::Hard(map)) => map,
            _ => create_map(&*container, root)?,
        };
        Ok(Journal { container, map })
    }

    /// Removes the journal at a location. One that a session still has stays: no other session finds anything in it.
    pub(crate) fn delete(registry: &Registry, location: &str) -> Result<()> {
        match registry.delete(location, &FileAccess::read()) {
            Err(error) if !matches!(error.kind(), Kind::NotFound | Kind::Busy) => Err(error),
            _ => Ok(()),
        }
    }

    /// Stores the intent of an operation, and removes those of others.
    pub(crate) fn note(&self, session: Id, number: u64, intent: &Intent, done: &[u64]) -> Result<()> {
        let parts = parts(&wire::to_bytes(intent)?);
        if parts.len() > usize::from(u8::MAX) {
            return Err(Error::limit("note operation").with("parts", parts.len()));
        }
        let keys: Vec<_> = (0..).zip(&parts).map(|(part, _)| key(session, number, part)).collect();
        let pairs: Vec<(&[u8], &[u8])> =
            keys.iter().zip(&parts).map(|(key, part)| (&key[..], &part[..])).collect();
        self.container.map_put(self.map, &pairs)?;
        self.remove(session, done)?;
        self.container.commit(Durability::Full)
    }

    /// Removes the intents of operations.
    pub(crate) fn forget(&self, session: Id, done: &[u64]) -> Result<()> {
        match done {
            [] => Ok(()),
            done => {
                self.remove(session, done)?;
                self.container.commit(Durability::Full)
            }
        }
    }

    fn remove(&self, session: Id, done: &[u64]) -> Result<()> {
        for number in done {
            // Parts have no gaps.
            for part in 0..=u8::MAX {
                if !self.container.map_delete(self.map, &key(session, *number, part))? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the intents of a session, by the numbers of its operations.
    pub(crate) fn load(&self, session: Id) -> Result<BTreeMap<u64, Intent>> {
        let mut found: BTreeMap<u64, BTreeMap<u8, Vec<u8>>> = BTreeMap::new();
        let mut last = key(session, 0, 0).to_vec();
        loop {
            let page = self.container.map_keys(self.map, Some(&last), PAGE)?;
            let ours: Vec<&Vec<u8>> =
                page.entries.iter().take_while(|key| key_of(session, key).is_some()).collect();
            let keys: Vec<&[u8]> = ours.iter().map(|key| key.as_slice()).collect();
            for (key, value) in keys.iter().zip(self.container.map_get(self.map, &keys)?) {
                if let (Some((number, part)), Some(value)) = (key_of(session, key), value) {
                    found.entry(number).or_default().insert(part, value);
                }
            }
            let goes_on = page.more && ours.len() == page.entries.len();
            match ours.last().filter(|_| goes_on) {
                Some(key) => last.clone_from(*key),
                None => break,
            }
        }
        let intents = found.iter().map(|(number, parts)| Ok(whole(parts)?.map(|intent| (*number, intent))));
        intents.filter_map(Result::transpose).collect()
    }
}

/// Returns whether another server creates the journal at the moment.
fn is_other(error: &Error) -> bool {
    matches!(error.kind(), Kind::Exists | Kind::Corrupt | Kind::Busy | Kind::NotFound)
}

fn create_map(container: &dyn Container, root: Token) -> Result<Token> {
    let opaque = |size, tag: &str| Datatype::Opaque(Opaque { size, tag: tag.into() });
    let map = container.map_create(&OpMapCreate {
        place: Some(LinkLocation::new(root, MAP)),
        key: opaque(KEY_BYTES as u32, "operation"),
        value: opaque(PART_BYTES as u32, "intent"),
        create: ObjectCreate::default(),
    })?;
    container.commit(Durability::Full).map(|()| map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intent_comes_back_from_its_parts_and_not_from_some_of_them() {
        let id = Id([7; 16]);
        let name = "long ".repeat(100);
        let intent = Intent::NewAttribute { object: Token([1; 16]), name, datatype: None };
        let parts = parts(&wire::to_bytes(&intent).unwrap());
        assert!(parts.len() > 2);
        let mut all: BTreeMap<u8, Vec<u8>> = (0..).zip(parts.iter().map(|part| part.to_vec())).collect();
        assert_eq!(whole(&all).unwrap(), Some(intent));
        all.remove(&1);
        assert_eq!(whole(&all).unwrap(), None);
        assert_eq!(key_of(id, &key(id, 300, 2)), Some((300, 2)));
        assert_eq!(key_of(Id([8; 16]), &key(id, 300, 2)), None);
    }
}
