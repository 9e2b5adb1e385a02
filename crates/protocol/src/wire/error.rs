//! Errors: the chain of causes as a list, outermost first.

use model::{Error, Kind, Result};

use super::plain::{put_count, put_text};
use super::{DEPTH_MAX, Reader, Wire};

const KINDS: [(u8, Kind); 11] = [
    (1, Kind::Corrupt),
    (2, Kind::Limit),
    (3, Kind::Unsupported),
    (4, Kind::NotFound),
    (5, Kind::Exists),
    (6, Kind::Invalid),
    (7, Kind::Io),
    (8, Kind::Denied),
    (9, Kind::Conversion),
    (10, Kind::Busy),
    (11, Kind::Cancelled),
];

impl Wire for Kind {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        let known = KINDS.iter().find(|(_, kind)| kind == self);
        known.map_or(0, |(tag, _)| *tag).put(out)
    }

    /// Returns the kind with this number. A number that this side does not know is an I/O error.
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let tag = from.u8()?;
        Ok(KINDS.iter().find(|(known, _)| *known == tag).map_or(Kind::Io, |(_, kind)| *kind))
    }
}

/// Returns the error, then what caused it, and so on.
fn chain(error: &Error) -> impl Iterator<Item = &Error> {
    std::iter::successors(Some(error), |error| error.cause()).take(DEPTH_MAX as usize)
}

impl Wire for Error {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        put_count(chain(self).count(), out)?;
        for error in chain(self) {
            error.kind().put(out)?;
            put_text(error.operation(), out)?;
            error.address().put(out)?;
            put_count(error.facts().len(), out)?;
            for (key, value) in error.facts() {
                put_text(key, out)?;
                put_text(value, out)?;
            }
        }
        Ok(())
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let count = from.count(1)?;
        if count == 0 || count > DEPTH_MAX as usize {
            return Err(from.corrupt("causes of an error").with("count", count));
        }
        let mut links = Vec::with_capacity(count);
        for _ in 0..count {
            links.push(link(from)?);
        }
        let joined = links.into_iter().rev().reduce(|cause, error| error.because(cause));
        joined.ok_or_else(|| from.corrupt("an error without content"))
    }
}

/// Returns one error without its cause.
fn link(from: &mut Reader<'_>) -> Result<Error> {
    let kind = Kind::get(from)?;
    let mut error = Error::new(kind, from.text()?);
    if let Some(address) = Option::get(from)? {
        error = error.at(address);
    }
    for _ in 0..from.count(8)? {
        error = error.with_fact(String::get(from)?, String::get(from)?);
    }
    Ok(error)
}
