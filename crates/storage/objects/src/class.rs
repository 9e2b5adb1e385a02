//! Object classes of DAOS: how objects are spread and protected. The class of an object stands in its ID.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// A class, as the upper 32 bits of an object's ID have it since DAOS 2.0: 8 bits for the type of its keys, 8 for the
/// redundancy, 16 for the number of redundancy groups. Its text is DAOS's name of the class: `S1`, `SX`, `RP_2G1`,
/// `EC_4P2GX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectClass {
    redundancy: u8,
    groups: u16,
}

/// The type of objects whose dkeys and akeys are lexical (`DAOS_OT_MULTI_LEXICAL`).
const LEXICAL: u8 = 7;
/// As many groups as the pool has targets.
const GROUPS_MAX: u16 = u16::MAX;
/// The redundancy of a class without any (`OR_RP_1`).
const SINGLE: u8 = 1;
/// Numbers of replicas, and the redundancy of each (`OR_RP_2` and so on).
const REPLICAS: [(u16, u8); 13] = [
    (2, 8),
    (3, 9),
    (4, 10),
    (5, 11),
    (6, 12),
    (8, 13),
    (12, 14),
    (16, 15),
    (24, 16),
    (32, 17),
    (48, 18),
    (64, 19),
    (128, 20),
];
/// Cells of data and of parity, and the redundancy of each pair (`OR_RS_2P1` and so on).
const ERASURE_CODES: [(u16, u16, u8); 8] =
    [(2, 1, 32), (2, 2, 33), (4, 1, 34), (4, 2, 35), (8, 1, 36), (8, 2, 37), (16, 1, 38), (16, 2, 39)];

impl ObjectClass {
    /// Returns the upper 32 bits of the IDs of objects of this class.
    #[must_use]
    pub fn to_bits(self) -> u32 {
        u32::from(LEXICAL) << 24 | u32::from(self.redundancy) << 16 | u32::from(self.groups)
    }

    /// Returns the class that the upper 32 bits of an ID stand for; `None` if they stand for none.
    #[must_use]
    pub fn from_bits(bits: u32) -> Option<ObjectClass> {
        let [kind, redundancy, high, low] = bits.to_be_bytes();
        let class = ObjectClass { redundancy, groups: u16::from_be_bytes([high, low]) };
        (kind == LEXICAL && class.groups > 0 && class.prefix().is_some()).then_some(class)
    }

    /// Returns the name up to the number of groups.
    fn prefix(self) -> Option<String> {
        if self.redundancy == SINGLE {
            return Some("S".into());
        }
        let replicas = REPLICAS.iter().find(|(_, redundancy)| *redundancy == self.redundancy);
        let codes = ERASURE_CODES.iter().find(|(.., redundancy)| *redundancy == self.redundancy);
        let replicas = replicas.map(|(count, _)| format!("RP_{count}G"));
        replicas.or_else(|| codes.map(|(data, parity, _)| format!("EC_{data}P{parity}G")))
    }

    /// Returns all classes with one redundancy group.
    fn with_one_group() -> impl Iterator<Item = ObjectClass> {
        let replicated = REPLICAS.iter().map(|(_, redundancy)| *redundancy);
        let coded = ERASURE_CODES.iter().map(|(.., redundancy)| *redundancy);
        let all = [SINGLE].into_iter().chain(replicated).chain(coded);
        all.map(|redundancy| ObjectClass { redundancy, groups: 1 })
    }
}

impl fmt::Display for ObjectClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.prefix().unwrap_or_default())?;
        match self.groups {
            GROUPS_MAX => f.write_str("X"),
            groups => write!(f, "{groups}"),
        }
    }
}

/// Returns the number of groups at the end of a name: digits, or `X`.
fn groups_of(text: &str) -> Option<u16> {
    match text {
        "X" => Some(GROUPS_MAX),
        digits if digits.starts_with(|c: char| c.is_ascii_digit()) => {
            digits.parse().ok().filter(|groups| *groups > 0 && *groups < GROUPS_MAX)
        }
        _ => None,
    }
}

impl FromStr for ObjectClass {
    type Err = Error;

    fn from_str(name: &str) -> Result<ObjectClass, Error> {
        let fits = |class: ObjectClass| {
            let groups = groups_of(name.strip_prefix(class.prefix()?.as_str())?)?;
            Some(ObjectClass { groups, ..class })
        };
        let unknown = || {
            Error::NotFound(format!(
                "there is no object class {name:?}; known are S1, SX, RP_2G1, EC_4P2GX and so on"
            ))
        };
        ObjectClass::with_one_group().find_map(fits).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bits_as_daos_has_them() {
        for (name, bits) in [
            ("S1", 0x0701_0001),
            ("SX", 0x0701_ffff),
            ("RP_2G1", 0x0708_0001),
            ("RP_3GX", 0x0709_ffff),
            ("RP_12G1", 0x070e_0001),
            ("EC_2P1G1", 0x0720_0001),
            ("EC_4P2GX", 0x0723_ffff),
            ("EC_16P2G32", 0x0727_0020),
        ] {
            let class: ObjectClass = name.parse().unwrap();
            assert_eq!(class.to_bits(), bits, "{name}");
            assert_eq!(ObjectClass::from_bits(bits), Some(class));
            assert_eq!(class.to_string(), name);
        }
    }

    #[test]
    fn other_names_and_bits_are_no_class() {
        for name in ["", "S", "S0", "S+1", "SY", "RP_2", "RP_7G1", "EC_3P1G1", "EC_4P2", "S65535", "s1"] {
            assert!(name.parse::<ObjectClass>().is_err(), "{name}");
        }
        for bits in [0, 1, 0x0001_0001, 0x0701_0000, 0x0702_0001, 0xeeee_eeee] {
            assert_eq!(ObjectClass::from_bits(bits), None, "{bits:#x}");
        }
    }
}
