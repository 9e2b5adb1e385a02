//! Durations in buckets: small, of a fixed size, and quick to add to.

/// Buckets in each power of two: a percentile is off by an eighth at most.
const PARTS: u64 = 4;
/// Durations from 2⁴² ns on (73 minutes) share the last bucket.
const BUCKETS: usize = 164;

/// How many durations fell into each bucket.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    counts: [u64; BUCKETS],
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: [0; BUCKETS], max: 0 }
    }
}

fn bucket(nanos: u64) -> usize {
    if nanos < PARTS {
        return nanos as usize;
    }
    let octave = u64::from(nanos.ilog2());
    let part = (nanos >> (octave - 2)) & (PARTS - 1);
    (((octave - 1) * PARTS + part) as usize).min(BUCKETS - 1)
}

/// Returns the middle of a bucket.
fn value(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < PARTS {
        return bucket;
    }
    let (octave, part) = (bucket / PARTS + 1, bucket % PARTS);
    let width = 1 << (octave - 2);
    (PARTS + part) * width + width / 2
}

impl Histogram {
    pub(crate) fn add(&mut self, nanos: u64) {
        if let Some(count) = self.counts.get_mut(bucket(nanos)) {
            *count += 1;
        }
        self.max = self.max.max(nanos);
    }

    pub(crate) fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.max = self.max.max(other.max);
    }

    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// Returns the duration that so many per cent of all do not exceed.
    pub(crate) fn percentile(&self, percent: u64) -> u64 {
        let count: u64 = self.counts.iter().sum();
        let rank = (count * percent).div_ceil(100).max(1);
        let mut before = 0;
        for (n, in_bucket) in self.counts.iter().enumerate() {
            before += in_bucket;
            if before >= rank {
                return value(n).min(self.max);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_bucket_is_in_it_and_near_every_duration_there() {
        for nanos in (0..10_000).chain((14..41).map(|n| 1 << n)).chain((14..41).map(|n| (1 << n) - 1)) {
            let found = value(bucket(nanos));
            assert_eq!(bucket(found), bucket(nanos));
            assert!(found.abs_diff(nanos) * 8 <= nanos.max(8), "{nanos} became {found}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_follow_the_durations() {
        let mut one = Histogram::default();
        assert_eq!(one.percentile(50), 0);
        (1..=900).for_each(|_| one.add(1_000));
        let mut two = Histogram::default();
        (1..=100).for_each(|_| two.add(1_000_000));
        one.merge(&two);
        assert!((875..1125).contains(&one.percentile(50)));
        assert!((875..1125).contains(&one.percentile(90)));
        assert!((875_000..=1_000_000).contains(&one.percentile(99)));
        assert_eq!(one.max(), 1_000_000);
    }
}
