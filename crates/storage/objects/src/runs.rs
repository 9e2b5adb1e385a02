//! Sets of records, as runs in order that neither touch nor overlap.

/// First record and one past the last.
pub type Run = (u64, u64);

/// A set of records as runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs(Vec<Run>);

impl Runs {
    /// Returns one run.
    pub(crate) fn one(start: u64, end: u64) -> Runs {
        Runs(vec![(start, end)])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_slice(&self) -> &[Run] {
        &self.0
    }

    /// Returns one past the last record.
    pub(crate) fn end(&self) -> u64 {
        self.0.last().map_or(0, |run| run.1)
    }

    /// Returns the first record.
    pub(crate) fn start(&self) -> u64 {
        self.0.first().map_or(0, |run| run.0)
    }

    /// Adds records.
    pub fn insert(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let from = self.0.partition_point(|run| run.1 < start);
        let to = self.0.partition_point(|run| run.0 <= end);
        let (mut low, mut high) = (start, end);
        if let Some((first, last)) = self.0.get(from..to).and_then(|runs| Some((runs.first()?, runs.last()?)))
        {
            (low, high) = (low.min(first.0), high.max(last.1));
        }
        self.0.splice(from..to, [(low, high)]);
    }

    /// Takes records away.
    pub(crate) fn remove(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let from = self.0.partition_point(|run| run.1 <= start);
        let to = self.0.partition_point(|run| run.0 < end);
        let Some(runs) = self.0.get(from..to) else { return };
        let mut rest = Vec::with_capacity(2);
        if let Some(first) = runs.first().filter(|run| run.0 < start) {
            rest.push((first.0, start));
        }
        if let Some(last) = runs.last().filter(|run| run.1 > end) {
            rest.push((end, last.1));
        }
        self.0.splice(from..to, rest);
    }

    /// Returns the runs inside of a range, cut to it.
    pub(crate) fn within(&self, start: u64, end: u64) -> impl Iterator<Item = Run> + '_ {
        let from = self.0.partition_point(|run| run.1 <= start);
        let runs = self.0.get(from..).unwrap_or_default().iter();
        runs.take_while(move |run| run.0 < end).map(move |run| (run.0.max(start), run.1.min(end)))
    }

    /// Returns the runs inside of a range, cut to it, as a set of their own.
    pub(crate) fn cut(&self, start: u64, end: u64) -> Runs {
        Runs(self.within(start, end).collect())
    }

    /// Runs that were stored: `None` where they are not in order.
    pub(crate) fn from_stored(runs: Vec<Run>) -> Option<Runs> {
        let ordered = runs.windows(2).all(|pair| matches!(pair, [a, b] if a.1 < b.0));
        (ordered && runs.iter().all(|run| run.0 < run.1)).then_some(Runs(runs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_and_removed_runs_are_those_of_a_bit_set() {
        let (mut runs, mut bits) = (Runs::default(), [false; 64]);
        let mut random = 99u64;
        for _ in 0..2_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (start, length) = ((random >> 33) as usize % 64, (random >> 50) as usize % 12);
            let end = (start + length).min(64);
            let insert = random >> 62 & 1 == 0;
            if insert {
                runs.insert(start as u64, end as u64);
            } else {
                runs.remove(start as u64, end as u64);
            }
            bits[start..end].fill(insert);
            let held: Vec<bool> = (0..64).map(|i| runs.within(i, i + 1).count() == 1).collect();
            assert_eq!(held, bits);
            assert_eq!(Runs::from_stored(runs.0.clone()), Some(runs.clone()));
        }
    }
}
