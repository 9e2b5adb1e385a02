//! What differs between versions of the layout on the store: keys and values that are empty in the first one.

/// Where an object lies in its store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) version: u32,
    /// The dkey of a head and of what is next to it.
    pub(crate) here: &'static [u8],
    /// The akey of a block's cells.
    pub(crate) cells: &'static [u8],
}

/// The layout of older programs. It has an empty dkey, an empty akey and empty values, which not every store takes.
const FIRST: Layout = Layout { version: 1, here: &[], cells: &[] };
/// The layout of new containers.
pub(crate) const NEWEST: Layout = Layout { version: 2, here: &[0], cells: &[0] };
/// All that are known, the newest first.
pub(crate) const KNOWN: [Layout; 2] = [NEWEST, FIRST];

/// What stands for an empty value.
const EMPTY: &[u8] = b"\0empty";

impl Layout {
    /// Returns a pair's value as it is stored: one that begins like [`EMPTY`] has a byte more.
    pub(crate) fn stored_value(self, value: &[u8]) -> Vec<u8> {
        match self.version {
            2.. if value.is_empty() => EMPTY.to_vec(),
            2.. if value.starts_with(EMPTY) => [value, &[0]].concat(),
            _ => value.to_vec(),
        }
    }

    /// Returns a pair's value from how it is stored.
    pub(crate) fn value(self, mut stored: Vec<u8>) -> Vec<u8> {
        if self.version > 1 && stored == EMPTY {
            stored.clear();
        } else if self.version > 1 && stored.starts_with(EMPTY) {
            stored.pop();
        }
        stored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_none_is_stored_empty() {
        for value in [&[][..], &[0], EMPTY, b"\0empty\0", b"\0empt", b"\0empty value", &[1, 0]] {
            let stored = NEWEST.stored_value(value);
            assert!(!stored.is_empty());
            assert_eq!(NEWEST.value(stored), value);
            assert_eq!(FIRST.stored_value(value), value);
            assert_eq!(FIRST.value(value.to_vec()), value);
        }
    }
}
