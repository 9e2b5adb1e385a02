//! Bytes that go over committed ones and are too many for memory: they wait in free space of the file, and a commit copies them
//! to their places.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::io;

use files::{File, Handle, Lock, MemberRanges, Sync, read_only};
use twox_hash::XxHash3_64;

/// Bytes that wait at `from` and belong at `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) to: u64,
    pub(crate) from: u64,
    pub(crate) len: u64,
}

impl Move {
    fn end(&self) -> u64 {
        self.to.saturating_add(self.len)
    }

    /// Returns what of it belongs between `at` and `end`.
    fn clipped(self, at: u64, end: u64) -> Move {
        let to = self.to.max(at);
        Move { to, from: self.from + (to - self.to), len: self.end().min(end).saturating_sub(to) }
    }

    /// Reads its bytes into a buffer that stands for what belongs at `at` and behind.
    pub(crate) fn read_over(&self, file: &Handle, at: u64, into: &mut [u8]) -> io::Result<()> {
        let start = (self.to - at) as usize;
        file.read_at(self.from, &mut into[start..start + self.len as usize])
    }
}

/// A range of the file that was filled with such bytes, and their checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) at: u64,
    pub(crate) len: u64,
    pub(crate) sum: u64,
}

/// Bytes of a file that are read or copied at a time.
const PART_BYTES: u64 = 4 << 20;

/// Calls `f` with the bytes of a range, part by part, and where each part lies in it.
fn each_part<E: From<io::Error>>(
    file: &Handle,
    at: u64,
    len: u64,
    mut f: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut part = vec![0; PART_BYTES.min(len) as usize];
    let mut done = 0;
    while done < len {
        let bytes = &mut part[..PART_BYTES.min(len - done) as usize];
        file.read_at(at + done, bytes)?;
        f(done, bytes)?;
        done += bytes.len() as u64;
    }
    Ok(())
}

impl Extent {
    /// Returns whether the range still holds what was put there.
    pub(crate) fn is_whole(&self, file: &Handle) -> io::Result<bool> {
        let mut sum = Sum::default();
        let read = each_part(file, self.at, self.len, |_, bytes| {
            sum.add(bytes);
            Ok::<_, io::Error>(())
        });
        match read {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            done => done.map(|()| sum.finish() == self.sum),
        }
    }
}

/// Copies bytes to their place.
pub(crate) fn publish(file: &Handle, moved: &Move) -> io::Result<()> {
    each_part(file, moved.from, moved.len, |done, bytes| file.write_at(moved.to + done, bytes))
}

/// A checksum of bytes that come one after the other.
pub(crate) struct Sum(XxHash3_64);

impl Default for Sum {
    fn default() -> Self {
        Sum(XxHash3_64::with_seed(0))
    }
}

impl Sum {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// Bytes that wait in the file, by where they belong; no two of one journal overlap.
#[derive(Debug, Clone, Default)]
pub(super) struct Journal {
    moves: BTreeMap<u64, Move>,
    extents: Vec<Extent>,
}

impl Journal {
    pub(super) fn put(&mut self, moved: Move) {
        self.cut(moved.to, moved.end());
        self.moves.insert(moved.to, moved);
    }

    pub(super) fn add_extent(&mut self, extent: Extent) {
        self.extents.push(extent);
    }

    /// Forgets what belongs between `at` and `end`.
    pub(super) fn cut(&mut self, at: u64, end: u64) {
        let overlapping: Vec<Move> = self.whole(at, end).copied().collect();
        for old in overlapping {
            self.moves.remove(&old.to);
            for rest in [old.clipped(old.to, at), old.clipped(end, old.end())] {
                if old.to <= rest.to && rest.len > 0 {
                    self.moves.insert(rest.to, rest);
                }
            }
        }
    }

    fn whole(&self, at: u64, end: u64) -> impl Iterator<Item = &Move> {
        let before = self.moves.range(..at).next_back().map(|(_, moved)| moved).filter(|m| m.end() > at);
        before.into_iter().chain(self.moves.range(at..end.max(at)).map(|(_, moved)| moved))
    }

    /// Returns what belongs between `at` and `end`.
    pub(super) fn pieces(&self, at: u64, end: u64) -> impl Iterator<Item = Move> {
        self.whole(at, end).map(move |moved| moved.clipped(at, end))
    }

    pub(super) fn moves(&self) -> impl Iterator<Item = &Move> {
        self.moves.values()
    }

    pub(super) fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Takes what another one has for places that are not among its own.
    pub(super) fn append(&mut self, mut other: Journal) {
        self.moves.values().for_each(|moved| other.cut(moved.to, moved.end()));
        self.moves.append(&mut other.moves);
        self.extents.append(&mut other.extents);
    }

    pub(super) fn clear(&mut self) {
        *self = Journal::default();
    }
}

/// A file as it is when bytes that wait in it are in their places, for a reader.
#[derive(Debug)]
pub(crate) struct Moved {
    file: Handle,
    journal: Journal,
}

impl Moved {
    pub(crate) fn new(file: Handle, moves: &[Move]) -> Self {
        let mut journal = Journal::default();
        moves.iter().for_each(|moved| journal.put(*moved));
        Moved { file, journal }
    }
}

impl File for Moved {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buf)?;
        let end = offset.saturating_add(buf.len() as u64);
        self.journal.pieces(offset, end).try_for_each(|moved| moved.read_over(&self.file, offset, buf))
    }

    fn write_at(&self, _offset: u64, _data: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn set_len(&self, _len: u64) -> io::Result<()> {
        Err(read_only())
    }

    fn sync(&self, sync: Sync) -> io::Result<()> {
        self.file.sync(sync)
    }

    fn lock(&self, lock: Lock) -> io::Result<()> {
        self.file.lock(lock)
    }

    fn members(&self) -> Option<MemberRanges> {
        self.file.members()
    }

    fn bytes_end(&self, offset: u64) -> io::Result<u64> {
        self.file.bytes_end(offset)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use files::Memory;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_put_last_is_found(puts in prop::collection::vec((0u64..60, 1u64..20), 0..30)) {
            let image: Vec<u8> = (0..2000u32).map(|n| (n % 251) as u8).collect();
            let file: Handle = Arc::new(Memory::from_image(image.clone()));
            let (mut journal, mut model) = (Journal::default(), image[..80].to_vec());
            for (n, &(to, len)) in puts.iter().enumerate() {
                let from = 100 + 20 * n as u64;
                journal.put(Move { to, from, len });
                model[to as usize..(to + len) as usize].copy_from_slice(&image[from as usize..(from + len) as usize]);
            }
            let mut read = image[..80].to_vec();
            journal.pieces(0, 80).try_for_each(|moved| moved.read_over(&file, 0, &mut read)).unwrap();
            prop_assert_eq!(&read, &model);
            let (mut newer, old) = (Journal::default(), journal.clone());
            newer.put(Move { to: 10, from: 1000, len: 30 });
            newer.append(old);
            let mut read = image[..80].to_vec();
            newer.pieces(5, 70).try_for_each(|moved| moved.read_over(&file, 0, &mut read)).unwrap();
            model[10..40].copy_from_slice(&image[1000..1030]);
            prop_assert_eq!(&read[5..70], &model[5..70]);
        }
    }

    #[test]
    fn an_extent_that_somebody_wrote_over_is_not_whole() {
        let mut image = vec![7; 100];
        let mut sum = Sum::default();
        sum.add(&image[10..30]);
        sum.add(&image[30..50]);
        let extent = Extent { at: 10, len: 40, sum: sum.finish() };
        let is_whole =
            |image: &[u8]| extent.is_whole(&(Arc::new(Memory::from_image(image.to_vec())) as Handle));
        assert!(is_whole(&image).unwrap());
        image[20] = 8;
        assert!(!is_whole(&image).unwrap());
        assert!(!is_whole(&image[..40]).unwrap());
    }
}
