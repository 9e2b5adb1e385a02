//! Identities: what an object is called in text, its token to users, and its token in the inner container.

use std::collections::HashMap;

use model::{Error, ObjectKind, Result, Token};
use vol::Container;

use crate::names::{from_hex, hex};
use crate::values::Objects;

/// Identities given out by us are UUIDs of the kind that everyone makes as they like, with a number at the end.
const OWN: &str = "00000000-0000-8000-8000-";

/// The objects of one container.
#[derive(Debug)]
pub struct Ids {
    /// Tokens of one container mean nothing to another: this is in all of them.
    salt: [u8; 8],
    by_token: HashMap<Token, KnownIds>,
    by_inner: HashMap<Token, Token>,
    number_next: u64,
    /// The identity of the next object that is created.
    expected: Option<String>,
}

#[derive(Debug)]
struct KnownIds {
    inner: Token,
    id: String,
}

/// Returns the word for a kind of objects, as in `datasets/ID`.
pub fn collection(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Group => "groups",
        ObjectKind::Dataset => "datasets",
        ObjectKind::Datatype => "datatypes",
        ObjectKind::Map => "maps",
    }
}

/// Returns sixteen bytes that the same text always gives (FNV-1a).
pub fn digest(text: &[u8]) -> [u8; 16] {
    const PRIME: u128 = 0x0000000001000000000000000000013B;
    let start = 0x6c62272e07bb014262b821756295c58d_u128;
    text.iter().fold(start, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME)).to_be_bytes()
}

/// Returns the bytes of a UUID; any other identity has some as well.
fn id_bytes(id: &str) -> [u8; 16] {
    let digits = id.replace('-', "");
    let uuid = from_hex(&digits).ok().filter(|_| id.len() == 36).and_then(|bytes| bytes.try_into().ok());
    uuid.unwrap_or_else(|| digest(id.as_bytes()))
}

/// Returns the bytes in the form of a UUID.
pub fn uuid(bytes: &[u8; 16]) -> String {
    let digits = hex(bytes);
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

impl Ids {
    /// Returns the identities of a container that is always called `place`.
    pub fn new(place: &str) -> Self {
        let mut salt = [0; 8];
        salt.copy_from_slice(&digest(place.as_bytes())[..8]);
        Ids { salt, by_token: HashMap::new(), by_inner: HashMap::new(), number_next: 1, expected: None }
    }

    /// Returns the token of an identity, whether there is such an object or not.
    pub fn token_from(&self, id: &str) -> Token {
        Token(self.salted(id_bytes(id)))
    }

    fn salted(&self, mut bytes: [u8; 16]) -> [u8; 16] {
        bytes.iter_mut().zip(self.salt).for_each(|(byte, salt)| *byte ^= salt);
        bytes
    }

    /// Returns a token as bytes that mean the same object wherever the container is: those of its identity.
    pub fn to_stored(&self, token: Token) -> [u8; 16] {
        self.salted(token.0)
    }

    /// Returns the token of [`Ids::to_stored`].
    pub fn of_stored(&self, bytes: [u8; 16]) -> Token {
        Token(self.salted(bytes))
    }

    /// Returns the number that the next object gets.
    pub fn number_next(&self) -> u64 {
        self.number_next
    }

    /// Skips the numbers below this one, which no object gets then.
    pub fn skip_to(&mut self, number: u64) {
        self.number_next = self.number_next.max(number);
    }

    /// Sets the identity of the next object that is created.
    pub fn expect(&mut self, id: &str) {
        self.expected = Some(id.to_owned());
    }

    /// Notes an object of a known identity.
    pub fn add(&mut self, id: &str, inner: Token) -> Result<Token> {
        let token = self.token_from(id);
        if self.by_token.contains_key(&token) {
            return Err(Error::corrupt("note object")
                .with("problem", "identity is used twice")
                .with("id", id));
        }
        if let Some(number) = id.strip_prefix(OWN).and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
            self.skip_to(number.saturating_add(1));
        }
        self.by_token.insert(token, KnownIds { inner, id: id.to_owned() });
        self.by_inner.insert(inner, token);
        Ok(token)
    }

    /// Returns the token of an object below, which gets an identity if it has none.
    pub fn token(&mut self, inner: Token) -> Token {
        if let Some(token) = self.by_inner.get(&inner) {
            return *token;
        }
        if let Some(token) = self.expected.take().and_then(|id| self.add(&id, inner).ok()) {
            return token;
        }
        loop {
            let id = format!("{OWN}{:012x}", self.number_next);
            // A text may claim that all numbers are used up: those that are not begin anew.
            self.number_next = self.number_next.checked_add(1).unwrap_or(1);
            if let Ok(token) = self.add(&id, inner) {
                return token;
            }
        }
    }

    /// Returns the token of an object below, where it is known.
    pub fn known(&self, inner: Token) -> Option<Token> {
        self.by_inner.get(&inner).copied()
    }

    /// Returns the inner object.
    pub fn inner(&self, token: Token) -> Result<Token> {
        let known = self.by_token.get(&token);
        known.map(|known| known.inner).ok_or_else(|| Error::not_found("find object").with("token", token))
    }

    /// Returns what an object is called in text.
    pub fn id(&self, token: Token) -> Result<&str> {
        let known = self.by_token.get(&token);
        known.map(|k| k.id.as_str()).ok_or_else(|| Error::not_found("name object").with("token", token))
    }

    /// Returns the object that an identity means.
    pub fn by_id(&self, id: &str) -> Result<Token> {
        let token = self.token_from(id);
        match self.by_token.contains_key(&token) {
            true => Ok(token),
            false => Err(Error::not_found("find object").with("id", id)),
        }
    }
}

/// Objects of a container by identity, in references and as committed datatypes.
pub(crate) struct ObjectNames<'a> {
    pub(crate) ids: &'a system::sync::RwLock<Ids>,
    pub(crate) container: &'a dyn Container,
}

impl Objects for ObjectNames<'_> {
    fn name_of(&self, token: Token) -> Result<String> {
        // What is gone is still called something, so that the reference says that it once pointed somewhere.
        let kind = self.container.object_info(token).map_or("objects", |info| collection(info.kind));
        let ids = self.ids.read();
        Ok(format!("{kind}/{}", ids.id(token)?))
    }

    fn token_of(&self, name: &str) -> Result<Token> {
        let id = name.rsplit_once('/').map_or(name, |(_, id)| id);
        let ids = self.ids.read();
        ids.by_id(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_give_the_same_tokens_in_one_place_and_others_elsewhere() {
        let (mut a, mut b) = (Ids::new("a.json"), Ids::new("b.json"));
        let (one, two) = (Token::from_u64(1), Token::from_u64(2));
        let first = a.token(one);
        assert_eq!(a.token(one), first);
        assert_eq!(a.id(first).unwrap(), "00000000-0000-8000-8000-000000000001");
        let other = b.token(one);
        assert_ne!(first, other);
        assert!(b.inner(first).is_err());
        let mut again = Ids::new("a.json");
        assert_eq!(again.add("00000000-0000-8000-8000-000000000001", two).unwrap(), first);
        assert!(again.add("00000000-0000-8000-8000-000000000001", one).is_err());
        assert_eq!(again.inner(first).unwrap(), two);
        assert_eq!(again.number_next(), 2);
    }

    #[test]
    fn numbers_begin_anew_after_the_last_one() {
        let mut ids = Ids::new("a.json");
        let first = ids.token(Token::from_u64(1));
        ids.skip_to(u64::MAX);
        let others = [2, 3, 4].map(|inner| ids.token(Token::from_u64(inner)));
        let different: std::collections::HashSet<Token> = others.into_iter().chain([first]).collect();
        assert_eq!(different.len(), 4);
    }
}
