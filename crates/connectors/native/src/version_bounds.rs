//! The version bounds of a file that is open: an extension of the native connector.

use model::{Error, Result};
use vol::{ExtensionValue, LibVersion};

const ALL: [LibVersion; 6] = [
    LibVersion::Earliest,
    LibVersion::V18,
    LibVersion::V110,
    LibVersion::V112,
    LibVersion::V114,
    LibVersion::V200,
];

/// Sets which generations' structures are written from now on, for all who have the file open
/// (`H5Fset_libver_bounds`): the extension `native.set_version_bounds`. What is in the file stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetVersionBounds {
    /// The oldest generation.
    pub low: LibVersion,
    /// The newest generation.
    pub high: LibVersion,
}

vol::extension! { SetVersionBounds = "native.set_version_bounds": Write, SetVersionBounds => () }

/// Both as their position among all generations.
impl ExtensionValue for SetVersionBounds {
    fn to_bytes(&self) -> Vec<u8> {
        vec![self.low as u8, self.high as u8]
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let generation = |number: u8| ALL.get(usize::from(number)).copied();
        let bounds = match *bytes {
            [low, high] => generation(low).zip(generation(high)),
            _ => None,
        };
        let bounds = bounds.filter(|(low, high)| low <= high);
        let (low, high) = bounds.ok_or_else(|| Error::invalid("decode version bounds"))?;
        Ok(SetVersionBounds { low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_come_back_from_bytes_unless_they_are_none() {
        for (n, low) in ALL.into_iter().enumerate() {
            for high in ALL.into_iter().skip(n) {
                let bounds = SetVersionBounds { low, high };
                assert_eq!(SetVersionBounds::from_bytes(&bounds.to_bytes()).unwrap(), bounds);
            }
        }
        for wrong in [&[][..], &[1], &[2, 1], &[0, 6], &[0, 1, 2]] {
            assert!(SetVersionBounds::from_bytes(wrong).is_err());
        }
    }
}
