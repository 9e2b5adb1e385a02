//! Elements of a dataset: those that were written, in runs, so that an extent may be huge.

use std::collections::BTreeMap;

use model::selection::Run;
use model::{Error, Result, Selection};

/// Runs of written elements by their first element, counted in C order; they neither touch nor overlap.
#[derive(Debug, Default)]
pub(crate) struct Elements {
    runs: BTreeMap<u64, Vec<u8>>,
}

/// Returns where the elements of one run are.
fn bytes_of(run: Run, element_bytes: u64) -> Result<(u64, usize)> {
    let too_many = || Error::limit("transfer elements").with("elements", run.len);
    let start = run.offset.checked_mul(element_bytes).ok_or_else(too_many)?;
    let length = run.len.checked_mul(element_bytes).and_then(|length| usize::try_from(length).ok());
    Ok((start, length.ok_or_else(too_many)?))
}

impl Elements {
    /// Runs in order: first byte and bytes.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.runs.iter().map(|(&start, bytes)| (start, &bytes[..]))
    }

    /// Returns the number of bytes that were written.
    pub(crate) fn bytes(&self) -> u64 {
        self.runs.values().map(|run| run.len() as u64).sum()
    }

    /// Reads the elements of a selection; the buffer holds the fill value already.
    pub(crate) fn read(
        &self,
        selection: &Selection,
        dims: &[u64],
        element_bytes: u64,
        into: &mut [u8],
    ) -> Result<()> {
        let mut rest = into;
        for run in selection.runs(dims)? {
            let (start, length) = bytes_of(run, element_bytes)?;
            let (here, after) = rest.split_at_mut_checked(length).ok_or_else(|| short("read"))?;
            self.read_run(start, here);
            rest = after;
        }
        Ok(())
    }

    fn read_run(&self, start: u64, into: &mut [u8]) {
        let end = start + into.len() as u64;
        // The run before `start` may reach into it; the others begin inside.
        let before = self.runs.range(..start).next_back();
        for (&at, bytes) in before.into_iter().chain(self.runs.range(start..end)) {
            let (from, to) = (at.max(start), end.min(at + bytes.len() as u64));
            if from < to {
                let source = &bytes[(from - at) as usize..(to - at) as usize];
                into[(from - start) as usize..(to - start) as usize].copy_from_slice(source);
            }
        }
    }

    /// Writes the elements of a selection.
    pub(crate) fn write(
        &mut self,
        selection: &Selection,
        dims: &[u64],
        element_bytes: u64,
        from: &[u8],
    ) -> Result<()> {
        let mut rest = from;
        for run in selection.runs(dims)? {
            let (start, length) = bytes_of(run, element_bytes)?;
            let (here, after) = rest.split_at_checked(length).ok_or_else(|| short("write"))?;
            self.write_run(start, here);
            rest = after;
        }
        Ok(())
    }

    /// Writes bytes at an offset, and joins them with runs that they touch or cover.
    pub(crate) fn write_run(&mut self, start: u64, from: &[u8]) {
        let end = start + from.len() as u64;
        let (at, mut joined) = self.take_reaching(start).unwrap_or((start, Vec::new()));
        let skip = (start - at) as usize;
        joined.resize(joined.len().max(skip + from.len()), 0);
        joined[skip..skip + from.len()].copy_from_slice(from);
        // Runs that begin inside end inside, except for the last: what it has behind `end` is kept.
        while let Some(next) = self.runs.range(start..=end).next().map(|(&next, _)| next) {
            let run = self.runs.remove(&next).unwrap_or_default();
            joined.extend_from_slice(run.get((end - next) as usize..).unwrap_or_default());
        }
        self.runs.insert(at, joined);
    }

    /// Takes out the run that begins at `start` or before it and reaches it.
    fn take_reaching(&mut self, start: u64) -> Option<(u64, Vec<u8>)> {
        let (&at, run) = self.runs.range(..=start).next_back()?;
        let reaches = at + run.len() as u64 >= start;
        reaches.then(|| self.runs.remove_entry(&at)).flatten()
    }
}

fn short(operation: &str) -> Error {
    Error::invalid(format!("{operation} elements")).with("problem", "the buffer is too short")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_join_where_they_touch_and_stay_apart_where_not() {
        let mut elements = Elements::default();
        elements.write_run(10, &[1; 4]);
        elements.write_run(20, &[2; 4]);
        elements.write_run(14, &[3; 2]);
        assert_eq!(elements.runs().map(|(at, run)| (at, run.len())).collect::<Vec<_>>(), [(10, 6), (20, 4)]);
        elements.write_run(12, &[4; 10]);
        let joined = [1, 1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 2];
        assert_eq!(elements.runs().collect::<Vec<_>>(), [(10, &joined[..])]);
        elements.write_run(11, &[5]);
        assert_eq!(elements.bytes(), 14);
        elements.write_run(0, &[6; 30]);
        assert_eq!(elements.runs().collect::<Vec<_>>(), [(0, &[6; 30][..])]);
        let mut read = [9; 4];
        elements.read_run(28, &mut read);
        assert_eq!(read, [6, 6, 9, 9]);
    }
}
