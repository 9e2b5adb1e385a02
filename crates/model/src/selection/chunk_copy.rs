//! Elements copied between a chunk and the packed elements of a selection, in loops over whole rows.

use super::chunk_runs::{ChunkRun, ChunkRuns, Source};
use super::invalid;
use crate::Result;

/// Runs of equal length, evenly spaced in the chunk and side by side in the selection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comb {
    pub(super) first: ChunkRun,
    pub(super) count: u64,
    /// Elements from one run's start to the next one's, in the chunk.
    pub(super) step: u64,
}

impl Comb {
    pub(super) fn one(first: ChunkRun) -> Self {
        Comb { first, count: 1, step: first.len }
    }
}

impl ChunkRuns {
    /// Copies the elements of these runs out of a chunk into the packed elements of the selection from the one with
    /// number `before` on.
    pub fn copy_out(self, element_bytes: usize, chunk: &[u8], before: u64, into: &mut [u8]) -> Result<()> {
        macro_rules! sized {
            ($($n:literal)*) => { match element_bytes {
                $( $n => {
                    let (chunk, into) = (chunk.as_chunks::<$n>().0, into.as_chunks_mut::<$n>().0);
                    self.all(1, before, &mut Out { chunk, into })
                } )*
                _ => self.all(element_bytes, before, &mut Out { chunk, into }),
            } };
        }
        sized!(1 2 4 8 16).ok_or_else(outside)
    }

    /// Copies the other way than [`ChunkRuns::copy_out`]: from the packed elements of the whole selection into a chunk.
    pub fn copy_in(self, element_bytes: usize, from: &[u8], chunk: &mut [u8]) -> Result<()> {
        macro_rules! sized {
            ($($n:literal)*) => { match element_bytes {
                $( $n => {
                    let (from, chunk) = (from.as_chunks::<$n>().0, chunk.as_chunks_mut::<$n>().0);
                    self.all(1, 0, &mut In { from, chunk })
                } )*
                _ => self.all(element_bytes, 0, &mut In { from, chunk }),
            } };
        }
        sized!(1 2 4 8 16).ok_or_else(outside)
    }

    /// Moves all runs, whose elements are `unit` items each; `None` where one lies outside.
    fn all(self, unit: usize, before: u64, copy: &mut impl Copying) -> Option<()> {
        match self.0 {
            Source::Nothing => Some(()),
            Source::Regular(mut walk) => {
                while let Some(comb) = walk.next_comb() {
                    copy.comb(&CombLayout::new(&comb, unit, before)?)?;
                }
                Some(())
            }
            Source::Bucket(walk) => {
                let pending = walk.pending.map(|run| (run.chunk_offset, run.selection_offset));
                pending.into_iter().chain(walk.walk.rest()).try_for_each(|(chunk_at, at)| {
                    let at = at.checked_sub(before)?;
                    let (chunk_at, at) = (usize::try_from(chunk_at).ok()?, usize::try_from(at).ok()?);
                    copy.element(chunk_at.checked_mul(unit)?, at.checked_mul(unit)?, unit)
                })
            }
            runs => ChunkRuns(runs)
                .try_for_each(|run| copy.comb(&CombLayout::new(&Comb::one(run), unit, before)?)),
        }
    }
}

fn outside() -> crate::Error {
    invalid("elements outside of the chunk or the buffer")
}

/// A comb as sizes in memory, in items.
struct CombLayout {
    chunk_at: usize,
    at: usize,
    len: usize,
    count: usize,
    step: usize,
}

impl CombLayout {
    fn new(comb: &Comb, unit: usize, before: u64) -> Option<CombLayout> {
        let size = |n: u64| usize::try_from(n).ok()?.checked_mul(unit);
        Some(CombLayout {
            chunk_at: size(comb.first.chunk_offset)?,
            at: size(comb.first.selection_offset.checked_sub(before)?)?,
            len: size(comb.first.len)?,
            count: usize::try_from(comb.count).ok()?,
            step: size(comb.step)?,
        })
    }

    /// From the start of the first run to the end of the last.
    fn chunk_end(&self) -> Option<usize> {
        let last = self.count.checked_sub(1)?.checked_mul(self.step)?;
        self.chunk_at.checked_add(last)?.checked_add(self.len)
    }

    fn end(&self) -> Option<usize> {
        self.at.checked_add(self.count.checked_mul(self.len)?)
    }
}

/// One direction of copying. All bounds are checked once for a comb.
trait Copying {
    fn comb(&mut self, place: &CombLayout) -> Option<()>;
    fn element(&mut self, chunk_at: usize, at: usize, len: usize) -> Option<()>;
}

struct Out<'a, T> {
    chunk: &'a [T],
    into: &'a mut [T],
}

impl<T: Copy> Copying for Out<'_, T> {
    #[inline]
    fn comb(&mut self, place: &CombLayout) -> Option<()> {
        let from = self.chunk.get(place.chunk_at..place.chunk_end()?)?;
        let to = self.into.get_mut(place.at..place.end()?)?;
        match place.len {
            _ if place.count == 1 => to.copy_from_slice(from),
            1 => gather::<T, 1>(from, place.step, to),
            2 => gather::<T, 2>(from, place.step, to),
            4 => gather::<T, 4>(from, place.step, to),
            len => {
                let runs = from.chunks(place.step).zip(to.chunks_exact_mut(len));
                runs.for_each(|(from, to)| to.copy_from_slice(&from[..len]));
            }
        }
        Some(())
    }

    #[inline]
    fn element(&mut self, chunk_at: usize, at: usize, len: usize) -> Option<()> {
        if len == 1 {
            *self.into.get_mut(at)? = *self.chunk.get(chunk_at)?;
            return Some(());
        }
        let from = self.chunk.get(chunk_at..chunk_at.checked_add(len)?)?;
        self.into.get_mut(at..at.checked_add(len)?)?.copy_from_slice(from);
        Some(())
    }
}

struct In<'a, T> {
    from: &'a [T],
    chunk: &'a mut [T],
}

impl<T: Copy> Copying for In<'_, T> {
    #[inline]
    fn comb(&mut self, place: &CombLayout) -> Option<()> {
        let to = self.chunk.get_mut(place.chunk_at..place.chunk_end()?)?;
        let from = self.from.get(place.at..place.end()?)?;
        match place.len {
            _ if place.count == 1 => to.copy_from_slice(from),
            1 => spread::<T, 1>(from, place.step, to),
            2 => spread::<T, 2>(from, place.step, to),
            4 => spread::<T, 4>(from, place.step, to),
            len => {
                let runs = to.chunks_mut(place.step).zip(from.chunks_exact(len));
                runs.for_each(|(to, from)| to[..len].copy_from_slice(from));
            }
        }
        Some(())
    }

    #[inline]
    fn element(&mut self, chunk_at: usize, at: usize, len: usize) -> Option<()> {
        if len == 1 {
            *self.chunk.get_mut(chunk_at)? = *self.from.get(at)?;
            return Some(());
        }
        let from = self.from.get(at..at.checked_add(len)?)?;
        self.chunk.get_mut(chunk_at..chunk_at.checked_add(len)?)?.copy_from_slice(from);
        Some(())
    }
}

/// Runs of a length that the compiler knows, out of `from`; the steps of two and four are loops of their own.
fn gather<T: Copy, const N: usize>(from: &[T], step: usize, to: &mut [T]) {
    let to = to.as_chunks_mut::<N>().0;
    for (from, to) in from.chunks(step).zip(to) {
        if let Some(run) = from.first_chunk::<N>() {
            *to = *run;
        }
    }
}

fn spread<T: Copy, const N: usize>(from: &[T], step: usize, to: &mut [T]) {
    let from = from.as_chunks::<N>().0;
    for (to, from) in to.chunks_mut(step).zip(from) {
        if let Some(run) = to.first_chunk_mut::<N>() {
            *run = *from;
        }
    }
}
