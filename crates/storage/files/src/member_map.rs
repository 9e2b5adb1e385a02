//! Which file of several holds which kind of bytes, and at which addresses.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The identification of this map in the driver information of a file.
pub(crate) const ID: [u8; 8] = *b"NCSAmult";

/// The largest address.
const ADDRESS_MAX: u64 = u64::MAX - 1;

/// One file of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MappedMember {
    /// Address of its first byte.
    pub(crate) start: u64,
    /// Bytes that are allocated in it.
    pub(crate) allocated: u64,
    /// Its name: `%s` stands for the path.
    pub(crate) template: String,
}

/// Which member holds which kind of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemberMap {
    /// For each kind, the number of the kind whose member holds it.
    map: [u8; 6],
    /// Distinct members, in the order of their first use.
    pub(crate) members: Vec<MappedMember>,
}

impl MemberMap {
    /// Metadata and raw data: libhdf5's split driver.
    pub(crate) fn split(metadata: &str, raw: &str) -> io::Result<MemberMap> {
        if metadata == raw {
            return Err(invalid("metadata and raw data need different files"));
        }
        let member = |start, suffix: &str| MappedMember { start, allocated: 0, template: template(suffix) };
        let members = vec![member(0, metadata), member(ADDRESS_MAX / 2, raw)];
        Ok(MemberMap { map: [1, 1, 3, 3, 1, 1], members })
    }

    /// One member for each kind: the default of libhdf5's multi driver.
    pub(crate) fn multi() -> MemberMap {
        let member = |(number, letter): (u64, char)| MappedMember {
            start: number * (ADDRESS_MAX / 6),
            allocated: 0,
            template: template(&format!("-{letter}.h5")),
        };
        MemberMap { map: [1, 2, 3, 4, 5, 6], members: (0..).zip("sbrglo".chars()).map(member).collect() }
    }

    /// Kinds in the order of their members.
    fn distinct(map: &[u8; 6]) -> Vec<u8> {
        let mut distinct: Vec<u8> = Vec::new();
        for &kind in map {
            if !distinct.contains(&kind) {
                distinct.push(kind);
            }
        }
        distinct
    }

    /// Returns the path of each member.
    pub(crate) fn paths(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        self.members.iter().map(|member| named(&member.template, path))
    }

    /// Decodes the driver information of a file.
    pub(crate) fn decode(data: &[u8]) -> io::Result<MemberMap> {
        let corrupt =
            || io::Error::new(io::ErrorKind::InvalidData, "the member map of a multi file is cut short");
        let (head, rest) = data.split_first_chunk::<8>().ok_or_else(corrupt)?;
        let map: [u8; 6] = [head[0], head[1], head[2], head[3], head[4], head[5]];
        let count = Self::distinct(&map).len();
        let (addresses, mut names) = rest.split_at_checked(16 * count).ok_or_else(corrupt)?;
        let mut members = Vec::with_capacity(count);
        for pair in addresses.chunks_exact(16) {
            let number = |at: usize| pair[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
            let end = names.iter().position(|byte| *byte == 0).ok_or_else(corrupt)?;
            let template = String::from_utf8_lossy(&names[..end]).into_owned();
            names = names.get((end + 1).next_multiple_of(8)..).unwrap_or_default();
            members.push(MappedMember { start: number(0), allocated: number(8), template });
        }
        Ok(MemberMap { map, members })
    }

    /// Encodes the driver information of a file.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut data = self.map.to_vec();
        data.extend([0; 2]);
        for member in &self.members {
            data.extend(member.start.to_le_bytes());
            data.extend(member.allocated.to_le_bytes());
        }
        for member in &self.members {
            data.extend(member.template.as_bytes());
            data.resize((data.len() + 1).next_multiple_of(8), 0);
        }
        data
    }
}

fn template(suffix: &str) -> String {
    if suffix.contains("%s") { suffix.to_owned() } else { format!("%s{suffix}") }
}

/// The name that a template makes of a path. A template without `%s` is the name itself, as in libhdf5.
fn named(template: &str, path: &Path) -> PathBuf {
    let Some((before, after)) = template.split_once("%s") else { return PathBuf::from(template) };
    let mut name = OsString::from(before);
    name.push(path);
    name.push(after);
    PathBuf::from(name)
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_come_back_from_their_bytes() {
        for map in [MemberMap::multi(), MemberMap::split("-m.h5", "-raw.hdf5").unwrap()] {
            assert_eq!(MemberMap::decode(&map.encode()).unwrap(), map);
            let bytes = map.encode();
            for len in 0..8 + 16 * map.members.len() {
                assert!(MemberMap::decode(&bytes[..len]).is_err());
            }
        }
    }

    #[test]
    fn members_are_named_after_the_path() {
        let split = MemberMap::split("-m", "-r").unwrap();
        let paths: Vec<_> = split.paths(Path::new("a/b")).collect();
        assert_eq!(paths, [Path::new("a/b-m"), Path::new("a/b-r")]);
        assert!(MemberMap::split("-m", "-m").is_err());
    }
}
