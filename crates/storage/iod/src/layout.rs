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

impl Layout {
    /// Returns a pair's value as it is stored: zeros, of which there may be none, have one more.
    pub(crate) fn stored_value(self, value: &[u8]) -> Vec<u8> {
        let mut stored = value.to_vec();
        if self.version > 1 && value.iter().all(|byte| *byte == 0) {
            stored.push(0);
        }
        stored
    }

    /// Returns the inverse of [`Layout::stored_value`].
    pub(crate) fn value(self, mut stored: Vec<u8>) -> Vec<u8> {
        if self.version > 1 && stored.iter().all(|byte| *byte == 0) {
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
        for value in [&[][..], &[0], &[0, 0], &[0, 1], &[1, 0]] {
            let stored = NEWEST.stored_value(value);
            assert!(!stored.is_empty());
            assert_eq!(NEWEST.value(stored), value);
            assert_eq!(FIRST.stored_value(value), value);
            assert_eq!(FIRST.value(value.to_vec()), value);
        }
    }
}
