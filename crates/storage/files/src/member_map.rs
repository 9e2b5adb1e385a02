//! The map from kinds of bytes to the files and addresses that hold them.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::{MemberRanges, MemberStart};

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
    /// For each kind, the number of the kind whose member holds it. Kinds count from 1; 0 means a member of its own.
    map: [u8; 6],
    /// Distinct members, in the order of their first use.
    pub(crate) members: Vec<MappedMember>,
}

impl MemberMap {
    /// Returns the map of libhdf5's split driver: one member for metadata, and one for raw data.
    pub(crate) fn split(metadata: &str, raw: &str) -> io::Result<MemberMap> {
        if metadata == raw {
            return Err(invalid("metadata and raw data need different files"));
        }
        let member = |start, suffix: &str| MappedMember { start, allocated: 0, template: template(suffix) };
        let members = vec![member(0, metadata), member(ADDRESS_MAX / 2, raw)];
        Ok(MemberMap { map: [1, 1, 3, 3, 1, 1], members })
    }

    /// Returns one member for each kind: the default of libhdf5's multi driver.
    pub(crate) fn multi() -> MemberMap {
        let member = |(number, letter): (u64, char)| MappedMember {
            start: number * (ADDRESS_MAX / 6),
            allocated: 0,
            template: template(&format!("-{letter}.h5")),
        };
        MemberMap { map: [0; 6], members: (0..).zip("sbrglo".chars()).map(member).collect() }
    }

    /// Returns the same map with another first address of raw data.
    pub(crate) fn with_raw_start(mut self, start: u64) -> MemberMap {
        if let Some(raw) = self.members.get_mut(1) {
            raw.start = start;
        }
        self
    }

    /// Returns the number of the member for each kind, and how many members there are.
    fn by_kind(map: &[u8; 6]) -> ([usize; 6], usize) {
        let mut distinct: Vec<u8> = Vec::new();
        let by_kind = std::array::from_fn(|index| {
            let kind = if map[index] == 0 { index as u8 + 1 } else { map[index] };
            distinct.iter().position(|known| *known == kind).unwrap_or_else(|| {
                distinct.push(kind);
                distinct.len() - 1
            })
        });
        (by_kind, distinct.len())
    }

    /// Returns the addresses of the members.
    ///
    /// # Errors
    /// Returns `InvalidData` if they overlap.
    pub(crate) fn ranges(&self) -> io::Result<MemberRanges> {
        let start = |member: &MappedMember| MemberStart { start: member.start, allocated: member.allocated };
        let starts: Vec<MemberStart> = self.members.iter().map(start).collect();
        MemberRanges::new(&starts, Self::by_kind(&self.map).0)
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
        let (_, count) = Self::by_kind(&map);
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

/// Returns the name that a template makes of a path. A template without `%s` is the name itself, as in libhdf5.
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
    use crate::DataKind;

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
    fn a_map_of_zeros_has_a_member_for_each_kind() {
        let ranges = MemberMap::multi().ranges().unwrap();
        assert_eq!(ranges.all().len(), 6);
        assert_eq!(ranges.of(DataKind::ObjectHeader), 5);
        let split = MemberMap::split("-m", "-r").unwrap().ranges().unwrap();
        assert_eq!((split.of(DataKind::Tree), split.of(DataKind::GlobalHeap)), (0, 1));
        // As libhdf5 stores it for a split file.
        assert_eq!(split.all()[1].start, 0x7fff_ffff_ffff_ffff);
        assert_eq!(split.serving(0x7fff_ffff_ffff_fffe), Some(0));
    }

    #[test]
    fn members_that_overlap_are_refused() {
        let map = MemberMap::split("-m", "-r").unwrap();
        assert!(map.clone().with_raw_start(0).ranges().is_err());
        let mut long = map.with_raw_start(100);
        long.members[0].allocated = 101;
        assert!(long.ranges().is_err());
    }

    #[test]
    fn members_are_named_after_the_path() {
        let split = MemberMap::split("-m", "-r").unwrap();
        let paths: Vec<_> = split.paths(Path::new("a/b")).collect();
        assert_eq!(paths, [Path::new("a/b-m"), Path::new("a/b-r")]);
        assert!(MemberMap::split("-m", "-m").is_err());
    }
}
