//! Differences of two maps, counted.

use model::{Reference, Result, Token};
use vol::{Container, Pin};

use super::KEYS_PER_PAGE;
use super::values::flat;

/// How two maps differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MapDifferences {
    /// Keys or values are of different types: nothing else was compared.
    pub types: bool,
    /// Keys that only the first map has.
    pub only_first: u64,
    /// Keys that only the second map has.
    pub only_second: u64,
    /// Keys of both whose values differ.
    pub values: u64,
}

impl MapDifferences {
    /// Returns all differences of keys and values.
    pub fn count(&self) -> u64 {
        self.only_first + self.only_second + self.values
    }
}

/// Returns how two maps of any containers differ. `same` says whether two references, one of each container, lead to the same.
///
/// # Errors
/// Returns the error of a container that cannot read its map.
pub fn maps(
    (a, from): (&dyn Container, Token),
    (b, to): (&dyn Container, Token),
    same: &dyn Fn(&Reference, &Reference) -> Result<bool>,
) -> Result<MapDifferences> {
    let (first, second) = (a.map_info(from)?, b.map_info(to)?);
    let mut found = MapDifferences {
        types: first.key.memory_type() != second.key.memory_type()
            || first.value.memory_type() != second.value.memory_type(),
        ..MapDifferences::default()
    };
    if found.types {
        return Ok(found);
    }
    let _pins = (Pin::of(a, &first.value)?, Pin::of(b, &second.value)?);
    let mut shared = 0;
    crate::maps::each_page(a, from, KEYS_PER_PAGE, |keys| {
        for pair in a.map_get(from, keys)?.into_iter().zip(b.map_get(to, keys)?) {
            let (Some(one), Some(other)) = pair else {
                found.only_first += 1;
                continue;
            };
            shared += 1;
            let (one, other) = (flat(a, &first.value, &one)?, flat(b, &second.value, &other)?);
            found.values += u64::from(!one.is_same(&other, same)?);
        }
        Ok(())
    })?;
    found.only_second = second.count.saturating_sub(shared);
    Ok(found)
}
