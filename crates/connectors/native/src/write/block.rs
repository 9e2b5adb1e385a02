//! A block inside of one chunk, the commonest of small writes: its place is found without any machinery.

use model::Selection;

/// Returns the chunk coordinates of the chunk that a selection lies in, where it is one block inside of one chunk.
pub(super) fn chunk_of(selection: &Selection, shape: &[u64]) -> Option<Vec<u64>> {
    let Selection::Regular(regular) = selection else { return None };
    let mut chunk_coords = Vec::with_capacity(shape.len());
    for (axis, chunk) in regular.axes().iter().zip(shape) {
        let (start, len) = axis.single()?;
        let n = start / chunk;
        if start.checked_add(len)? > (n + 1).checked_mul(*chunk)? {
            return None;
        }
        chunk_coords.push(n);
    }
    // A chunk that is written whole is no small write.
    let is_whole =
        regular.axes().iter().zip(shape).all(|(axis, chunk)| axis.single().is_some_and(|(_, n)| n == *chunk));
    (chunk_coords.len() == shape.len() && !is_whole).then_some(chunk_coords)
}

/// Returns where the elements of such a block begin in the chunk, in bytes, if they lie there one after the other.
pub(super) fn run_start(selection: &Selection, shape: &[u64], element_bytes: usize) -> Option<usize> {
    let Selection::Regular(regular) = selection else { return None };
    let (first, rest) = regular.axes().split_first()?;
    let (chunk, faster) = shape.split_first()?;
    let mut step = element_bytes as u64;
    for (axis, c) in rest.iter().zip(faster) {
        axis.single().filter(|(_, len)| len == c)?;
        step = step.checked_mul(*c)?;
    }
    usize::try_from((first.single()?.0 % chunk).checked_mul(step)?).ok()
}

/// Puts the elements of such a block to their places in the chunk; nothing where they do not fit.
pub(super) fn put(
    selection: &Selection,
    shape: &[u64],
    element_bytes: usize,
    from: &[u8],
    chunk: &mut [u8],
) -> Option<()> {
    let Selection::Regular(regular) = selection else { return None };
    let mut rest = from;
    let axes = regular.axes();
    let inner =
        axes.iter().zip(shape).skip(1).try_fold(element_bytes as u64, |n, (_, c)| n.checked_mul(*c))?;
    let mut rows = Rows { axes, shape, rest: &mut rest, chunk };
    rows.put(0, 0, inner)
}

struct Rows<'a, 'f> {
    axes: &'a [model::selection::Axis],
    shape: &'a [u64],
    rest: &'a mut &'f [u8],
    chunk: &'a mut [u8],
}

impl Rows<'_, '_> {
    /// Returns the block from dimension `d` on, whose neighbours lie `step` bytes apart.
    fn put(&mut self, d: usize, at: u64, step: u64) -> Option<()> {
        let (start, len) = self.axes.get(d)?.single()?;
        let at = at + start % self.shape[d] * step;
        if self.is_filled_below(d) {
            return self.copy(at, len * step);
        }
        for n in 0..len {
            self.put(d + 1, at + n * step, step / self.shape[d + 1])?;
        }
        Some(())
    }

    /// Returns whether the block reaches through the whole chunk in all faster dimensions.
    fn is_filled_below(&self, d: usize) -> bool {
        let mut faster = self.axes.iter().zip(self.shape).skip(d + 1);
        faster.all(|(axis, c)| axis.single().is_some_and(|(_, len)| len == *c))
    }

    fn copy(&mut self, at: u64, len: u64) -> Option<()> {
        let (at, len) = (usize::try_from(at).ok()?, usize::try_from(len).ok()?);
        let (now, later) = self.rest.split_at_checked(len)?;
        self.chunk.get_mut(at..at.checked_add(len)?)?.copy_from_slice(now);
        *self.rest = later;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the expected result in the general way.
    fn expected(
        selection: &Selection,
        dims: &[u64],
        start: &[u64],
        shape: &[u64],
        from: &[u8],
        chunk: &mut [u8],
    ) {
        selection.chunk_runs(dims, start, shape).unwrap().copy_in(2, from, chunk).unwrap();
    }

    #[test]
    fn blocks_of_every_place_and_size_come_where_the_general_way_puts_them() {
        let (dims, shape) = ([6u64, 8, 6], [3u64, 4, 2]);
        for code in 0..3u64.pow(6) {
            let digit = |n: u32| code / 3u64.pow(n) % 3;
            let start = [3 + digit(0), 4 + digit(1), 2 + digit(2) % 2];
            let len = [1 + digit(3), 1 + digit(4), 1 + digit(5) % 2];
            let selection = Selection::block(&start, &len).unwrap();
            let Some(chunk_coords) = chunk_of(&selection, &shape) else { continue };
            assert_eq!(chunk_coords, [1, 1, 1]);
            let from: Vec<u8> = (0..2 * len.iter().product::<u64>()).map(|n| n as u8 + 1).collect();
            let (mut a, mut b) = ([0; 48], [0; 48]);
            put(&selection, &shape, 2, &from, &mut a).unwrap();
            expected(&selection, &dims, &[3, 4, 2], &shape, &from, &mut b);
            assert_eq!(a, b, "{start:?} {len:?}");
            if let Some(at) = run_start(&selection, &shape, 2) {
                assert_eq!(a[at..at + from.len()], from, "{start:?} {len:?}");
            }
        }
    }

    #[test]
    fn what_touches_two_chunks_or_fills_one_goes_the_general_way() {
        let block = |start: &[u64], len: &[u64]| Selection::block(start, len).unwrap();
        assert_eq!(chunk_of(&block(&[2, 0], &[2, 1]), &[3, 4]), None);
        assert_eq!(chunk_of(&block(&[3, 4], &[3, 4]), &[3, 4]), None);
        assert_eq!(chunk_of(&Selection::All, &[3, 4]), None);
        assert_eq!(chunk_of(&block(&[5, 7], &[1, 1]), &[3, 4]), Some(vec![1, 1]));
    }
}
