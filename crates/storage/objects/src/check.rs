//! Checks that every engine makes before it changes anything.

use crate::{Change, Condition, Error, Fetch, Result, Update};

/// More than any key of ours, and what every engine takes.
pub(crate) const KEY_BYTES_MAX: usize = 32 << 10;

/// The type of an akey, from its first update on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One value.
    Single,
    /// Records of this size.
    Records(u32),
}

/// The state of a dkey before an update.
pub(crate) trait Before {
    /// Returns what the akey is, if it is there.
    fn shape(&self, akey: &[u8]) -> Result<Option<Shape>>;
    /// Returns whether the akey holds exactly this single value.
    fn equals(&self, akey: &[u8], value: &[u8]) -> Result<bool>;
}

/// Answers `Condition` or `TooLarge` where an update must not be done. Afterwards it can be applied without a check.
pub(crate) fn update(update: &Update<'_>, before: &dyn Before) -> Result<()> {
    key(update.dkey)?;
    for condition in update.conditions {
        holds(condition, before)?;
    }
    shapes(update.changes, before)
}

fn holds(condition: &Condition<'_>, before: &dyn Before) -> Result<()> {
    let (akey, holds, what) = match *condition {
        Condition::Present(akey) => (akey, before.shape(akey)?.is_some(), "is absent"),
        Condition::Absent(akey) => (akey, before.shape(akey)?.is_none(), "is there already"),
        Condition::Equals(akey, value) => (akey, before.equals(akey, value)?, "has another value"),
    };
    if holds { Ok(()) } else { Err(unmet(akey, what)) }
}

/// Returns the error of a condition that does not hold.
pub(crate) fn unmet(akey: &[u8], what: &str) -> Error {
    Error::Condition(format!("akey {} {what}", akey.escape_ascii()))
}

/// The shapes of akeys as the changes go on: a later one sees what an earlier one did.
fn shapes(changes: &[Change<'_>], before: &dyn Before) -> Result<()> {
    if let [change] = changes {
        key(change.akey())?;
        return after(change, before.shape(change.akey())?).map(drop);
    }
    let mut sorted: Vec<&Change<'_>> = changes.iter().collect();
    // It is stable: changes of one akey stay in their order.
    sorted.sort_by_key(|change| change.akey());
    for run in sorted.chunk_by(|a, b| a.akey() == b.akey()) {
        let Some(first) = run.first() else { continue };
        key(first.akey())?;
        let mut shape = before.shape(first.akey())?;
        for change in run {
            shape = after(change, shape)?;
        }
    }
    Ok(())
}

/// Returns the shape of an akey after a change.
fn after(change: &Change<'_>, current: Option<Shape>) -> Result<Option<Shape>> {
    let (akey, wanted) = wanted(change)?;
    Ok(match (change, current) {
        (Change::Punch(_), _) => None,
        (Change::PunchRecords { .. }, Some(Shape::Single)) => {
            return Err(unmet(akey, "holds a single value"));
        }
        (Change::PunchRecords { .. }, _) => current,
        (_, Some(current)) => Some(same(akey, current, wanted.unwrap_or(current))?),
        (_, None) => wanted,
    })
}

fn wanted<'a>(change: &Change<'a>) -> Result<(&'a [u8], Option<Shape>)> {
    Ok(match *change {
        Change::Single(akey, _) => (akey, Some(Shape::Single)),
        Change::Records { akey, record_size, start, bytes } => {
            count(record_size, start, bytes.len())?;
            (akey, (!bytes.is_empty()).then_some(Shape::Records(record_size)))
        }
        Change::PunchRecords { akey, .. } | Change::Punch(akey) => (akey, None),
    })
}

/// Answers `Condition` where an akey is not what it is taken for.
pub(crate) fn same(akey: &[u8], current: Shape, wanted: Shape) -> Result<Shape> {
    if current == wanted {
        return Ok(current);
    }
    Err(match current {
        Shape::Single => unmet(akey, "holds a single value"),
        Shape::Records(size) => unmet(akey, &format!("holds records of {size} bytes")),
    })
}

fn key(key: &[u8]) -> Result<()> {
    if key.len() <= KEY_BYTES_MAX {
        return Ok(());
    }
    Err(Error::TooLarge(format!("a key of {} bytes: at most {KEY_BYTES_MAX} are taken", key.len())))
}

/// Returns the number of records in a buffer.
pub(crate) fn count(record_size: u32, start: u64, bytes: usize) -> Result<u64> {
    let (size, bytes) = (u64::from(record_size), bytes as u64);
    if size == 0 || bytes % size != 0 {
        return Err(Error::Condition(format!("{bytes} bytes are no whole records of {size} bytes")));
    }
    let end = start.checked_add(bytes / size).and_then(|end| end.checked_mul(size));
    end.ok_or_else(|| Error::TooLarge(format!("records from {start} on end beyond 2^64 bytes")))?;
    Ok(bytes / size)
}

/// Returns the number of records that a fetch asks for.
pub(crate) fn fetch(fetch: &Fetch<'_>) -> Result<u64> {
    count(fetch.record_size, fetch.start, fetch.into.len())
}
